/* SPDX-License-Identifier: Apache-2.0 */
/* A spin lock taken four times, with 20 instructions while it is held and 4 between. */
#include "handlers.h"

    .macro additions count, value
    .rept \count
    .4byte  \value << 20 | 0x13     /* addi x0, x0, value; not compressed */
    .endr
    .endm

    .macro spin_lock name, take
    handler \name
    lw      a5, ARGS_CLUSTER(a0)
    lw      a3, ARGS_TASK(a0)
    li      a4, 1
    own_l1  a5, a3, a5
    .rept 4
1:  \take   a3, a4, (a5)
    bnez    a3, 1b
    additions 20, 1
    sw      zero, 0(a5)
    additions 4, 2
    .endr
    end \name
    .endm
    spin_lock lock_swap, amoswap.w
    spin_lock lock_or, amoor.w

/* PsPIN's own lock, which pauses for eight turns of a loop between tries. */
    handler lock_futex
    lw      a5, ARGS_CLUSTER(a0)
    lw      a4, ARGS_TASK(a0)
    li      a1, 4
    own_l1  a5, a4, a4
    li      a3, 1
    li      a2, 32
    li      a0, 0
1:  amoor.w a5, a3, (a4)
    beqz    a5, 5f
2:  li      a5, 4
3:  bge     a5, a2, 1b
    li      a5, 8
4:  addi    a5, a5, -1
    bnez    a5, 4b
    amoor.w a5, a3, (a4)
    bnez    a5, 2b
5:  additions 20, 1
    amoswap.w zero, a0, (a4)
    additions 4, 2
    addi    a1, a1, -1
    bnez    a1, 1b
    end lock_futex
