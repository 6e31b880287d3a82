/* SPDX-License-Identifier: Apache-2.0 */
/* A custom operator: the product of complex numbers of two float32, each step rounded. */
#define SPIN_CUSTOM_BYTES 8

static inline void spin_custom(void *to, const void *a, const void *b)
{
    typedef uint32_t __attribute__((__may_alias__)) part_t;
    const part_t *x = (const part_t *)a, *y = (const part_t *)b;
    const uint32_t minus = 1u << 31;
    uint32_t real = spin_f_add(spin_f_mul(x[0], y[0], SPIN_F32), spin_f_mul(x[1], y[1], SPIN_F32) ^ minus, SPIN_F32);
    uint32_t imaginary = spin_f_add(spin_f_mul(x[0], y[1], SPIN_F32), spin_f_mul(x[1], y[0], SPIN_F32), SPIN_F32);
    ((part_t *)to)[0] = real;
    ((part_t *)to)[1] = imaginary;
}
