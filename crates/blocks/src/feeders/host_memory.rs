//! Host memory, as far as the card can access it.

use crate::bus::{Access, BusError, Data, Reference, Reply};

/// Consecutive bytes of a host's 64-bit address space.
pub struct HostMemory {
    base: u64,
    bytes: Vec<u8>,
}

impl HostMemory {
    /// `len` zero bytes from `base` on.
    ///
    /// # Panics
    ///
    /// If they exceed the address space.
    pub fn new(base: u64, len: usize) -> HostMemory {
        assert!(base.checked_add(len as u64).is_some(), "memory ends below 2^64");
        HostMemory { base, bytes: vec![0; len] }
    }

    /// The `len` bytes at `addr`, or `None` if the range is not inside.
    pub fn get(&self, addr: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(addr.checked_sub(self.base)?).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }

    /// The `len` bytes at `addr`, writable.
    pub fn get_mut(&mut self, addr: u64, len: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(addr.checked_sub(self.base)?).ok()?;
        self.bytes.get_mut(start..start.checked_add(len)?)
    }

    /// The big-endian word at `addr`.
    ///
    /// # Panics
    ///
    /// If the address is outside.
    pub fn word(&self, addr: u64) -> u32 {
        crate::bus::word(self.get(addr, 4).expect("a word of the memory"))
    }

    /// Writes a big-endian word at `addr`.
    ///
    /// # Panics
    ///
    /// If the address is outside.
    pub fn put_word(&mut self, addr: u64, word: u32) {
        self.put(addr, &word.to_be_bytes());
    }

    /// Writes `bytes` at `addr`.
    ///
    /// # Panics
    ///
    /// If the range is not inside.
    pub fn put(&mut self, addr: u64, bytes: &[u8]) {
        self.get_mut(addr, bytes.len()).expect("bytes of the memory").copy_from_slice(bytes);
    }

    /// Carries out a card's reference. Addresses outside give [`BusError::Nowhere`], and nothing is written.
    pub fn answer(&mut self, reference: Reference) -> Reply {
        let Reference { id, addr, access } = reference;
        let result = match access {
            Access::Read(len) => self.get(addr, len as usize).map(Data::from_slice),
            Access::Write(data) => self.get_mut(addr, data.len()).map(|bytes| {
                bytes.copy_from_slice(&data);
                Data::new()
            }),
            Access::Linked(_) => return Reply::new(id, Err(BusError::NoLink(addr))),
        };
        Reply::new(id, result.ok_or(BusError::Nowhere(addr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(references: &[(u64, Access)], want: Expect) {
        let mut memory = HostMemory::new(0xffff_ffff_0000_0000, 0x100);
        let mut answer = |(addr, access): &(u64, Access)| {
            let reply = memory.answer(Reference { id: 7, addr: *addr, access: access.clone() });
            match reply.result {
                Ok(data) => format!("{data:02x?}"),
                Err(error) => error.to_string(),
            }
        };
        want.assert_eq(&references.iter().map(&mut answer).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn written_bytes_are_read_back_and_edges_are_checked() {
        let base = 0xffff_ffff_0000_0000;
        let write = |bytes: &[u8]| Access::Write(Data::from_slice(bytes));
        check(
            &[
                (base + 0xfe, write(&[1, 2])),
                (base + 0xfd, Access::Read(3)),
                (base + 0xff, write(&[3, 4])),
                (base + 0xfd, Access::Read(3)),
                (base - 1, Access::Read(1)),
                (0, Access::Read(1)),
                (u64::MAX, Access::Read(u32::MAX)),
            ],
            expect![[r#"
                []
                [00, 01, 02]
                nothing answers at 0xffffffff000000ff
                [00, 01, 02]
                nothing answers at 0xfffffffeffffffff
                nothing answers at 0x0
                nothing answers at 0xffffffffffffffff"#]],
        );
    }
}
