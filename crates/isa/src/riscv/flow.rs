//! Shared arithmetic: results of AMOs, division, high words of products.

use super::hart::Amo;

impl Amo {
    /// The word that the operation stores over `old`. `lr.w` keeps it; `sc.w` stores its operand.
    #[inline]
    pub const fn apply(self, old: u32, operand: u32) -> u32 {
        match self {
            Amo::Swap | Amo::StoreConditional => operand,
            Amo::Add => old.wrapping_add(operand),
            Amo::Xor => old ^ operand,
            Amo::And => old & operand,
            Amo::Or => old | operand,
            Amo::Min => pick((old as i32) < (operand as i32), old, operand),
            Amo::Max => pick((old as i32) > (operand as i32), old, operand),
            Amo::MinU => pick(old < operand, old, operand),
            Amo::MaxU => pick(old > operand, old, operand),
            Amo::LoadReserved => old,
        }
    }
}

const fn pick(first: bool, a: u32, b: u32) -> u32 {
    if first { a } else { b }
}

/// Signed quotient, rounded towards zero. Division by 0 gives -1; -2^31 / -1 is -2^31. U table 7.1.
#[inline]
pub const fn div(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }
}

/// Unsigned quotient. Division by 0 gives 2^32 - 1. U table 7.1.
#[inline]
pub const fn divu(a: u32, b: u32) -> u32 {
    match a.checked_div(b) {
        Some(quotient) => quotient,
        None => u32::MAX,
    }
}

/// Signed remainder, with the sign of the dividend. Division by 0 gives the dividend; -2^31 rem -1 is 0. U table 7.1.
#[inline]
pub const fn rem(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 }
}

/// Unsigned remainder. Division by 0 gives the dividend. U table 7.1.
#[inline]
pub const fn remu(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { a % b }
}

/// High word of the product of two signed numbers.
#[inline]
pub const fn mulh(a: u32, b: u32) -> u32 {
    ((a as i32 as i64 * b as i32 as i64) >> 32) as u32
}

/// High word of the product of signed `a` and unsigned `b`.
#[inline]
pub const fn mulhsu(a: u32, b: u32) -> u32 {
    ((a as i32 as i64 * b as i64) >> 32) as u32
}

/// High word of the product of two unsigned numbers.
#[inline]
pub const fn mulhu(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: u32 = i32::MIN as u32;
    const MINUS_ONE: u32 = -1i32 as u32;

    #[test]
    fn division_has_the_standards_corner_cases() {
        assert_eq!((div(7, 0), divu(7, 0), rem(7, 0), remu(7, 0)), (MINUS_ONE, MINUS_ONE, 7, 7));
        assert_eq!((div(MIN, MINUS_ONE), rem(MIN, MINUS_ONE)), (MIN, 0));
        assert_eq!((div(-7i32 as u32, 2), rem(-7i32 as u32, 2)), (-3i32 as u32, MINUS_ONE));
    }

    #[test]
    fn high_products_depend_on_the_signs() {
        assert_eq!((mulh(MIN, MIN), mulhu(MIN, MIN), mulhsu(MIN, MIN)), (0x4000_0000, 0x4000_0000, 0xc000_0000));
        assert_eq!((mulh(MINUS_ONE, 1), mulhsu(1, MINUS_ONE), mulhu(MINUS_ONE, 2)), (MINUS_ONE, 0, 1));
    }

    #[test]
    fn signed_and_unsigned_extremes_differ() {
        assert_eq!((Amo::Min.apply(1, MINUS_ONE), Amo::Max.apply(1, MINUS_ONE)), (MINUS_ONE, 1));
        assert_eq!((Amo::MinU.apply(1, MINUS_ONE), Amo::MaxU.apply(1, MINUS_ONE)), (1, MINUS_ONE));
    }
}
