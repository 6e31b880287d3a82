/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of the cluster's DMA, one after the other: a marker, the launch, polls to its end. `space` additions stand
 * between the launch and the first poll, so that the polls of the variants meet the end at every phase.
 */
#include "handlers.h"
    .macro transfer number, source, target, size, space
    .option push
    .option norvc
    ori     zero, zero, \number
    .option pop
    lui     a1, DMA
    addi    a3, a1, 0x400
    sw      \source, 0x400(a1)
    li      a1, \size
    sw      \target, 8(a3)
    sw      a1, 16(a3)
    lw      a1, 24(a3)              /* launch */
    .rept \space
    nop
    .endr
    lw      a3, 32(a3)
    bgeu    a3, a1, 2f
    lui     a0, DMA
1:  nop
    lw      a3, 0x420(a0)
    bltu    a3, a1, 1b
2:
    .endm

    .macro sizes number, source, target, space
    transfer \number + 1, \source, \target, 64, \space
    transfer \number + 2, \source, \target, 128, \space
    transfer \number + 3, \source, \target, 256, \space
    transfer \number + 4, \source, \target, 512, \space
    transfer \number + 5, \source, \target, 1024, \space
    transfer \number + 6, \source, \target, 2048, \space
    transfer \number + 7, \source, \target, 4096, \space
    .endm

    .macro transfers_alone space
    handler dma_\space
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    lw      a3, ARGS_HPU(a0)
    addi    a5, a5, TASK_SCRATCHPADS / 4
    slli    a5, a5, 2
    add     a5, a5, a2
    lw      a4, TASK_HANDLER_MEM(a2)
    lw      a5, 0(a5)
    lui     a1, 1
    slli    a3, a3, 13
    add     a3, a3, a1
    lw      a2, TASK_L2_PKT(a2)
    add     a5, a5, a3
    add     a4, a4, a1
    sizes   0, a4, a5, \space
    sizes   10, a2, a5, \space
    sizes   20, a5, a4, \space
    sizes   30, a5, a2, \space
    ori     zero, zero, 40
    end dma_\space
    .endm
    transfers_alone 0
    transfers_alone 1
    transfers_alone 2
    transfers_alone 3
    transfers_alone 4
    transfers_alone 5
