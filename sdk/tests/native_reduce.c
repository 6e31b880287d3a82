/* SPDX-License-Identifier: Apache-2.0 */
/* The reduction operators as functions of a library for this machine; python/tests/test_reduce.py calls them. */
#include <collectives/spin_reduce.h>

#define OPERATORS(type)                                                                                               \
    switch (op) {                                                                                                      \
    case SPIN_SUM: spin_reduce(type, SPIN_SUM, to, a, b, bytes); break;                                                \
    case SPIN_MIN: spin_reduce(type, SPIN_MIN, to, a, b, bytes); break;                                                \
    case SPIN_MAX: spin_reduce(type, SPIN_MAX, to, a, b, bytes); break;                                                \
    case SPIN_PROD: spin_reduce(type, SPIN_PROD, to, a, b, bytes); break;                                              \
    }                                                                                                                  \
    break

void reduce(uint32_t type, uint32_t op, void *to, const void *a, const void *b, uint32_t bytes)
{
    switch (type) {
    case SPIN_INT8: OPERATORS(SPIN_INT8);
    case SPIN_INT16: OPERATORS(SPIN_INT16);
    case SPIN_INT32: OPERATORS(SPIN_INT32);
    case SPIN_FLOAT16: OPERATORS(SPIN_FLOAT16);
    case SPIN_BFLOAT16: OPERATORS(SPIN_BFLOAT16);
    case SPIN_FLOAT32: OPERATORS(SPIN_FLOAT32);
    }
}

enum { F16_FROM_F32, F32_FROM_F16, BF16_FROM_F32, F32_FROM_BF16 };

void convert(uint32_t how, uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        switch (how) {
        case F16_FROM_F32: to[i] = spin_f16_from_f32(from[i]); break;
        case F32_FROM_F16: to[i] = spin_f32_from_f16(from[i]); break;
        case BF16_FROM_F32: to[i] = spin_bf16_from_f32(from[i]); break;
        default: to[i] = spin_f32_from_bf16(from[i]);
        }
    }
}
