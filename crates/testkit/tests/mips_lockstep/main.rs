//! Random MIPS programs must end with the same state here as on qemu: recorded, and live if qemu is installed.
//!
//! The environment variables are those of the RISC-V comparison in `lockstep`.

mod core_machine;

use blocks::mips::{PipelineKind, StoreKind};
use core_machine::run_core;
use kernel::Mode;
use std::io::Write;
use testkit::linked::{Outcome, fnv};
use testkit::mips::plain::run_plain;
use testkit::mips::program::{Batch, Program};
use testkit::qemu::Emulator;

/// Items per program.
const LENGTH: usize = 200;
/// Programs per start of a simulator.
const BATCH: u64 = 50;
/// Programs in the gate.
const N_PROGRAMS: u64 = 200;
/// Instruction limit of a batch, which is also its cycle limit; more than a batch needs.
const MAX_STEPS: u64 = 10_000_000;

const QEMU: Emulator = Emulator::Mips;
const TEXT: &str = include_str!("recorded.txt");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mips_lockstep/recorded.txt");

/// One of our machines: maps programs to final states, or to the reason of a failure.
type Machine = fn(&Batch) -> Result<Vec<Outcome>, String>;

const PLAIN: Machine = |programs| run_plain(programs, MAX_STEPS).map_err(|stop| stop.to_string());
const FIVE_STAGE: Machine = |programs| outcomes(programs, PipelineKind::FiveStage, StoreKind::Posted);
const FUNCTIONAL: Machine = |programs| outcomes(programs, PipelineKind::Functional, StoreKind::Held);
const MACHINES: [(&str, Machine); 3] =
    [("the plain machine", PLAIN), ("the five-stage core", FIVE_STAGE), ("the functional core", FUNCTIONAL)];

#[test]
fn programs_end_as_recorded_on_qemu() {
    let is_renewed = std::env::var_os("UPDATE_EXPECT").is_some();
    // An update of other expectations on a machine without qemu leaves these unchanged.
    if let Some(qemu) = QEMU.version().filter(|_| is_renewed) {
        let mut text = format!(
            "# What {qemu} made of random programs: seed, digest of the program, digest of registers and memory.\n\
             # Written by `UPDATE_EXPECT=1 cargo test -p testkit --test mips_lockstep`.\n"
        );
        for batch in batches(1, N_PROGRAMS) {
            let lines = batch.programs.iter().zip(reference(&batch));
            text.extend(lines.map(|(program, outcome)| record(program, &outcome) + "\n"));
        }
        std::fs::write(PATH, text).unwrap_or_else(|error| panic!("{PATH}: {error}"));
    }
    // Read at run time, because the file may have been updated. The compiled-in text makes the file a dependency.
    let text = std::fs::read_to_string(PATH).unwrap_or_else(|_| TEXT.into());
    let mut recorded = text.lines().filter(|line| !line.starts_with('#'));
    for batch in batches(1, N_PROGRAMS) {
        let ours = MACHINES.map(|(name, machine)| (name, run(machine, &batch)));
        for (place, program) in batch.programs.iter().enumerate() {
            let line = recorded.next();
            for (name, outcomes) in &ours {
                let ours = record(program, &outcomes[place]);
                assert_eq!(
                    Some(ours.as_str()),
                    line,
                    "{name}, seed {}: the live test finds the first difference",
                    program.seed
                );
            }
        }
    }
    assert_eq!(recorded.next(), None, "the recording has more programs than were run");
    say(&format!("{N_PROGRAMS} MIPS programs end as recorded on qemu"));
}

#[test]
fn programs_end_as_live_on_qemu() {
    let is_wanted = std::env::var_os("SPINET_QEMU").is_some_and(|value| value == "1");
    let Some(qemu) = QEMU.version() else {
        assert!(!is_wanted, "SPINET_QEMU is 1, and {QEMU} is missing: install Debian's qemu-user");
        return say(&format!("NOT RUN live: {QEMU} is missing; compared with the recording only"));
    };
    let (first, n) = (number("SPINET_SEED", 1), number("SPINET_PROGRAMS", N_PROGRAMS));
    for batch in batches(first, n) {
        // Our machines run first, because they have a limit.
        let ours = MACHINES.map(|(_, machine)| run(machine, &batch));
        let theirs = reference(&batch);
        for ((name, machine), ours) in MACHINES.iter().zip(&ours) {
            for ((ours, theirs), program) in ours.iter().zip(&theirs).zip(&batch.programs) {
                let (seed, difference) = (program.seed, ours.difference(theirs));
                assert!(difference.is_empty(), "{name}, seed {seed}: {difference}\n{}", cause(*machine, seed));
            }
        }
    }
    say(&format!("{n} MIPS programs, starting with seed {first}, end as on {qemu}"));
}

/// A core runs ahead and sleeps. Neither this nor the order of ticks may change the cycle counts.
#[test]
fn cycle_counts_do_not_depend_on_the_tick_order() {
    let batch = Batch::new(1..21, LENGTH);
    for (pipeline, stores) in
        [(PipelineKind::FiveStage, StoreKind::Posted), (PipelineKind::Functional, StoreKind::Held)]
    {
        let cycles = |mode| {
            let run = run_core(&batch, pipeline, stores, mode, MAX_STEPS).unwrap_or_else(|stop| panic!("{stop}"));
            (run.cycles, run.outcomes)
        };
        let normal = cycles(Mode::Normal);
        assert!(normal == cycles(Mode::TickAll), "{pipeline:?}: {:?}", normal.0);
        assert!(normal == cycles(Mode::Shuffled(3)), "{pipeline:?}: {:?}", normal.0);
    }
}

/// The programs of these seeds, in batches.
fn batches(first: u64, n: u64) -> impl Iterator<Item = Batch> {
    let end = first + n;
    (first..end).step_by(BATCH as usize).map(move |start| Batch::new(start..end.min(start + BATCH), LENGTH))
}

fn record(program: &Program, outcome: &Outcome) -> String {
    format!("{} {:016x} {:016x}", program.seed, fnv(program.image.iter().copied()), outcome.digest())
}

/// Prints to stderr directly: the test runner hides the output of passing tests, but the number of comparisons must be
/// visible.
fn say(what: &str) {
    writeln!(std::io::stderr(), "lockstep: {what}").expect("stderr is writable");
}

/// The first item after which `machine` and the reference differ.
fn cause(machine: Machine, seed: u64) -> String {
    for length in 1..=LENGTH {
        let batch = Batch::new(seed..seed + 1, length);
        let difference = run(machine, &batch)[0].difference(&reference(&batch)[0]);
        if !difference.is_empty() {
            return format!(
                "the first difference is after item {length}: {difference}\n{}",
                batch.programs[0].last_item()
            );
        }
    }
    "the program alone shows no difference".into()
}

fn outcomes(batch: &Batch, pipeline: PipelineKind, stores: StoreKind) -> Result<Vec<Outcome>, String> {
    run_core(batch, pipeline, stores, Mode::Normal, MAX_STEPS).map(|run| run.outcomes)
}

fn run(machine: Machine, batch: &Batch) -> Vec<Outcome> {
    let outcomes = machine(batch).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!(outcomes.len(), batch.programs.len());
    outcomes
}

fn reference(batch: &Batch) -> Vec<Outcome> {
    let outcomes = QEMU.run(&batch.elf(), batch.programs.len(), Batch::outcomes);
    outcomes.unwrap_or_else(|error| panic!("{error}"))
}

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, must be a number")),
        Err(_) => default,
    }
}
