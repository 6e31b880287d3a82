//! Code generated from the rows: the operations, the table of encodings, and the table of semantics.

use super::bits;
use super::csr::CsrWrite;
use super::decode::Inst;
use super::extension::Extension;
use super::flow;
use super::format;
use super::hart::{Amo, Hart, Load, LoopPart, System, Width};
use super::lanes;
use super::row::Row;
use crate::Pattern;
use std::marker::PhantomData;

/// Class of an instruction. Cores derive timing from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Integer arithmetic and logic.
    Alu,
    /// Low word of a product.
    Mul,
    /// High word of a product.
    MulHigh,
    /// Quotient or remainder.
    Div,
    /// Load.
    Load,
    /// Store.
    Store,
    /// Atomic memory operation, load-reserved and store-conditional included.
    Amo,
    /// Conditional branch.
    Branch,
    /// Jump by a constant offset.
    Jump,
    /// Jump to a register.
    JumpReg,
    /// Access to a control register.
    Csr,
    /// System calls, trap returns and waiting.
    System,
    /// Fences.
    Fence,
    /// Load that waits for an event.
    Elw,
    /// Setup of a hardware loop.
    Loop,
    /// Not an instruction.
    Illegal,
}

// A group of rows begins with its extension. A row has: documentation, `Op`, name, `Class`, format, pattern, and its
// effect on a hart `h` for an instruction `i`.
macro_rules! instructions {
    (() $({ $extension:ident
        $($(#[$doc:meta])* $op:ident $name:tt $class:ident $format:ident $pattern:tt
        $(except $($except:literal)+)? => |$h:ident, $i:ident| $meaning:expr;)*
    })*) => {
        /// Operations: one per 32-bit instruction, and one for illegal words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Op {
            $($($(#[$doc])* $op,)*)*
            /// Not an instruction.
            Illegal,
        }

        impl Op {
            /// Its class.
            #[inline]
            pub const fn class(self) -> Class {
                match self {
                    $($(Op::$op => Class::$class,)*)*
                    Op::Illegal => Class::Illegal,
                }
            }
        }

        /// The rows of the 32-bit instructions. The row of operation `op` has index `op as usize`.
        pub(super) static BASE: &[Row] = &[
            $($(Row {
                name: $name,
                format: format::$format,
                pattern: Pattern::parse($pattern),
                except: &[$($(Pattern::parse($except)),+)?],
                extension: Extension::$extension,
                op: Op::$op,
            },)*)*
        ];

        impl<H: Hart> Meanings<H> {
            /// The meaning of operation `op` has index `op as usize`.
            const ALL: [Meaning<H>; Op::Illegal as usize + 1] = [
                $($({
                    fn meaning<H: Hart>($h: &mut H, $i: &Inst) {
                        $meaning
                    }
                    meaning
                },)*)*
                |hart, inst| hart.illegal(inst.imm as u32),
            ];
        }
    };
}

/// The meanings of all operations, for one type of hart.
struct Meanings<H>(PhantomData<H>);

/// The effect of an operation on one type of hart. Each operation is a function of its own, so that a loop that calls
/// them stays small and can keep its variables in registers.
pub type Meaning<H> = fn(&mut H, &Inst);

/// The meaning of an operation, for callers that execute the same instruction repeatedly.
#[inline(always)]
pub fn meaning<H: Hart>(op: Op) -> Meaning<H> {
    Meanings::<H>::ALL[op as usize]
}

/// Executes `inst` on `hart`, which advances its own program counter.
#[inline(always)]
pub fn execute<H: Hart>(hart: &mut H, inst: &Inst) {
    meaning(inst.op)(hart, inst);
}

// Each file appends its rows to its input and passes them to the next file; the last one is `instructions!`.
rv32i! { (rv32m rv32a zicsr privileged xpulp_mem xpulp_alu xpulp_mac xpulp_loop xpulp_simd instructions) }
