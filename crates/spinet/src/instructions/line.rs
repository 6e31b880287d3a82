//! The lines of a trace. The part of a line that depends on the instruction alone is made once and kept by address.

use super::disassembly::{base_word, tracer_text};
use blocks::cpu::{Retired, SINK};
use blocks::mips;
use isa::mips::disassemble;
use isa::mips::format::Operands;
use isa::riscv::format::{NONE, Register};
use isa::riscv::{Class, Inst};
use smallvec::SmallVec;

/// Number of instructions that are kept: as many as PsPIN's program memory holds. It is a power of two.
const KEPT: usize = 1 << 14;

/// Texts of instructions. An instruction replaces the previous one with the same address modulo twice [`KEPT`]. Memory is only
/// allocated for instructions that ran.
pub struct Texts<I>(Vec<Option<Box<Text<I>>>>);

/// The fixed part of an instruction's lines.
struct Text<I> {
    pc: u32,
    inst: I,
    /// Address, word and disassembly, with a blank before each.
    fixed: String,
    /// Registers written, then registers read, in the order of the line.
    registers: SmallVec<[Column; 5]>,
}

/// A register in a line.
struct Column {
    /// For example `" x10="`.
    label: [u8; 5],
    value: Value,
}

/// The value that a column shows.
#[derive(Clone, Copy)]
enum Value {
    /// Written values, absent if the instruction trapped.
    NewRd,
    NewRs1,
    Rs1,
    Rs2,
    Rs3,
}

impl<I> Default for Texts<I> {
    fn default() -> Self {
        Texts(Vec::new())
    }
}

impl<I: Copy + PartialEq> Texts<I> {
    fn get(&mut self, pc: u32, inst: I, make: impl FnOnce() -> Text<I>) -> &Text<I> {
        let place = (pc >> 1) as usize % KEPT;
        if place >= self.0.len() {
            self.0.resize_with(place + 1, || None);
        }
        let slot = &mut self.0[place];
        if slot.as_ref().is_some_and(|text| text.pc != pc || text.inst != inst) {
            *slot = None;
        }
        slot.get_or_insert_with(|| Box::new(make()))
    }
}

impl Texts<Inst> {
    /// Appends the line of an instruction that left decode at `ps` picoseconds.
    pub fn push_line(&mut self, line: &mut Vec<u8>, ps: u64, retired: &Retired) {
        let Retired { cycle, pc, inst, before, after, addr, trapped } = *retired;
        let text = self.get(pc, inst, || riscv_text(pc, inst));
        push_times(line, ps, cycle);
        line.extend_from_slice(text.fixed.as_bytes());
        for column in &text.registers {
            let value = match column.value {
                Value::NewRd | Value::NewRs1 if trapped => continue,
                Value::NewRd => after.rd,
                Value::NewRs1 => after.rs1,
                Value::Rs1 => before.rs1,
                Value::Rs2 => before.rs2,
                Value::Rs3 => before.rs3,
            };
            push_value(line, column.label, value);
        }
        push_end(line, addr);
    }
}

impl Texts<isa::mips::Inst> {
    /// Appends the line of a MIPS instruction that executed at `ps` picoseconds.
    pub fn push_mips_line(&mut self, line: &mut Vec<u8>, ps: u64, retired: &mips::Retired) {
        let mips::Retired { cycle, pc, inst, wrote, addr } = *retired;
        let text = self.get(pc, inst, || mips_text(pc, inst));
        push_times(line, ps, cycle);
        line.extend_from_slice(text.fixed.as_bytes());
        if let Some((r, value)) = wrote {
            push_value(line, label(r, b'='), value);
        }
        push_end(line, addr);
    }
}

fn fixed(pc: u32, word: u32, disassembly: &str) -> String {
    format!(" {pc:08x} {word:08x} {disassembly:<36}")
}

fn mips_text(pc: u32, inst: isa::mips::Inst) -> Text<isa::mips::Inst> {
    let operands = Operands { rs: inst.rs, rt: inst.rt, rd: inst.rd, imm: inst.imm };
    let word = inst.row().and_then(|row| row.encode(operands)).unwrap_or(inst.imm as u32);
    Text { pc, inst, fixed: fixed(pc, word, &disassemble(inst, pc)), registers: SmallVec::new() }
}

fn riscv_text(pc: u32, inst: Inst) -> Text<Inst> {
    let format = inst.row().map_or(NONE, |row| row.format);
    let mut registers = SmallVec::new();
    let mut push = |r: u8, sign: u8, value: Value| {
        if r != 0 && r != SINK {
            registers.push(Column { label: label(r, sign), value });
        }
    };
    push(inst.rd, b'=', Value::NewRd);
    // An access with post-increment.
    if format.syntax.ends_with("(rs1!)") {
        push(inst.rs1, b'=', Value::NewRs1);
    }
    let source = |field: Register, r: u8, value: Value| match field {
        Register::Absent | Register::Number(..) => (0, value),
        Register::Fixed(_) | Register::At(_) | Register::Short(_) => (r, value),
    };
    let rs1 = source(format.rs1, inst.rs1, Value::Rs1);
    let rs2 = source(format.rs2, inst.rs2, Value::Rs2);
    let rs3 = source(format.rs3, inst.rs3, Value::Rs3);
    let read = match inst.class() {
        Class::Store => [rs2, rs3, rs1],
        Class::Load => [rs2, rs1, rs3],
        _ => [rs3, rs1, rs2],
    };
    read.into_iter().for_each(|(r, value)| push(r, b':', value));
    let word = base_word(inst);
    Text { pc, inst, fixed: fixed(pc, word, &tracer_text(word)), registers }
}

/// `" x10="`; a register below 10 has another blank instead of its second digit.
fn label(r: u8, sign: u8) -> [u8; 5] {
    let digit = |digit: u8| b'0' + digit;
    if r < 10 { [b' ', b' ', b'x', digit(r), sign] } else { [b' ', b'x', digit(r / 10), digit(r % 10), sign] }
}

/// Time and cycle, in 21 and 15 columns with a blank between them, or in more if they have more digits.
fn push_times(line: &mut Vec<u8>, ps: u64, cycle: u64) {
    push_right_aligned::<21>(line, ps);
    line.push(b' ');
    push_right_aligned::<15>(line, cycle);
}

fn push_right_aligned<const COLUMNS: usize>(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [b' '; 24];
    let mut at = digits.len();
    // Two digits at a time, because each division waits for the one before.
    while number >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&DECIMALS[(number % 100) as usize]);
        number /= 100;
    }
    let [tens, ones] = DECIMALS[number as usize];
    digits[at - 1] = ones;
    if number >= 10 {
        digits[at - 2] = tens;
    }
    at -= if number >= 10 { 2 } else { 1 };
    line.extend_from_slice(&digits[at.min(digits.len() - COLUMNS)..]);
}

#[inline]
fn push_value(line: &mut Vec<u8>, label: [u8; 5], value: u32) {
    let [a, b, c, d, e] = label;
    let [s, t, u, v, w, x, y, z] = hexadecimal(value);
    line.extend_from_slice(&[a, b, c, d, e, s, t, u, v, w, x, y, z]);
}

fn push_end(line: &mut Vec<u8>, addr: Option<u32>) {
    if let Some(addr) = addr {
        push_value(line, *b"  PA:", addr);
    }
    line.push(b'\n');
}

/// Eight digits.
#[inline]
fn hexadecimal(value: u32) -> [u8; 8] {
    let [[a, b], [c, d], [e, f], [g, h]] = value.to_be_bytes().map(|byte| HEXADECIMALS[usize::from(byte)]);
    [a, b, c, d, e, f, g, h]
}

/// The two decimal digits of numbers below 100.
const DECIMALS: [[u8; 2]; 100] = pairs(10);
/// The two hexadecimal digits of bytes.
const HEXADECIMALS: [[u8; 2]; 256] = pairs(16);

const fn pairs<const N: usize>(base: usize) -> [[u8; 2]; N] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; N];
    let mut number = 0;
    while number < N {
        pairs[number] = [DIGITS[number / base], DIGITS[number % base]];
        number += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocks::cpu::Named;
    use isa::riscv::decode;
    use proptest::prelude::*;

    const ANY: Named = Named { rd: 0x1234, rs1: 0x8000_0000, rs2: 7, rs3: 0xffff_ffff };

    fn line(texts: &mut Texts<Inst>, pc: u32, word: u32) -> String {
        let inst = decode(word);
        let retired = Retired { cycle: 3, pc, inst, before: ANY, after: ANY, addr: None, trapped: false };
        let mut line = Vec::new();
        texts.push_line(&mut line, 3000, &retired);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_text_serves_only_its_address_and_its_instruction() {
        let (add, sub) = (0x00b5_0533, 0x40b5_0533);
        let far = 2 * KEPT as u32;
        let mut texts = Texts::default();
        for (pc, word) in [(8, add), (8, add), (8, sub), (8 + far, sub), (8, add), (10, add)] {
            assert_eq!(line(&mut texts, pc, word), line(&mut Texts::default(), pc, word), "{word:x} at {pc:x}");
        }
        assert_eq!(
            line(&mut texts, 8, sub).trim_start(),
            "3000               3 00000008 40b50533 sub              x10, x10, x11       \
             x10=00001234 x10:80000000 x11:00000007\n"
        );
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_by_the_standard_library(number: u64, shift in 0u32..64, value: u32, r in 1u8..32) {
            let (number, mut line) = (number >> shift, Vec::new());
            push_times(&mut line, number, number / 7);
            push_value(&mut line, label(r, b':'), value);
            let register = format!("x{r}:");
            prop_assert_eq!(
                String::from_utf8(line).unwrap(),
                format!("{number:>21} {:>15} {register:>4}{value:08x}", number / 7)
            );
        }
    }
}
