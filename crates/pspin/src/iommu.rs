//! Registered host memory: page tables shared by driver and card, and the card's translation cache.
//!
//! Source: Di Girolamo et al., ISCA 2021, III-C and III-D2: commands carry virtual addresses; the driver updates the
//!         IOMMU when the host registers memory that the NIC may access. The paper gives no sizes and no latencies.

mod cache;

pub use cache::{Lookup, TranslationCache};

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Size of a small page in bytes.
pub const SMALL_PAGE: u64 = 4 << 10;
/// Size of a large page in bytes.
pub const LARGE_PAGE: u64 = 2 << 20;

/// A page that a context may access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// First virtual address.
    pub first: u64,
    /// Size in bytes: [`SMALL_PAGE`] or [`LARGE_PAGE`].
    pub bytes: u64,
    /// First physical address.
    pub physical: u64,
    /// True if the context may write it.
    pub writable: bool,
}

impl Page {
    /// Translates a virtual address within the page.
    pub fn translate(&self, addr: u64) -> u64 {
        self.physical + (addr - self.first)
    }

    /// Number of page table levels read to find the page: four for a small page, three for a large one, as on x86-64.
    pub fn levels(&self) -> u32 {
        if self.bytes == LARGE_PAGE { 3 } else { 4 }
    }
}

/// Number of levels read before a missing page is known.
pub const LEVELS_OF_NOTHING: u32 = 4;

/// Reason why memory cannot be registered or deregistered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegistrationError {
    /// Address or size is not a multiple of the page size.
    #[error("{what} is {found:#x}, must be a multiple of {SMALL_PAGE}")]
    Unaligned {
        /// `addr` or `size`.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// No bytes, or more than the address space has.
    #[error("{bytes:#x} bytes from {addr:#x}, must be 1 byte at least and end within 2^64")]
    Range {
        /// First address.
        addr: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// A page of the context is already registered.
    #[error("{at:#x} is registered already")]
    Taken {
        /// First address of that page.
        at: u64,
    },
    /// Nothing is registered there, or the range covers only part of a large page.
    #[error("{at:#x} is not registered as it is to be given back")]
    NotRegistered {
        /// First such address.
        at: u64,
    },
}

/// Page tables of all contexts. The driver writes them and the card reads them.
#[derive(Clone, Default, Debug)]
pub struct PageTables {
    /// Pages by context and first address.
    pages: BTreeMap<u32, BTreeMap<u64, Page>>,
    /// Changes whenever a page is deregistered.
    version: u64,
}

/// Page tables shared by driver and card.
pub type SharedPageTables = Rc<RefCell<PageTables>>;

impl PageTables {
    /// Registers `bytes` at virtual address `addr`, mapped to `physical`, for a context. Pages are as large as the
    /// addresses allow. An error changes nothing.
    pub fn register(
        &mut self,
        context: u32,
        addr: u64,
        physical: u64,
        bytes: u64,
        writable: bool,
    ) -> Result<(), RegistrationError> {
        check(addr, bytes)?;
        check(physical, bytes)?;
        let pages = self.pages.entry(context).or_default();
        let last = addr + (bytes - 1);
        if let Some((&at, page)) = pages.range(..=last).next_back()
            && at + (page.bytes - 1) >= addr
        {
            return Err(RegistrationError::Taken { at });
        }
        let mut done = 0;
        while done < bytes {
            let (first, physical) = (addr + done, physical + done);
            let is_large = (first | physical).is_multiple_of(LARGE_PAGE) && bytes - done >= LARGE_PAGE;
            let bytes = if is_large { LARGE_PAGE } else { SMALL_PAGE };
            pages.insert(first, Page { first, bytes, physical, writable });
            done += bytes;
        }
        Ok(())
    }

    /// Deregisters memory; the card forgets it immediately. An error changes nothing.
    pub fn unregister(&mut self, context: u32, addr: u64, bytes: u64) -> Result<(), RegistrationError> {
        check(addr, bytes)?;
        let pages = self.pages.entry(context).or_default();
        let (mut at, last) = (addr, addr + (bytes - 1));
        loop {
            let page = pages.get(&at).filter(|page| page.bytes - 1 <= last - at);
            let Some(page) = page else { return Err(RegistrationError::NotRegistered { at }) };
            if page.bytes - 1 == last - at {
                break;
            }
            at += page.bytes;
        }
        let gone: Vec<u64> = pages.range(addr..=last).map(|(&first, _)| first).collect();
        for first in gone {
            pages.remove(&first);
        }
        self.version += 1;
        Ok(())
    }

    /// The page of a context that contains a virtual address.
    pub fn page(&self, context: u32, addr: u64) -> Option<Page> {
        let (_, page) = self.pages.get(&context)?.range(..=addr).next_back()?;
        (addr - page.first < page.bytes).then_some(*page)
    }

    /// A number that changes whenever a page is deregistered.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// Address and size of the whole pages that contain a range.
pub fn whole_pages(addr: u64, bytes: u64) -> (u64, u64) {
    let first = addr - addr % SMALL_PAGE;
    let last = addr.saturating_add(bytes.max(1) - 1);
    (first, last - last % SMALL_PAGE - first + SMALL_PAGE)
}

fn check(addr: u64, bytes: u64) -> Result<(), RegistrationError> {
    for (what, found) in [("the address", addr), ("the size", bytes)] {
        if !found.is_multiple_of(SMALL_PAGE) {
            return Err(RegistrationError::Unaligned { what, found });
        }
    }
    match bytes > 0 && addr.checked_add(bytes - 1).is_some() {
        true => Ok(()),
        false => Err(RegistrationError::Range { addr, bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn pages_are_as_large_as_addresses_allow() {
        let mut tables = PageTables::default();
        tables
            .register(1, LARGE_PAGE - SMALL_PAGE, 3 * LARGE_PAGE - SMALL_PAGE, LARGE_PAGE + 2 * SMALL_PAGE, true)
            .unwrap();
        let sizes = [LARGE_PAGE - 1, LARGE_PAGE, 2 * LARGE_PAGE - 1, 2 * LARGE_PAGE, 2 * LARGE_PAGE + SMALL_PAGE];
        let sizes = sizes.map(|addr| tables.page(1, addr).map(|page| page.bytes));
        assert_eq!(sizes, [Some(SMALL_PAGE), Some(LARGE_PAGE), Some(LARGE_PAGE), Some(SMALL_PAGE), None]);
        assert_eq!(tables.page(1, LARGE_PAGE + 5).unwrap().translate(LARGE_PAGE + 5), 3 * LARGE_PAGE + 5);
        assert_eq!(tables.page(2, LARGE_PAGE), None, "another context has no part in it");
        assert_eq!(whole_pages(0x1fff, 2), (0x1000, 0x2000));
        assert_eq!(whole_pages(u64::MAX, 1), (u64::MAX - 4095, 4096));
    }

    #[test]
    fn only_the_ends_of_memory_that_is_not_aligned_are_small_pages() {
        let mut tables = PageTables::default();
        tables.register(1, SMALL_PAGE, SMALL_PAGE, (4 << 30) - 2 * SMALL_PAGE, true).unwrap();
        let n = |size: u64| tables.pages[&1].values().filter(|page| page.bytes == size).count();
        assert_eq!((n(SMALL_PAGE), n(LARGE_PAGE)), (511 + 511, 2046));
    }

    #[test]
    fn errors_say_what_and_where() {
        let mut tables = PageTables::default();
        let text = |result: Result<(), RegistrationError>| result.unwrap_err().to_string();
        assert_eq!(
            text(tables.register(1, 0x1001, 0, 4096, true)),
            "the address is 0x1001, must be a multiple of 4096"
        );
        assert_eq!(text(tables.register(1, 0x1000, 0, 100, true)), "the size is 0x64, must be a multiple of 4096");
        let wraps = tables.register(1, u64::MAX - 4095, 0, 8192, true);
        assert_eq!(text(wraps), "0x2000 bytes from 0xfffffffffffff000, must be 1 byte at least and end within 2^64");
        tables.register(1, 0x2000, 0, 4096, true).unwrap();
        assert_eq!(text(tables.register(1, 0x1000, 0, 8192, true)), "0x2000 is registered already");
        assert_eq!(text(tables.unregister(1, 0x2000, 8192)), "0x3000 is not registered as it is to be given back");
        let last = u64::MAX - 4095;
        tables.register(1, last, 0, 4096, true).unwrap();
        assert!(tables.page(1, u64::MAX).is_some());
        tables.unregister(1, last, 4096).unwrap();
    }

    proptest! {
        /// A page exists exactly where it was registered and not deregistered.
        #[test]
        fn tables_hold_what_is_registered(steps in prop::collection::vec((0u64..2000, 1u64..1200, any::<bool>()), 1..40)) {
            let (mut tables, mut model) = (PageTables::default(), BTreeSet::new());
            for (first, n, registers) in steps {
                let (addr, bytes) = (first * SMALL_PAGE, n * SMALL_PAGE);
                let range = first..first + n;
                if registers {
                    let free = model.range(range.clone()).next().is_none();
                    prop_assert_eq!(tables.register(7, addr, addr, bytes, true).is_ok(), free);
                    if free { model.extend(range); }
                } else if tables.unregister(7, addr, bytes).is_ok() {
                    for page in range { prop_assert!(model.remove(&page)); }
                }
            }
            for page in 0..3300 {
                prop_assert_eq!(tables.page(7, page * SMALL_PAGE).is_some(), model.contains(&page));
            }
        }
    }
}
