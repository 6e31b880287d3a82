//! Items of random programs: one instruction, or a few that belong together.
//!
//! Two registers always point into the data region, so that loads and stores hit it. All other values are arbitrary.
//! Jumps go forward, or back in loops with a reserved counter register, so every program ends.

use super::program::SYS_WRITE;
use super::text::word;
use crate::linked::{DATA_BYTES, RECORD_BYTES, REGISTERS_BYTES};
pub(super) use crate::random_items::interesting;
use isa::mips::{Class, Operands, RA, Row, rows};
use kernel::RandomStream;

const SP: u8 = 29;
/// Offset of `sp` in the data region.
const SP_OFFSET: u32 = 16;
/// Register whose place in the record holds HI: register 0 needs none.
pub(super) const HI_PLACE: u8 = 0;

/// A register that points into the data region.
#[derive(Clone, Copy)]
struct Pointer {
    reg: u8,
    offset: u32,
}

/// Appends items to a program.
pub(super) struct Generator {
    random: RandomStream,
    base: u32,
    pub(super) code: Vec<u32>,
    pointers: [Pointer; 2],
    /// Bit mask of the registers that items must not change.
    reserved: u32,
    computing: Vec<&'static Row>,
    accessing: Vec<&'static Row>,
    dividing: Vec<&'static Row>,
    branching: Vec<&'static Row>,
    trapping: Vec<&'static Row>,
}

impl Generator {
    pub(super) fn new(mut random: RandomStream, base: u32) -> Self {
        // Instructions that need special items. On the reference, the encodings of the last two are other instructions.
        let special = ["add", "addi", "sub", "ll", "sc", "pri", "joff"];
        let of = |classes: &[Class]| -> Vec<_> {
            rows().filter(|row| classes.contains(&row.op.class()) && !special.contains(&row.name)).collect()
        };
        let free = loop {
            let reg = random.below(32) as u8;
            if ![0, RA, SP].contains(&reg) {
                break reg;
            }
        };
        let free_offset = 4 * random.below(u64::from(DATA_BYTES) / 4) as u32;
        Generator {
            random,
            base,
            code: Vec::new(),
            pointers: [Pointer { reg: SP, offset: SP_OFFSET }, Pointer { reg: free, offset: free_offset }],
            // Calls write the return address.
            reserved: 1 << SP | 1 << free | 1 << RA,
            computing: of(&[Class::Alu, Class::HiLo, Class::Multiply]),
            accessing: of(&[Class::Load, Class::Store]),
            dividing: of(&[Class::Divide]),
            branching: of(&[Class::Branch, Class::BranchLikely]),
            trapping: of(&[Class::Trap]),
        }
    }

    /// Sets the pointers and loads the other registers. Returns the address of the instruction that sets `sp`, to be
    /// patched.
    pub(super) fn prologue(&mut self) -> usize {
        self.emit("bgezal", Operands { imm: 4, ..Operands::default() });
        self.emit("sll", Operands::default());
        let pointer = self.code.len();
        self.emit("addiu", i(SP, RA, 0));
        let Pointer { reg, offset } = self.pointers[1];
        self.emit("addiu", i(reg, SP, offset as i32 - SP_OFFSET as i32));
        for reg in 1..32 {
            if self.is_free(reg) || reg == RA {
                self.emit("lw", i(reg, SP, saved(reg)));
            }
        }
        pointer
    }

    /// Saves all registers and writes the record.
    pub(super) fn epilogue(&mut self) {
        for reg in 1..32 {
            self.emit("sw", i(reg, SP, saved(reg)));
        }
        self.emit("mfhi", r(8, 0, 0));
        self.emit("sw", i(8, SP, saved(HI_PLACE)));
        self.emit("mflo", r(8, 0, 0));
        self.emit("sw", i(8, SP, -(SP_OFFSET as i32)));
        self.emit("addiu", i(4, 0, 1)); // Standard output.
        self.emit("addiu", i(5, SP, saved(0)));
        self.emit("addiu", i(6, 0, RECORD_BYTES as i32));
        self.emit("addiu", i(2, 0, SYS_WRITE as i32));
        self.emit("syscall", Operands::default());
    }

    /// Appends one item. `depth` counts the enclosing loops and jumps.
    pub(super) fn item(&mut self, depth: u32) {
        match self.random.below(if depth < 2 { 100 } else { 78 }) {
            0..38 => self.compute(),
            38..44 => self.add_or_trap(),
            44..48 => self.divide(),
            48..70 => self.access(),
            70..73 => self.link_and_store(),
            73..78 => {
                let rt = self.scratch();
                self.constant(rt);
            }
            78..89 => self.branch_forward(),
            89..92 => self.jump_forward(),
            92..95 => self.jump_to_register(),
            _ => self.repeat(depth),
        }
    }

    /// Arithmetic or logic, with any operands.
    fn compute(&mut self) {
        loop {
            // Drawn again each time, because some rows can only write a reserved register.
            let row = one_of(&mut self.random, &self.computing);
            let operands = self.operands(row);
            if self.is_free(row.format.writes(operands)) {
                return self.emit(row.name, operands);
            }
        }
    }

    /// An operation on chosen numbers, because others could end the program.
    fn add_or_trap(&mut self) {
        let (a, b) = self.two_scratch();
        let (x, y) = (self.constant(a), self.constant(b));
        // Often the same number, if it fits.
        let constant = if self.random.below(2) == 0 { x as i16 } else { self.random.below(0x1_0000) as i16 };
        let rd = self.scratch();
        match self.random.below(4) {
            0 if x.checked_add(y).is_some() => self.emit("add", r(rd, a, b)),
            1 if x.checked_sub(y).is_some() => self.emit("sub", r(rd, a, b)),
            2 if x.checked_add(constant.into()).is_some() => self.emit("addi", i(b, a, constant.into())),
            _ => {
                let row = one_of(&mut self.random, &self.trapping);
                let other = if row.name.contains('i') { i32::from(constant) } else { y };
                let holds = match row.name.trim_end_matches('u').trim_end_matches('i') {
                    "tge" if row.name.ends_with('u') => x as u32 >= other as u32,
                    "tlt" if row.name.ends_with('u') => (x as u32) < other as u32,
                    "tge" => x >= other,
                    "tlt" => x < other,
                    "teq" => x == other,
                    _ => x != other,
                };
                if !holds {
                    let is_constant = row.name.contains('i');
                    let (rt, imm) = if is_constant { (0, other) } else { (b, self.random.below(1024) as i32) };
                    self.emit(row.name, Operands { rs: a, rt, rd: 0, imm });
                }
            }
        }
    }

    /// A division by a number other than 0.
    fn divide(&mut self) {
        let divisor = self.scratch();
        if self.random.below(2) == 0 {
            self.constant(divisor);
        }
        self.emit("ori", i(divisor, divisor, 1));
        let row = one_of(&mut self.random, &self.dividing);
        let rs = self.random.below(32) as u8;
        self.emit(row.name, r(0, rs, divisor));
    }

    /// A load or store with the required alignment.
    fn access(&mut self) {
        let row = one_of(&mut self.random, &self.accessing);
        loop {
            let pointer = self.pointers[self.random.below(2) as usize];
            let mut operands = Operands { rs: pointer.reg, ..self.operands(row) };
            if self.random.below(2) == 0 {
                operands.imm = self.random.below(64) as i32 - 32; // Nearby, where other accesses are likely.
            }
            operands.imm &= match row.name {
                "lw" | "sw" => !3,
                "lh" | "lhu" | "sh" => !1,
                _ => !0,
            };
            let place = pointer.offset as i32 + operands.imm;
            let is_inside = (0..=DATA_BYTES as i32 - 4).contains(&place);
            if is_inside && self.is_free(row.format.writes(operands)) {
                return self.emit(row.name, operands);
            }
        }
    }

    /// A load-linked and its store-conditional. A store-conditional alone has an undefined result.
    fn link_and_store(&mut self) {
        let place = 4 * self.random.below(16) as i32 - SP_OFFSET as i32;
        let (a, b) = self.two_scratch();
        self.emit("ll", i(a, SP, place));
        if self.random.below(2) == 0 {
            self.compute();
        }
        self.emit("sc", i(b, SP, place));
        if self.random.below(4) == 0 {
            self.emit("sync", Operands::default());
        }
    }

    /// Sets register `rt` to an interesting number.
    fn constant(&mut self, rt: u8) -> i32 {
        let value = interesting(&mut self.random) as i32;
        self.emit("lui", i(rt, 0, value >> 16 & 0xffff));
        self.emit("ori", i(rt, rt, value & 0xffff));
        value
    }

    /// A conditional branch over some items.
    fn branch_forward(&mut self) {
        let row = one_of(&mut self.random, &self.branching);
        let operands = self.operands(row);
        let at = self.reserve();
        self.slot();
        self.skipped_items();
        let imm = 4 * (self.code.len() - at - 1) as i32;
        self.code[at] = word(row.name, Operands { imm, ..operands });
    }

    /// A jump over some items.
    fn jump_forward(&mut self) {
        let name = if self.random.below(2) == 0 { "j" } else { "jal" };
        let at = self.reserve();
        self.slot();
        self.skipped_items();
        let target = self.base + 4 * self.code.len() as u32;
        self.code[at] = word(name, Operands { imm: target as i32, ..Operands::default() });
    }

    /// A jump over some items through a register.
    fn jump_to_register(&mut self) {
        let via = self.scratch();
        let rd = self.scratch_for(via);
        self.emit("bgezal", Operands { imm: 4, ..Operands::default() });
        self.slot();
        let start = self.code.len();
        self.reserve();
        let at = self.reserve();
        self.slot();
        self.skipped_items();
        self.code[start] = word("addiu", i(via, RA, 4 * (self.code.len() - start) as i32));
        self.code[at] = match self.random.below(2) {
            0 => word("jr", r(0, via, 0)),
            _ => word("jalr", r(rd, via, 0)),
        };
    }

    /// The delay slot of a jump: one instruction.
    fn slot(&mut self) {
        if self.random.below(3) == 0 { self.access() } else { self.compute() }
    }

    /// The items that a jump skips.
    fn skipped_items(&mut self) {
        for _ in 0..self.random.below(4) {
            self.item(2);
        }
    }

    /// A loop of one to five rounds.
    fn repeat(&mut self, depth: u32) {
        let counter = self.scratch();
        self.reserved |= 1 << counter;
        let rounds = self.random.below(5) as i32 + 1;
        self.emit("addiu", i(counter, 0, rounds));
        let start = self.code.len();
        for _ in 0..=self.random.below(6) {
            self.item(depth + 1);
        }
        self.emit("addiu", i(counter, counter, -1));
        let (name, rs, rt) = match self.random.below(4) {
            0 => ("bgtz", counter, 0),
            1 => ("bne", counter, 0),
            2 => ("bgtzl", counter, 0),
            _ => ("bnel", 0, counter),
        };
        let imm = 4 * (start as i32 - self.code.len() as i32 - 1);
        self.emit(name, Operands { rs, rt, rd: 0, imm });
        self.slot();
        self.reserved &= !(1 << counter);
    }

    fn emit(&mut self, name: &str, operands: Operands) {
        self.code.push(word(name, operands));
    }

    /// Reserves space for an instruction.
    fn reserve(&mut self) -> usize {
        self.code.push(0);
        self.code.len() - 1
    }

    /// Random operands that `row` can express, all equally likely.
    fn operands(&mut self, row: &Row) -> Operands {
        row.format.decode(self.random.next_u64() as u32)
    }

    /// Returns true if items may write register `reg`. They may always write register 0.
    fn is_free(&self, reg: u8) -> bool {
        self.reserved >> reg & 1 == 0
    }

    /// A random register that items may write, except register 0.
    fn scratch(&mut self) -> u8 {
        loop {
            let reg = self.random.below(31) as u8 + 1;
            if self.is_free(reg) {
                return reg;
            }
        }
    }

    /// Two different registers of [`Generator::scratch`].
    fn two_scratch(&mut self) -> (u8, u8) {
        let a = self.scratch();
        (a, self.scratch_for(a))
    }

    /// A register of [`Generator::scratch`] other than `a`.
    fn scratch_for(&mut self, a: u8) -> u8 {
        loop {
            let b = self.scratch();
            if b != a {
                return b;
            }
        }
    }
}

fn one_of(random: &mut RandomStream, rows: &[&'static Row]) -> &'static Row {
    rows[random.below(rows.len() as u64) as usize]
}

/// Offset from `sp` of the saved register `reg`.
fn saved(reg: u8) -> i32 {
    4 * i32::from(reg) - (REGISTERS_BYTES + SP_OFFSET) as i32
}

/// Operands of rd = rs and rt.
fn r(rd: u8, rs: u8, rt: u8) -> Operands {
    Operands { rs, rt, rd, imm: 0 }
}

/// Operands of rt = rs and imm, loads and stores.
fn i(rt: u8, rs: u8, imm: i32) -> Operands {
    Operands { rs, rt, rd: 0, imm }
}

/// The instruction that points `sp` to the data page, `data_page` bytes after the start of the program.
pub(super) fn point_to_data(data_page: u32) -> u32 {
    // The link register holds the third instruction's address.
    word("addiu", i(SP, RA, (data_page + REGISTERS_BYTES + SP_OFFSET) as i32 - 8))
}
