//! Timing of RI5CY as configured in PsPIN: cycles from one instruction leaving decode to the next.
//!
//! Source: PsPIN RTL a49fec8, `hw/deps/riscv`. Values were measured on that RTL under Verilator unless marked as
//!           derived.

/// Bytes of a fetch line.
pub const LINE_BYTES: u32 = 16;

/// Arithmetic, branches not taken, accesses granted at once.
pub const PLAIN: u64 = 1;
/// `mulh`, `mulhu`, `mulhsu`.
pub const MUL_HIGH: u64 = 5;
/// A taken branch: it is resolved in EX.
pub const BRANCH_TAKEN: u64 = 3;
/// A jump. It redirects fetch in its first cycle in ID, so cycles for which it waits there behind an access are
/// subtracted; at least 1 cycle remains.
pub const JUMP: u64 = 2;
/// Additional cycles if the target is a 32-bit instruction that straddles two lines.
pub const STRADDLING_TARGET: u64 = 1;
/// Additional cycles if a hardware loop ends with an instruction to which fetch was just redirected. Derived, not
/// measured.
pub const LOOP_END_AT_TARGET: u64 = 1;
/// Additional cycles if the previous instruction loads an operand of this one, or the register to which this one's ALU
/// result goes.
pub const LOAD_USE: u64 = 1;
/// For a load that reads the register that it loads: cycles from its grant until the next instruction enters decode, if that
/// instruction was not fetched when the load left decode.
pub const OWN_RESULT: u64 = 2;
/// A jump to a register that it also writes, if its target is not fetched when it leaves decode.
pub const JUMP_OWN_RESULT: u64 = 3;
/// Cycles after an arithmetic instruction left decode until a register jump may use its result.
pub const ALU_TO_JUMP: u64 = 2;
/// Cycles after a load was granted until a register jump may use its result.
pub const LOAD_TO_JUMP: u64 = 2;
/// Control register accesses that need no flush.
pub const CSR: u64 = 1;
/// Control register accesses that flush the pipeline (`mstatus`, `ustatus`, `uepc`). Derived, not measured.
pub const CSR_FLUSH: u64 = 4;
/// Fences: flush, and the prefetch buffer fetches again. Derived, not measured.
pub const FENCE: u64 = 5;
/// From a trapping instruction to the first of its handler. Derived, not measured.
pub const TRAP: u64 = 5;
/// `mret` and `uret`. Derived, not measured.
pub const TRAP_RETURN: u64 = 5;

/// Cycles of a division: 3 plus the number of leading zeros of the divisor (if negative: leading ones minus one).
#[inline]
pub fn div(divisor: u32, signed: bool) -> u64 {
    let negative = signed && (divisor as i32) < 0;
    3 + u64::from(if negative { divisor.leading_ones() - 1 } else { divisor.leading_zeros() })
}
