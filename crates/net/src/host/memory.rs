//! Host memory of 2^64 bytes. Only written pages are stored.

use std::collections::BTreeMap;

const PAGE: usize = 4096;

/// A page. All bytes that were written are in `first..end`.
struct Page {
    bytes: Box<[u8; PAGE]>,
    first: usize,
    end: usize,
}

/// Host memory; unwritten bytes read as zero.
#[derive(Default)]
pub struct Pages {
    pages: BTreeMap<u64, Page>,
}

impl Pages {
    /// Fills `data` from `addr` on; addresses wrap around at 2^64.
    pub fn read(&self, addr: u64, data: &mut [u8]) {
        for (addr, range) in split(addr, data.len()) {
            let at = (addr % PAGE as u64) as usize;
            let len = range.len();
            match self.pages.get(&(addr / PAGE as u64)) {
                Some(page) => data[range].copy_from_slice(&page.bytes[at..at + len]),
                None => data[range].fill(0),
            }
        }
    }

    /// Writes `data` from `addr` on; addresses wrap around at 2^64.
    pub fn write(&mut self, addr: u64, data: &[u8]) {
        for (addr, range) in split(addr, data.len()) {
            let at = (addr % PAGE as u64) as usize;
            let len = range.len();
            let new = || Page { bytes: Box::new([0; PAGE]), first: PAGE, end: 0 };
            let page = self.pages.entry(addr / PAGE as u64).or_insert_with(new);
            page.bytes[at..at + len].copy_from_slice(&data[range]);
            page.first = page.first.min(at);
            page.end = page.end.max(at + len);
        }
    }

    /// Written ranges: address and length. Adjacent pages are one range, from its first written byte to its last one.
    pub fn written(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut last_page = None;
        for (&number, page) in &self.pages {
            let base = number * PAGE as u64;
            let (first, size) = (base + page.first as u64, (page.end - page.first) as u64);
            match ranges.last_mut() {
                Some((start, len)) if last_page == number.checked_sub(1) => *len = first - *start + size,
                _ => ranges.push((first, size)),
            }
            last_page = Some(number);
        }
        ranges
    }
}

/// Cuts a range of memory at page boundaries. Each piece has its address and its position within the range.
fn split(addr: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = addr.wrapping_add(done as u64);
        let room = PAGE - (at % PAGE as u64) as usize;
        let range = done..len.min(done + room);
        done = range.end;
        (!range.is_empty()).then_some((at, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_across_pages_and_around_the_end() {
        let mut host = Pages::default();
        for addr in [0x5ffe, u64::MAX - 1] {
            host.write(addr, &[1, 2, 3, 4]);
            let mut data = [9; 6];
            host.read(addr.wrapping_sub(1), &mut data);
            assert_eq!(data, [0, 1, 2, 3, 4, 0]);
        }
        assert_eq!(host.written(), [(0, 2), (0x5ffe, 4), (u64::MAX - 1, 2)]);
    }
}
