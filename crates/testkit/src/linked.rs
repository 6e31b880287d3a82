//! Several programs in one executable file.
//!
//! A program's image is code, padded to a page, and a data page. The code is position-independent. The data page begins
//! with the record: the initial values of x1 to x31 (the word for x0 is unused), then the data region. At its end, the
//! program stores its registers into the record and writes the record to standard output. Execution then continues in
//! the next image; an exit follows the last one. One start of a simulator thus runs many programs.

use crate::random_program::Program;
use isa::riscv::{Operands, row};

/// Alignment of images. qemu is slow if a program writes to a page that holds code.
pub const PAGE_BYTES: u32 = 4096;
/// Size of the saved registers at the start of a record, in bytes.
pub const REGISTERS_BYTES: u32 = 32 * 4;
/// Size of the data region after the registers, in bytes.
pub const DATA_BYTES: u32 = 1792;
/// Size of a record, in bytes.
pub const RECORD_BYTES: u32 = REGISTERS_BYTES + DATA_BYTES;

/// Linux system call number: `write(file, address, length)`.
pub const SYS_WRITE: u32 = 64;
/// Linux system call number: `exit(status)`.
pub const SYS_EXIT: u32 = 93;

/// Load address of the first image.
const BASE: u32 = 0x0001_0000;

/// Programs that run one after the other.
#[derive(Clone, Debug)]
pub struct Linked {
    /// Address of the first byte of `image` and of the first instruction.
    pub base: u32,
    /// Memory contents.
    pub image: Vec<u8>,
    /// Number of programs.
    pub n_programs: usize,
}

/// Final state of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// x0 to x31; x0 is 0.
    pub regs: [u32; 32],
    /// The data region, [`DATA_BYTES`] long.
    pub memory: Vec<u8>,
}

impl Linked {
    /// Concatenates programs.
    pub fn new(programs: &[Program]) -> Self {
        let mut image: Vec<u8> = programs.iter().flat_map(|program| program.image.iter().copied()).collect();
        for (name, operands) in exit() {
            let word = row(name).and_then(|row| row.encode(operands)).expect("the exit can be encoded");
            image.extend(word.to_le_bytes());
        }
        Linked { base: BASE, image, n_programs: programs.len() }
    }

    /// A static executable for 32-bit RISC-V Linux, with one segment that is readable, writable and executable.
    pub fn elf(&self) -> Vec<u8> {
        const HEADERS_BYTES: u32 = 52 + 32;
        let size = self.image.len() as u32;
        // The segment is also page-aligned in the file.
        let offset = HEADERS_BYTES.next_multiple_of(PAGE_BYTES);
        let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let mut half = |value: u16| file.extend(value.to_le_bytes());
        half(2); // Executable.
        half(243); // RISC-V.
        let mut word = |value: u32| file.extend(value.to_le_bytes());
        word(1); // Version of the format.
        word(self.base); // Entry.
        word(52); // The program header follows this header.
        word(0); // No section headers.
        word(1); // Flags: compressed instructions, soft float.
        let mut half = |value: u16| file.extend(value.to_le_bytes());
        [52, 32, 1, 40, 0, 0].into_iter().for_each(&mut half); // Sizes and counts of headers.
        let mut word = |value: u32| file.extend(value.to_le_bytes());
        // Loadable; offset in the file, virtual and physical address, sizes, permissions, alignment.
        [1, offset, self.base, self.base, size, size, 7, PAGE_BYTES].into_iter().for_each(&mut word);
        file.resize(offset as usize, 0);
        file.extend(&self.image);
        file
    }

    /// Parses the complete outcomes in the output of the programs.
    pub fn outcomes(output: &[u8]) -> Vec<Outcome> {
        output.chunks_exact(RECORD_BYTES as usize).map(Outcome::from_record).collect()
    }
}

impl Outcome {
    fn from_record(record: &[u8]) -> Self {
        let (saved, memory) = record.split_at(REGISTERS_BYTES as usize);
        let mut regs = [0; 32];
        for (reg, bytes) in regs.iter_mut().zip(saved.chunks_exact(4)).skip(1) {
            *reg = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Outcome { regs, memory: memory.to_vec() }
    }

    /// Digest of the outcome: FNV-1a over the registers and the data region.
    pub fn digest(&self) -> u64 {
        fnv(self.regs.iter().flat_map(|reg| reg.to_le_bytes()).chain(self.memory.iter().copied()))
    }

    /// Differences between this outcome and a reference, by register and byte; empty if there are none.
    pub fn difference(&self, reference: &Outcome) -> String {
        let mut text = String::new();
        for (r, (ours, theirs)) in self.regs.iter().zip(&reference.regs).enumerate() {
            if ours != theirs {
                text += &format!("x{r} is {ours:#x}, should be {theirs:#x}; ");
            }
        }
        for (at, (ours, theirs)) in self.memory.iter().zip(&reference.memory).enumerate() {
            if ours != theirs {
                text += &format!("data byte {at:#x} is {ours:#x}, should be {theirs:#x}; ");
            }
        }
        text
    }
}

/// 64-bit FNV-1a. A change of one byte always changes the digest. Source: RFC 9923.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn exit() -> [(&'static str, Operands); 3] {
    let li = |rd, value: u32| ("addi", Operands { rd, imm: value as i32, ..Operands::default() });
    [li(10, 0), li(17, SYS_EXIT), ("ecall", Operands::default())]
}
