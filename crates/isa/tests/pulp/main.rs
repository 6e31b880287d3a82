//! PULP's instructions against an oracle that reads their names, and words that PULP's own tools made.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod header;
mod oracle;
mod words;

use isa::riscv::{Amo, CsrWrite, Extension, Hart, Load, LoopPart, Row, System, Width, decode, execute, row, rows};
use oracle::{Effect, Given};
use proptest::prelude::*;

/// A hart that shows every effect, and lets a memory of one word answer at once.
struct Witness {
    regs: [u32; 32],
    effect: Effect,
}

impl Hart for Witness {
    fn x(&self, r: u8) -> u32 {
        self.regs[usize::from(r)]
    }

    fn set(&mut self, r: u8, value: u32) {
        if r != 0 {
            self.regs[usize::from(r)] = value;
        }
    }

    fn pc(&self) -> u32 {
        oracle::PC
    }

    fn jump(&mut self, target: u32) {
        self.effect.jump = Some(target);
    }

    fn load(&mut self, rd: u8, addr: u32, kind: Load) {
        self.effect.access = Some(format!("load {} at {addr:#x}", kind.bytes()));
        self.effect.loaded = Some((rd, kind.extend(oracle::MEMORY)));
    }

    fn store(&mut self, addr: u32, value: u32, width: Width) {
        let bits = 8 * width.bytes();
        let value = u64::from(value) & ((1 << bits) - 1);
        self.effect.access = Some(format!("store {value:#x} to {} at {addr:#x}", width.bytes()));
    }

    fn amo(&mut self, _rd: u8, _addr: u32, _value: u32, _amo: Amo) {
        unreachable!("PULP has no AMOs of its own");
    }

    fn advance(&mut self, r: u8, value: u32) {
        self.set(r, value);
    }

    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.effect.loops.push(format!("{id} {part:?} {value:#x}"));
    }

    fn csr(&mut self, _rd: u8, _csr: u16, _write: CsrWrite, _reads: bool) {
        unreachable!("PULP has no accesses to control registers of its own");
    }

    fn system(&mut self, _what: System) {
        unreachable!("PULP has no system instructions of its own");
    }

    fn illegal(&mut self, word: u32) {
        panic!("{word:#x} is illegal");
    }
}

fn pulp_rows() -> impl Iterator<Item = &'static Row> {
    rows().filter(|row| row.extension == Extension::Xpulpv2)
}

/// Registers and effect after `word` was executed; what was loaded arrives last.
fn run(word: u32, regs: [u32; 32]) -> ([u32; 32], Effect) {
    let mut hart = Witness { regs, effect: Effect::default() };
    execute(&mut hart, &decode(word));
    if let Some((rd, value)) = hart.effect.loaded.take() {
        hart.set(rd, value);
    }
    (hart.regs, hart.effect)
}

fn check(row: &Row, word: u32, regs: [u32; 32]) -> Result<(), TestCaseError> {
    let given = Given::new(word, regs);
    let (mut want_regs, want_effect) = oracle::expect(row.name, row.format.syntax, &given);
    want_regs[0] = 0;
    let (regs_after, effect) = run(word, regs);
    prop_assert_eq!(&effect, &want_effect, "{} {:#010x} {:x?}", row.name, word, given);
    prop_assert_eq!(regs_after, want_regs, "{} {:#010x} {:x?}", row.name, word, given);
    Ok(())
}

/// Operands that show what goes wrong at the edges: of the word, of half words, of bytes.
const CORNERS: [u32; 22] = [
    0,
    1,
    2,
    3,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x8000_8000,
    0x7fff_7fff,
    0x8080_8080,
    0x7f7f_7f7f,
    0x8000_7fff,
    0x0001_ffff,
    0xff00_ff00,
    0x0123_4567,
    0xfedc_ba98,
];

fn registers() -> impl Strategy<Value = [u32; 32]> {
    let one = prop_oneof![2 => any::<u32>(), 2 => proptest::sample::select(CORNERS.to_vec()), 1 => 0..64u32];
    proptest::collection::vec(one, 32).prop_map(|values| {
        let mut regs: [u32; 32] = values.try_into().unwrap();
        regs[0] = 0;
        regs
    })
}

/// A word of `row` from random bits.
fn word_of(row: &Row, noise: u32) -> Option<u32> {
    row.encode(row.format.decode(noise))
}

#[test]
fn every_row_does_what_its_name_says_at_the_corners() {
    for row in pulp_rows() {
        let mut n = 0;
        for (i, &a) in CORNERS.iter().enumerate() {
            for (j, &b) in CORNERS.iter().enumerate() {
                // Registers 10, 11 and 12 or their like in each field, and all bits of a constant at some time.
                let noise = 0x00c5_8500 | ((i * 1471 + j * 353) as u32) << 20;
                let one = |r: u32| match r {
                    0 => 0,
                    11 => a,
                    12 => b,
                    _ => b ^ r << 27,
                };
                let regs = std::array::from_fn(|r| one(r as u32));
                let Some(word) = word_of(row, noise) else { continue };
                check(row, word, regs).unwrap_or_else(|e| panic!("{e}"));
                n += 1;
            }
        }
        assert!(n > 200, "{}: only {n} cases could be encoded", row.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn every_row_does_what_its_name_says(place in 0..pulp_rows().count(), noise: u32, regs in registers()) {
        let row = pulp_rows().nth(place).unwrap();
        if let Some(word) = word_of(row, noise) {
            check(row, word, regs)?;
        }
    }
}

#[test]
fn rows_of_one_name_differ_in_their_operands() {
    let mut all: Vec<_> = pulp_rows().map(|row| format!("{} {}", row.name, row.format.syntax)).collect();
    for text in &all {
        assert_eq!(row(text).map(|row| format!("{} {}", row.name, row.format.syntax)).as_ref(), Some(text));
    }
    let n = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), n, "two rows have the same name and operands");
}
