//! Puts items in the order of time, in memory that does not grow with the run.
//!
//! Packets end in another order than their steps begin. Items from before the arrival of the oldest packet inside are complete, and can be taken. If
//! one packet stays very long, the items after its arrival go to a file of their own until it ends.
//!
//! Items wait in buckets of equal length. A bucket is sorted when it is taken, so it is small and in the processor's caches.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::take;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The first number of an item contains its kind in this number of lowest bits, and its time in ps above them.
pub const KIND_BITS: u32 = 3;
/// Number of kinds.
pub const KINDS: usize = 1 << KIND_BITS;

/// Number of buckets. They cover 65 us of cycles of 1 GHz, as long as packets wait in a full card.
const BUCKETS: u64 = 1 << 16;
/// Bits of the words that say which buckets have items.
const WORD: u64 = u64::BITS as u64;
/// Shortest length of a bucket, as a power of two in ps: a cycle of 1 GHz.
const SHORTEST: u32 = 10;
/// Words of a chunk of a bucket. With its header it has 256 bytes.
const CHUNK: usize = 31;
/// Number of lowest bits of an item's place that contain its position in the chunk. The other bits are the chunk's
/// number.
const IN_CHUNK: u32 = 5;
/// No chunk.
const NONE: u32 = u32::MAX;
/// Number of words after which items are taken.
const BATCH: usize = 1 << 15;
/// Maximum number of words that wait in memory: 32 MiB.
const MOST: usize = 1 << 22;
/// Words of a run that are read at once.
const READ: u64 = 1 << 13;

/// A sorted part of the file.
struct Run {
    /// Positions of the next word to read and of the end.
    next: u64,
    end: u64,
    /// Words that were read.
    ready: VecDeque<u64>,
}

/// A part of a bucket: whole items.
struct Chunk {
    words: [u64; CHUNK],
    /// Words with items.
    used: u32,
    /// The next chunk of the bucket, or of the free ones.
    next: u32,
}

/// A list of chunks.
#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    tail: u32,
}

impl Bucket {
    const EMPTY: Bucket = Bucket { head: NONE, tail: NONE };
}

/// Memory of all buckets. Chunks that are free are used again, the last one first.
struct Chunks {
    all: Vec<Chunk>,
    free: u32,
}

impl Chunks {
    /// Appends an item to a bucket.
    #[inline]
    fn push<const N: usize>(&mut self, bucket: &mut Bucket, item: [u64; N]) {
        let chunk = match self.all.get_mut(bucket.tail as usize) {
            Some(chunk) if chunk.used as usize + N <= CHUNK => chunk,
            _ => self.append(bucket),
        };
        let used = chunk.used as usize;
        chunk.words[used..used + N].copy_from_slice(&item);
        chunk.used += N as u32;
    }

    /// Appends an empty chunk to a bucket.
    fn append(&mut self, bucket: &mut Bucket) -> &mut Chunk {
        let chunk = match self.free {
            NONE => {
                self.all.push(Chunk { words: [0; CHUNK], used: 0, next: NONE });
                self.all.len() as u32 - 1
            }
            free => free,
        };
        if chunk == self.free {
            self.free = self.all[chunk as usize].next;
        }
        match bucket.tail {
            NONE => bucket.head = chunk,
            tail => self.all[tail as usize].next = chunk,
        }
        bucket.tail = chunk;
        let chunk = &mut self.all[chunk as usize];
        (chunk.used, chunk.next) = (0, NONE);
        chunk
    }

    /// Calls `give` with the first number of each item of a bucket, and its place.
    #[inline(always)]
    fn each(&self, bucket: Bucket, lengths: &[usize; KINDS], mut give: impl FnMut(u64, u32)) {
        let mut next = bucket.head;
        while let Some(chunk) = self.all.get(next as usize) {
            let mut at = 0;
            while at < (chunk.used as usize).min(CHUNK) {
                let key = chunk.words[at];
                give(key, next << IN_CHUNK | at as u32);
                at += lengths[kind_of(key)];
            }
            next = chunk.next;
        }
    }

    /// The item at this place, and the words after it.
    #[inline(always)]
    fn at(&self, place: u32) -> &[u64] {
        &self.all[(place >> IN_CHUNK) as usize].words[(place & ((1 << IN_CHUNK) - 1)) as usize..]
    }

    /// Frees all chunks of a bucket.
    fn release(&mut self, bucket: Bucket) {
        if bucket.tail != NONE {
            self.all[bucket.tail as usize].next = self.free;
            self.free = bucket.head;
        }
    }
}

/// Items that wait for earlier ones. An item is a list of numbers. Items are ordered by the first number; equal items stay in the order
/// in which they were added.
pub struct Ordered {
    /// Number of words of an item, by its kind.
    lengths: [usize; KINDS],
    longest: usize,
    chunks: Chunks,
    /// Bucket *n* has the items of times from *n* << `shift` on, at position *n* modulo their number. There are none before `first`.
    buckets: Vec<Bucket>,
    /// Bits of the buckets with items.
    occupied: Vec<u64>,
    shift: u32,
    first: u64,
    /// Words in the buckets.
    words: usize,
    /// The number of words at which items should be taken.
    due: usize,
    /// No item that is added later has a time before this.
    settled: u64,
    /// Items that were read from the file.
    read: Vec<u64>,
    /// Sorted items: the place of each in the chunks or, with [`IN_FILE`], in `read`. Both lists are kept to reuse their memory.
    order: Vec<u32>,
    /// Items that are being sorted by time, see [`entry`]. Kept to reuse its memory.
    entries: Vec<u128>,
    /// Path of the file for items that do not fit in memory.
    path: PathBuf,
    file: Option<File>,
    /// Words in the file.
    written: u64,
    runs: Vec<Run>,
    most: usize,
}

/// Bit of a place in [`Ordered::read`].
const IN_FILE: u32 = 1 << 31;

impl Ordered {
    /// No items yet. The file is created when it is needed, and removed when it is no longer needed.
    pub fn new(path: PathBuf, lengths: [usize; KINDS]) -> Ordered {
        Ordered {
            lengths,
            longest: lengths.into_iter().max().unwrap_or(0),
            chunks: Chunks { all: Vec::new(), free: NONE },
            buckets: vec![Bucket::EMPTY; BUCKETS as usize],
            occupied: vec![0; (BUCKETS / WORD) as usize],
            shift: SHORTEST,
            first: 0,
            words: 0,
            due: BATCH,
            settled: 0,
            read: Vec::new(),
            order: Vec::new(),
            entries: Vec::new(),
            path,
            file: None,
            written: 0,
            runs: Vec::new(),
            most: MOST,
        }
    }

    /// Adds an item.
    #[inline]
    pub fn push<const N: usize>(&mut self, item: [u64; N]) {
        debug_assert_eq!(self.lengths[kind_of(item[0])], N, "an item has the length of its kind");
        let number = self.bucket_of(item[0]);
        self.occupied[(number % BUCKETS / WORD) as usize] |= 1 << (number % WORD);
        self.chunks.push(&mut self.buckets[(number % BUCKETS) as usize], item);
        self.words += N;
    }

    /// The number of an item's bucket.
    #[inline]
    fn bucket_of(&mut self, key: u64) -> u64 {
        let at = key >> KIND_BITS;
        let number = (at >> self.shift).max(self.first);
        if number - self.first < BUCKETS { number } else { self.reach(at) }
    }

    /// Makes buckets longer, until there is one for this time. Returns its number.
    #[cold]
    fn reach(&mut self, at: u64) -> u64 {
        let is_far = |more: &u32| (at >> self.shift >> more).saturating_sub(self.first >> more) >= BUCKETS;
        let more = (0..).find(|more| !is_far(more)).unwrap_or(0);
        let all = self.first..self.first + BUCKETS;
        let before: Vec<_> = all.map(|number| (number, self.take(number))).collect();
        self.shift += more;
        self.first >>= more;
        for (number, joined) in before.into_iter().filter(|(_, bucket)| bucket.head != NONE) {
            let number = number >> more;
            let bucket = &mut self.buckets[(number % BUCKETS) as usize];
            match bucket.tail {
                NONE => *bucket = joined,
                tail => {
                    self.chunks.all[tail as usize].next = joined.head;
                    bucket.tail = joined.tail;
                }
            }
            self.occupied[(number % BUCKETS / WORD) as usize] |= 1 << (number % WORD);
        }
        (at >> self.shift).max(self.first)
    }

    /// Empties a bucket. Returns its contents.
    fn take(&mut self, number: u64) -> Bucket {
        self.occupied[(number % BUCKETS / WORD) as usize] &= !(1 << (number % WORD));
        std::mem::replace(&mut self.buckets[(number % BUCKETS) as usize], Bucket::EMPTY)
    }

    /// Returns true if enough words wait, see [`BATCH`].
    pub fn is_due(&self) -> bool {
        self.words >= self.due
    }

    /// Calls `give` with the items of times before `until`, in order. Some of the last ones may wait for the next call. No item of such a
    /// time may be added later.
    pub fn take_before(&mut self, until: u64, mut give: impl FnMut(&[u64]) -> io::Result<()>) -> io::Result<()> {
        self.settled = self.settled.max(until);
        while let Some(number) = self.next_bucket()?.filter(|&number| self.end_of(number) <= until) {
            let end = self.end_of(number).checked_mul(1 << KIND_BITS);
            for run in 0..self.runs.len() {
                self.read_before(run, end)?;
            }
            let bucket = self.take(number);
            self.sort(bucket);
            for place in self.order.drain(..) {
                let words = match place & IN_FILE {
                    0 => self.chunks.at(place),
                    _ => &self.read[(place & !IN_FILE) as usize..],
                };
                give(&words[..self.lengths[kind_of(words[0])]])?;
            }
            self.read.clear();
            self.chunks.release(bucket);
            self.first = number + 1;
        }
        if self.words == 0 {
            (self.shift, self.first) = (SHORTEST, self.settled >> SHORTEST);
        }
        self.first = self.first.max(until >> self.shift);
        self.runs.retain(|run| !run.ready.is_empty() || run.next < run.end);
        if self.runs.is_empty() {
            self.forget_file();
        }
        if self.words >= self.most {
            self.spill()?;
        }
        self.due = self.words + BATCH.min(self.most);
        Ok(())
    }

    /// Puts the items of a bucket and those of `read` into `order`, sorted.
    fn sort(&mut self, bucket: Bucket) {
        // The first time, bits in which the others differ from it, and the number of items of each kind.
        let time = self.chunks.all.get(bucket.head as usize).map_or(0, |chunk| chunk.words[0] >> KIND_BITS);
        let (mut differ, mut counts, mut words) = (0, [0; KINDS], 0);
        self.chunks.each(bucket, &self.lengths, |key, _| {
            differ |= time ^ key >> KIND_BITS;
            counts[kind_of(key)] += 1;
            words += self.lengths[kind_of(key)];
        });
        self.words -= words;
        if differ != 0 || !self.read.is_empty() {
            let (mut at, entries) = (0, &mut self.entries);
            // Items in the file were added earlier.
            while let Some(&key) = self.read.get(at) {
                entries.push(entry(key, entries.len(), at as u32 | IN_FILE));
                at += self.lengths[kind_of(key)];
            }
            self.chunks.each(bucket, &self.lengths, |key, place| entries.push(entry(key, entries.len(), place)));
            entries.sort_unstable();
            self.order.extend(entries.drain(..).map(|entry| entry as u32));
            return;
        }
        // Usually a bucket is a cycle: its items have one time, and only their kinds differ.
        let mut n = 0;
        let mut positions = counts.map(|count: usize| {
            n += count;
            n - count
        });
        self.order.resize(n, 0);
        self.chunks.each(bucket, &self.lengths, |key, place| {
            let position = &mut positions[kind_of(key)];
            self.order[*position] = place;
            *position += 1;
        });
    }

    /// The first time after a bucket.
    fn end_of(&self, number: u64) -> u64 {
        (number + 1) << self.shift
    }

    /// The first bucket that has items, in memory or in the file.
    fn next_bucket(&mut self) -> io::Result<Option<u64>> {
        let mut next = self.first_occupied();
        for run in 0..self.runs.len() {
            if let Some(key) = self.peek(run)? {
                let number = (key >> KIND_BITS >> self.shift).max(self.first);
                next = Some(next.map_or(number, |next| next.min(number)));
            }
        }
        Ok(next)
    }

    /// The first bucket that has items in memory.
    fn first_occupied(&self) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let (n_words, start) = (BUCKETS / WORD, self.first / WORD);
        // The word of the first bucket comes twice: its upper bits are the first buckets, its lower ones the last.
        (start..=start + n_words).find_map(|word| {
            let bits = self.occupied[(word % n_words) as usize];
            let masked = match word {
                _ if word == start => bits & u64::MAX << (self.first % WORD),
                _ if word == start + n_words => bits & !(u64::MAX << (self.first % WORD)),
                _ => bits,
            };
            (masked != 0).then(|| word * WORD + u64::from(masked.trailing_zeros()))
        })
    }

    /// The first number of the next item of a run.
    fn peek(&mut self, run: usize) -> io::Result<Option<u64>> {
        if self.runs[run].ready.len() < self.longest {
            self.refill(run)?;
        }
        Ok(self.runs[run].ready.front().copied())
    }

    /// Reads those items of a run whose first numbers are below `end`.
    fn read_before(&mut self, run: usize, end: Option<u64>) -> io::Result<()> {
        while let Some(key) = self.peek(run)?.filter(|&key| end.is_none_or(|end| key < end)) {
            self.read.extend(self.runs[run].ready.drain(..self.lengths[kind_of(key)]));
        }
        Ok(())
    }

    /// Moves all items to the file.
    fn spill(&mut self) -> io::Result<()> {
        let start = self.written;
        while let Some(number) = self.first_occupied() {
            let bucket = self.take(number);
            self.sort(bucket);
            let mut bytes = Vec::new();
            for place in take(&mut self.order) {
                let words = self.chunks.at(place);
                let words = &words[..self.lengths[kind_of(words[0])]];
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
            self.chunks.release(bucket);
            let file = match &self.file {
                Some(file) => file,
                None => {
                    let options = &mut OpenOptions::new();
                    self.file.insert(options.read(true).write(true).create(true).truncate(true).open(&self.path)?)
                }
            };
            file.write_all_at(&bytes, self.written * size_of::<u64>() as u64)?;
            self.written += (bytes.len() / size_of::<u64>()) as u64;
        }
        self.runs.push(Run { next: start, end: self.written, ready: VecDeque::new() });
        Ok(())
    }

    /// Reads the next words of a run.
    fn refill(&mut self, run: usize) -> io::Result<()> {
        let run = &mut self.runs[run];
        let n = (run.end - run.next).min(READ);
        if let Some(file) = self.file.as_ref().filter(|_| n > 0) {
            let mut bytes = vec![0; n as usize * size_of::<u64>()];
            file.read_exact_at(&mut bytes, run.next * size_of::<u64>() as u64)?;
            run.next += n;
            let (words, _) = bytes.as_chunks();
            run.ready.extend(words.iter().map(|&bytes| u64::from_le_bytes(bytes)));
        }
        Ok(())
    }

    fn forget_file(&mut self) {
        self.written = 0;
        if self.file.take().is_some() {
            // Only this process uses it, so it does no harm if it cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        self.forget_file();
    }
}

/// The kind of an item with this first number.
#[inline]
fn kind_of(key: u64) -> usize {
    key as usize % KINDS
}

/// An entry of [`Ordered::entries`], from high to low bits: the first number, its position among them, and its place.
fn entry(key: u64, position: usize, place: u32) -> u128 {
    u128::from(key) << u64::BITS | (position as u128) << u32::BITS | u128::from(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last kind has long items.
    const LENGTHS: [usize; KINDS] = [2, 2, 2, 2, 2, 2, 2, 5];

    fn ordered(path: &str) -> Ordered {
        let path = std::env::temp_dir().join(format!("spinet-{path}-{}", std::process::id()));
        Ordered::new(path, LENGTHS)
    }

    fn item(key: u64, rest: u64) -> Vec<u64> {
        let mut item = vec![rest; LENGTHS[kind_of(key)]];
        item[0] = key;
        item
    }

    fn push(ordered: &mut Ordered, key: u64, rest: u64) {
        match kind_of(key) {
            7 => ordered.push([key, rest, rest, rest, rest]),
            _ => ordered.push([key, rest]),
        }
    }

    /// Adds 1000 items with times up to `longest`, in batches of 25. After each batch, takes the items up to the time
    /// `settled`. Returns all items that were taken.
    fn all(ordered: &mut Ordered, longest: u64, settled: impl Fn(u64) -> u64) -> Vec<Vec<u64>> {
        // A fixed permutation of the keys: 379 is coprime to 1000. Every tenth key repeats the one before.
        let key = |i: u64| (i - u64::from(i % 10 == 9)) * 379 % 1000 * (longest << KIND_BITS) / 1000;
        let mut got = Vec::new();
        for i in 0..1000 {
            push(ordered, key(i), i);
            if i % 25 == 24 {
                let keep = |one: &[u64]| {
                    got.push(one.to_vec());
                    Ok(())
                };
                ordered.take_before(settled(i), keep).expect("written");
            }
        }
        let mut want: Vec<_> = (0..1000).map(|i| item(key(i), i)).collect();
        want.sort_by_key(|one| one[0]);
        let keep = |one: &[u64]| {
            got.push(one.to_vec());
            Ok(())
        };
        ordered.take_before(u64::MAX, keep).expect("read");
        assert_eq!(got, want);
        got
    }

    #[test]
    fn items_of_a_bucket_come_by_time_and_kind_and_then_as_they_were_added() {
        // A bucket of one time, and one of two times.
        for times in [1, 2] {
            let mut ordered = ordered("kinds");
            let key = |i: u64| (5000 + i % times) << KIND_BITS | i * 3 % KINDS as u64;
            (0..40).for_each(|i| push(&mut ordered, key(i), i));
            let mut got = Vec::new();
            let keep = |one: &[u64]| {
                got.push((one[0], one[1]));
                Ok(())
            };
            ordered.take_before(u64::MAX, keep).expect("in memory");
            let mut want: Vec<_> = (0..40).map(|i| (key(i), i)).collect();
            want.sort();
            assert_eq!(got, want);
        }
    }

    #[test]
    fn items_come_in_order_from_memory() {
        // In buckets of 1 ns, of 1 us, and of minutes.
        for longest in [1 << 20, 1 << 33, 1 << 50] {
            all(&mut ordered("memory"), longest, |_| 0);
        }
    }

    #[test]
    fn items_come_in_order_from_memory_and_file() {
        for longest in [1 << 20, 1 << 40] {
            let mut ordered = ordered("file");
            ordered.most = 100;
            all(&mut ordered, longest, |_| 0);
            assert!(!ordered.path.exists() && ordered.runs.is_empty());
        }
        for longest in [1 << 20, 1 << 40] {
            let mut ordered = ordered("waiting");
            ordered.most = 100;
            for i in 0..200 {
                push(&mut ordered, (longest << KIND_BITS) + i, i);
            }
            ordered.take_before(longest, |_| unreachable!("nothing is complete")).expect("written");
            assert!(ordered.path.exists() && ordered.runs.len() == 1 && ordered.words == 0);
        }
    }

    #[test]
    fn buckets_go_on_with_time() {
        let (mut ordered, mut n) = (ordered("time"), 0);
        for us in 0..100_000u64 {
            let at = us * 1_000_000;
            push(&mut ordered, (at + 999_999) << KIND_BITS, 2 * us + 1);
            push(&mut ordered, at << KIND_BITS | 7, 2 * us);
            let count = |one: &[u64]| {
                assert_eq!(one[1], n);
                n += 1;
                Ok(())
            };
            ordered.take_before(at, count).expect("in memory");
        }
        assert!(n > 190_000 && ordered.buckets.len() as u64 == BUCKETS);
    }

    #[test]
    fn taking_is_due_after_a_batch() {
        let mut ordered = ordered("unused");
        (0..BATCH as u64 / 2).for_each(|i| push(&mut ordered, i << 6, 0));
        assert!(ordered.is_due());
        ordered.take_before(10, |_| Ok(())).expect("in memory");
        assert!(!ordered.is_due());
    }
}
