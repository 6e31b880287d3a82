/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One core: each section is a pattern of instructions behind a marker, `ori x0, x0, number`.
 *
 * `core` ends with a HostDirect command; `core_commands` has the other commands too.
 */
#include "handlers.h"
    .macro mark number
    ori     zero, zero, \number
    .endm

/* Sections 1 to 25. l1, next: scratchpads; l2, packet: handler and packet memory; here: the packet in L1. */
    .macro patterns l1, next, l2, packet, here, task, x, y, z, w
    mark    1
    li      \x, 1
    .rept 8
    addi    \x, \x, 1
    .endr
    mark    2
    lw      \x, 0(\here)
    lw      \y, 4(\here)
    lw      t1, 8(\here)
    lw      t3, 12(\here)
    mark    3
    .rept 4
    lw      \x, 0(\here)
    addi    \x, \x, 1
    .endr
    mark    4
    four    sw, \x, \x, \l1
    mark    5
    four    lw, \z, \y, \packet
    mark    6
    four    lw, \y, \z, \l2
    mark    7
    four    sw, \y, \y, \l2
    mark    8
    four    sw, \y, \y, \packet
    mark    9
    .rept 4
    amoadd.w \y, \z, (\l1)
    .endr
    mark    10
    amoadd.w zero, \z, (\l1)
    addi    \l1, \l1, 4
    amoadd.w zero, \z, (\l1)
    addi    \l1, \l1, 4
    amoadd.w zero, \z, (\l1)
    addi    \l1, \l1, -8
    mark    11
    four    lw, \y, \z, \next
    mark    12
    four    sw, \y, \y, \next
    mark    13
    amoadd.w \y, \z, (\next)
    amoadd.w \y, \z, (\next)
    mark    14
    amoadd.w \next, \z, (\l2)
    amoadd.w \next, \z, (\l2)
    .option push
    .option norvc
    mark    15
    .rept 4
    bne     zero, zero, 1f
    .endr
1:  mark    16
    beq     zero, zero, 1f
    addi    zero, zero, 1
1:  beq     zero, zero, 2f
    addi    zero, zero, 2
2:  beq     zero, zero, 3f
    addi    zero, zero, 3
3:  addi    zero, zero, 4
    .option pop
    mark    17
    li      \w, 6
1:  addi    \w, \w, -1
    bnez    \w, 1b
    mark    18
    j       1f
    .4byte  0x00100013              /* addi x0, x0, 1; none of these words is compressed */
1:  j       2f
    .4byte  0x00200013
2:  .4byte  0x00300013
    mark    19
    .option push
    .option norvc
    .option norelax
    auipc   \w, 0
    addi    \w, \w, 16
    jalr    zero, 0(\w)
    addi    zero, zero, 1
    addi    zero, zero, 2
    .option pop
    .endm

/* Sections 20 to 25. */
    .macro arithmetic l1, task, x, three, many
    mark    20
    lui     \many, 0xF4
    li      \three, 3
    addi    \many, \many, 0x243     /* 1000003 */
    .rept 4
    mul     \x, \three, \many
    .endr
    mark    21
    mulh    \x, \three, \many
    mulhu   \x, \three, \many
    mulhsu  \x, \three, \many
    mark    22
    div     \x, \many, \three
    div     \x, \three, \many
    divu    \x, \many, \three
    rem     \x, \many, \three
    remu    \x, \many, \three
    div     \x, \many, zero
    mark    23
    lw      \many, 2(\l1)
    lw      \many, 1(\l1)
    lh      \many, 3(\l1)
    lh      \many, 1(\l1)
    sw      \many, 2(\l1)
    sh      \many, 3(\l1)
    mark    24
    lb      \many, 0(\l1)
    lbu     \many, 1(\l1)
    lh      \many, 2(\l1)
    lhu     \many, 0(\l1)
    sb      \many, 0(\l1)
    sh      \many, 2(\l1)
    mark    25
    lw      \many, 0(\task)
    lw      \three, 8(\task)
    lw      \many, 60(\task)
    lw      \three, 64(\task)
    .endm

    .macro four access, first, second, base
    \access \first, 0(\base)
    \access \second, 4(\base)
    \access \first, 8(\base)
    \access \second, 12(\base)
    .endm

/* Polls of the DMA up to the end of a transfer. `base` is that of its registers. */
    .macro polls first, last, base, handle
    lw      \handle, 24(\base)
    lw      \last, 32(\base)
    bgeu    \last, \handle, 2f
    .endm

    handler core
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    addi    a4, a5, 1
    andi    a4, a4, 3
    addi    a5, a5, TASK_SCRATCHPADS / 4
    addi    a4, a4, TASK_SCRATCHPADS / 4
    slli    a5, a5, 2
    slli    a4, a4, 2
    add     a4, a4, a2
    add     a5, a5, a2
    lw      a1, 0(a4)
    lw      a5, 0(a5)
    lw      a0, TASK_HANDLER_MEM(a2)
    lw      a3, TASK_L2_PKT(a2)
    lw      a4, TASK_PKT_MEM(a2)
    patterns a5, a1, a0, a3, a4, a2, a6, a7, a4, a4
    arithmetic a5, a2, a6, a1, a4
    mark    26
    lui     a6, DMA
    addi    a1, a6, 0x400
    addi    a4, a5, 1024
    sw      a3, 0x400(a6)
    li      a5, 64
    sw      a4, 8(a1)
    sw      a5, 16(a1)
    polls   1, a5, a1, a3
    lui     a1, DMA
1:  nop
    lw      a5, 0x420(a1)
    bltu    a5, a3, 1b
2:  mark    27
    lui     a3, DMA
    addi    a5, a3, 0x400
    sw      a0, 0x400(a3)
    li      a3, 1024
    sw      a4, 8(a5)
    sw      a3, 16(a5)
    polls   1, a5, a5, a3
    lui     a1, DMA
1:  nop
    lw      a5, 0x420(a1)
    bltu    a5, a3, 1b
2:  mark    28
    lui     a3, DMA
    sw      a4, 0x400(a3)
    li      a4, 256
    addi    a5, a3, 0x400
    sw      a0, 8(a5)
    sw      a4, 16(a5)
    polls   1, a5, a5, a4
1:  nop
    lw      a5, 0x420(a3)
    bltu    a5, a4, 1b
2:  lw      a4, TASK_HOST_LOW(a2)
    lw      a5, TASK_HOST_HIGH(a2)
    andi    a4, a4, -64
    mark    29
    lui     a3, DRIVER
    li      a2, 17
    li      a0, 42
    li      a6, 4
    li      a1, 0
    with_host a3, a5, a4, a2, a0, a1, a6, a5
    wait    a3, a5
    mark    34
    end core

    handler core_commands
    lw      a4, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    addi    a5, a4, 1
    andi    a5, a5, 3
    addi    a4, a4, TASK_SCRATCHPADS / 4
    addi    a5, a5, TASK_SCRATCHPADS / 4
    slli    a4, a4, 2
    slli    a5, a5, 2
    add     a4, a4, a1
    add     a5, a5, a1
    lw      a4, 0(a4)
    lw      a5, 0(a5)
    lw      a7, TASK_HANDLER_MEM(a1)
    lw      a6, TASK_L2_PKT(a1)
    lw      a2, TASK_PKT_MEM(a1)
    patterns a4, a5, a7, a6, a2, a1, a3, a0, a3, a5
    arithmetic a4, a1, a0, a3, a5
    mark    26
    lui     a3, DMA
    addi    a5, a3, 0x400
    sw      a6, 0x400(a3)
    addi    t1, a4, 1024
    li      a3, 64
    sw      t1, 8(a5)
    sw      a3, 16(a5)
    polls   1, a5, a5, a3
    lui     a0, DMA
1:  nop
    lw      a5, 0x420(a0)
    bltu    a5, a3, 1b
2:  mark    27
    lui     a3, DMA
    addi    a5, a3, 0x400
    sw      a7, 0x400(a3)
    li      a3, 1024
    sw      t1, 8(a5)
    sw      a3, 16(a5)
    polls   1, a5, a5, a3
    lui     a0, DMA
1:  nop
    lw      a5, 0x420(a0)
    bltu    a5, a3, 1b
2:  mark    28
    lui     a3, DMA
    addi    a5, a3, 0x400
    sw      t1, 0x400(a3)
    li      a3, 256
    sw      a7, 8(a5)
    sw      a3, 16(a5)
    polls   1, a5, a5, a3
    lui     a0, DMA
1:  nop
    lw      a5, 0x420(a0)
    bltu    a5, a3, 1b
2:  lw      a5, TASK_HOST_LOW(a1)
    lw      a0, TASK_HOST_HIGH(a1)
    li      a3, 0
    andi    a1, a5, -64
    mark    29
    lui     a5, DRIVER
    li      a7, 17
    li      t1, 42
    li      t3, 4
    with_host a5, a0, a1, a7, t1, a3, t3, a7
    wait    a5, a7
    mark    30
    li      a7, 64
    li      t1, 2
    to_network a5, a3, a2, a7, t1, t1
    wait    a5, t1
    mark    31
    li      t1, 1
    with_host a5, a0, a1, a2, a7, t1, a3, a2
    wait    a5, a2
    mark    32
    with_host a5, a0, a1, a6, a7, t1, a3, a6
    wait    a5, a6
    mark    33
    lui     a2, 1
    addi    a2, a2, -2048
    add     a4, a4, a2
    with_host a5, a0, a1, a4, a7, a3, a3, a3
    wait    a5, a3
    mark    34
    end core_commands
