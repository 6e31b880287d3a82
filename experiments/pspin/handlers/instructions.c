/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler of N single-cycle instructions and nothing else, in a straight line: no loop whose jumps would count too.
 * Compressed, so that 2000 of them fit the 4 KiB of a cluster's instruction cache.
 */
#include <handler.h>

#ifndef N
#define N 0
#endif

__handler__ void instructions_ph(handler_args_t *args)
{
#if N > 0
    __asm__ volatile(".rept %c0\n c.addi t0, 1\n .endr" ::"i"(N) : "t0");
#endif
}
