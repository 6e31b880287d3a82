//! qemu's results for the first programs, one line each: seed, digest of the program, digest of its final state.

use testkit::linked::{Outcome, fnv};
use testkit::random_program::Program;

const TEXT: &str = include_str!("recorded.txt");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lockstep/recorded.txt");

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub seed: u64,
    pub program: u64,
    pub outcome: u64,
}

impl Record {
    pub fn new(program: &Program, outcome: &Outcome) -> Self {
        Record { seed: program.seed, program: fnv(program.image.iter().copied()), outcome: outcome.digest() }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let seed = words.next()?.parse().ok()?;
        let mut digest = || u64::from_str_radix(words.next()?, 16).ok();
        Some(Record { seed, program: digest()?, outcome: digest()? })
    }
}

/// The lines of the file, in the order of their seeds.
pub fn read() -> Vec<Record> {
    // Read at run time, because the file may have been updated. The compiled-in text makes the file a dependency.
    let text = std::fs::read_to_string(PATH).unwrap_or_else(|_| TEXT.into());
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Record::parse(line).unwrap_or_else(|| panic!("recorded.txt: malformed line `{line}`"))).collect()
}

pub fn write(qemu: &str, records: Vec<Record>) {
    let mut text = format!(
        "# What {qemu} made of random programs: seed, digest of the program, digest of registers and memory.\n\
         # Written by `UPDATE_EXPECT=1 cargo test -p testkit --test lockstep`.\n"
    );
    for Record { seed, program, outcome } in records {
        text += &format!("{seed} {program:016x} {outcome:016x}\n");
    }
    std::fs::write(PATH, text).unwrap_or_else(|error| panic!("{PATH}: {error}"));
}

pub fn compare(name: &str, ours: &Record, theirs: &Record) {
    assert_eq!(ours.seed, theirs.seed, "recorded.txt lists the seeds in order");
    assert_eq!(
        ours.program, theirs.program,
        "seed {} is a different program than in the recording: record again with UPDATE_EXPECT=1",
        ours.seed
    );
    assert_eq!(
        ours.outcome, theirs.outcome,
        "{name}, seed {}: the final state differs from qemu's; with qemu-riscv32 installed, the live test finds the first difference",
        ours.seed
    );
}
