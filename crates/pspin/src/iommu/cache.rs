//! Translation cache and page table walks.

use super::{LARGE_PAGE, LEVELS_OF_NOTHING, Page, SMALL_PAGE, SharedPageTables};
use crate::params::IommuParams;
use crate::protocol::THE_CARD;
use kernel::trace::Counter;
use kernel::{CounterList, Cycle};

struct Entry {
    context: u32,
    page: Page,
    used: u64,
}

/// A page table walk in progress.
struct Walk {
    done: Cycle,
    context: u32,
    /// Number of the small page that it looks up.
    number: u64,
    /// Its result.
    page: Option<Page>,
}

/// Result of a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// Known from this cycle on: the physical address, or `None` if the access is refused.
    At(Cycle, Option<u64>),
    /// All walkers are busy: try again later.
    Busy(Cycle),
}

/// A set-associative LRU cache of pages of both sizes.
///
/// Timing: a hit takes `hit_cycles`; a miss takes `level_cycles` more for each level. One lookup per cycle; up to
///         `walks` misses in flight. A miss to a page that is already being walked waits for that walk.
/// assumed: deregistering any page empties the whole cache.
pub struct TranslationCache {
    params: IommuParams,
    tables: SharedPageTables,
    /// Sets of at most `ways` entries.
    sets: Vec<Vec<Entry>>,
    version: u64,
    walks: Vec<Walk>,
    /// Number of lookups, as a time stamp for LRU.
    time: u64,
    hits: Counter,
    misses: Counter,
    refused: Counter,
}

impl TranslationCache {
    /// Creates an empty cache for these tables.
    pub fn new(params: IommuParams, tables: SharedPageTables) -> Self {
        let n_sets = (params.entries / params.ways) as usize;
        TranslationCache {
            params,
            tables,
            sets: (0..n_sets).map(|_| Vec::new()).collect(),
            version: 0,
            walks: Vec::new(),
            time: 0,
            hits: Counter::default(),
            misses: Counter::default(),
            refused: Counter::default(),
        }
    }

    /// Looks up an access of a context.
    pub fn look_up(&mut self, now: Cycle, context: u32, addr: u64, write: bool) -> Lookup {
        self.settle(now);
        let known = now + u64::from(self.params.hit_cycles);
        let may = |page: Page| (page.writable || !write).then(|| page.translate(addr));
        if context == THE_CARD {
            return Lookup::At(now, Some(addr));
        }
        self.time += 1;
        let found = [SMALL_PAGE, LARGE_PAGE].into_iter().find_map(|bytes| self.find(context, addr, bytes));
        if let Some(page) = found {
            self.hits.add(1);
            return self.answer(known, may(page));
        }
        let number = addr / SMALL_PAGE;
        if let Some(walk) = self.walks.iter().find(|walk| walk.context == context && walk.number == number) {
            let (done, page) = (walk.done.max(known), walk.page);
            self.misses.add(1);
            return self.answer(done, page.and_then(may));
        }
        if self.walks.len() == self.params.walks as usize {
            return Lookup::Busy(self.walks.iter().map(|walk| walk.done).min().unwrap_or(now + 1));
        }
        self.misses.add(1);
        let page = self.tables.borrow().page(context, addr);
        let levels = page.map_or(LEVELS_OF_NOTHING, |page| page.levels());
        let done = known + u64::from(levels) * u64::from(self.params.level_cycles);
        self.walks.push(Walk { done, context, number, page });
        self.answer(done, page.and_then(may))
    }

    fn answer(&mut self, at: Cycle, physical: Option<u64>) -> Lookup {
        self.refused.add(u64::from(physical.is_none()));
        Lookup::At(at, physical)
    }

    /// Adds the pages of finished walks to the cache. Empties the cache if a page was deregistered.
    fn settle(&mut self, now: Cycle) {
        let version = self.tables.borrow().version();
        if version != self.version {
            self.version = version;
            self.sets.iter_mut().for_each(Vec::clear);
            self.walks.clear();
        }
        self.walks.sort_by_key(|walk| walk.done);
        let over = self.walks.partition_point(|walk| walk.done <= now);
        let over: Vec<Walk> = self.walks.drain(..over).collect();
        for Walk { context, page, .. } in over {
            if let Some(page) = page {
                self.fill(context, page);
            }
        }
    }

    fn set_of(&self, addr: u64, bytes: u64) -> usize {
        (addr / bytes % self.sets.len() as u64) as usize
    }

    fn find(&mut self, context: u32, addr: u64, bytes: u64) -> Option<Page> {
        let (set, time) = (self.set_of(addr, bytes), self.time);
        let holds = |entry: &&mut Entry| {
            entry.context == context && entry.page.bytes == bytes && addr / bytes == entry.page.first / bytes
        };
        let entry = self.sets[set].iter_mut().find(holds)?;
        entry.used = time;
        Some(entry.page)
    }

    fn fill(&mut self, context: u32, page: Page) {
        if self.find(context, page.first, page.bytes).is_some() {
            return;
        }
        let (set, used) = (self.set_of(page.first, page.bytes), self.time);
        let set = &mut self.sets[set];
        if set.len() == self.params.ways as usize {
            let oldest = set.iter().enumerate().min_by_key(|(_, entry)| entry.used).map_or(0, |(i, _)| i);
            set.remove(oldest);
        }
        set.push(Entry { context, page, used });
    }

    /// Reports the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("translation_hits", self.hits.total());
        counters.add("translation_misses", self.misses.total());
        counters.add("refused", self.refused.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iommu::PageTables;
    use expect_test::{Expect, expect};
    use std::cell::RefCell;
    use std::rc::Rc;

    const PARAMS: IommuParams =
        IommuParams { enabled: true, entries: 4, ways: 2, hit_cycles: 2, level_cycles: 10, walks: 2 };

    /// Lookups as `cycle:page`, a write with a trailing `w`. Pages 0 to 15 are small, a large page starts at 512, and
    /// page 2 is read-only. The result is the cycle in which the answer is known, with `!` if the access is refused.
    fn check(script: &str, want: Expect) {
        let mut tables = PageTables::default();
        tables.register(1, 0, 0x100_0000, 2 * SMALL_PAGE, true).unwrap();
        tables.register(1, 2 * SMALL_PAGE, 0x100_2000, SMALL_PAGE, false).unwrap();
        tables.register(1, 3 * SMALL_PAGE, 0x100_3000, 13 * SMALL_PAGE, true).unwrap();
        tables.register(1, LARGE_PAGE, LARGE_PAGE, LARGE_PAGE, true).unwrap();
        let tables = Rc::new(RefCell::new(tables));
        let mut cache = TranslationCache::new(PARAMS, tables.clone());
        let mut text = String::new();
        for word in script.split_whitespace() {
            let (cycle, page) = word.split_once(':').expect("a colon");
            if page == "back" {
                tables.borrow_mut().unregister(1, 15 * SMALL_PAGE, SMALL_PAGE).unwrap();
                continue;
            }
            let addr = page.trim_end_matches('w').parse::<u64>().expect("a page") * SMALL_PAGE;
            let shown = match cache.look_up(cycle.parse().expect("a cycle"), 1, addr, page.ends_with('w')) {
                Lookup::At(at, Some(_)) => at.to_string(),
                Lookup::At(at, None) => format!("{at}!"),
                Lookup::Busy(at) => format!("busy:{at}"),
            };
            text += &format!("{word}={shown} ");
        }
        want.assert_eq(text.trim_end());
    }

    #[test]
    fn a_hit_passes_misses_and_a_third_miss_waits() {
        check("0:0 1:1 2:3 41:0 42:0 43:0 44:3", expect!["0:0=42 1:1=43 2:3=busy:42 41:0=43 42:0=44 43:0=45 44:3=86"]);
    }

    #[test]
    fn a_large_page_takes_a_table_less_and_one_entry() {
        check("0:512 32:1000 33:512w", expect!["0:512=32 32:1000=34 33:512w=35"]);
    }

    #[test]
    fn the_least_recently_used_of_a_set_gives_way() {
        check(
            "0:0 50:2 100:0 101:4 150:0 151:2 200:2",
            expect!["0:0=42 50:2=92 100:0=102 101:4=143 150:0=152 151:2=193 200:2=202"],
        );
    }

    #[test]
    fn what_is_not_registered_or_not_writable_is_refused_and_not_kept() {
        check("0:100 50:100 100:2w 150:2w 151:2", expect!["0:100=42! 50:100=92! 100:2w=142! 150:2w=152! 151:2=153"]);
    }

    #[test]
    fn pages_that_are_given_back_are_forgotten() {
        check("0:15 50:15 60:back 61:15 62:0", expect!["0:15=42 50:15=52 61:15=103! 62:0=104"]);
    }
}
