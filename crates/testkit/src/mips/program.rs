//! Random programs, several in one executable file.
//!
//! A program is code, padded to a page, and a data page, which begins with the record: the initial values of the
//! registers, then the data region. At its end, the program stores its registers into the record (HI in the place of
//! register 0), and LO into the first word of the data region. It then writes the record to standard output and jumps
//! over its data into the next program. An exit follows the last one.
//!
//! Programs do not contain actions that would end them: traps, overflow, misaligned addresses, division by 0, and
//! instructions that only this machine has.

use super::random_items::{Generator, HI_PLACE, interesting, point_to_data};
use super::text::word;
use crate::linked::{DATA_BYTES, Outcome, PAGE_BYTES, RECORD_BYTES, REGISTERS_BYTES};
use isa::mips::{Operands, decode, disassemble};
use kernel::RandomStream;

/// Linux system call number: `write(file, address, length)`.
pub const SYS_WRITE: u32 = 4004;
/// Linux system call number: `exit(status)`.
pub const SYS_EXIT: u32 = 4001;

/// Load address of the first program.
const BASE: u32 = 0x0001_0000;

/// A program with its initial data.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its seed.
    pub seed: u64,
    /// Code and data.
    pub image: Vec<u8>,
    base: u32,
    code: Vec<u32>,
    last_item: usize,
    epilogue: usize,
}

/// Programs that run one after the other.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The programs.
    pub programs: Vec<Program>,
    /// Address of the first byte of `image` and of the first instruction.
    pub base: u32,
    /// Memory contents.
    pub image: Vec<u8>,
}

impl Program {
    /// The random program of `length` items for `seed`, at address `base`. An item is one instruction or a few that
    /// belong together, such as a loop. A shorter program of the same seed is a prefix of a longer one.
    fn new(seed: u64, length: usize, base: u32) -> Program {
        let mut random = RandomStream::new(seed, "mips program");
        let mut record: Vec<u8> = (0..32).flat_map(|_| interesting(&mut random).to_be_bytes()).collect();
        record.extend((0..DATA_BYTES).map(|_| random.below(256) as u8));

        let mut generator = Generator::new(random, base);
        let pointer = generator.prologue();
        let mut last_item = generator.code.len();
        for _ in 0..length {
            last_item = generator.code.len();
            generator.item(0);
        }
        let epilogue = generator.code.len();
        generator.epilogue();
        let mut code = generator.code;
        let data_page = (4 * code.len() as u32 + 8).next_multiple_of(PAGE_BYTES);
        let end = data_page + RECORD_BYTES.next_multiple_of(PAGE_BYTES);
        let over = Operands { imm: (base + end) as i32, ..Operands::default() };
        code.extend([word("j", over), 0]);
        code[pointer] = point_to_data(data_page);

        let mut image: Vec<u8> = code.iter().flat_map(|word| word.to_be_bytes()).collect();
        image.resize(data_page as usize, 0);
        image.extend(record);
        image.resize(end as usize, 0);
        Program { seed, image, base, code, last_item, epilogue }
    }

    /// Disassembly of its last item, one instruction per line.
    pub fn last_item(&self) -> String {
        let places = self.last_item..self.epilogue;
        let line = |at: usize| (self.base + 4 * at as u32, self.code[at]);
        places.map(line).map(|(pc, word)| format!("{pc:8x}: {}\n", disassemble(decode(word), pc))).collect()
    }
}

impl Batch {
    /// The programs of `length` items for these seeds.
    pub fn new(seeds: impl Iterator<Item = u64>, length: usize) -> Batch {
        let (mut programs, mut image) = (Vec::new(), Vec::new());
        for seed in seeds {
            let program = Program::new(seed, length, BASE + image.len() as u32);
            image.extend(&program.image);
            programs.push(program);
        }
        let li = |rt, value: u32| word("addiu", Operands { rt, imm: value as i32, ..Operands::default() });
        let exit = [li(4, 0), li(2, SYS_EXIT), word("syscall", Operands::default())];
        image.extend(exit.into_iter().flat_map(u32::to_be_bytes));
        Batch { programs, base: BASE, image }
    }

    /// A static executable for 32-bit big-endian MIPS Linux, with one segment that is readable, writable and
    /// executable.
    pub fn elf(&self) -> Vec<u8> {
        const HEADERS_BYTES: u32 = 52 + 32;
        let size = self.image.len() as u32;
        // The segment is also page-aligned in the file.
        let offset = HEADERS_BYTES.next_multiple_of(PAGE_BYTES);
        let mut file = b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_be_bytes());
        let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_be_bytes());
        half(&mut file, 2); // Executable.
        half(&mut file, 8); // MIPS.
        // Version of the format; entry; the program header follows this one; no section headers; flags: MIPS II, o32.
        [1, self.base, 52, 0, 0x1000_1000].into_iter().for_each(|value| word(&mut file, value));
        [52, 32, 1, 40, 0, 0].into_iter().for_each(|value| half(&mut file, value)); // Sizes and counts of headers.
        // Loadable; offset in the file, virtual and physical address, sizes, permissions, alignment.
        [1, offset, self.base, self.base, size, size, 7, PAGE_BYTES]
            .into_iter()
            .for_each(|value| word(&mut file, value));
        file.resize(offset as usize, 0);
        file.extend(&self.image);
        file
    }

    /// Parses the complete outcomes in the output of the programs. Register 0 holds HI.
    pub fn outcomes(output: &[u8]) -> Vec<Outcome> {
        let outcome = |record: &[u8]| {
            let (saved, memory) = record.split_at(REGISTERS_BYTES as usize);
            let mut regs = [0; 32];
            for (reg, bytes) in regs.iter_mut().zip(saved.chunks_exact(4)) {
                *reg = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            Outcome { regs, memory: memory.to_vec() }
        };
        output.chunks_exact(RECORD_BYTES as usize).map(outcome).collect()
    }
}

const _: () = assert!(HI_PLACE == 0, "the record begins with HI");

#[cfg(test)]
mod tests {
    use super::*;
    use isa::mips::rows;
    use std::collections::BTreeSet;

    #[test]
    fn a_shorter_program_is_a_prefix() {
        let (short, long) = (Program::new(7, 20, BASE), Program::new(7, 40, BASE));
        // The first instruction depends on the position of the data page.
        assert_eq!(short.code[4..short.epilogue], long.code[4..short.epilogue]);
    }

    #[test]
    fn every_instruction_of_user_mode_occurs() {
        let mut missing: BTreeSet<_> = rows().map(|row| row.name).collect();
        for program in Batch::new(0..100, 200).programs {
            for &word in &program.code[..program.epilogue] {
                missing.remove(decode(word).row().map_or("illegal", |row| row.name));
            }
        }
        assert_eq!(missing.into_iter().collect::<Vec<_>>().join(" "), "break joff pri syscall");
    }
}
