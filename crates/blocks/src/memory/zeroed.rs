//! Bytes that cost the host nothing until they are touched.

use std::alloc::{Layout, handle_alloc_error};
use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Bytes that begin as zeros. The system provides a page when the page is first used.
///
/// A vector of zeros is not as cheap: the allocator hands out room that was used before, and writes zeros to all of it.
#[derive(Debug)]
pub struct Zeroed(MmapMut);

impl Zeroed {
    /// This number of zeros. If the system refuses the memory, the process ends as it does for other allocations.
    pub fn new(bytes: usize) -> Zeroed {
        Zeroed(MmapMut::map_anon(bytes).unwrap_or_else(|_| refused(bytes)))
    }
}

/// Ends the process.
#[cold]
fn refused(bytes: usize) -> ! {
    // The process's allocator is refused these bytes too, and may report that better than the abort below.
    drop(black_box(Vec::<u8>::with_capacity(bytes)));
    handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()))
}

impl Clone for Zeroed {
    fn clone(&self) -> Zeroed {
        let mut copy = Zeroed::new(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Zeroed {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Zeroed {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_is_of_its_own() {
        let mut one = Zeroed::new(3);
        one[1] = 7;
        let mut other = one.clone();
        other[2] = 9;
        assert_eq!((&one[..], &other[..]), (&[0, 7, 0][..], &[0, 7, 9][..]));
        assert!(Zeroed::new(0).is_empty());
    }
}
