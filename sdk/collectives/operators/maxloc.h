/* SPDX-License-Identifier: Apache-2.0 */
/* A custom operator, MPI's MAXLOC: the larger of two int32 values with its place; for equal values, the lower place. */
#define SPIN_CUSTOM_BYTES 8

static inline void spin_custom(void *to, const void *a, const void *b)
{
    typedef struct __attribute__((__may_alias__)) {
        int32_t value;
        uint32_t place;
    } entry_t;
    const entry_t x = *(const entry_t *)a, y = *(const entry_t *)b;
    *(entry_t *)to = x.value > y.value || (x.value == y.value && x.place < y.place) ? x : y;
}
