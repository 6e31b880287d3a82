//! Registers in the form of gdb's protocol, and the descriptions that tell gdb which registers exist.

use super::{CoreKind, Region};
use gdbstub::arch::{Arch, Registers};
use std::fmt::Write as _;

/// Cores of any kind. The registers of gdb's protocol are bytes whose meaning the target description defines.
pub enum AnyCore {}

impl Arch for AnyCore {
    type Usize = u32;
    type Registers = Raw;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The registers of a core in the order and byte order of its target description; `None` for registers that it lacks.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Raw(pub Vec<Option<u8>>);

impl Registers for Raw {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        0 // gdbstub does not use it.
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.0.iter().for_each(|&byte| write_byte(byte));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.0 = bytes.iter().copied().map(Some).collect();
        Ok(())
    }
}

/// Number of registers after the program counter in gdb's MIPS features: 32 floating-point registers and two that
/// control them.
const MIPS_FLOATS: usize = 34;

/// The registers of a core in the form of gdb's protocol. `registers` are those that a probe gets.
pub fn raw(kind: CoreKind, pc: u32, registers: &[u32]) -> Raw {
    let known = |word: u32, to_bytes: fn(u32) -> [u8; 4]| to_bytes(word).map(Some);
    let words: Vec<[Option<u8>; 4]> = match kind {
        CoreKind::RiscV => registers.iter().chain([&pc]).map(|&word| known(word, u32::to_le_bytes)).collect(),
        CoreKind::Mips => {
            let word = |word: u32| known(word, u32::to_be_bytes);
            let none = [None; 4];
            let mut words: Vec<_> = registers[..32].iter().map(|&r| word(r)).collect();
            // status, lo, hi, badvaddr, cause, pc
            words.extend([none, word(registers[32]), word(registers[33]), none, none, word(pc)]);
            words.extend([none; MIPS_FLOATS]);
            words
        }
    };
    Raw(words.into_iter().flatten().collect())
}

/// The target description: names of the registers, in the order of [`raw`].
pub fn description(kind: CoreKind) -> String {
    let mut text = String::from("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>");
    // Writing to a string cannot fail.
    let _ = match kind {
        CoreKind::RiscV => write!(text, "<architecture>riscv:rv32</architecture>{}", riscv()),
        CoreKind::Mips => write!(text, "<architecture>mips</architecture>{}", mips()),
    };
    text.push_str("</target>");
    text
}

fn feature<'a>(name: &str, registers: impl IntoIterator<Item = (String, &'a str, usize)>) -> String {
    let register =
        |(name, kind, number)| format!("<reg name=\"{name}\" bitsize=\"32\" type=\"{kind}\" regnum=\"{number}\"/>");
    let registers: String = registers.into_iter().map(register).collect();
    format!("<feature name=\"{name}\">{registers}</feature>")
}

/// Names of the RISC-V ABI, in the order of the numbers.
const RISCV_NAMES: &str =
    "zero ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6";

fn riscv() -> String {
    let kind = |name| match name {
        "ra" => "code_ptr",
        "sp" | "gp" | "tp" | "fp" => "data_ptr",
        _ => "int",
    };
    let named = RISCV_NAMES.split(' ').chain(["pc"]).enumerate();
    let named =
        named.map(|(number, name)| (name.to_owned(), if name == "pc" { "code_ptr" } else { kind(name) }, number));
    feature("org.gnu.gdb.riscv.cpu", named)
}

fn mips() -> String {
    let general = (0..32).map(|number| (format!("r{number}"), "int", number));
    let more = [("lo", 33), ("hi", 34), ("pc", 37)].map(|(name, number)| (name.to_owned(), "int", number));
    let control = [("status", 32), ("badvaddr", 35), ("cause", 36)];
    let control = control.map(|(name, number)| (name.to_owned(), "int", number));
    let floats = (0..32).map(|number| (format!("f{number}"), "ieee_single", 38 + number));
    let floats = floats.chain([("fcsr", 70), ("fir", 71)].map(|(name, number)| (name.to_owned(), "int", number)));
    [
        feature("org.gnu.gdb.mips.cpu", general.chain(more)),
        feature("org.gnu.gdb.mips.cp0", control),
        feature("org.gnu.gdb.mips.fpu", floats),
    ]
    .concat()
}

/// The memory map. Breakpoints are not written to memory, so all memories are RAM to gdb.
pub fn memory_map(regions: &[Region]) -> String {
    let mut text = String::from("<?xml version=\"1.0\"?><memory-map>");
    for Region { base, bytes, .. } in regions {
        // Writing to a string cannot fail.
        let _ = write!(text, "<memory type=\"ram\" start=\"{base:#x}\" length=\"{bytes:#x}\"/>");
    }
    text.push_str("</memory-map>");
    text
}
