/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduction operators: to[i] = a[i] op b[i] for vectors of int8, int16, int32, float16, bfloat16, float32, or your own.
 *
 *     spin_reduce(SPIN_BFLOAT16, SPIN_SUM, sums, sums, data, bytes);
 *
 * Integers wrap round, as in MPI and NumPy; spin_float.h describes floating-point numbers. Elements have the byte order
 * of the cores. Vectors begin at multiples of 4 bytes and have whole elements; `to` may be `a` or `b`. Type and
 * operator should be constants: then the compiler keeps only one loop.
 *
 * Your own operator is a header that defines SPIN_CUSTOM_BYTES (1, 2, 4 or 8, the size of an element) and the function
 *
 *     static inline void spin_custom(void *to, const void *a, const void *b)
 *
 * Name it with -DSPIN_CUSTOM_OPERATOR='"operators/maxloc.h"' and use SPIN_CUSTOM as type and operator.
 *
 * Memory: 2 loads and a store for each element, or for each word where PULP has an instruction for packed elements.
 * Never waits. Cost in cycles for each element, with random bits: sum, minimum and maximum of int8 1.1, int16 2.3,
 * int32 4.5; their products 10, 10 and 4.5; float16, bfloat16 and float32: sums 59 to 63, products 53 to 59, minima and
 * maxima 23 to 26.
 */
#ifndef SPIN_REDUCE_H
#define SPIN_REDUCE_H

#include "spin_float.h"
#include <stddef.h>
#include <string.h>

#if SPIN_HAS_XPULP
#include <spin_xpulp_loops.h>
#endif

/* Types and operators are numbers, so that #if can compare them. */
#define SPIN_INT8 0
#define SPIN_INT16 1
#define SPIN_INT32 2
#define SPIN_FLOAT16 3
#define SPIN_BFLOAT16 4
#define SPIN_FLOAT32 5
#define SPIN_CUSTOM 6

#define SPIN_SUM 0
#define SPIN_MIN 1
#define SPIN_MAX 2
#define SPIN_PROD 3

typedef uint32_t spin_type_t, spin_op_t;

#ifdef SPIN_CUSTOM_OPERATOR
#include SPIN_CUSTOM_OPERATOR
_Static_assert(SPIN_CUSTOM_BYTES == 1 || SPIN_CUSTOM_BYTES == 2 || SPIN_CUSTOM_BYTES == 4 || SPIN_CUSTOM_BYTES == 8,
               "SPIN_CUSTOM_BYTES must be 1, 2, 4 or 8");
#ifdef SPIN_ELEMENT_BYTES
_Static_assert(SPIN_CUSTOM_BYTES == SPIN_ELEMENT_BYTES, "SPIN_CUSTOM_BYTES differs from element_bytes of Flare");
#endif
#else
#define SPIN_CUSTOM_BYTES 4
static inline void spin_custom(void *to, const void *a, const void *b)
{
    (void)b;
    memcpy(to, a, SPIN_CUSTOM_BYTES);
}
#endif

#define SPIN_REDUCE_FUNCTION static inline __attribute__((always_inline))

/* Bytes of an element. */
SPIN_REDUCE_FUNCTION uint32_t spin_type_bytes(spin_type_t type)
{
    switch (type) {
    case SPIN_INT8: return 1;
    case SPIN_INT16:
    case SPIN_FLOAT16:
    case SPIN_BFLOAT16: return 2;
    case SPIN_CUSTOM: return SPIN_CUSTOM_BYTES;
    default: return 4;
    }
}

SPIN_REDUCE_FUNCTION uint32_t spin_reduce_integer(spin_op_t op, int32_t a, int32_t b)
{
    switch (op) {
    case SPIN_SUM: return (uint32_t)a + (uint32_t)b;
    case SPIN_MIN: return (uint32_t)(a < b ? a : b);
    case SPIN_MAX: return (uint32_t)(a > b ? a : b);
    default: return (uint32_t)a * (uint32_t)b;
    }
}

SPIN_REDUCE_FUNCTION uint32_t spin_reduce_float(spin_op_t op, uint32_t a, uint32_t b, const int M, const int E)
{
    switch (op) {
    case SPIN_SUM: return spin_f_add(a, b, M, E);
    case SPIN_MIN: return spin_f_min(a, b, M, E);
    case SPIN_MAX: return spin_f_max(a, b, M, E);
    default: return spin_f_mul(a, b, M, E);
    }
}

/* a op b for the bits of one element. For integers, only the bits of the type are meaningful. Not for SPIN_CUSTOM. */
SPIN_REDUCE_FUNCTION uint32_t spin_reduce_one(spin_type_t type, spin_op_t op, uint32_t a, uint32_t b)
{
    switch (type) {
    case SPIN_INT8: return spin_reduce_integer(op, (int8_t)a, (int8_t)b);
    case SPIN_INT16: return spin_reduce_integer(op, (int16_t)a, (int16_t)b);
    case SPIN_INT32: return spin_reduce_integer(op, (int32_t)a, (int32_t)b);
    case SPIN_FLOAT16: return spin_reduce_float(op, a & 0xffff, b & 0xffff, SPIN_F16);
    case SPIN_BFLOAT16: return spin_reduce_float(op, a & 0xffff, b & 0xffff, SPIN_BF16);
    default: return spin_reduce_float(op, a, b, SPIN_F32);
    }
}

/* The bits of one element, with those of spin_float.h for a NaN. Not for SPIN_CUSTOM. */
SPIN_REDUCE_FUNCTION uint32_t spin_reduce_canonical(spin_type_t type, uint32_t a)
{
    switch (type) {
    case SPIN_FLOAT16: return spin_f_canonical(a, SPIN_F16);
    case SPIN_BFLOAT16: return spin_f_canonical(a, SPIN_BF16);
    case SPIN_FLOAT32: return spin_f_canonical(a, SPIN_F32);
    default: return a;
    }
}

typedef uint32_t __attribute__((__may_alias__)) spin_u32_alias;
typedef uint16_t __attribute__((__may_alias__)) spin_u16_alias;

/* Combines elements one by one. */
SPIN_REDUCE_FUNCTION void spin_reduce_each(spin_type_t type, spin_op_t op, void *to, const void *a, const void *b,
                                           uint32_t bytes)
{
    if (type == SPIN_CUSTOM) {
        for (uint32_t at = 0; at < bytes; at += SPIN_CUSTOM_BYTES) {
            spin_custom((uint8_t *)to + at, (const uint8_t *)a + at, (const uint8_t *)b + at);
        }
    } else if (spin_type_bytes(type) == 4) {
        spin_u32_alias *into = (spin_u32_alias *)to, *end = into + bytes / 4;
        const spin_u32_alias *x = (const spin_u32_alias *)a, *y = (const spin_u32_alias *)b;
        for (; into < end; into++, x++, y++) {
            *into = spin_reduce_one(type, op, *x, *y);
        }
    } else if (spin_type_bytes(type) == 2) {
        spin_u16_alias *into = (spin_u16_alias *)to, *end = into + bytes / 2;
        const spin_u16_alias *x = (const spin_u16_alias *)a, *y = (const spin_u16_alias *)b;
        for (; into < end; into++, x++, y++) {
            *into = (uint16_t)spin_reduce_one(type, op, *x, *y);
        }
    } else {
        uint8_t *into = (uint8_t *)to, *end = into + bytes;
        const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
        for (; into < end; into++, x++, y++) {
            *into = (uint8_t)spin_reduce_one(type, op, *x, *y);
        }
    }
}

#if SPIN_HAS_XPULP
/* Two words an iteration, so that no instruction waits for the load before it: 4 cycles a word. */
#define SPIN_REDUCE_WORDS(to, a, b, n, instruction)                                                                    \
    do {                                                                                                               \
        uint32_t x_, y_, v_, w_;                                                                                       \
        __asm__ volatile(SPIN_LOOP("%[n_]", 8,                                                                         \
                                   SPIN_LW_POST("%[x]", "4", "%[a_]")                                                  \
                                   SPIN_LW_POST("%[y]", "4", "%[b_]")                                                  \
                                   SPIN_LW_POST("%[v]", "4", "%[a_]")                                                  \
                                   SPIN_LW_POST("%[w]", "4", "%[b_]")                                                  \
                                   instruction("%[x]", "%[x]", "%[y]")                                                 \
                                   instruction("%[v]", "%[v]", "%[w]")                                                 \
                                   SPIN_SW_POST("%[x]", "4", "%[to_]")                                                 \
                                   SPIN_SW_POST("%[v]", "4", "%[to_]"))                                                \
                         : [to_] "+r"(to), [a_] "+r"(a), [b_] "+r"(b), [x] "=&r"(x_), [y] "=&r"(y_), [v] "=&r"(v_),    \
                           [w] "=&r"(w_)                                                                               \
                         : [n_] "r"((n) / 2)                                                                           \
                         : "memory");                                                                                  \
    } while (0)
#define SPIN_R_ADD(d, a, b) "add " d ", " a ", " b "\n"
#define SPIN_R_MUL(d, a, b) "mul " d ", " a ", " b "\n"
#define SPIN_R_MIN(d, a, b) ".insn r 0x33, 4, 0x02, " d ", " a ", " b "\n"
#define SPIN_R_MAX(d, a, b) ".insn r 0x33, 6, 0x02, " d ", " a ", " b "\n"
#define SPIN_R_MIN_H(d, a, b) ".insn r 0x57, 0, 0x10, " d ", " a ", " b "\n"
#define SPIN_R_MAX_H(d, a, b) ".insn r 0x57, 0, 0x18, " d ", " a ", " b "\n"
#define SPIN_R_MIN_B(d, a, b) ".insn r 0x57, 1, 0x10, " d ", " a ", " b "\n"
#define SPIN_R_MAX_B(d, a, b) ".insn r 0x57, 1, 0x18, " d ", " a ", " b "\n"

/* Combines whole pairs of words, by instructions for words, halves or bytes. Returns the number of bytes combined. */
SPIN_REDUCE_FUNCTION uint32_t spin_reduce_words(spin_type_t type, spin_op_t op, void *to, const void *a, const void *b,
                                                uint32_t bytes)
{
    const uint32_t n = bytes / 8 * 2;
    if (n == 0) {
        return 0;
    }
    switch (type << 2 | op) {
    case SPIN_INT8 << 2 | SPIN_SUM: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_PV_ADD_B); break;
    case SPIN_INT8 << 2 | SPIN_MIN: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MIN_B); break;
    case SPIN_INT8 << 2 | SPIN_MAX: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MAX_B); break;
    case SPIN_INT16 << 2 | SPIN_SUM: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_PV_ADD_H); break;
    case SPIN_INT16 << 2 | SPIN_MIN: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MIN_H); break;
    case SPIN_INT16 << 2 | SPIN_MAX: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MAX_H); break;
    case SPIN_INT32 << 2 | SPIN_SUM: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_ADD); break;
    case SPIN_INT32 << 2 | SPIN_MIN: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MIN); break;
    case SPIN_INT32 << 2 | SPIN_MAX: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MAX); break;
    case SPIN_INT32 << 2 | SPIN_PROD: SPIN_REDUCE_WORDS(to, a, b, n, SPIN_R_MUL); break;
    default: return 0;
    }
    return n * 4;
}
#else
SPIN_REDUCE_FUNCTION uint32_t spin_reduce_words(spin_type_t type, spin_op_t op, void *to, const void *a, const void *b,
                                                uint32_t bytes)
{
    (void)type, (void)op, (void)to, (void)a, (void)b, (void)bytes;
    return 0;
}
#endif

/* to[i] = a[i] op b[i] for vectors of `bytes` bytes. */
SPIN_REDUCE_FUNCTION void spin_reduce(spin_type_t type, spin_op_t op, void *to, const void *a, const void *b,
                                      uint32_t bytes)
{
    const uint32_t done = spin_reduce_words(type, op, to, a, b, bytes);
    spin_reduce_each(type, op, (uint8_t *)to + done, (const uint8_t *)a + done, (const uint8_t *)b + done, bytes - done);
}

#endif
