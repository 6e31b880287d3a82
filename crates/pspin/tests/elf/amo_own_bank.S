/* SPDX-License-Identifier: Apache-2.0 */
/* 32 AMOs of each core on a word of its own in the cluster's own scratchpad: no two cores meet in a bank. */
#include "place.h"
    HANDLER(amo_own_bank_ph)
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    addi    a5, a5, TASK_SCRATCHPADS / 4
    slli    a5, a5, 2
    add     a5, a5, a4
    lw      a4, 0(a5)
    lw      a5, ARGS_HPU(a0)
    slli    a5, a5, 2
    add     a4, a4, a5
    li      a5, 1
    .rept 32
    amoadd.w x0, a5, (a4)
    .endr
    ret
    END(amo_own_bank_ph)
