//! Items of random programs: one instruction, or a few that belong together.
//!
//! Three registers always point into the data region, so that loads, stores and AMOs hit it. All other values are
//! arbitrary. Jumps go forward, or back in loops with a reserved counter register, so every program ends.

use crate::assembler::{Assembler, i, r, s, u};
use crate::linked::{DATA_BYTES, RECORD_BYTES, REGISTERS_BYTES, SYS_WRITE};
use isa::riscv::{Class, Extension, Operands, Row, format, rows};
use kernel::RandomStream;

const RA: u8 = 1;
pub(crate) const SP: u8 = 2;
const A0: u8 = 10;

/// Offset of `sp` in the data region: aligned, with the whole record in reach.
pub(crate) const SP_OFFSET: u32 = 16;
/// Offset of the pointer among x8 to x15: aligned, in the middle.
const SHORT_OFFSET: u32 = 1024;

/// A random number, often a boundary value.
pub(crate) fn interesting(random: &mut RandomStream) -> u32 {
    match random.below(8) {
        0 => 0,
        1 => u32::MAX,
        2 => 1 << random.below(32),
        3 => (1u32 << random.below(32)).wrapping_sub(1),
        4 => (random.below(64) as u32).wrapping_sub(32),
        5 => i32::MIN as u32 | random.below(4) as u32,
        _ => random.next_u64() as u32,
    }
}

/// A register that points into the data region.
#[derive(Clone, Copy)]
struct Pointer {
    reg: u8,
    offset: u32,
}

/// Appends items to a program.
pub(crate) struct Generator {
    random: RandomStream,
    pub(crate) code: Assembler,
    pointers: [Pointer; 3],
    /// Bit mask of the registers that items must not change.
    reserved: u32,
    computing: Vec<&'static Row>,
    accessing: Vec<&'static Row>,
    atomic: Vec<&'static Row>,
    branching: Vec<&'static Row>,
}

impl Generator {
    pub(crate) fn new(mut random: RandomStream) -> Self {
        // The reference does not know PULP's instructions.
        let of = |classes: &[Class]| -> Vec<_> {
            rows().filter(|row| classes.contains(&row.op.class()) && row.extension != Extension::Xpulpv2).collect()
        };
        let short = 8 + random.below(8) as u8;
        let free = loop {
            let reg = random.below(32) as u8;
            if ![0, RA, SP, short].contains(&reg) {
                break reg;
            }
        };
        let free_offset = random.below(DATA_BYTES.into()) as u32;
        Generator {
            random,
            code: Assembler::default(),
            pointers: [
                Pointer { reg: SP, offset: SP_OFFSET },
                Pointer { reg: short, offset: SHORT_OFFSET },
                Pointer { reg: free, offset: free_offset },
            ],
            reserved: 1 << SP | 1 << short | 1 << free,
            computing: of(&[Class::Alu, Class::Mul, Class::MulHigh, Class::Div, Class::Fence]),
            accessing: of(&[Class::Load, Class::Store]),
            atomic: of(&[Class::Amo]).into_iter().filter(|row| !["lr.w", "sc.w"].contains(&row.name)).collect(),
            branching: of(&[Class::Branch]),
        }
    }

    /// Sets the pointers and loads the other registers. Returns the address of the instruction that sets `sp`, to be
    /// patched.
    pub(crate) fn prologue(&mut self) -> usize {
        let pointer = self.code.reserve("auipc");
        self.code.reserve("addi");
        for Pointer { reg, offset } in self.pointers.into_iter().skip(1) {
            self.code.emit("addi", i(reg, SP, offset as i32 - SP_OFFSET as i32));
        }
        for reg in 1..32 {
            if self.is_free(reg) {
                self.code.emit("lw", i(reg, SP, saved(reg)));
            }
        }
        pointer
    }

    /// Saves all registers and writes the record.
    pub(crate) fn epilogue(&mut self) {
        for reg in 1..32 {
            self.code.emit("sw", s(SP, reg, saved(reg)));
        }
        self.code.emit("addi", i(A0, 0, 1)); // Standard output.
        self.code.emit("addi", i(A0 + 1, SP, saved(0)));
        self.code.emit("addi", i(A0 + 2, 0, RECORD_BYTES as i32));
        self.code.emit("addi", i(A0 + 7, 0, SYS_WRITE as i32));
        self.code.emit("ecall", Operands::default());
    }

    /// Appends one item. `depth` counts the enclosing loops and jumps.
    pub(crate) fn item(&mut self, depth: u32) {
        match self.random.below(if depth < 2 { 100 } else { 84 }) {
            0..34 => self.compute(),
            34..40 => self.compute_with_extremes(),
            40..65 => self.access(),
            65..73 => self.atomic(),
            73..76 => self.reserve_and_store(),
            76..83 => {
                let rd = self.scratch();
                self.constant(rd);
            }
            83 => self.move_stack(),
            84..90 => self.branch_forward(),
            90..93 => self.jump_forward(),
            93..96 => self.jump_to_register(),
            _ => self.repeat(depth),
        }
    }

    /// Arithmetic, logic or a fence, with any operands.
    fn compute(&mut self) {
        loop {
            // Drawn again each time, because some rows can only write a reserved register.
            let row = one_of(&mut self.random, &self.computing);
            let operands = self.operands(row);
            if self.is_free(operands.rd) && self.code.try_emit(row.name, operands) {
                return;
            }
        }
    }

    /// An operation on two registers with boundary values.
    fn compute_with_extremes(&mut self) {
        let (a, b, rd) = (self.scratch(), self.scratch(), self.scratch());
        self.constant(a);
        self.constant(b);
        let row = loop {
            let row = one_of(&mut self.random, &self.computing);
            if row.format == format::R {
                break row;
            }
        };
        self.code.emit(row.name, r(rd, a, b));
    }

    /// A load or store with any alignment.
    fn access(&mut self) {
        let row = one_of(&mut self.random, &self.accessing);
        loop {
            let pointer = self.pointers[self.random.below(3) as usize];
            let mut operands = Operands { rs1: pointer.reg, ..self.operands(row) };
            if self.random.below(2) == 0 {
                operands.imm = self.random.below(64) as i32 - 32; // Nearby, where other accesses are likely.
            }
            let place = pointer.offset as i32 + operands.imm;
            let is_inside = (0..=DATA_BYTES as i32 - 4).contains(&place);
            if is_inside && self.is_free(operands.rd) && self.code.try_emit(row.name, operands) {
                return;
            }
        }
    }

    /// An atomic memory operation on a word.
    fn atomic(&mut self) {
        let row = one_of(&mut self.random, &self.atomic);
        let addr = self.word_address();
        let Operands { rd, rs2, imm, .. } = self.operands(row);
        let rd = if self.is_free(rd) { rd } else { addr };
        self.code.emit(row.name, Operands { rd, rs1: addr, rs2, rs3: 0, imm });
    }

    /// A load-reserved, and store-conditionals with and without a reservation.
    fn reserve_and_store(&mut self) {
        let addr = self.word_address();
        self.reserved |= 1 << addr;
        let (rd, result, order) = (self.scratch(), self.scratch(), self.random.below(16) as i32);
        if self.random.below(4) != 0 {
            self.code.emit("lr.w", i(rd, addr, order & 3));
            if self.random.below(2) == 0 {
                self.compute();
            }
            if self.random.below(8) == 0 {
                self.code.emit("addi", i(addr, addr, 4)); // Not the reserved word.
            }
        }
        let source = self.random.below(32) as u8;
        self.code.emit("sc.w", Operands { rd: result, rs1: addr, rs2: source, rs3: 0, imm: order >> 2 });
        if self.random.below(4) == 0 {
            self.code.emit("sc.w", Operands { rd, rs1: addr, rs2: result, rs3: 0, imm: 0 }); // The first one ended the reservation.
        }
        self.reserved &= !(1 << addr);
    }

    /// Points a free register to a word of the data region.
    fn word_address(&mut self) -> u8 {
        let pointer = self.pointers[self.random.below(2) as usize]; // The aligned pointers.
        let distance = self.random.below(16) as i32 * 4 - SP_OFFSET as i32;
        let addr = self.scratch();
        self.code.emit("addi", i(addr, pointer.reg, distance));
        addr
    }

    /// Sets register `rd` to an interesting number.
    fn constant(&mut self, rd: u8) {
        let value = interesting(&mut self.random) as i32;
        let low = value << 20 >> 20;
        self.code.emit("lui", u(rd, value.wrapping_sub(low)));
        self.code.emit("addi", i(rd, rd, low));
    }

    /// Moves the stack pointer and restores it.
    fn move_stack(&mut self) {
        let distance = (self.random.below(31) as i32 + 1) * if self.random.below(2) == 0 { 16 } else { -16 };
        let rd = self.scratch();
        self.code.emit("c.addi16sp", i(SP, SP, distance));
        self.code.emit("c.mv", r(rd, 0, SP));
        self.code.emit("addi", i(SP, SP, -distance));
    }

    /// A conditional branch over some items.
    fn branch_forward(&mut self) {
        let row = one_of(&mut self.random, &self.branching);
        let operands = self.operands(row);
        let at = self.code.reserve(row.name);
        self.skipped_items();
        let imm = (self.code.here() - at) as i32;
        self.code.patch(at, row.name, Operands { imm, ..operands });
    }

    /// A jump over some items.
    fn jump_forward(&mut self) {
        let (name, rd) = match self.random.below(3) {
            0 => ("jal", self.scratch()),
            1 => ("c.j", 0),
            _ => ("c.jal", RA),
        };
        let at = self.code.reserve(name);
        self.skipped_items();
        self.code.patch(at, name, u(rd, (self.code.here() - at) as i32));
    }

    /// A jump over some items through a register.
    fn jump_to_register(&mut self) {
        let (name, rd, via) = match self.random.below(3) {
            0 => ("jalr", self.scratch(), self.scratch()),
            1 => ("c.jr", 0, self.scratch()),
            _ => ("c.jalr", RA, self.scratch()),
        };
        let start = self.code.here();
        self.code.emit("auipc", u(via, 0));
        let addition = self.code.reserve("addi");
        let at = self.code.reserve(name);
        self.skipped_items();
        // Bit 0 of the target is ignored, so it may be 1.
        let distance = (self.code.here() - start) as i32 + self.random.below(2) as i32;
        // `jalr` adds a constant.
        let rest = if name == "jalr" { self.random.below(64) as i32 } else { 0 };
        self.code.patch(addition, "addi", i(via, via, distance - rest));
        self.code.patch(at, name, i(rd, via, rest));
    }

    /// Items that a jump skips. They are few and flat, so that the shortest branch can skip them.
    fn skipped_items(&mut self) {
        for _ in 0..self.random.below(4) {
            self.item(2);
        }
    }

    /// A loop of one to five rounds.
    fn repeat(&mut self, depth: u32) {
        let counter = loop {
            let reg = self.scratch();
            if reg != RA {
                break reg; // Compressed jumps write x1.
            }
        };
        self.reserved |= 1 << counter;
        self.code.emit("addi", i(counter, 0, self.random.below(5) as i32 + 1));
        let start = self.code.here();
        for _ in 0..=self.random.below(6) {
            self.item(depth + 1);
        }
        self.code.emit("c.addi", i(counter, counter, -1));
        let back = |code: &Assembler| -((code.here() - start) as i32);
        match self.random.below(4) {
            0 => self.code.emit("blt", s(0, counter, back(&self.code))),
            1 => self.code.emit("bltu", s(0, counter, back(&self.code))),
            2 => {
                // Leaves the loop if the counter is 0, else jumps back.
                let exit = self.code.reserve("beq");
                let distance = back(&self.code);
                if !self.code.try_emit("c.j", u(0, distance)) {
                    self.code.emit("jal", u(0, distance)); // Too far for the compressed jump.
                }
                self.code.patch(exit, "beq", s(counter, 0, (self.code.here() - exit) as i32));
            }
            _ => {
                let distance = back(&self.code);
                if !self.code.try_emit("c.bnez", s(counter, 0, distance)) {
                    self.code.emit("bne", s(counter, 0, distance));
                }
            }
        }
        self.reserved &= !(1 << counter);
    }

    /// Random operands that `row` can express, all equally likely.
    fn operands(&mut self, row: &Row) -> Operands {
        row.format.decode(self.random.next_u64() as u32)
    }

    /// Returns true if items may write register `reg`. They may always write x0.
    fn is_free(&self, reg: u8) -> bool {
        self.reserved >> reg & 1 == 0
    }

    /// A random register that items may write, except x0.
    fn scratch(&mut self) -> u8 {
        loop {
            let reg = self.random.below(31) as u8 + 1;
            if self.is_free(reg) {
                return reg;
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
