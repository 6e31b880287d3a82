/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point arithmetic for cores without a floating-point unit: float16 and float32 of IEEE 754-2019, and
 * bfloat16.
 *
 * Values are bit patterns in the low bits of a word. Sums and products are rounded to the nearest value, ties to even.
 * Subnormal numbers, infinities and signed zeros follow the standard. A result that is not a number has the bits of
 * SPIN_F_NAN, as in RISC-V's F extension. Minimum and maximum are `minimum` and `maximum` of IEEE 754-2019, 9.6: with a
 * NaN operand the result is NaN, and -0 is less than +0.
 *
 * No function accesses memory. A format is given by its numbers of fraction bits and exponent bits, which must be
 * constants, so that the compiler makes code for one format.
 */
#ifndef SPIN_FLOAT_H
#define SPIN_FLOAT_H

#include <stdint.h>

#if defined(__riscv) && !defined(SPIN_NATIVE) && !defined(SPIN_PANIC)
#include <spin_xpulp.h>
#define SPIN_HAS_XPULP 1
#else
#define SPIN_HAS_XPULP 0
#endif

/* Fraction bits and exponent bits. */
#define SPIN_F16 10, 5
#define SPIN_BF16 7, 8
#define SPIN_F32 23, 8

#define SPIN_FLOAT_FUNCTION static inline __attribute__((always_inline)) uint32_t

#define SPIN_F_EXPONENTS(M, E) ((1u << (E)) - 1)             /* the exponent of infinities */
#define SPIN_F_INFINITY(M, E) (SPIN_F_EXPONENTS(M, E) << (M)) /* the magnitude of infinities */
#define SPIN_F_SIGN(M, E) (1u << ((M) + (E)))
#define SPIN_F_NAN(M, E) (SPIN_F_INFINITY(M, E) | 1u << ((M)-1))

/* Position of the highest 1 of a word that is not 0: 1 instruction with PULP's extensions, otherwise about 20. */
SPIN_FLOAT_FUNCTION spin_f_highest(uint32_t word)
{
#if SPIN_HAS_XPULP
    return spin_p_fl1(word);
#elif defined(__riscv)
    uint32_t at = 0;
    for (uint32_t step = 16; step != 0; step /= 2) {
        if (word >> step != 0) {
            word >>= step;
            at += step;
        }
    }
    return at;
#else
    return 31 - (uint32_t)__builtin_clz(word);
#endif
}

/* `word` shifted right; the lowest bit of the result is also 1 if any 1 was shifted out. */
SPIN_FLOAT_FUNCTION spin_f_shift_right(uint32_t word, uint32_t by)
{
    if (by > 31) {
        return word != 0;
    }
    return word >> by | ((word & ((1u << by) - 1)) != 0);
}

/*
 * The value `sign` * m * 2^(e - bias - M - 3), rounded: m has three bits more than a significand. Its highest 1 is bit
 * M + 3, or below if e is 1.
 */
SPIN_FLOAT_FUNCTION spin_f_round(uint32_t sign, uint32_t e, uint32_t m, const int M, const int E)
{
    if (e >= SPIN_F_EXPONENTS(M, E)) {
        return sign | SPIN_F_INFINITY(M, E);
    }
    /* The bit of the integer part adds 1 to the exponent, and so may a carry from rounding. */
    uint32_t kept = ((e - 1) << M) + (m >> 3);
    kept += (m & 7) + (kept & 1) > 4;
    return sign | kept;
}

/* The value; for a NaN, SPIN_F_NAN. */
SPIN_FLOAT_FUNCTION spin_f_canonical(uint32_t a, const int M, const int E)
{
    return (a & (SPIN_F_SIGN(M, E) - 1)) > SPIN_F_INFINITY(M, E) ? SPIN_F_NAN(M, E) : a;
}

SPIN_FLOAT_FUNCTION spin_f_add(uint32_t a, uint32_t b, const int M, const int E)
{
    const uint32_t magnitude = SPIN_F_SIGN(M, E) - 1, fraction = (1u << M) - 1;
    if ((a & magnitude) < (b & magnitude)) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    const uint32_t large = a & magnitude, small = b & magnitude, differ = (a ^ b) >> (M + E) & 1;
    uint32_t sign = a & SPIN_F_SIGN(M, E), e = large >> M, e_small = small >> M;
    if (e == SPIN_F_EXPONENTS(M, E)) { /* the larger one is infinite or NaN */
        return large > SPIN_F_INFINITY(M, E) || (differ && small == large) ? SPIN_F_NAN(M, E) : a;
    }
    uint32_t m = (large & fraction) << 3, m_small = (small & fraction) << 3;
    if (e_small != 0) {
        m |= 1u << (M + 3);
        m_small |= 1u << (M + 3);
    } else { /* subnormal numbers have the exponent of the least normal ones, without the bit of their integer part */
        e_small = 1;
        if (e != 0) {
            m |= 1u << (M + 3);
        } else {
            e = 1;
        }
    }
    if (e != e_small) {
        m_small = spin_f_shift_right(m_small, e - e_small);
    }
    if (!differ) {
        m += m_small;
        if (m >> (M + 4) != 0) {
            m = m >> 1 | (m & 1);
            e++;
        }
    } else {
        m -= m_small;
        if (m == 0) {
            return 0; /* x - x is +0 in this rounding mode, and so is -0 + +0 */
        }
        uint32_t shift = (uint32_t)(M + 3) - spin_f_highest(m);
        if (shift >= e) {
            shift = e - 1;
        }
        m <<= shift;
        e -= shift;
    }
    return spin_f_round(sign, e, m, M, E);
}

SPIN_FLOAT_FUNCTION spin_f_mul(uint32_t a, uint32_t b, const int M, const int E)
{
    const uint32_t magnitude = SPIN_F_SIGN(M, E) - 1, fraction = (1u << M) - 1;
    const uint32_t sign = (a ^ b) & SPIN_F_SIGN(M, E), infinity = SPIN_F_INFINITY(M, E);
    a &= magnitude;
    b &= magnitude;
    if (a >= infinity || b >= infinity) {
        return a > infinity || b > infinity || a == 0 || b == 0 ? SPIN_F_NAN(M, E) : sign | infinity;
    }
    if (a == 0 || b == 0) {
        return sign;
    }
    /* Exponents such that each significand has its highest 1 at bit M; those of subnormal numbers may be negative. */
    int32_t e = (int32_t)(a >> M) + (int32_t)(b >> M) - (int32_t)(SPIN_F_EXPONENTS(M, E) / 2);
    uint32_t m = (a & fraction) | 1u << M, n = (b & fraction) | 1u << M;
    if (a <= fraction) {
        uint32_t shift = (uint32_t)M - spin_f_highest(a);
        m = a << shift;
        e += 1 - (int32_t)shift;
    }
    if (b <= fraction) {
        uint32_t shift = (uint32_t)M - spin_f_highest(b);
        n = b << shift;
        e += 1 - (int32_t)shift;
    }
    /* The product with its highest 1 at bit 31 or 30. */
    uint32_t p;
    if (M > 14) {
        uint64_t whole = (uint64_t)(m << (31 - M)) * (n << (31 - M));
        p = (uint32_t)(whole >> 32) | ((uint32_t)whole != 0);
    } else {
        p = m * n << (30 - 2 * (M > 14 ? 0 : M));
    }
    if (p >> 31 != 0) {
        e++;
    } else {
        p <<= 1;
    }
    uint32_t kept = spin_f_shift_right(p, 28 - (uint32_t)M);
    if (e < 1) {
        kept = spin_f_shift_right(kept, (uint32_t)(1 - e));
        e = 1;
    }
    return spin_f_round(sign, (uint32_t)e, kept, M, E);
}

/* A signed integer that compares like the number. */
SPIN_FLOAT_FUNCTION spin_f_order(uint32_t a, const int M, const int E)
{
    const uint32_t high = a << (31 - M - E);
    return high ^ (uint32_t)((int32_t)high >> 31) >> 1;
}

SPIN_FLOAT_FUNCTION spin_f_min(uint32_t a, uint32_t b, const int M, const int E)
{
    const uint32_t magnitude = SPIN_F_SIGN(M, E) - 1;
    if ((a & magnitude) > SPIN_F_INFINITY(M, E) || (b & magnitude) > SPIN_F_INFINITY(M, E)) {
        return SPIN_F_NAN(M, E);
    }
    return (int32_t)spin_f_order(a, M, E) <= (int32_t)spin_f_order(b, M, E) ? a : b;
}

SPIN_FLOAT_FUNCTION spin_f_max(uint32_t a, uint32_t b, const int M, const int E)
{
    const uint32_t magnitude = SPIN_F_SIGN(M, E) - 1;
    if ((a & magnitude) > SPIN_F_INFINITY(M, E) || (b & magnitude) > SPIN_F_INFINITY(M, E)) {
        return SPIN_F_NAN(M, E);
    }
    return (int32_t)spin_f_order(a, M, E) >= (int32_t)spin_f_order(b, M, E) ? a : b;
}

/*
 * Conversions between float32 and 16-bit formats. To 16 bits: the nearest value, ties to even. To float32: exact for
 * all values. NaN becomes SPIN_F_NAN.
 */
SPIN_FLOAT_FUNCTION spin_f16_from_f32(uint32_t a)
{
    const uint32_t sign = a >> 16 & 0x8000, magnitude = a & 0x7fffffff;
    if (magnitude > SPIN_F_INFINITY(23, 8)) {
        return SPIN_F_NAN(10, 5);
    }
    int32_t e = (int32_t)(magnitude >> 23) - 127 + 15;
    uint32_t m = (magnitude & 0x7fffff) | (magnitude >> 23 != 0 ? 0x800000 : 0);
    uint32_t kept = spin_f_shift_right(m, 10);
    if (e < 1) {
        kept = spin_f_shift_right(kept, (uint32_t)(1 - e));
        e = 1;
    }
    return spin_f_round(sign, (uint32_t)e, kept, SPIN_F16);
}

SPIN_FLOAT_FUNCTION spin_f32_from_f16(uint32_t a)
{
    const uint32_t sign = (a & 0x8000) << 16, magnitude = a & 0x7fff;
    if (magnitude >= SPIN_F_INFINITY(10, 5)) {
        return magnitude > SPIN_F_INFINITY(10, 5) ? SPIN_F_NAN(23, 8) : sign | SPIN_F_INFINITY(23, 8);
    }
    if (magnitude >= 1u << 10) {
        return sign | ((magnitude << 13) + ((127u - 15) << 23));
    }
    if (magnitude == 0) {
        return sign;
    }
    uint32_t highest = spin_f_highest(magnitude); /* the value is magnitude * 2^-24 */
    return sign | (highest + 127 - 24) << 23 | (magnitude << (23 - highest) & 0x7fffff);
}

SPIN_FLOAT_FUNCTION spin_bf16_from_f32(uint32_t a)
{
    if ((a & 0x7fffffff) > SPIN_F_INFINITY(23, 8)) {
        return SPIN_F_NAN(7, 8);
    }
    return (a + 0x7fff + (a >> 16 & 1)) >> 16;
}

SPIN_FLOAT_FUNCTION spin_f32_from_bf16(uint32_t a)
{
    return (a & 0x7fff) > SPIN_F_INFINITY(7, 8) ? SPIN_F_NAN(23, 8) : a << 16;
}

#endif
