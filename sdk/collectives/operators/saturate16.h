/* SPDX-License-Identifier: Apache-2.0 */
/* A custom operator: saturating sums of int16. */
#define SPIN_CUSTOM_BYTES 2

static inline void spin_custom(void *to, const void *a, const void *b)
{
    int16_t x, y;
    memcpy(&x, a, 2);
    memcpy(&y, b, 2);
    int32_t sum = x + y;
    x = (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
    memcpy(to, &x, 2);
}
