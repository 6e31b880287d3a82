//! Random programs end alike here and on qemu.
//!
//! `SPINET_PROGRAMS` sets how many are run, `SPINET_SEED` the seed of the first.

use testkit::linked::{Linked, Outcome};
use testkit::plain_hart::run_plain;
use testkit::qemu::run_qemu;
use testkit::random_program::random_program;

/// Items in a program.
const LENGTH: usize = 200;
/// Programs in one start of a simulator.
const BATCH: u64 = 50;

#[test]
fn a_plain_hart_ends_as_qemu_does() {
    let number = |name: &str, default| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, must be a number")),
        Err(_) => default,
    };
    let (n_programs, first) = (number("SPINET_PROGRAMS", 300), number("SPINET_SEED", 1));
    let mut seed = first;
    while seed < first + n_programs {
        let end = (seed + BATCH).min(first + n_programs);
        let programs: Vec<_> = (seed..end).map(|seed| random_program(seed, LENGTH)).collect();
        let linked = Linked::new(&programs);
        // Ours first: it knows when to stop.
        let ours = run(&linked);
        let theirs = reference(&linked);
        for ((ours, theirs), program) in ours.iter().zip(&theirs).zip(&programs) {
            let difference = ours.difference(theirs);
            assert!(difference.is_empty(), "seed {}: {difference}\n{}", program.seed, shortest(program.seed));
        }
        assert_eq!(ours.len(), theirs.len());
        seed = end;
    }
}

fn run(linked: &Linked) -> Vec<Outcome> {
    run_plain(linked, 10_000_000).unwrap_or_else(|stop| panic!("{stop}"))
}

fn reference(linked: &Linked) -> Vec<Outcome> {
    run_qemu(linked).unwrap_or_else(|error| panic!("{error}"))
}

/// The first item after which the two differ.
fn shortest(seed: u64) -> String {
    for length in 1..=LENGTH {
        let program = random_program(seed, length);
        let linked = Linked::new(std::slice::from_ref(&program));
        let difference = run(&linked)[0].difference(&reference(&linked)[0]);
        if !difference.is_empty() {
            return format!("after item {length} of it {difference}\n{}", program.last_item());
        }
    }
    "alone it ends alike".into()
}
