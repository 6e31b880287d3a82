//! What travels between the pieces of a processor.

use crate::bus::BusError;
use crate::netlist::Wire;
use isa::mips::{Class, Inst, decode};

/// An instruction as it was fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// Its address.
    pub pc: u32,
    /// Its word, or why there is none.
    pub word: Result<u32, BusError>,
}

impl Wire for Fetched {
    const NAME: &'static str = "instructions";
}

/// All that the stages behind need to know of an instruction; it travels with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Controls {
    /// Address of the instruction.
    pub pc: u32,
    /// The instruction: its operation, registers and immediate; or why there is none.
    pub inst: Result<Inst, BusError>,
    /// The registers it reads, by bit; register 0 is not among them.
    pub reads: u32,
    /// The register it writes, 0 if none.
    pub writes: u8,
}

impl Wire for Controls {
    const NAME: &'static str = "mips-controls";
}

impl Controls {
    /// Of what was fetched.
    pub fn of(fetched: Fetched) -> Controls {
        let inst = fetched.word.map(decode);
        let (reads, writes) = inst.map_or((0, 0), |inst| (inst.reads(), inst.writes()));
        Controls { pc: fetched.pc, inst, reads, writes }
    }

    /// What kind of work it is; a word that could not be fetched is illegal.
    pub fn class(&self) -> Class {
        self.inst.map_or(Class::Illegal, |inst| inst.class())
    }
}
