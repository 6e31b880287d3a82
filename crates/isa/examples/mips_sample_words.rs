//! Writes a sample of every MIPS instruction, its neighbors, and words at random, as assembler source on standard output.
//!
//! What GNU binutils makes of them is kept in `tests/mips_binutils.txt`; its first lines say how it was made.

use isa::mips::{Class, rows};

const SAMPLES_PER_ROW: usize = 6;
/// Words that differ from a sample in one bit: many are no instructions.
const NEIGHBORS_PER_ROW: usize = 4;
const RANDOM_WORDS: usize = 100;

fn main() {
    let mut random = Random(1);
    for row in rows() {
        let sample = |noise| row.encode(row.format.decode(noise)).expect("what was decoded can be encoded");
        // A code is mostly 0, and written otherwise then.
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
