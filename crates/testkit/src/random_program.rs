//! Random programs with every instruction of user mode.
//!
//! They do not access control registers, because Linux user mode has only the clocks. They have no instructions that
//! cause system calls or traps.

use crate::assembler::{Assembler, i, u};
use crate::linked::{DATA_BYTES, PAGE_BYTES, RECORD_BYTES, REGISTERS_BYTES};
use crate::random_items::{Generator, SP, SP_OFFSET, interesting};
use kernel::RandomStream;

/// A program with its initial data.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its seed.
    pub seed: u64,
    /// Code and data as [`linked`](crate::linked) describes.
    pub image: Vec<u8>,
    code: Assembler,
    last_item: usize,
    epilogue: usize,
}

impl Program {
    /// Disassembly of its last item, one instruction per line.
    pub fn last_item(&self) -> String {
        self.code.listing(self.last_item..self.epilogue)
    }

    /// Disassembly of all its code, one instruction per line.
    pub fn listing(&self) -> String {
        self.code.listing(0..self.code.here())
    }
}

/// The random program of `length` items for `seed`. An item is one instruction or a few that belong together, such as a
/// loop. A shorter program of the same seed is a prefix of a longer one.
pub fn random_program(seed: u64, length: usize) -> Program {
    let mut random = RandomStream::new(seed, "program");
    let mut record: Vec<u8> = (0..32).flat_map(|_| interesting(&mut random).to_le_bytes()).collect();
    record.extend((0..DATA_BYTES).map(|_| random.below(256) as u8));

    let mut generator = Generator::new(random);
    let pointer = generator.prologue();
    let mut last_item = generator.code.here();
    for _ in 0..length {
        last_item = generator.code.here();
        generator.item(0);
    }
    let epilogue = generator.code.here();
    generator.epilogue();

    let mut code = generator.code;
    // Space for the jump over the data. Its distance depends on the position of the data page.
    let over = code.reserve("jal");
    let data_page = code.here().next_multiple_of(PAGE_BYTES as usize);
    let end = data_page + (RECORD_BYTES.next_multiple_of(PAGE_BYTES)) as usize;
    code.patch(over, "jal", u(0, (end - over) as i32));
    let distance = (data_page - pointer) as i32 + (REGISTERS_BYTES + SP_OFFSET) as i32;
    let low = distance << 20 >> 20;
    code.patch(pointer, "auipc", u(SP, distance - low));
    code.patch(pointer + 4, "addi", i(SP, SP, low));

    let mut image = code.code.clone();
    image.resize(data_page, 0);
    image.extend(record);
    image.resize(end, 0);
    Program { seed, image, code, last_item, epilogue }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::riscv::{Extension, rows};
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_determines_the_program() {
        assert_eq!(random_program(7, 50).image, random_program(7, 50).image);
        assert_ne!(random_program(7, 50).image, random_program(8, 50).image);
    }

    #[test]
    fn a_shorter_program_is_a_prefix() {
        let (short, long) = (random_program(7, 20), random_program(7, 40));
        // The first two instructions depend on the position of the data page.
        assert_eq!(short.code.code[8..short.epilogue], long.code.code[8..short.epilogue]);
    }

    #[test]
    fn every_instruction_of_user_mode_occurs() {
        let mut missing: BTreeSet<_> =
            rows().filter(|row| row.extension != Extension::Xpulpv2).map(|row| row.name).collect();
        for seed in 0..100 {
            let program = random_program(seed, 200);
            for (_, inst) in program.code.instructions(0..program.epilogue) {
                missing.remove(inst.row().map_or("illegal", |row| row.name));
            }
        }
        let of_other_modes = "c.ebreak csrrc csrrci csrrs csrrsi csrrw csrrwi ebreak ecall mret uret wfi";
        assert_eq!(missing.into_iter().collect::<Vec<_>>().join(" "), of_other_modes);
    }
}
