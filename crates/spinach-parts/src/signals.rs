//! Messages between the parts of a processor.

use blocks::bus::BusError;
use blocks::netlist::Wire;
use isa::mips::{Class, Inst, decode};

/// A fetched instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// Its address.
    pub pc: u32,
    /// The instruction word, or the fetch error.
    pub word: Result<u32, BusError>,
}

impl Wire for Fetched {
    const NAME: &'static str = "instructions";
}

/// A decoded instruction, which passes through the following stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Controls {
    /// Address of the instruction.
    pub pc: u32,
    /// The instruction with its operation, registers and immediate, or the fetch error.
    pub inst: Result<Inst, BusError>,
    /// Set of registers that it reads, by bit; without register 0.
    pub reads: u32,
    /// Register that it writes; 0 if none.
    pub writes: u8,
}

impl Wire for Controls {
    const NAME: &'static str = "mips-controls";
}

impl Controls {
    /// Decodes a fetched instruction.
    pub fn of(fetched: Fetched) -> Controls {
        let inst = fetched.word.map(decode);
        let (reads, writes) = inst.map_or((0, 0), |inst| (inst.reads(), inst.writes()));
        Controls { pc: fetched.pc, inst, reads, writes }
    }

    /// Class of the instruction; a fetch error counts as illegal.
    pub fn class(&self) -> Class {
        self.inst.map_or(Class::Illegal, |inst| inst.class())
    }
}
