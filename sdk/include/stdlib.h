/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the C library's stdlib.h that makes sense in a handler: no heap, no files, no exit. */
#ifndef SPIN_STDLIB_H
#define SPIN_STDLIB_H

#include <stddef.h>

#define RAND_MAX 0x7fffffff

static inline int abs(int value) { return value < 0 ? -value : value; }
static inline long labs(long value) { return value < 0 ? -value : value; }

/* All cores share one sequence, in L2: it is slow, and the numbers that several cores draw interleave. */
int rand(void);
void srand(unsigned seed);

#endif
