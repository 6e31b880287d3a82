//! Arithmetic of PULP's packed SIMD: a word has two lanes of 16 bits or four of 8, the lowest bits first.
//!
//! Source: PsPIN RTL a49fec8, `riscv_alu.sv`, and `riscv_mult.sv` of the same core.

/// Number of bits above a lane of `W` bits at bit 0.
const fn above<const W: u32>() -> u32 {
    32 - W
}

/// Lane `n` of `a`, sign-extended.
#[inline]
pub const fn lane<const W: u32>(a: u32, n: u32) -> i32 {
    (a >> (n * W) << above::<W>()) as i32 >> above::<W>()
}

/// Lane `n` of `a`, zero-extended.
#[inline]
pub const fn lane_unsigned<const W: u32>(a: u32, n: u32) -> i32 {
    (a >> (n * W) << above::<W>() >> above::<W>()) as i32
}

/// A word with the lowest lane of `a` in all lanes.
#[inline]
pub const fn replicate<const W: u32>(a: u32) -> u32 {
    if W == 16 { (a & 0xffff) * 0x1_0001 } else { (a & 0xff) * 0x101_0101 }
}

/// `into` with lane `n` replaced by the low bits of `value`.
#[inline]
pub const fn insert<const W: u32>(into: u32, n: u32, value: u32) -> u32 {
    let mask = (u32::MAX >> above::<W>()) << (n * W);
    into & !mask | value << (n * W) & mask
}

/// Applies `f` to each pair of lanes, sign-extended, and truncates the results to the lane.
#[inline]
pub fn signed<const W: u32>(a: u32, b: u32, f: impl Fn(i32, i32) -> i32) -> u32 {
    (0..32 / W).fold(0, |word, n| insert::<W>(word, n, f(lane::<W>(a, n), lane::<W>(b, n)) as u32))
}

/// Applies `f` to each pair of lanes, zero-extended, and truncates the results to the lane.
#[inline]
pub fn unsigned<const W: u32>(a: u32, b: u32, f: impl Fn(i32, i32) -> i32) -> u32 {
    (0..32 / W).fold(0, |word, n| insert::<W>(word, n, f(lane_unsigned::<W>(a, n), lane_unsigned::<W>(b, n)) as u32))
}

/// The result of a comparison in a lane: all ones if `condition` holds, else 0.
#[inline]
pub const fn truth(condition: bool) -> i32 {
    -(condition as i32)
}

/// Sum of each pair of lanes.
#[inline]
pub fn add<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| x + y)
}

/// Difference of each pair of lanes.
#[inline]
pub fn sub<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| x - y)
}

/// Sum, truncated to the lane, then shifted right by 1, arithmetic.
#[inline]
pub fn avg<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(add::<W>(a, b), 0, |sum, _| sum >> 1)
}

/// Sum, truncated to the lane, then shifted right by 1, logical.
#[inline]
pub fn avgu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(add::<W>(a, b), 0, |sum, _| sum >> 1)
}

/// Minimum, signed.
#[inline]
pub fn min<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| x.min(y))
}

/// Minimum, unsigned.
#[inline]
pub fn minu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x.min(y))
}

/// Maximum, signed.
#[inline]
pub fn max<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| x.max(y))
}

/// Maximum, unsigned.
#[inline]
pub fn maxu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x.max(y))
}

/// Logical right shift by `b` modulo the lane width.
#[inline]
pub fn srl<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x >> (y & (W as i32 - 1)))
}

/// Arithmetic right shift by `b` modulo the lane width.
#[inline]
pub fn sra<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| x >> (y & (W as i32 - 1)))
}

/// Left shift by `b` modulo the lane width.
#[inline]
pub fn sll<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x << (y & (W as i32 - 1)))
}

/// Bitwise or.
#[inline]
pub fn or<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x | y)
}

/// Bitwise exclusive or.
#[inline]
pub fn xor<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x ^ y)
}

/// Bitwise and.
#[inline]
pub fn and<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| x & y)
}

/// All ones in lanes where `a` = `b`.
#[inline]
pub fn cmpeq<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x == y))
}

/// All ones in lanes where `a` and `b` differ.
#[inline]
pub fn cmpne<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x != y))
}

/// All ones in lanes where `a` > `b`, signed.
#[inline]
pub fn cmpgt<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| truth(x > y))
}

/// All ones in lanes where `a` >= `b`, signed.
#[inline]
pub fn cmpge<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| truth(x >= y))
}

/// All ones in lanes where `a` < `b`, signed.
#[inline]
pub fn cmplt<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| truth(x < y))
}

/// All ones in lanes where `a` <= `b`, signed.
#[inline]
pub fn cmple<const W: u32>(a: u32, b: u32) -> u32 {
    signed::<W>(a, b, |x, y| truth(x <= y))
}

/// All ones in lanes where `a` > `b`, unsigned.
#[inline]
pub fn cmpgtu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x > y))
}

/// All ones in lanes where `a` >= `b`, unsigned.
#[inline]
pub fn cmpgeu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x >= y))
}

/// All ones in lanes where `a` < `b`, unsigned.
#[inline]
pub fn cmpltu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x < y))
}

/// All ones in lanes where `a` <= `b`, unsigned.
#[inline]
pub fn cmpleu<const W: u32>(a: u32, b: u32) -> u32 {
    unsigned::<W>(a, b, |x, y| truth(x <= y))
}

/// Absolute value; the lowest negative number stays.
#[inline]
pub fn abs<const W: u32>(a: u32) -> u32 {
    signed::<W>(a, 0, |x, _| x.abs())
}

/// Sum of the products, both signed.
#[inline]
pub fn dotsp<const W: u32>(a: u32, b: u32) -> u32 {
    sum::<W>(|n| lane::<W>(a, n).wrapping_mul(lane::<W>(b, n)))
}

/// Sum of the products, both unsigned.
#[inline]
pub fn dotup<const W: u32>(a: u32, b: u32) -> u32 {
    sum::<W>(|n| lane_unsigned::<W>(a, n).wrapping_mul(lane_unsigned::<W>(b, n)))
}

/// Sum of the products, `a` unsigned and `b` signed.
#[inline]
pub fn dotusp<const W: u32>(a: u32, b: u32) -> u32 {
    sum::<W>(|n| lane_unsigned::<W>(a, n).wrapping_mul(lane::<W>(b, n)))
}

fn sum<const W: u32>(product: impl Fn(u32) -> i32) -> u32 {
    (0..32 / W).fold(0, |sum: i32, n| sum.wrapping_add(product(n))) as u32
}

/// Lanes of `a`, selected by the low bits of the lanes of `b`.
#[inline]
pub fn shuffle<const W: u32>(a: u32, b: u32) -> u32 {
    shuffle_two::<W>(a, a, b)
}

/// As [`shuffle`], but the next higher selector bit chooses the source: `a` if it is 1, else `other`.
#[inline]
pub fn shuffle_two<const W: u32>(other: u32, a: u32, b: u32) -> u32 {
    let n_lanes = 32 / W;
    unsigned::<W>(b, 0, |choice, _| {
        let (from, n) = (if choice as u32 & n_lanes != 0 { a } else { other }, choice as u32 & (n_lanes - 1));
        lane_unsigned::<W>(from, n)
    })
}

/// Unpacks the selectors of [`shuffle`] from a constant with one or two bits per lane.
#[inline]
pub const fn selectors<const W: u32>(packed: u32) -> u32 {
    if W == 16 {
        packed & 1 | (packed & 2) << 15
    } else {
        packed & 3 | (packed & 0xc) << 6 | (packed & 0x30) << 12 | (packed & 0xc0) << 18
    }
}

/// Two halfwords as a word.
#[inline]
pub const fn pack(high: u32, low: u32) -> u32 {
    high << 16 | low & 0xffff
}

/// Real part of a complex product in Q15, shifted right by `n`. The real part of each operand is in the low half.
#[inline]
pub const fn complex_real(a: u32, b: u32, n: u32) -> u32 {
    let (x, y) = (lane::<16>(a, 0).wrapping_mul(lane::<16>(b, 0)), lane::<16>(a, 1).wrapping_mul(lane::<16>(b, 1)));
    (x.wrapping_sub(y) >> (15 + n)) as u32
}

/// Imaginary part of a complex product, as for [`complex_real`].
#[inline]
pub const fn complex_imaginary(a: u32, b: u32, n: u32) -> u32 {
    let (x, y) = (lane::<16>(a, 0).wrapping_mul(lane::<16>(b, 1)), lane::<16>(a, 1).wrapping_mul(lane::<16>(b, 0)));
    (x.wrapping_add(y) >> (15 + n)) as u32
}

/// Sum of the halfwords, truncated to 16 bits, then shifted right by `n`, arithmetic.
#[inline]
pub fn add_shift(a: u32, b: u32, n: u32) -> u32 {
    signed::<16>(a, b, |x, y| (x.wrapping_add(y) as i16 >> n).into())
}

/// Difference of the halfwords, shifted as in [`add_shift`].
#[inline]
pub fn sub_shift(a: u32, b: u32, n: u32) -> u32 {
    signed::<16>(a, b, |x, y| (x.wrapping_sub(y) as i16 >> n).into())
}

/// Difference of complex numbers times -i, shifted as in [`sub_shift`].
#[inline]
pub fn sub_rotate(a: u32, b: u32, n: u32) -> u32 {
    // -i (x + iy) = y - ix: swaps the halves and negates the new imaginary part.
    sub_shift(pack(b, a >> 16), pack(a, b >> 16), n)
}
