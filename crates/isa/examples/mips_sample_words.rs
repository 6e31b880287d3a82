//! Prints samples of every MIPS instruction, neighbors of them, and random words, as assembler source.
//!
//! `tests/mips_binutils.txt` holds the disassembly by GNU binutils. Its first lines list the commands that made it.

use isa::mips::{Class, rows};

const SAMPLES_PER_ROW: usize = 6;
/// Words that differ from a sample in one bit. Many of them are illegal.
const NEIGHBORS_PER_ROW: usize = 4;
const RANDOM_WORDS: usize = 100;

fn main() {
    let mut random = Random(1);
    for row in rows() {
        let sample = |noise| row.encode(row.format.decode(noise)).expect("decoded operands can be encoded");
        // Most codes are 0, and assemblers omit a code of 0.
        let plain = matches!(row.op.class(), Class::Trap | Class::System).then_some(row.pattern.value);
        let words: Vec<_> = (0..SAMPLES_PER_ROW).map(|_| sample(random.next())).chain(plain).collect();
        words.iter().for_each(|word| println!(".word 0x{word:08x}"));
        for _ in 0..NEIGHBORS_PER_ROW {
            println!(".word 0x{:08x}", sample(random.next()) ^ 1 << (random.next() % 32));
        }
    }
    for _ in 0..RANDOM_WORDS {
        println!(".word 0x{:08x}", random.next());
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
