/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the C library's stdlib.h that makes sense in a handler: no heap, no files, no exit. */
#ifndef SPIN_STDLIB_H
#define SPIN_STDLIB_H

#include <stddef.h>

#define RAND_MAX 0x7fffffff

static inline int abs(int value) { return value < 0 ? -value : value; }
static inline long labs(long value) { return value < 0 ? -value : value; }

/* One sequence for all cores, in L2: not for speed, and the draws of several cores interleave as they run. */
int rand(void);
void srand(unsigned seed);

#endif
