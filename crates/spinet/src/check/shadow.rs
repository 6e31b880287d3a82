//! Tracks the bits of memory that nobody has written.

use std::collections::HashMap;

/// Bytes of a page.
const PAGE: u32 = 4096;

/// The bits of memory that have no defined value.
#[derive(Default)]
pub struct Shadow {
    /// A page has a byte for each of its bytes, with 1 for each undefined bit. A page that is absent is defined.
    pages: HashMap<u32, Box<[u8; PAGE as usize]>>,
}

impl Shadow {
    /// Marks a range: `bits` of each byte are undefined.
    pub fn fill(&mut self, addr: u32, bytes: u32, bits: u8) {
        let (mut at, mut left) = (addr, bytes);
        while left > 0 {
            let offset = at % PAGE;
            let part = left.min(PAGE - offset);
            if bits != 0 || self.pages.contains_key(&(at / PAGE)) {
                let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
                page[offset as usize..(offset + part) as usize].fill(bits);
            }
            (at, left) = (at.wrapping_add(part), left - part);
        }
    }

    /// The undefined bits of a byte.
    pub fn byte(&self, addr: u32) -> u8 {
        self.pages.get(&(addr / PAGE)).map_or(0, |page| page[(addr % PAGE) as usize])
    }

    /// The undefined bits of a little-endian value of at most 4 bytes.
    pub fn load(&self, addr: u32, bytes: u32) -> u32 {
        (0..bytes).fold(0, |bits, i| bits | u32::from(self.byte(addr.wrapping_add(i))) << (8 * i))
    }

    /// Sets the undefined bits of a little-endian value of at most 4 bytes.
    pub fn store(&mut self, addr: u32, bytes: u32, bits: u32) {
        (0..bytes).for_each(|i| self.fill(addr.wrapping_add(i), 1, (bits >> (8 * i)) as u8));
    }

    /// Copies a range as a transfer does.
    pub fn copy(&mut self, from: u32, to: u32, bytes: u32) {
        let marks: Vec<u8> = (0..bytes).map(|i| self.byte(from.wrapping_add(i))).collect();
        (0..bytes).zip(marks).for_each(|(i, bits)| self.fill(to.wrapping_add(i), 1, bits));
    }

    /// The first byte of a range that is not wholly defined, and the number of such bytes.
    pub fn undefined(&self, addr: u32, bytes: u32) -> Option<(u32, u32)> {
        let mut undefined = (0..bytes).map(|i| addr.wrapping_add(i)).filter(|&at| self.byte(at) != 0);
        let first = undefined.next()?;
        Some((first, 1 + undefined.count() as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_follow_stores_and_copies_across_pages() {
        let mut shadow = Shadow::default();
        shadow.fill(0xffe, 8, 0xff);
        assert_eq!(shadow.undefined(0xff0, 32), Some((0xffe, 8)));
        shadow.store(0xffe, 4, 0x0000_ff00);
        assert_eq!((shadow.load(0xffe, 4), shadow.undefined(0xff0, 32)), (0xff00, Some((0xfff, 5))));
        shadow.copy(0xffe, 0x5000, 4);
        assert_eq!(shadow.load(0x5000, 4), 0xff00);
    }
}
