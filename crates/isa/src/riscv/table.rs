//! What is made of the rows: the operations, the table, and their meaning as one dense `match`.

use super::bits;
use super::csr::CsrWrite;
use super::decode::Inst;
use super::flow;
use super::format;
use super::hart::{Amo, Hart, Load, LoopPart, System, Width};
use super::lanes;
use super::row::Row;
use crate::Pattern;

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

        /// What [`execute`] branches on: few enough, and all with code of their own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Branch {
            $($op,)*
            Pulp,
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
                matches!(self.branch(), Branch::Pulp)
            }

            pub(super) const fn branch(self) -> Branch {
                match self {
                    $(Op::$op => Branch::$op,)*
                    $(Op::$pulp_op => Branch::Pulp,)*
                    Op::Illegal => Branch::Illegal,
                }
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

        /// Does to `hart` what `inst` says. See [`Hart`] for who moves the program counter.
        #[inline(always)]
        pub fn execute<H: Hart>(hart: &mut H, inst: &Inst) {
            match inst.branch {
                $(Branch::$op => {
                    let ($h, $i) = (hart, inst);
                    $meaning
                })*
                Branch::Pulp => execute_pulp(hart, inst),
                Branch::Illegal => hart.illegal(inst.imm as u32),
            }
        }

        /// The same for PULP's instructions, which are so many that loops around [`execute`] are better off without.
        #[inline(never)]
        fn execute_pulp<H: Hart>(hart: &mut H, inst: &Inst) {
            match inst.op {
                $(Op::$pulp_op => {
                    let ($pulp_h, $pulp_i) = (hart, inst);
                    $pulp_meaning
                })*
                _ => unreachable!("it is not PULP's"),
            }
        }
    };
}

macro_rules! pulp { (() $($rows:tt)*) => {
    xpulp_mem! { (xpulp_alu xpulp_mac xpulp_loop xpulp_simd instructions) [$($rows)*] }
}}

// Each extension adds its rows to those it was given and hands them all to the next; the last is `instructions!`.
rv32i! { (rv32m rv32a zicsr privileged pulp) }
