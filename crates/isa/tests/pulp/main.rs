//! Compares PULP's instructions with an oracle that works from their names, and with words from PULP's tools.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod header;
mod oracle;
mod words;

use isa::riscv::{Amo, CsrWrite, Extension, Hart, Load, LoopPart, Row, System, Width, decode, execute, row, rows};
use oracle::{Effect, Input};
use proptest::prelude::*;

/// A hart that logs every effect. Its memory returns one word, immediately.
struct LoggingHart {
    regs: [u32; 32],
    effect: Effect,
}

impl Hart for LoggingHart {
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
        unreachable!("PULP adds no AMOs");
    }

    fn advance(&mut self, r: u8, value: u32) {
        self.set(r, value);
    }

    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.effect.loops.push(format!("{id} {part:?} {value:#x}"));
    }

    fn csr(&mut self, _rd: u8, _csr: u16, _write: CsrWrite, _reads: bool) {
        unreachable!("PULP adds no accesses to control registers");
    }

    fn system(&mut self, _what: System) {
        unreachable!("PULP adds no system instructions");
    }

    fn illegal(&mut self, word: u32) {
        panic!("{word:#x} is illegal");
    }
}

fn pulp_rows() -> impl Iterator<Item = &'static Row> {
    rows().filter(|row| row.extension == Extension::Xpulpv2)
}

/// Registers and effects after `word` executed. A loaded value is written last.
fn run(word: u32, regs: [u32; 32]) -> ([u32; 32], Effect) {
    let mut hart = LoggingHart { regs, effect: Effect::default() };
    execute(&mut hart, &decode(word));
    if let Some((rd, value)) = hart.effect.loaded.take() {
        hart.set(rd, value);
    }
    (hart.regs, hart.effect)
}

fn check(row: &Row, word: u32, regs: [u32; 32]) -> Result<(), TestCaseError> {
    let given = Input::new(word, regs);
    let (mut want_regs, want_effect) = oracle::expect(row.name, row.format.syntax, &given);
    want_regs[0] = 0;
    let (regs_after, effect) = run(word, regs);
    prop_assert_eq!(&effect, &want_effect, "{} {:#010x} {:x?}", row.name, word, given);
    prop_assert_eq!(regs_after, want_regs, "{} {:#010x} {:x?}", row.name, word, given);
    Ok(())
}

/// Operands at the boundaries of words, halfwords and bytes.
const BOUNDARIES: [u32; 22] = [
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
    let one = prop_oneof![2 => any::<u32>(), 2 => proptest::sample::select(BOUNDARIES.to_vec()), 1 => 0..64u32];
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
fn every_row_agrees_with_the_oracle_at_the_boundaries() {
    for row in pulp_rows() {
        let mut n = 0;
        for (i, &a) in BOUNDARIES.iter().enumerate() {
            for (j, &b) in BOUNDARIES.iter().enumerate() {
                // Each register field is 10, 11, 12 or similar; all bits of a constant vary.
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
    fn every_row_agrees_with_the_oracle(place in 0..pulp_rows().count(), noise: u32, regs in registers()) {
        let row = pulp_rows().nth(place).unwrap();
        if let Some(word) = word_of(row, noise) {
            check(row, word, regs)?;
        }
    }
}

#[test]
fn rows_with_the_same_name_differ_in_their_operands() {
    let mut all: Vec<_> = pulp_rows().map(|row| format!("{} {}", row.name, row.format.syntax)).collect();
    for text in &all {
        assert_eq!(row(text).map(|row| format!("{} {}", row.name, row.format.syntax)).as_ref(), Some(text));
    }
    let n = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), n, "two rows have the same name and operands");
}
