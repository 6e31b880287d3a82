/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of a given length. */
#include "handlers.h"

/* `count` instructions of one cycle each. */
    .macro nops count
    .balign 16
    .skip (14 + 2 * \count) % 16
    .globl nops_\count\()_ph
    .type nops_\count\()_ph, @function
nops_\count\()_ph:
    .rept \count
    nop
    .endr
    ret
    .size nops_\count\()_ph, . - nops_\count\()_ph
    .balign 16
    .skip 16
    .endm
    .skip 64                        /* fetch is a line ahead of the loop that runs handlers */
    nops 4
    nops 8
    nops 16
    nops 32
    nops 64
    nops 128
    nops 256
    nops 512
    nops 1024
