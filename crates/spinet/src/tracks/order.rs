//! Puts items in the order of time, in memory that does not grow with the run.
//!
//! Packets end in another order than their steps begin. Items from before the arrival of the oldest packet inside are complete, and can be taken. If
//! one packet stays very long, the items after its arrival go to a file of their own until it ends.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Numbers of an item. Items are ordered by the first number; equal items stay in the order in which they were added.
pub type Item = [u64; 8];

const ITEM_BYTES: usize = size_of::<Item>();
/// Items that come before they are put in order.
const BATCH: usize = 1 << 14;
/// Most items in memory besides: 16 MiB of them.
const MOST: usize = 1 << 18;
/// Items of a run that are read at once.
const READ: usize = 1 << 10;

/// A sorted part of the file.
struct Run {
    /// Position of the next item to read, and of the end, in items.
    next: u64,
    end: u64,
    /// Items that were read.
    ready: VecDeque<Item>,
}

/// Items that wait for earlier ones.
pub struct Ordered {
    items: Vec<Item>,
    /// First numbers and positions of the items that are being sorted. Kept to reuse the allocation.
    order: Vec<(u64, u32)>,
    /// Number of items at which the next sort is due.
    due: usize,
    /// Where items go that are too many.
    path: PathBuf,
    file: Option<File>,
    /// Items in the file.
    written: u64,
    runs: Vec<Run>,
    most: usize,
}

impl Ordered {
    /// Nothing yet. The file is made if it is needed, and removed when it is not.
    pub fn new(path: PathBuf) -> Ordered {
        Ordered {
            items: Vec::new(),
            order: Vec::new(),
            due: BATCH,
            path,
            file: None,
            written: 0,
            runs: Vec::new(),
            most: MOST,
        }
    }

    /// Adds an item.
    pub fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Returns true if it is worth to take items.
    pub fn is_due(&self) -> bool {
        self.items.len() >= self.due
    }

    /// Calls `give` with the items whose first number is below `end`, in order. No such item may be added later.
    pub fn take_before(&mut self, end: u64, mut give: impl FnMut(&Item) -> io::Result<()>) -> io::Result<()> {
        let mut order = std::mem::take(&mut self.order);
        order.extend((0..).zip(&self.items).filter(|(_, item)| item[0] < end).map(|(at, item)| (item[0], at)));
        order.sort_unstable();
        let mut own = order.iter().peekable();
        loop {
            let run = self.first_run()?.filter(|(_, first)| *first < end);
            match (run, own.peek()) {
                // Items in the file were added earlier.
                (Some((run, first)), own) if own.is_none_or(|(next, _)| first <= *next) => {
                    give(&self.runs[run].ready.pop_front().expect("it has a first item"))?;
                }
                (_, Some(_)) => {
                    let (_, at) = own.next().expect("there is one");
                    give(&self.items[*at as usize])?;
                }
                _ => break,
            }
        }
        order.clear();
        self.order = order;
        self.items.retain(|item| item[0] >= end);
        self.runs.retain(|run| !run.ready.is_empty() || run.next < run.end);
        if self.runs.is_empty() {
            self.forget_file();
        }
        if self.items.len() >= self.most {
            self.spill()?;
        }
        self.due = self.items.len() + BATCH.min(self.most);
        Ok(())
    }

    /// The run with the least item (the oldest run, if several have it), and the first number of that item.
    fn first_run(&mut self) -> io::Result<Option<(usize, u64)>> {
        let mut first: Option<(usize, u64)> = None;
        for (number, run) in self.runs.iter_mut().enumerate() {
            if run.ready.is_empty() && run.next < run.end {
                let file = self.file.as_ref().expect("a run is in the file");
                read(file, run)?;
            }
            if let Some(item) = run.ready.front().filter(|item| first.is_none_or(|(_, least)| item[0] < least)) {
                first = Some((number, item[0]));
            }
        }
        Ok(first)
    }

    /// Moves all items to the file.
    fn spill(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => {
                let options = &mut OpenOptions::new();
                self.file.insert(options.read(true).write(true).create(true).truncate(true).open(&self.path)?)
            }
        };
        self.items.sort_by_key(|item| item[0]);
        let bytes: Vec<u8> = self.items.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
        file.write_all_at(&bytes, self.written * ITEM_BYTES as u64)?;
        let end = self.written + self.items.len() as u64;
        self.runs.push(Run { next: self.written, end, ready: VecDeque::new() });
        self.written = end;
        self.items.clear();
        Ok(())
    }

    fn forget_file(&mut self) {
        self.written = 0;
        if self.file.take().is_some() {
            // It is ours alone; one that cannot be removed is only litter.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        self.forget_file();
    }
}

/// Reads the next items of a run.
fn read(file: &File, run: &mut Run) -> io::Result<()> {
    let n = (run.end - run.next).min(READ as u64);
    let mut bytes = vec![0; n as usize * ITEM_BYTES];
    file.read_exact_at(&mut bytes, run.next * ITEM_BYTES as u64)?;
    run.next += n;
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let item = |bytes: &[u8]| -> Item { std::array::from_fn(|i| number(&bytes[8 * i..8 * i + 8])) };
    run.ready.extend(bytes.chunks_exact(ITEM_BYTES).map(item));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(time: u64, rest: u64) -> Item {
        [time, rest, 0, 0, 0, 0, 0, 0]
    }

    #[test]
    fn items_come_in_order_from_memory_and_file() {
        let path = std::env::temp_dir().join(format!("spinet-order-{}", std::process::id()));
        let mut ordered = Ordered::new(path.clone());
        ordered.most = 50;
        // Times in a fixed disorder: 379 is prime to 1000.
        let all: Vec<Item> = (0..1000).map(|i| item(i * 379 % 1000, i)).collect();
        let mut got = Vec::new();
        for (i, one) in all.iter().enumerate() {
            ordered.push(*one);
            if i % 25 == 24 {
                ordered.take_before(0, |_| unreachable!("nothing is complete")).expect("written");
            }
        }
        assert!(path.exists() && ordered.runs.len() > 10, "{} runs", ordered.runs.len());
        for (time, n) in [(1, 1), (500, 500), (500, 500), (999, 999), (u64::MAX, 1000)] {
            let keep = |one: &Item| {
                got.push(*one);
                Ok(())
            };
            ordered.take_before(time, keep).expect("read");
            assert_eq!(got.len(), n);
        }
        let mut want = all;
        want.sort();
        assert_eq!(got, want);
        assert!(!path.exists());
    }

    #[test]
    fn a_sort_is_due_after_a_batch() {
        let mut ordered = Ordered::new(PathBuf::from("unused"));
        (0..BATCH as u64).for_each(|i| ordered.push(item(i, 0)));
        assert!(ordered.is_due());
        ordered.take_before(10, |_| Ok(())).expect("in memory");
        assert!(!ordered.is_due());
    }
}
