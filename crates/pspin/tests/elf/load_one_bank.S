/* SPDX-License-Identifier: Apache-2.0 */
/* 32 loads of the first word of the cluster's own scratchpad: all cores of a cluster meet in one bank. */
#include "place.h"
    HANDLER(load_one_bank_ph)
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    addi    a5, a5, TASK_SCRATCHPADS / 4
    slli    a5, a5, 2
    add     a5, a5, a4
    lw      a4, 0(a5)
    .rept 32
    lw      a5, 0(a4)
    .endr
    ret
    END(load_one_bank_ph)
