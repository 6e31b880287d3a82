//! What is made of the rows: the operations, the table of encodings, and that of meanings.

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

/// What kind of work an instruction is; cores derive its timing from this.
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
    /// Jump to a constant distance.
    Jump,
    /// Jump to a register.
    JumpReg,
    /// Access to a control register.
    Csr,
    /// Calls, trap returns and waiting.
    System,
    /// Fences.
    Fence,
    /// Load that waits for an event.
    Elw,
    /// Setting up a hardware loop.
    Loop,
    /// No instruction.
    Illegal,
}

// A group of rows begins with its extension. A row reads: documentation, `Op`, name, `Class`, format, pattern, meaning for a
// hart `h` and an instruction `i`.
macro_rules! instructions {
    (() $({ $extension:ident
        $($(#[$doc:meta])* $op:ident $name:tt $class:ident $format:ident $pattern:tt
        $(except $($except:literal)+)? => |$h:ident, $i:ident| $meaning:expr;)*
    })*) => {
        /// Operations: one per 32-bit instruction, and what illegal words decode to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Op {
            $($($(#[$doc])* $op,)*)*
            /// A word that is no instruction.
            Illegal,
        }

        impl Op {
            /// What kind of work this is.
            #[inline]
            pub const fn class(self) -> Class {
                match self {
                    $($(Op::$op => Class::$class,)*)*
                    Op::Illegal => Class::Illegal,
                }
            }
        }

        /// The rows of the 32-bit instructions; that of operation `op` stands at `op as usize`.
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
            /// That of operation `op` stands at `op as usize`.
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

/// What the operations do to one kind of hart.
struct Meanings<H>(PhantomData<H>);

/// What an operation does to a hart of one kind. Each row is a function of its own: a loop that calls it stays small, and what
/// the loop keeps in registers stays there.
pub type Meaning<H> = fn(&mut H, &Inst);

/// The meaning of an operation, for who executes the same instruction again and again.
#[inline(always)]
pub fn meaning<H: Hart>(op: Op) -> Meaning<H> {
    Meanings::<H>::ALL[op as usize]
}

/// Does to `hart` what `inst` says. See [`Hart`] for who moves the program counter.
#[inline(always)]
pub fn execute<H: Hart>(hart: &mut H, inst: &Inst) {
    meaning(inst.op)(hart, inst);
}

// Each extension adds its rows to those it was given and hands them all to the next; the last is `instructions!`.
rv32i! { (rv32m rv32a zicsr privileged xpulp_mem xpulp_alu xpulp_mac xpulp_loop xpulp_simd instructions) }
