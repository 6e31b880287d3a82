//! Arithmetic of PULP's scalar instructions. PsPIN RTL a49fec8, `riscv_alu.sv`, and `riscv_mult.sv` of the same core.

/// Mask of a field of `size_less_1 + 1` bits at bit `offset`. Bits above 31 are dropped.
#[inline]
pub const fn field(size_less_1: u32, offset: u32) -> u32 {
    !(0xffff_fffe << (size_less_1 & 31)) << (offset & 31)
}

/// A field of `a`, sign-extended. `place` holds the field's size minus 1 in bits 9 to 5 and its offset in bits 4 to 0.
/// Field bits above bit 31 of `a` are copies of bit 31.
#[inline]
pub const fn extract(a: u32, place: u32) -> u32 {
    let unused = 31 - (place >> 5 & 31);
    ((a as i32 >> (place & 31)) << unused >> unused) as u32
}

/// A field of `a`, zero-extended. `place` is as for [`extract`].
#[inline]
pub const fn extract_unsigned(a: u32, place: u32) -> u32 {
    a >> (place & 31) & field(place >> 5, 0)
}

/// `into` with a field replaced by the low bits of `a`. `place` is as for [`extract`].
#[inline]
pub const fn insert(into: u32, a: u32, place: u32) -> u32 {
    let mask = field(place >> 5, place);
    a << (place & 31) & mask | into & !mask
}

/// Shifts `a` left by the offset in `place`, then reverses the order of groups of 1, 2 or 3 bits, for sizes 0, 1 and 2
/// in `place`. Size 3 means groups of 1. Ten groups of 3 bits fill 30 bits, so the highest two bits become 0.
#[inline]
pub const fn reverse(a: u32, place: u32) -> u32 {
    let a = a << (place & 31);
    let group = match place >> 5 & 3 {
        1 => 2,
        2 => 3,
        _ => return a.reverse_bits(),
    };
    let (mut turned, mut at) = (0, 0);
    while at + group <= 32 {
        turned |= (a >> (32 - group - at) & ((1 << group) - 1)) << at;
        at += group;
    }
    turned
}

/// Number of bits below the sign bit that equal it, counted from the top; 0 for `a` = 0.
#[inline]
pub const fn leading(a: u32) -> u32 {
    if a == 0 { 0 } else { (a ^ (a as i32 >> 31) as u32).leading_zeros() - 1 }
}

/// Position of the lowest 1, or 32 if there is none.
#[inline]
pub const fn first_one(a: u32) -> u32 {
    a.trailing_zeros()
}

/// Position of the highest 1, or 32 if there is none.
#[inline]
pub const fn last_one(a: u32) -> u32 {
    if a == 0 { 32 } else { 31 - a.leading_zeros() }
}

/// Upper bound of a clipping instruction with constant `n`: 2^(n-1) - 1, or 0 for 0.
#[inline]
pub const fn bound(n: u32) -> u32 {
    ((1 << (n & 31)) - 1) >> 1
}

/// Clips `a` to the range from -`bound` - 1 to `bound`, signed.
#[inline]
pub const fn clip(a: u32, bound: u32) -> u32 {
    let lowest = !bound;
    if a == lowest || (a as i32 as i64) + (bound as i32 as i64) + 1 < 0 { lowest } else { smaller(a, bound) }
}

/// Clips `a` to the range from 0 to `bound`, signed.
#[inline]
pub const fn clip_unsigned(a: u32, bound: u32) -> u32 {
    if a as i32 <= 0 { 0 } else { smaller(a, bound) }
}

const fn smaller(a: u32, b: u32) -> u32 {
    if (a as i32) < b as i32 { a } else { b }
}

/// Rounding constant: half of the last bit that a right shift by `n` keeps.
#[inline]
pub const fn half(n: u32) -> u32 {
    (1 << (n & 31)) >> 1
}

/// `sum` shifted right by the low 5 bits of `n`, arithmetic.
#[inline]
pub const fn norm(sum: u32, n: u32) -> u32 {
    (sum as i32).wrapping_shr(n) as u32
}

/// Product of the low halves, signed.
#[inline]
pub const fn mul_low(a: u32, b: u32) -> u32 {
    (a as i16 as i32).wrapping_mul(b as i16 as i32) as u32
}

/// Product of the high halves, signed.
#[inline]
pub const fn mul_high(a: u32, b: u32) -> u32 {
    mul_low(a >> 16, b >> 16)
}

/// Product of the low halves, unsigned.
#[inline]
pub const fn mul_low_unsigned(a: u32, b: u32) -> u32 {
    (a & 0xffff).wrapping_mul(b & 0xffff)
}

/// Product of the high halves, unsigned.
#[inline]
pub const fn mul_high_unsigned(a: u32, b: u32) -> u32 {
    mul_low_unsigned(a >> 16, b >> 16)
}
