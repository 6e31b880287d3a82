//! The contents of a memory, without timing.

use super::{Links, Zeroed};
use crate::bus::{Access, BusError, Data, Link, Reference};

/// Consecutive bytes from a base address.
#[derive(Clone, Debug)]
pub struct Store {
    base: u64,
    bytes: Zeroed,
    links: Links,
}

impl Store {
    /// `bytes` zero bytes from `base` on.
    pub fn new(base: u64, bytes: u32) -> Store {
        assert!(base.checked_add(u64::from(bytes)).is_some(), "a memory ends within the address space");
        Store { base, bytes: Zeroed::new(bytes as usize), links: Links::default() }
    }

    /// The address of its first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns true if the address is inside.
    #[inline]
    pub fn contains(&self, addr: u64) -> bool {
        addr >= self.base && addr - self.base < self.bytes.len() as u64
    }

    /// Number of bytes from `addr`, which must be inside, to the end.
    #[inline]
    pub fn behind(&self, addr: u64) -> u32 {
        (self.bytes.len() as u64 - (addr - self.base)) as u32
    }

    /// The bytes in a range, or the first address that is outside.
    #[inline]
    pub fn get(&self, addr: u64, bytes: u32) -> Result<&[u8], BusError> {
        let place = self.place(addr, bytes)?;
        Ok(&self.bytes[place..place + bytes as usize])
    }

    /// The bytes in a range, writable; breaks links to them.
    #[inline]
    pub fn get_mut(&mut self, addr: u64, bytes: u32) -> Result<&mut [u8], BusError> {
        let place = self.place(addr, bytes)?;
        self.links.written(addr, bytes);
        Ok(&mut self.bytes[place..place + bytes as usize])
    }

    /// Carries out a whole reference.
    #[inline]
    pub fn serve(&mut self, reference: &Reference) -> Result<Data, BusError> {
        match &reference.access {
            Access::Read(bytes) => Ok(Data::from_slice(self.get(reference.addr, *bytes)?)),
            Access::Write(data) => {
                self.get_mut(reference.addr, data.len() as u32)?.copy_from_slice(data);
                Ok(Data::new())
            }
            Access::Linked(link) => self.link(*link, reference.addr),
        }
    }

    /// Carries out a linked access.
    pub fn link(&mut self, link: Link, addr: u64) -> Result<Data, BusError> {
        let place = self.place(addr, Link::BYTES)?;
        let word = &mut self.bytes[place..place + Link::BYTES as usize];
        let (reply, written) = self.links.serve(link, addr, word)?;
        written.iter().for_each(|bytes| word.copy_from_slice(bytes));
        Ok(reply)
    }

    #[inline]
    fn place(&self, addr: u64, bytes: u32) -> Result<usize, BusError> {
        if !self.contains(addr) {
            return Err(BusError::Nowhere(addr));
        }
        let place = addr - self.base;
        let behind = self.bytes.len() as u64 - place;
        if u64::from(bytes) > behind {
            return Err(BusError::Nowhere(addr + behind));
        }
        Ok(place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(base: u64, addr: u64, bytes: u32, want: Expect) {
        let mut store = Store::new(base, 8);
        let write = Reference { id: 0, addr, access: Access::Write(Data::from_elem(7, bytes as usize)) };
        let shown = match store.serve(&write) {
            Err(error) => error.to_string(),
            Ok(_) => store.get(base, 8).expect("it has eight bytes").iter().map(u8::to_string).collect(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn the_first_address_outside_is_named() {
        check(0x10, 0x12, 3, expect!["00777000"]);
        check(0x10, 0x10, 8, expect!["77777777"]);
        check(0x10, 0x0f, 1, expect!["nothing answers at 0xf"]);
        check(0x10, 0x16, 4, expect!["nothing answers at 0x18"]);
        check(0x10, u64::MAX, 2, expect!["nothing answers at 0xffffffffffffffff"]);
    }
}
