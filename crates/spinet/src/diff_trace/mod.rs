//! Compares two instruction traces: the first difference in behaviour, the first difference in time, and its cause.
//!
//! [`align`] pairs the instructions of both, [`values`] and [`cause`] describe the differences between them, [`report`]
//! is the result. Traces are read as a stream: memory grows with the program, not with the run.

mod align;
mod cause;
mod files;
mod report;
mod text;
mod values;

pub use cause::Cause;
pub use files::{DiffError, FolderDiff};
pub use report::{Difference, Report};

use crate::elf::Elf;
use crate::instructions::{Entry, Reader, TraceReadError};
use align::{Aligner, Stretch};
use cause::Causes;
use report::{Instruction, TimeDifference, ValueDifference};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::rc::Rc;
use values::{Differs, Kind, compare};

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of instructions that are read ahead to find where two runs meet again.
    pub lookahead: usize,
    /// Maximum number of differences in values, and of places, in the report.
    pub listed: usize,
    /// The program, for names of functions.
    pub program: Option<Rc<Elf>>,
}

impl Default for Options {
    fn default() -> Self {
        // assumed: more than any loop that waits in a handler takes, and some megabytes of memory.
        Options { lookahead: 20_000, listed: 10, program: None }
    }
}

/// Maximum number of places with separate times; a program memory of 32 KiB has at most 16,384.
const MAX_PLACES: usize = 1 << 16;

/// Sums of differences in time.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    times: u64,
    slower: u64,
    faster: u64,
}

impl Sums {
    fn add(&mut self, a: u64, b: u64) {
        self.times += 1;
        self.slower += b.saturating_sub(a);
        self.faster += a.saturating_sub(b);
    }
}

/// A comparison in progress.
pub struct TraceDiff<A, B> {
    aligner: Aligner<A, B>,
    options: Options,
    causes: Causes,
    found: Difference,
    by_kind: BTreeMap<Kind, u64>,
    by_cause: BTreeMap<Cause, Sums>,
    by_place: BTreeMap<(u32, Cause), Sums>,
    /// The last pair.
    last: Option<(Entry, Entry)>,
    /// The cause of a time difference that arose while the runs were apart.
    apart: Option<Cause>,
    is_lost: bool,
}

impl<A: BufRead, B: BufRead> TraceDiff<A, B> {
    /// Compares trace `a` with `b` of a core of `cluster`, if that is known.
    pub fn new(a: Reader<A>, b: Reader<B>, cluster: Option<u32>, options: Options) -> Self {
        let found = Difference::new(a.file(), b.file());
        let aligner = Aligner::new(a, b, options.lookahead);
        TraceDiff {
            aligner,
            options,
            causes: Causes::of(cluster),
            found,
            by_kind: BTreeMap::new(),
            by_cause: BTreeMap::new(),
            by_place: BTreeMap::new(),
            last: None,
            apart: None,
            is_lost: false,
        }
    }

    /// Takes up to `most` steps. Returns true if everything is compared.
    pub fn advance(&mut self, most: usize) -> Result<bool, TraceReadError> {
        if self.is_lost {
            return self.count_rest(most);
        }
        for _ in 0..most {
            match self.aligner.step()? {
                None => return Ok(true),
                Some(Stretch::Pair(a, b)) => self.pair(a, b),
                Some(Stretch::Apart(a, b)) => self.part(&a, &b),
                Some(Stretch::Lost(a, b)) => {
                    self.differs(Differs::PATH, a.as_ref(), b.as_ref());
                    self.found.rest = Some([u64::from(a.is_some()), u64::from(b.is_some())]);
                    self.is_lost = true;
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    fn count_rest(&mut self, most: usize) -> Result<bool, TraceReadError> {
        let (a, b, is_over) = self.aligner.count_rest(most)?;
        let rest = self.found.rest.get_or_insert_default();
        *rest = [rest[0] + a, rest[1] + b];
        Ok(is_over)
    }

    /// Compares an instruction that both runs executed.
    fn pair(&mut self, a: Entry, b: Entry) {
        self.found.compared += 1;
        if let Some((last_a, last_b)) = self.last.take() {
            let taken = (a.cycle - last_a.cycle, b.cycle - last_b.cycle);
            if taken.0 != taken.1 {
                self.took([&last_a, &a], [&last_b, &b], taken);
            }
            self.found.a.cycles += taken.0;
            self.found.b.cycles += taken.1;
        }
        self.apart = None;
        self.causes.see(a.pc);
        if let Some(differs) = compare(&a, &b) {
            self.differs(differs, Some(&a), Some(&b));
        }
        self.last = Some((a, b));
    }

    /// Instructions that only one of the traces executed.
    fn part(&mut self, a: &[Entry], b: &[Entry]) {
        // If only one trace has instructions here, use the other trace's next instruction, where both meet again.
        let (next_a, next_b) = self.aligner.next();
        let (first_a, first_b) = (a.first().or(next_a).cloned(), b.first().or(next_b).cloned());
        self.differs(Differs::PATH, first_a.as_ref(), first_b.as_ref());
        self.found.apart.times += 1;
        self.found.apart.instructions[0] += a.len() as u64;
        self.found.apart.instructions[1] += b.len() as u64;
        self.apart = Some(self.causes.apart(a.iter().chain(b)));
        a.iter().chain(b).for_each(|entry| self.causes.see(entry.pc));
    }

    /// Adds the cycles from the last pair of instructions to this one: `in_a` in one run, `in_b` in the other.
    fn took(&mut self, a: [&Entry; 2], b: [&Entry; 2], (in_a, in_b): (u64, u64)) {
        let cause = self.apart.unwrap_or_else(|| self.causes.between(a[0], a[1], (in_a, in_b)));
        self.by_cause.entry(cause).or_default().add(in_a, in_b);
        let place = (a[0].pc, cause);
        // The sums by cause contain all places, even if there are too many.
        if self.by_place.len() < MAX_PLACES || self.by_place.contains_key(&place) {
            self.by_place.entry(place).or_default().add(in_a, in_b);
        }
        if self.found.time.first.is_none() {
            let entry = |entry| Instruction::new(entry, self.options.program.as_deref());
            self.found.time.first = Some(TimeDifference {
                cause,
                compared: self.found.compared - 1,
                a: [entry(a[0]), entry(a[1])],
                b: [entry(b[0]), entry(b[1])],
                cycles: [in_a, in_b],
            });
        }
    }

    fn differs(&mut self, differs: Differs, a: Option<&Entry>, b: Option<&Entry>) {
        *self.by_kind.entry(differs.kind).or_default() += 1;
        if self.found.values.first.len() < self.options.listed {
            let entry = |entry| Instruction::new(entry, self.options.program.as_deref());
            self.found.values.first.push(ValueDifference::new(differs, a.map(entry), b.map(entry)));
        }
    }

    /// Returns the difference.
    pub fn finish(mut self) -> Difference {
        self.found.a.instructions = self.found.compared + self.found.apart.instructions[0];
        self.found.b.instructions = self.found.compared + self.found.apart.instructions[1];
        if let Some([a, b]) = self.found.rest {
            self.found.a.instructions += a;
            self.found.b.instructions += b;
        }
        self.found.sum_up(&self.by_kind, &self.by_cause, &self.by_place, &self.options);
        self.found
    }
}

#[cfg(test)]
mod tests;
