/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes of commands on the core's own part of the scratchpad, most with ten commands of 1024 bytes. A handler waits for
 * each of its commands, or for none of them; then only its feedback waits.
 */
#include "handlers.h"

/* The part of the scratchpad: 4 KiB from its start, 2 KiB a core. */
    .macro part address, hpu, other
    lui     \other, 1
    slli    \hpu, \hpu, 11
    add     \hpu, \hpu, \other
    add     \address, \address, \hpu
    .endm

    .macro sends count, driver, zero, source, size, info, handle, waits
    .rept \count
    to_network \driver, \zero, \source, \size, \info, \handle
    .if \waits
    wait    \driver, \handle
    .endif
    .endr
    .endm

    .macro transfers count, driver, high, low, nic, size, direction, info, handle, waits
    .rept \count
    with_host \driver, \high, \low, \nic, \size, \direction, \info, \handle
    .if \waits
    wait    \driver, \handle
    .endif
    .endr
    .endm

    .macro sending name, waits, count, size
    handler \name
    lw      a4, ARGS_CLUSTER(a0)
    lw      a3, ARGS_TASK(a0)
    lw      a5, ARGS_HPU(a0)
    own_l1  a4, a3, a4
    part    a4, a5, a3
    lui     a3, DRIVER
    li      a5, 0
    li      a2, \size
    li      a1, 2
    sends   \count, a3, a5, a4, a2, a1, a0, \waits
    end \name
    .endm
    sending commands_send, 0, 10, 1024
    sending commands_send_wait, 1, 10, 1024
    sending four_sends_64, 1, 4, 64
    sending four_sends_1024, 1, 4, 1024

    .macro writing name, waits, count, size
    handler \name
    lw      a5, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    lw      a3, ARGS_HPU(a0)
    own_l1  a5, a1, a4
    slli    a5, a3, 11
    lui     a3, 1
    add     a5, a5, a3
    lw      a2, TASK_HOST_HIGH(a1)
    add     a4, a4, a5
    lw      a1, TASK_HOST_LOW(a1)
    lui     a3, DRIVER
    li      a0, \size
    li      a5, 1
    transfers \count, a3, a2, a1, a4, a0, a5, a5, a6, \waits
    end \name
    .endm
    writing commands_write, 0, 10, 1024
    writing commands_write_wait, 1, 10, 1024
    writing four_writes_64, 1, 4, 64

    .macro reading_wait name, count, size
    handler \name
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    own_l1  a5, a2, a3
    slli    a5, a4, 11
    lui     a4, 1
    add     a5, a5, a4
    add     a3, a3, a5
    lw      a4, TASK_HOST_HIGH(a2)
    li      a0, 0
    lw      a2, TASK_HOST_LOW(a2)
    lui     a5, DRIVER
    li      a1, \size
    li      a6, 1
    transfers \count, a5, a4, a2, a3, a1, a0, a6, a7, 1
    end \name
    .endm
    reading_wait commands_read_wait, 10, 1024
    reading_wait four_reads_1024, 4, 1024

    handler commands_read
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    own_l1  a5, a2, a5
    part    a5, a4, a3
    lw      a3, TASK_HOST_HIGH(a2)
    li      a0, 0
    lw      a2, TASK_HOST_LOW(a2)
    lui     a4, DRIVER
    li      a1, 1024
    li      a6, 1
    transfers 10, a4, a3, a2, a5, a1, a0, a6, a7, 0
    end commands_read

/* A write, a read and a send in turn, ten in all. */
    .macro in_turn name, waits
    handler \name
    lw      a5, ARGS_CLUSTER(a0)
    lw      a2, ARGS_TASK(a0)
    lw      a4, ARGS_HPU(a0)
    own_l1  a5, a2, a3
    .if \waits
    slli    a5, a4, 11
    lui     a4, 1
    add     a5, a5, a4
    .else
    slli    a4, a4, 11
    lui     a5, 1
    add     a4, a4, a5
    .endif
    lw      a0, TASK_HOST_HIGH(a2)
    lw      a6, TASK_HOST_LOW(a2)
    .if \waits
    add     a3, a3, a5
    .else
    add     a3, a3, a4
    .endif
    li      a5, 0
    lui     a2, DRIVER
    li      a1, 1024
    li      a4, 1
    transfers 1, a2, a0, a6, a3, a1, a4, a4, a7, \waits
    with_host a2, a0, a6, a3, a1, a5, a4, t1
    li      a7, 2
    .if \waits
    wait    a2, t1
    .endif
    sends   1, a2, a5, a3, a1, a7, t1, \waits
    .rept 2
    transfers 1, a2, a0, a6, a3, a1, a4, a4, t1, \waits
    transfers 1, a2, a0, a6, a3, a1, a5, a4, t1, \waits
    sends   1, a2, a5, a3, a1, a7, t1, \waits
    .endr
    transfers 1, a2, a0, a6, a3, a1, a4, a4, t1, \waits
    end \name
    .endm
    in_turn commands_turns, 0
    in_turn commands_turns_wait, 1

/* Ten writes, then ten times a read and a send. */
    .macro writes_then high, low, one, two, waits
    transfers 10, a3, \high, \low, a4, a0, \one, \one, t1, \waits
    with_host a3, \high, \low, a4, a0, a5, \one, t1
    li      \two, 2
    .if \waits
    wait    a3, t1
    .endif
    sends   1, a3, a5, a4, a0, \two, t1, \waits
    .rept 9
    transfers 1, a3, \high, \low, a4, a0, a5, \one, t1, \waits
    sends   1, a3, a5, a4, a0, \two, t1, \waits
    .endr
    .endm

    .macro writes_first name, waits
    handler \name
    lw      a5, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    lw      a3, ARGS_HPU(a0)
    own_l1  a5, a1, a4
    .if \waits
    slli    a5, a3, 11
    lui     a3, 1
    add     a5, a5, a3
    .else
    slli    a3, a3, 11
    lui     a5, 1
    add     a3, a3, a5
    add     a4, a4, a3
    .endif
    .if \waits
    lw      a2, TASK_HOST_HIGH(a1)
    lw      a7, TASK_HOST_LOW(a1)
    add     a4, a4, a5
    li      a5, 0
    lui     a3, DRIVER
    li      a0, 1024
    li      a1, 1
    writes_then a2, a7, a1, a6, 1
    .else
    lw      a6, TASK_HOST_HIGH(a1)
    lw      a7, TASK_HOST_LOW(a1)
    li      a5, 0
    lui     a3, DRIVER
    li      a0, 1024
    li      a2, 1
    writes_then a6, a7, a2, a1, 0
    .endif
    end \name
    .endm
    writes_first commands_writes_first, 0
    writes_first commands_writes_first_wait, 1

/* Even clusters (or cores) send, odd ones write or read; nothing waits. */
    .macro halves name, odd, by_core
    handler \name
    .if \by_core
    lw      a4, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    lw      a5, ARGS_HPU(a0)
    addi    a4, a4, TASK_SCRATCHPADS / 4
    slli    a4, a4, 2
    add     a4, a4, a1
    lw      a4, 0(a4)
    slli    a3, a5, 11
    .else
    lw      a5, ARGS_CLUSTER(a0)
    lw      a1, ARGS_TASK(a0)
    lw      a3, ARGS_HPU(a0)
    addi    a4, a5, TASK_SCRATCHPADS / 4
    slli    a4, a4, 2
    add     a4, a4, a1
    lw      a4, 0(a4)
    slli    a3, a3, 11
    .endif
    lui     a2, 1
    add     a3, a3, a2
    andi    a5, a5, 1
    add     a4, a4, a3
    .option push
    .option norvc
    beqz    a5, 1f
    .option pop
    .if \odd == 1
    lw      a2, TASK_HOST_HIGH(a1)
    lui     a3, DRIVER
    lw      a1, TASK_HOST_LOW(a1)
    li      a0, 1024
    li      a5, 1
    transfers 10, a3, a2, a1, a4, a0, a5, a5, a6, 0
    .else
    lw      a3, TASK_HOST_HIGH(a1)
    li      a0, 0
    lw      a1, TASK_HOST_LOW(a1)
    lui     a5, DRIVER
    li      a2, 1024
    li      a6, 1
    transfers 10, a5, a3, a1, a4, a2, a0, a6, a7, 0
    .endif
    ret
1:  lui     a3, DRIVER
    li      a2, 1024
    li      a1, 2
    sends   10, a3, a5, a4, a2, a1, a0, 0
    end \name
    .endm
    halves commands_send_or_write, 1, 0
    halves commands_send_or_read, 0, 0
    halves commands_cores_send_or_write, 1, 1
    halves commands_cores_send_or_read, 0, 1
