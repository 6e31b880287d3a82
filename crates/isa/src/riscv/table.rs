//! What is made of the rows: the operations, the table of encodings, and that of meanings.

use super::bits;
use super::csr::CsrWrite;
use super::decode::Inst;
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

// A row reads: documentation, `Op`, name, `Class`, format, pattern, meaning for a hart `h` and an instruction `i`. PULP's
// come behind the others, which stand in brackets.
macro_rules! instructions {
    (() [$($(#[$doc:meta])* $op:ident $name:tt $class:ident $format:ident $pattern:tt
        $(except $($except:literal)+)? => |$h:ident, $i:ident| $meaning:expr;)*]
        $($(#[$pulp_doc:meta])* $pulp_op:ident $pulp_name:tt $pulp_class:ident $pulp_format:ident $pulp_pattern:tt
        $(except $($pulp_except:literal)+)? => |$pulp_h:ident, $pulp_i:ident| $pulp_meaning:expr;)*) => {
        /// Operations: one per 32-bit instruction, and what illegal words decode to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Op {
            $($(#[$doc])* $op,)*
            $($(#[$pulp_doc])* $pulp_op,)*
            /// A word that is no instruction.
            Illegal,
        }

        impl Op {
            /// What kind of work this is.
            #[inline]
            pub const fn class(self) -> Class {
                match self {
                    $(Op::$op => Class::$class,)*
                    $(Op::$pulp_op => Class::$pulp_class,)*
                    Op::Illegal => Class::Illegal,
                }
            }

            /// Whether it is of PULP's extensions.
            pub const fn is_pulp(self) -> bool {
                matches!(self, $(Op::$pulp_op)|*)
            }
        }

        /// The rows of the 32-bit instructions; that of operation `op` stands at `op as usize`.
        pub(super) static BASE: &[Row] = &[
            $(Row {
                name: $name,
                format: format::$format,
                pattern: Pattern::parse($pattern),
                except: &[$($(Pattern::parse($except)),+)?],
                op: Op::$op,
            },)*
            $(Row {
                name: $pulp_name,
                format: format::$pulp_format,
                pattern: Pattern::parse($pulp_pattern),
                except: &[$($(Pattern::parse($pulp_except)),+)?],
                op: Op::$pulp_op,
            },)*
        ];

        impl<H: Hart> Meanings<H> {
            /// That of operation `op` stands at `op as usize`.
            const ALL: [Meaning<H>; Op::Illegal as usize + 1] = [
                $({
                    fn meaning<H: Hart>($h: &mut H, $i: &Inst) {
                        $meaning
                    }
                    meaning
                },)*
                $({
                    fn meaning<H: Hart>($pulp_h: &mut H, $pulp_i: &Inst) {
                        $pulp_meaning
                    }
                    meaning
                },)*
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

macro_rules! pulp { (() $($rows:tt)*) => {
    xpulp_mem! { (xpulp_alu xpulp_mac xpulp_loop xpulp_simd instructions) [$($rows)*] }
}}

// Each extension adds its rows to those it was given and hands them all to the next; the last is `instructions!`.
rv32i! { (rv32m rv32a zicsr privileged pulp) }
