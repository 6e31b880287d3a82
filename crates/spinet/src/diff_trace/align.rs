//! Aligns two traces: pairs each instruction of one with an instruction of the other.
//!
//! While both are at the same address, instructions are paired. If they diverge, for instance because one polls more
//! often, both are read ahead to the nearest place where [`COMMON`] instructions have the same addresses.

use crate::instructions::{Entry, Reader, TraceReadError};
use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

/// Number of consecutive instructions that must have equal addresses where the traces meet again.
const COMMON: usize = 8;
/// Number of entries that are first read ahead in both traces. It doubles until the traces meet.
const NEAR: usize = 64;

/// The next entries of both traces.
#[derive(Debug, PartialEq, Eq)]
pub enum Stretch {
    /// The same instruction in both.
    Pair(Entry, Entry),
    /// Instructions that only one trace has, or that differ; after them the traces match again.
    Apart(Vec<Entry>, Vec<Entry>),
    /// The traces do not meet again. These are the next entries of both.
    Lost(Option<Entry>, Option<Entry>),
}

/// Reads two traces in step.
pub struct Aligner<A, B> {
    a: ReadAhead<A>,
    b: ReadAhead<B>,
    /// Maximum number of instructions that are read ahead.
    lookahead: usize,
}

/// A trace and its entries that were read ahead.
struct ReadAhead<R> {
    reader: Reader<R>,
    ahead: VecDeque<Entry>,
    is_over: bool,
}

impl<R: BufRead> ReadAhead<R> {
    /// Reads ahead until `n` instructions are buffered, or the trace ends.
    fn fill(&mut self, n: usize) -> Result<(), TraceReadError> {
        while self.ahead.len() < n && !self.is_over {
            match self.reader.read()? {
                Some(entry) => self.ahead.push_back(entry),
                None => self.is_over = true,
            }
        }
        Ok(())
    }

    fn key(&self, at: usize) -> [u32; COMMON] {
        std::array::from_fn(|i| self.ahead[at + i].pc)
    }

    /// Number of positions at which at least [`COMMON`] instructions are buffered.
    fn keys(&self) -> usize {
        (self.ahead.len() + 1).saturating_sub(COMMON)
    }
}

impl<A: BufRead, B: BufRead> Aligner<A, B> {
    pub fn new(a: Reader<A>, b: Reader<B>, lookahead: usize) -> Self {
        let (a, b) = (
            ReadAhead { reader: a, ahead: VecDeque::new(), is_over: false },
            ReadAhead { reader: b, ahead: VecDeque::new(), is_over: false },
        );
        Aligner { a, b, lookahead: lookahead.max(COMMON) }
    }

    /// The next step; `None` if both traces are at their end.
    pub fn step(&mut self) -> Result<Option<Stretch>, TraceReadError> {
        self.a.fill(1)?;
        self.b.fill(1)?;
        match (self.a.ahead.front(), self.b.ahead.front()) {
            (None, None) => return Ok(None),
            (Some(a), Some(b)) if a.pc == b.pc => {
                let pair = self.a.ahead.pop_front().zip(self.b.ahead.pop_front());
                return Ok(pair.map(|(a, b)| Stretch::Pair(a, b)));
            }
            _ => {}
        }
        let mut reach = NEAR.min(self.lookahead);
        loop {
            self.a.fill(reach)?;
            self.b.fill(reach)?;
            if let Some((i, j)) = self.meeting() {
                let (a, b) = (self.a.ahead.drain(..i).collect(), self.b.ahead.drain(..j).collect());
                return Ok(Some(Stretch::Apart(a, b)));
            }
            if reach == self.lookahead || self.a.is_over && self.b.is_over {
                return Ok(Some(Stretch::Lost(self.a.ahead.pop_front(), self.b.ahead.pop_front())));
            }
            reach = (2 * reach).min(self.lookahead);
        }
    }

    /// The nearest pair of positions in the buffered entries from which on both traces agree.
    fn meeting(&self) -> Option<(usize, usize)> {
        let mut first: HashMap<[u32; COMMON], usize> = HashMap::new();
        for j in (0..self.b.keys()).rev() {
            first.insert(self.b.key(j), j);
        }
        let places = (0..self.a.keys()).filter_map(|i| Some((i, *first.get(&self.a.key(i))?)));
        places.min_by_key(|(i, j)| i + j).or_else(|| self.common_end())
    }

    /// At the end of both traces, fewer than [`COMMON`] equal instructions suffice.
    fn common_end(&self) -> Option<(usize, usize)> {
        if !self.a.is_over || !self.b.is_over {
            return None;
        }
        let (a, b) = (&self.a.ahead, &self.b.ahead);
        let n = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a.pc == b.pc).count();
        let is_end = a.is_empty() || b.is_empty();
        (n > 0 || is_end).then(|| (a.len() - n, b.len() - n))
    }

    /// The next entries of both, as far as they are known.
    pub fn next(&self) -> (Option<&Entry>, Option<&Entry>) {
        (self.a.ahead.front(), self.b.ahead.front())
    }

    /// After [`Stretch::Lost`], reads up to `most` of the remaining instructions of each trace. Returns their numbers,
    /// and true if none is left.
    pub fn count_rest(&mut self, most: usize) -> Result<(u64, u64, bool), TraceReadError> {
        self.a.fill(most)?;
        self.b.fill(most)?;
        let counted = (self.a.ahead.len() as u64, self.b.ahead.len() as u64);
        self.a.ahead.clear();
        self.b.ahead.clear();
        Ok((counted.0, counted.1, self.a.is_over && self.b.is_over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// Every letter is an instruction.
    fn trace(text: &str) -> String {
        let line = |(i, letter)| format!("{i} {i} {:08x} 00000013 nop\n", letter as u32 * 4);
        text.chars().enumerate().map(line).collect()
    }

    fn aligned(a: &str, b: &str, lookahead: usize) -> String {
        let (a, b) = (format!("Time Cycles\n{}", trace(a)), format!("Time Cycles\n{}", trace(b)));
        let reader = |text: &'static str, name: &str| Reader::new(name.into(), text.as_bytes());
        let (a, b) = (String::leak(a), String::leak(b));
        let mut aligner = Aligner::new(reader(a, "a"), reader(b, "b"), lookahead);
        let letter = |entry: &Entry| char::from_u32(entry.pc / 4).unwrap();
        let mut text = String::new();
        while let Some(step) = aligner.step().unwrap() {
            let letters = |entries: &[Entry]| entries.iter().map(letter).collect::<String>();
            match step {
                Stretch::Pair(a, _) => text.push(letter(&a)),
                Stretch::Apart(a, b) => write!(text, "({}|{})", letters(&a), letters(&b)).unwrap(),
                Stretch::Lost(a, b) => {
                    let mut rest = (u64::from(a.is_some()), u64::from(b.is_some()));
                    loop {
                        let (a, b, is_all) = aligner.count_rest(3).unwrap();
                        rest = (rest.0 + a, rest.1 + b);
                        if is_all {
                            break;
                        }
                    }
                    write!(text, " lost {rest:?}").unwrap();
                }
            }
        }
        text
    }

    #[test]
    fn paths_part_and_meet() {
        let cases = [
            ("abcdefgh", "abcdefgh"),
            ("", ""),
            ("abcdefghijkl", "abXYcdefghijkl"),
            ("loop-loop-loop-abcdefgh", "loop-abcdefgh"),
            ("start:abcdefghij", "abcdefghij"),
            ("abcdefghij", "abcdefgh"),
            ("abcXdefghijklm", "abcYZdefghijklm"),
            ("abcXde", "abcYde"),
            ("abcX", "abcY"),
        ];
        let lines = cases.map(|(a, b)| aligned(a, b, 100));
        expect_test::expect![[r#"
            abcdefgh

            ab(|XY)cdefghijkl
            loop-(loop-loop-|)abcdefgh
            (start:|)abcdefghij
            abcdefgh(ij|)
            abc(X|YZ)defghijklm
            abc(X|Y)de
            abc lost (1, 1)"#]]
        .assert_eq(&lines.join("\n"));
        // The traces must meet within eight letters.
        expect_test::expect!["ab lost (18, 30)"].assert_eq(&aligned(
            "abcdefghijklmnopqrst",
            "ab123456789012cdefghijklmnopqrst",
            8,
        ));
    }

    proptest! {
        /// For any two traces, no instruction is lost or comes twice.
        #[test]
        fn both_traces_are_there_whole(a in "[abc]{0,60}", b in "[abc]{0,60}", lookahead in 0..40_usize) {
            let text = aligned(&a, &b, lookahead);
            let text = text.split(" lost").next().unwrap();
            let (mut of_a, mut of_b, mut side) = (String::new(), String::new(), (true, true));
            for letter in text.chars() {
                match letter {
                    '(' => side = (true, false),
                    '|' => side = (false, true),
                    ')' => side = (true, true),
                    _ => {
                        of_a.extend(side.0.then_some(letter));
                        of_b.extend(side.1.then_some(letter));
                    }
                }
            }
            prop_assert!(a.starts_with(&of_a) && b.starts_with(&of_b), "{} {}", of_a, of_b);
        }
    }
}
