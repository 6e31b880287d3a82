//! What is made of the rows: the operations, the table, and their meaning as one dense `match`.

use super::csr::CsrWrite;
use super::decode::Inst;
use super::flow;
use super::format;
use super::hart::{Amo, Hart, Load, System, Width};
use super::row::{Pattern, Row};

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
    /// No instruction.
    Illegal,
}

// A row reads: documentation, `Op`, name, `Class`, format, pattern, meaning for a hart `h` and an instruction `i`.
macro_rules! instructions {
    (() $($(#[$doc:meta])* $op:ident $name:literal $class:ident $format:ident $pattern:literal
        $(except $($except:literal)+)? => |$h:ident, $i:ident| $meaning:expr;)*) => {
        /// Operations: one per 32-bit instruction, and what illegal words decode to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            $($(#[$doc])* $op,)*
            /// A word that is no instruction.
            Illegal,
        }

        impl Op {
            /// What kind of work this is.
            #[inline]
            pub const fn class(self) -> Class {
                match self {
                    $(Op::$op => Class::$class,)*
                    Op::Illegal => Class::Illegal,
                }
            }
        }

        /// The rows of the 32-bit instructions; that of operation `op` stands at `op as usize`.
        pub(super) static BASE: &[Row] = &[$(Row {
            name: $name,
            format: format::$format,
            pattern: Pattern::parse($pattern),
            except: &[$($(Pattern::parse($except)),+)?],
            op: Op::$op,
        }),*];

        /// Does to `hart` what `inst` says. See [`Hart`] for who moves the program counter.
        #[inline(always)]
        pub fn execute<H: Hart>(hart: &mut H, inst: &Inst) {
            match inst.op {
                $(Op::$op => {
                    let ($h, $i) = (hart, inst);
                    $meaning
                })*
                Op::Illegal => hart.illegal(inst.imm as u32),
            }
        }
    };
}

// Each extension adds its rows to those it was given and hands them all to the next; the last is `instructions!`.
rv32i! { (rv32m rv32a zicsr privileged xpulp instructions) }
