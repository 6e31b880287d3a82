//! Random programs must end with the same state here as on qemu: recorded, and live if qemu is installed.
//!
//! `recorded.txt` holds qemu's results for the first programs, so that a machine without qemu can compare.
//! `UPDATE_EXPECT=1` writes it again. The live comparison also finds the first wrong instruction. It runs if qemu is
//! installed; with `SPINET_QEMU=1` a missing qemu is a failure. `SPINET_PROGRAMS` sets the number of programs,
//! `SPINET_SEED` the seed of the first.

mod core_machine;
mod recorded;

use core_machine::run_core;
use recorded::Record;
use std::io::Write;
use testkit::linked::{Linked, Outcome};
use testkit::plain_hart::run_plain;
use testkit::qemu::Emulator;
use testkit::random_program::{Program, random_program};

/// Items per program.
const LENGTH: usize = 200;
/// Programs per start of a simulator.
const BATCH: u64 = 50;
/// Programs in the gate.
const N_PROGRAMS: u64 = 300;
/// Instruction limit of a batch; more than a batch executes.
const MAX_STEPS: u64 = 10_000_000;

/// One of our machines: maps programs to final states, or to the reason of a failure.
type Machine = fn(&Linked) -> Result<Vec<Outcome>, String>;

const PLAIN_HART: Machine = |programs| run_plain(programs, MAX_STEPS).map_err(|stop| stop.to_string());
const CORE: Machine = |programs| run_core(programs, MAX_STEPS);
const MACHINES: [(&str, Machine); 2] = [("the plain hart", PLAIN_HART), ("the core", CORE)];

#[test]
fn programs_end_as_recorded_on_qemu() {
    let is_renewed = std::env::var_os("UPDATE_EXPECT").is_some();
    // An update of other expectations on a machine without qemu leaves these unchanged.
    if let Some(qemu) = Emulator::RiscV32.version().filter(|_| is_renewed) {
        let records = batches(1, N_PROGRAMS).flat_map(|programs| {
            let outcomes = reference(&Linked::new(&programs));
            programs.into_iter().zip(outcomes).map(|(program, outcome)| Record::new(&program, &outcome))
        });
        recorded::write(&qemu, records.collect());
    }
    let records = recorded::read();
    assert_eq!(records.len() as u64, N_PROGRAMS);
    for programs in batches(1, N_PROGRAMS) {
        let linked = Linked::new(&programs);
        for (name, machine) in MACHINES {
            for (program, outcome) in programs.iter().zip(run(machine, &linked)) {
                let theirs = &records[program.seed as usize - 1];
                recorded::compare(name, &Record::new(program, &outcome), theirs);
            }
        }
    }
    say(&format!("{N_PROGRAMS} programs end as recorded on qemu"));
}

#[test]
fn programs_end_as_live_on_qemu() {
    let is_wanted = std::env::var_os("SPINET_QEMU").is_some_and(|value| value == "1");
    let Some(qemu) = Emulator::RiscV32.version() else {
        assert!(!is_wanted, "SPINET_QEMU is 1, and qemu-riscv32 is missing: install Debian's qemu-user");
        return say("NOT RUN live: qemu-riscv32 is missing; compared with the recording only");
    };
    let (first, n) = (number("SPINET_SEED", 1), number("SPINET_PROGRAMS", N_PROGRAMS));
    for programs in batches(first, n) {
        let linked = Linked::new(&programs);
        // Our machines run first, because they have a limit.
        let ours = MACHINES.map(|(_, machine)| run(machine, &linked));
        let reference = reference(&linked);
        for ((name, machine), ours) in MACHINES.iter().zip(&ours) {
            compare(name, *machine, ours, &reference, &programs);
        }
    }
    say(&format!("{n} programs, starting with seed {first}, end as on {qemu}"));
}

/// The programs of these seeds, in batches.
fn batches(first: u64, n: u64) -> impl Iterator<Item = Vec<Program>> {
    let end = first + n;
    let batch = move |start: u64| (start..end.min(start + BATCH)).map(|seed| random_program(seed, LENGTH)).collect();
    (first..end).step_by(BATCH as usize).map(batch)
}

/// Prints to stderr directly: the test runner hides the output of passing tests, but the number of comparisons must be
/// visible.
fn say(what: &str) {
    writeln!(std::io::stderr(), "lockstep: {what}").expect("stderr is writable");
}

fn compare(name: &str, machine: Machine, ours: &[Outcome], theirs: &[Outcome], programs: &[Program]) {
    assert_eq!((ours.len(), theirs.len()), (programs.len(), programs.len()));
    for ((ours, theirs), program) in ours.iter().zip(theirs).zip(programs) {
        let difference = ours.difference(theirs);
        assert!(difference.is_empty(), "{name}, seed {}: {difference}\n{}", program.seed, cause(machine, program.seed));
    }
}

/// The first item after which `machine` and the reference differ.
fn cause(machine: Machine, seed: u64) -> String {
    for length in 1..=LENGTH {
        let program = random_program(seed, length);
        let linked = Linked::new(std::slice::from_ref(&program));
        let difference = run(machine, &linked)[0].difference(&reference(&linked)[0]);
        if !difference.is_empty() {
            return format!("the first difference is after item {length}: {difference}\n{}", program.last_item());
        }
    }
    "the program alone shows no difference".into()
}

fn run(machine: Machine, linked: &Linked) -> Vec<Outcome> {
    machine(linked).unwrap_or_else(|stop| panic!("{stop}"))
}

fn reference(linked: &Linked) -> Vec<Outcome> {
    let outcomes = Emulator::RiscV32.run(&linked.elf(), linked.n_programs, Linked::outcomes);
    outcomes.unwrap_or_else(|error| panic!("{error}"))
}

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, must be a number")),
        Err(_) => default,
    }
}
