//! The report of a comparison: the JSON of `docs/reference/diff-trace.md`. Its keys are stable.

use super::cause::Cause;
use super::values::{Differs, Kind};
use super::{Options, Sums};
use crate::elf::Elf;
use crate::instructions::{Entry, tracer_text};
use isa::riscv::register_name;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Traces of two runs, file by file.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/diff-trace.md describes each key")]
pub struct Report {
    pub equal: bool,
    pub files: Vec<Difference>,
    pub only_a: Vec<String>,
    pub only_b: Vec<String>,
}

/// Two traces.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/diff-trace.md describes each key")]
pub struct Difference {
    pub equal: bool,
    pub a: TraceFile,
    pub b: TraceFile,
    pub compared: u64,
    pub values: Values,
    pub apart: Apart,
    /// Number of instructions of each trace after the place from which on the traces never meet again.
    pub rest: Option<[u64; 2]>,
    pub time: Times,
}

/// One of the traces.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceFile {
    pub file: String,
    pub instructions: u64,
    /// Cycles from the first to the last instruction that both traces have.
    pub cycles: u64,
}

/// Differences in results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Values {
    pub differences: u64,
    pub by_kind: BTreeMap<Kind, u64>,
    pub first: Vec<ValueDifference>,
}

/// Places at which the runs diverged and met again.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Apart {
    pub times: u64,
    pub instructions: [u64; 2],
}

/// Differences in time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    pub differences: u64,
    /// Cycles of B less those of A.
    pub b_minus_a: i64,
    pub first: Option<TimeDifference>,
    pub by_cause: Vec<ByCause>,
    pub by_place: Vec<ByPlace>,
    pub by_function: Vec<ByFunction>,
}

/// An instruction of one of the traces.
#[derive(Clone, Debug, Serialize)]
pub struct Instruction {
    pub line: u64,
    pub cycle: u64,
    #[serde(serialize_with = "hex")]
    pub pc: u32,
    pub place: Option<String>,
    pub text: String,
}

/// A difference in values.
#[derive(Clone, Debug, Serialize)]
pub struct ValueDifference {
    pub kind: Kind,
    pub register: Option<&'static str>,
    #[serde(serialize_with = "hex_or_null")]
    pub value_a: Option<u32>,
    #[serde(serialize_with = "hex_or_null")]
    pub value_b: Option<u32>,
    pub a: Option<Instruction>,
    pub b: Option<Instruction>,
}

/// A difference in time: between the first of the instructions and the second.
#[derive(Clone, Debug, Serialize)]
pub struct TimeDifference {
    pub cause: Cause,
    pub compared: u64,
    pub cycles: [u64; 2],
    pub a: [Instruction; 2],
    pub b: [Instruction; 2],
}

/// Sums over a cause.
#[derive(Clone, Debug, Serialize)]
pub struct ByCause {
    pub cause: Cause,
    #[serde(flatten)]
    pub total: Total,
}

/// Sums over an instruction and a cause.
#[derive(Clone, Debug, Serialize)]
pub struct ByPlace {
    #[serde(serialize_with = "hex")]
    pub pc: u32,
    pub place: Option<String>,
    pub cause: Cause,
    #[serde(flatten)]
    pub total: Total,
}

/// Sums over a function.
#[derive(Clone, Debug, Serialize)]
pub struct ByFunction {
    pub function: String,
    #[serde(flatten)]
    pub total: Total,
}

/// Count of times that differ, and the cycles by which B was slower and faster.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Total {
    pub times: u64,
    pub b_slower: u64,
    pub b_faster: u64,
}

impl Total {
    /// Cycles of B less those of A.
    pub fn net(&self) -> i64 {
        self.b_slower as i64 - self.b_faster as i64
    }

    fn size(&self) -> u64 {
        self.b_slower + self.b_faster
    }
}

impl From<Sums> for Total {
    fn from(sums: Sums) -> Self {
        Total { times: sums.times, b_slower: sums.slower, b_faster: sums.faster }
    }
}

impl Instruction {
    pub(super) fn new(entry: &Entry, program: Option<&Elf>) -> Self {
        let mut text = tracer_text(entry.word).split_whitespace().collect::<Vec<_>>().join(" ");
        let signs = [('=', &entry.written), (':', &entry.read)];
        for (sign, (r, value)) in signs.iter().flat_map(|(sign, all)| all.iter().map(move |one| (sign, one))) {
            text += &format!("  {}{sign}{value:08x}", register_name(*r));
        }
        if let Some(addr) = entry.addr {
            text += &format!("  PA:{addr:08x}");
        }
        let place = program.map(|program| program.place(entry.pc));
        Instruction { line: entry.line, cycle: entry.cycle, pc: entry.pc, place, text }
    }
}

impl ValueDifference {
    pub(super) fn new(differs: Differs, a: Option<Instruction>, b: Option<Instruction>) -> Self {
        let register = differs.register.map(register_name);
        ValueDifference { kind: differs.kind, register, value_a: differs.a, value_b: differs.b, a, b }
    }
}

impl Difference {
    pub(super) fn new(a: &str, b: &str) -> Self {
        let side = |file: &str| TraceFile { file: file.into(), ..TraceFile::default() };
        Difference {
            equal: true,
            a: side(a),
            b: side(b),
            compared: 0,
            values: Values::default(),
            apart: Apart::default(),
            rest: None,
            time: Times::default(),
        }
    }

    /// Puts sums in order, the largest first.
    pub(super) fn sum_up(
        &mut self,
        by_kind: &BTreeMap<Kind, u64>,
        by_cause: &BTreeMap<Cause, Sums>,
        by_place: &BTreeMap<(u32, Cause), Sums>,
        options: &Options,
    ) {
        self.values.by_kind = by_kind.clone();
        self.values.differences = by_kind.values().sum();
        let time = &mut self.time;
        time.differences = by_cause.values().map(|sums| sums.times).sum();
        time.b_minus_a = self.b.cycles as i64 - self.a.cycles as i64;
        time.by_cause = by_cause.iter().map(|(&cause, &sums)| ByCause { cause, total: sums.into() }).collect();
        time.by_cause.sort_by_key(|row| (std::cmp::Reverse(row.total.size()), row.cause));
        let place = |pc| options.program.as_deref().map(|program| program.place(pc));
        let mut rows: Vec<_> = by_place.iter().map(|(&key, &sums)| (key, Total::from(sums))).collect();
        rows.sort_by_key(|(key, total)| (std::cmp::Reverse(total.size()), *key));
        if options.program.is_some() {
            let mut functions: BTreeMap<String, Total> = BTreeMap::new();
            for ((pc, _), total) in &rows {
                let place = place(*pc).unwrap_or_default();
                let function = place.split('+').next().unwrap_or_default();
                let sum = functions.entry(function.into()).or_default();
                sum.times += total.times;
                sum.b_slower += total.b_slower;
                sum.b_faster += total.b_faster;
            }
            time.by_function = functions.into_iter().map(|(function, total)| ByFunction { function, total }).collect();
            time.by_function.sort_by_key(|row| std::cmp::Reverse(row.total.size()));
            time.by_function.truncate(options.listed);
        }
        let rows = rows.into_iter().take(options.listed);
        time.by_place = rows.map(|((pc, cause), total)| ByPlace { pc, place: place(pc), cause, total }).collect();
        self.equal = self.values.differences == 0 && time.differences == 0 && self.rest.is_none();
    }
}

/// Addresses and values as JSON has them: `"0x1d000120"`.
fn hex<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#010x}"))
}

fn hex_or_null<S: Serializer>(value: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => hex(value, serializer),
        None => serializer.serialize_none(),
    }
}
