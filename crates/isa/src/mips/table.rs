//! Code generated from the rows: the operations, the table, and the semantics as one dense `match`.

use super::RA;
use super::cpu::{Cpu, Exception, Load, Store};
use super::decode::Inst;
use super::flow;
use super::format;
use super::row::Row;
use crate::Pattern;

/// Class of an instruction. Cores derive timing from it and count by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Integer arithmetic and logic.
    Alu,
    /// Product into HI and LO.
    Multiply,
    /// Quotient and remainder into LO and HI.
    Divide,
    /// Move between HI or LO and a register.
    HiLo,
    /// Load.
    Load,
    /// Store.
    Store,
    /// Conditional branch.
    Branch,
    /// Conditional branch that annuls its delay slot if it is not taken.
    BranchLikely,
    /// Jump to a constant.
    Jump,
    /// Jump to an address in registers.
    JumpReg,
    /// Conditional trap.
    Trap,
    /// System calls, breakpoints and `sync`.
    System,
    /// Not an instruction.
    Illegal,
}

impl Class {
    /// All classes, in order.
    pub const ALL: [Class; 13] = [
        Class::Alu,
        Class::Multiply,
        Class::Divide,
        Class::HiLo,
        Class::Load,
        Class::Store,
        Class::Branch,
        Class::BranchLikely,
        Class::Jump,
        Class::JumpReg,
        Class::Trap,
        Class::System,
        Class::Illegal,
    ];

    /// Its name in reports, such as `branch_likely`.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Alu => "alu",
            Class::Multiply => "multiply",
            Class::Divide => "divide",
            Class::HiLo => "hi_lo",
            Class::Load => "load",
            Class::Store => "store",
            Class::Branch => "branch",
            Class::BranchLikely => "branch_likely",
            Class::Jump => "jump",
            Class::JumpReg => "jump_reg",
            Class::Trap => "trap",
            Class::System => "system",
            Class::Illegal => "illegal",
        }
    }
}

// A row has: documentation, `Op`, name, `Class`, format, pattern, and its effect on a `Cpu` `c` for an instruction `i`.
macro_rules! instructions {
    (() $($(#[$doc:meta])* $op:ident $name:tt $class:ident $format:ident $pattern:tt =>
        |$c:ident, $i:ident| $meaning:expr;)*) => {
        /// Operations: one per instruction, and one for illegal words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $($(#[$doc])* $op,)*
            /// Not an instruction.
            Illegal,
        }

        impl Op {
            /// Its class.
            #[inline]
            pub const fn class(self) -> Class {
                match self {
                    $(Op::$op => Class::$class,)*
                    Op::Illegal => Class::Illegal,
                }
            }
        }

        /// The rows. The row of operation `op` has index `op as usize`.
        pub(super) static ROWS: &[Row] = &[
            $(Row { name: $name, format: format::$format, pattern: Pattern::parse($pattern), op: Op::$op },)*
        ];

        /// Executes `inst` on `cpu`, which advances its own program counters.
        #[inline(always)]
        pub fn execute<C: Cpu>(cpu: &mut C, inst: &Inst) {
            match inst.op {
                $(Op::$op => {
                    let ($c, $i) = (cpu, inst);
                    $meaning
                })*
                Op::Illegal => cpu.exception(Exception::Reserved(inst.imm as u32)),
            }
        }
    };
}

// Each file appends its rows to its input and passes them to the next file; the last one is `instructions!`.
compute! { (memory control tigon instructions) }
