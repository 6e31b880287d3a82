//! Prints samples of every RISC-V instruction, neighbors of them, and random words, as assembler source.
//!
//! `tests/binutils.txt` holds the disassembly by GNU binutils. Its first lines list the commands that made it.

use isa::riscv::{Extension, Operands, Row, rows};

const SAMPLES_PER_ROW: usize = 5;
/// Words that differ from a sample in one bit. Many of them are illegal.
const NEIGHBORS_PER_ROW: usize = 3;
const RANDOM_WORDS: usize = 100;

fn main() {
    let mut random = Random(1);
    // Binutils has no PULP instructions.
    for row in rows().filter(|row| row.extension != Extension::Xpulpv2) {
        for _ in 0..SAMPLES_PER_ROW {
            print(sample(row, &mut random));
        }
        for _ in 0..NEIGHBORS_PER_ROW {
            print(sample(row, &mut random) ^ 1 << (random.next() % (8 * u32::from(row.pattern.len))));
        }
    }
    for _ in 0..RANDOM_WORDS {
        print(random.next());
    }
}

fn print(word: u32) {
    match word {
        word if word & 31 == 31 => {} // Prefix of instructions longer than 32 bits.
        word if word & 3 == 3 => println!(".insn 0x{word:08x}"),
        word => println!(".insn 0x{:04x}", word & 0xffff),
    }
}

/// A random encoding of `row` whose bits all belong to the pattern or to operands, as from an assembler.
fn sample(row: &Row, random: &mut Random) -> u32 {
    loop {
        let operands: Operands = row.format.decode(random.next());
        if let Some(word) = row.encode(operands) {
            return word;
        }
    }
}

/// xorshift32, from George Marsaglia's "Xorshift RNGs" (2003).
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}
