/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers: the 32-bit linear congruence of "Numerical Recipes", upper bits first. */
#include <stdint.h>
#include <stdlib.h>

/* A program may bring its own. */
#pragma weak srand
#pragma weak rand

static volatile uint32_t state = 1;

void srand(unsigned seed) { state = seed; }

int rand(void)
{
    uint32_t next = state * 1664525u + 1013904223u;
    state = next;
    return (int)(next >> 1);
}
