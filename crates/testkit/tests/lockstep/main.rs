//! Random programs end alike here and on qemu.
//!
//! `SPINET_PROGRAMS` sets how many are run, `SPINET_SEED` the seed of the first.

mod core_machine;

use core_machine::run_core;
use testkit::linked::{Linked, Outcome};
use testkit::plain_hart::run_plain;
use testkit::qemu::run_qemu;
use testkit::random_program::{Program, random_program};

/// Items in a program.
const LENGTH: usize = 200;
/// Programs in one start of a simulator.
const BATCH: u64 = 50;
/// More instructions than a batch executes.
const MAX_STEPS: u64 = 10_000_000;

/// A machine of ours: programs to what they leave behind, or why it stopped.
type Machine = fn(&Linked) -> Result<Vec<Outcome>, String>;

const PLAIN_HART: Machine = |programs| run_plain(programs, MAX_STEPS).map_err(|stop| stop.to_string());
const CORE: Machine = |programs| run_core(programs, MAX_STEPS);

#[test]
fn programs_end_here_as_on_qemu() {
    let first = number("SPINET_SEED", 1);
    let end = first + number("SPINET_PROGRAMS", 300);
    for start in (first..end).step_by(BATCH as usize) {
        let programs: Vec<_> = (start..end.min(start + BATCH)).map(|seed| random_program(seed, LENGTH)).collect();
        let linked = Linked::new(&programs);
        // Ours first: they know when to stop.
        let (plain, core) = (run(PLAIN_HART, &linked), run(CORE, &linked));
        let reference = reference(&linked);
        compare("the plain hart", PLAIN_HART, &plain, &reference, &programs);
        compare("the core", CORE, &core, &reference, &programs);
    }
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
            return format!("it begins with item {length}: {difference}\n{}", program.last_item());
        }
    }
    "alone the program ends alike".into()
}

fn run(machine: Machine, linked: &Linked) -> Vec<Outcome> {
    machine(linked).unwrap_or_else(|stop| panic!("{stop}"))
}

fn reference(linked: &Linked) -> Vec<Outcome> {
    run_qemu(linked).unwrap_or_else(|error| panic!("{error}"))
}

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, must be a number")),
        Err(_) => default,
    }
}
