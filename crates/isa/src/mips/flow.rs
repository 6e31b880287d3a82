//! Helpers of several instructions: targets, overflow checks, multiplication, division.

use super::cpu::{Cpu, Exception};

/// Target of a branch at `pc`, relative to its delay slot.
#[inline]
pub const fn target(pc: u32, offset: i32) -> u32 {
    pc.wrapping_add(4).wrapping_add(offset as u32)
}

/// Target of a jump at `pc`, within the 256 MiB of its delay slot.
#[inline]
pub const fn region(pc: u32, index: i32) -> u32 {
    pc.wrapping_add(4) & 0xf000_0000 | index as u32
}

/// Branches if `taken`, else annuls the delay slot.
#[inline(always)]
pub fn likely<C: Cpu>(cpu: &mut C, taken: bool, offset: i32) {
    if taken {
        cpu.branch(target(cpu.pc(), offset));
    } else {
        cpu.annul();
    }
}

/// r = a + b, or raises an exception and leaves r unchanged.
#[inline(always)]
pub fn add<C: Cpu>(cpu: &mut C, r: u8, a: u32, b: u32) {
    match (a as i32).checked_add(b as i32) {
        Some(sum) => cpu.set(r, sum as u32),
        None => cpu.exception(Exception::Overflow),
    }
}

/// r = a - b, or raises an exception and leaves r unchanged.
#[inline(always)]
pub fn sub<C: Cpu>(cpu: &mut C, r: u8, a: u32, b: u32) {
    match (a as i32).checked_sub(b as i32) {
        Some(difference) => cpu.set(r, difference as u32),
        None => cpu.exception(Exception::Overflow),
    }
}

/// Raises an exception if the condition holds.
#[inline(always)]
pub fn trap<C: Cpu>(cpu: &mut C, holds: bool, code: i32) {
    if holds {
        cpu.exception(Exception::Trap(code as u32));
    }
}

/// HI and LO of the signed product.
#[inline]
pub const fn mult(a: u32, b: u32) -> (u32, u32) {
    let product = a as i32 as i64 * b as i32 as i64;
    ((product >> 32) as u32, product as u32)
}

/// HI and LO of the unsigned product.
#[inline]
pub const fn multu(a: u32, b: u32) -> (u32, u32) {
    let product = a as u64 * b as u64;
    ((product >> 32) as u32, product as u32)
}

/// Remainder and quotient, signed, rounded towards zero; -2^31 / -1 is -2^31.
///
/// The manual does not define division by 0. Assumed: the result of a shift-and-subtract divider, which is the quotient
/// all ones (1 for a negative dividend) and the dividend as remainder. Compilers test for 0 themselves.
#[inline]
pub const fn div(a: u32, b: u32) -> (u32, u32) {
    match (a as i32, b as i32) {
        (a, 0) => (a as u32, if a < 0 { 1 } else { u32::MAX }),
        (a, b) => (a.wrapping_rem(b) as u32, a.wrapping_div(b) as u32),
    }
}

/// Remainder and quotient, unsigned. Division by 0 gives all ones and the dividend, as in [`div`].
#[inline]
pub const fn divu(a: u32, b: u32) -> (u32, u32) {
    if b == 0 { (a, u32::MAX) } else { (a % b, a / b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: u32 = i32::MIN as u32;
    const MINUS_ONE: u32 = -1i32 as u32;

    #[test]
    fn division_is_defined_for_all_operands() {
        assert_eq!((div(7, 0), divu(7, 0), div(MINUS_ONE, 0)), ((7, MINUS_ONE), (7, MINUS_ONE), (MINUS_ONE, 1)));
        assert_eq!(div(MIN, MINUS_ONE), (0, MIN));
        assert_eq!(div(-7i32 as u32, 2), (MINUS_ONE, -3i32 as u32));
    }

    #[test]
    fn jumps_stay_in_the_region_of_their_delay_slot() {
        assert_eq!(region(0x0000_4000, 0x0fff_fffc), 0x0fff_fffc);
        assert_eq!(region(0x0fff_fffc, 0x0000_4000), 0x1000_4000);
        assert_eq!(target(0x4000, -4), 0x4000);
    }
}
