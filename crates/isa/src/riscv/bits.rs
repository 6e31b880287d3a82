//! Arithmetic of PULP's scalar instructions. PsPIN RTL a49fec8, `riscv_alu.sv`, and `riscv_mult.sv` of the same core.

/// The bits of a field of `size_less_1 + 1` bits from bit `offset` up; what passes bit 31 is lost.
#[inline]
pub const fn field(size_less_1: u32, offset: u32) -> u32 {
    !(0xffff_fffe << (size_less_1 & 31)) << (offset & 31)
}

/// A field of `a`, sign-extended. `place` has its size less 1 in bits 9 to 5 and its offset in bits 4 to 0; above bit 31
/// of `a` stand copies of it.
#[inline]
pub const fn extract(a: u32, place: u32) -> u32 {
    let unused = 31 - (place >> 5 & 31);
    ((a as i32 >> (place & 31)) << unused >> unused) as u32
}

/// A field of `a`, zero-extended, with its place as for [`extract`].
#[inline]
pub const fn extract_unsigned(a: u32, place: u32) -> u32 {
    a >> (place & 31) & field(place >> 5, 0)
}

/// `into` with a field from the low bits of `a`, with its place as for [`extract`].
#[inline]
pub const fn insert(into: u32, a: u32, place: u32) -> u32 {
    let mask = field(place >> 5, place);
    a << (place & 31) & mask | into & !mask
}

/// `a` shifted left by the offset of `place` and turned round in groups of 1, 2 or 3 bits, as its size 0, 1 or 2 says; 3 is
/// as 0. Of groups of 3 there are ten, so the highest two bits become 0.
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

/// Bits that equal the sign bit, without it; of 0 there are none.
#[inline]
pub const fn leading(a: u32) -> u32 {
    if a == 0 { 0 } else { (a ^ (a as i32 >> 31) as u32).leading_zeros() - 1 }
}

/// Place of the lowest 1, 32 if there is none.
#[inline]
pub const fn first_one(a: u32) -> u32 {
    a.trailing_zeros()
}

/// Place of the highest 1, 32 if there is none.
#[inline]
pub const fn last_one(a: u32) -> u32 {
    if a == 0 { 32 } else { 31 - a.leading_zeros() }
}

/// The bound that a clipping instruction's constant means: 2^(n-1) - 1, and 0 for 0.
#[inline]
pub const fn bound(n: u32) -> u32 {
    ((1 << (n & 31)) - 1) >> 1
}

/// `a` within -`bound` - 1 and `bound`, signed.
#[inline]
pub const fn clip(a: u32, bound: u32) -> u32 {
    let lowest = !bound;
    if a == lowest || (a as i32 as i64) + (bound as i32 as i64) + 1 < 0 { lowest } else { smaller(a, bound) }
}

/// `a` within 0 and `bound`, signed.
#[inline]
pub const fn clip_unsigned(a: u32, bound: u32) -> u32 {
    if a as i32 <= 0 { 0 } else { smaller(a, bound) }
}

const fn smaller(a: u32, b: u32) -> u32 {
    if (a as i32) < b as i32 { a } else { b }
}

/// Half of what a shift by `n` discards, to be added before it.
#[inline]
pub const fn half(n: u32) -> u32 {
    (1 << (n & 31)) >> 1
}

/// `sum` shifted right by the low 5 bits of `n`, sign bits in.
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
