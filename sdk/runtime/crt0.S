/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to the loop that runs handlers, and back there after a trap.
 *
 * All 32 cores start at _start. Core 0 of each cluster prepares the cluster (boot.c) and then wakes the other seven,
 * which sleep on the event unit. Each core drops to user mode and waits in run_loop for its first task.
 *
 * Differs from PsPIN's runtime: there every core clears .bss; here core 0 of cluster 0 does, since no packet is
 * delivered before all cores wait for tasks.
 */
#include <event_unit.h>
#include <spin_conf.h>

#define HPU_DRIVER 0x1B205000
#define HANDLER_FUN 0x00
#if NB_CLUSTERS > 4
#define TASK 0x108
#else
#define TASK 0x08
#endif
#define DOORBELL 0x50
#define ERROR 0x54

#define CONTEXT_CAUSE 27 /* the next task is of another context; an extension of spinet, on cards that isolate */
/* Registers of user mode's own traps; not all assemblers know their names. */
#define UTVEC 0x005
#define UEPC 0x041
#define UCAUSE 0x042

#define MSTATUS_MPP 0x1800 /* the mode that mret returns to; 0 is user mode */
#define MSTATUS_USER 0x11  /* what user mode can set by itself, ustatus */

/* Register numbers, for instructions that are spelled out. */
#define T0 5
#define T1 6

/* handler_args_t on the stack; 16 bytes. */
#define ARGS_TASK 0
#define ARGS_HPU_GID 4
#define ARGS_CLUSTER_ID 8
#define ARGS_HPU_ID 12
#define ARGS_SIZE 16

    /* 32 vectors of one jump each. They matter only before mtvec is set below: a trap during boot stops the core. */
    .section .vectors, "ax"
    .option push
    .option norvc
    .option norelax
    .rept 32
    j boot_trap
    .endr
    .option pop

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    li      t0, EU_DEMUX_BASE
    li      t1, 1 << EU_EVENT_DISPATCH
    sw      t1, EU_MASK_OR(t0)
    call    set_registers
    bnez    a1, wait_for_core_0

    mv      s0, a0
    mv      s1, a1
    call    spin_boot_cluster
    mv      a0, s0
    mv      a1, s1
    j       enter_user_mode

wait_for_core_0:
    li      t0, EU_DEMUX_BASE
    /* p.elw t1, EU_DISPATCH_FIFO(t0): sleeps until core 0 dispatches a value. PULP only, so spelled out. */
    .4byte  (EU_DISPATCH_FIFO << 20) | (T0 << 15) | (6 << 12) | (T1 << 7) | 0x03

/* a0 = cluster, a1 = core within it. */
enter_user_mode:
    la      t0, trap
    csrw    mtvec, t0
    li      t0, MSTATUS_MPP | MSTATUS_USER
    csrc    mstatus, t0
    la      t0, run_loop
    csrw    mepc, t0
    mret

boot_trap:
    j       boot_trap
    .size _start, . - _start

/*
 * Set gp, sp, a0 = cluster, a1 = core within it, all from the core's own number; clobbers t0.
 * The stack of core c in its cluster is the 1 KiB of L1 that ends at 0x400 + c * 0x400.
 */
    .type set_registers, @function
set_registers:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    csrr    a1, mhartid     /* cluster in bits 10..5, core in bits 4..0 */
    srli    a0, a1, 5
    andi    a1, a1, 0x1f
    la      sp, stack
    slli    t0, a0, 22      /* CLUSTER_STRIDE */
    add     sp, sp, t0
    slli    t0, a1, 10      /* 1 KiB a core */
    add     sp, sp, t0
    ret
    .size set_registers, . - set_registers

/*
 * In user mode, in an endless loop: take a task, run its handler, ring the doorbell.
 *
 * The load of the handler's address waits until a task is there. PsPIN's instruction traces
 * take the two nops as the begin and the end of the handler. The instructions between the load and the jump hide the wait for a5.
 *
 * The loop is one fetch line, and its last jump stands in that line's last word, where fetch asks for the next line
 * ahead. So a core's first turn waits for a line that it does not need, if no core of its cluster has met it before:
 * 11 cycles from the doorbell to the next load instead of 3 (10 with PsPIN's own runtime, on the RTL). Later turns cost nothing.
 */
    .section .text.run_loop, "ax"
    .balign 16
    .globl run_loop
    .type run_loop, @function
run_loop:
    li      s0, HPU_DRIVER
    addi    sp, sp, -ARGS_SIZE
    addi    t0, s0, TASK
    sw      t0, ARGS_TASK(sp)
#if NB_CORES == 8
    slli    t0, a0, 3
#else
    li      t0, NB_CORES
    mul     t0, t0, a0
#endif
    add     t0, t0, a1
    sw      t0, ARGS_HPU_GID(sp)
    sw      a0, ARGS_CLUSTER_ID(sp)
    sw      a1, ARGS_HPU_ID(sp)
    .balign 16              /* compressed, the loop fills one fetch line */
next_task:
    lw      a5, HANDLER_FUN(s0)
    mv      a0, sp
    nop                     /* handler begins */
    jalr    a5
    nop                     /* handler ended */
    lw      a5, DOORBELL(s0)
    j       next_task
    .size run_loop, . - run_loop

/*
 * A handler trapped: report the cause, end its task as if it had returned, start over with a clean stack.
 * PsPIN's runtime leaves a0 and a1 as the handler had them, so that later handlers on this core see wrong cluster and
 * core numbers; here they are set again, as are sp and gp.
 */
    .section .text.trap, "ax"
    .balign 256             /* mtvec keeps no lower bits */
    .globl trap
    .type trap, @function
trap:
    li      t0, HPU_DRIVER
    csrr    t1, mcause
    li      t2, CONTEXT_CAUSE
    beq     t1, t2, other_context
    sw      t1, ERROR(t0)
    lw      t1, DOORBELL(t0)
    call    set_registers
    j       enter_user_mode

/*
 * No error: the next task is of another context, which must find neither data nor addresses of the one before. The driver
 * has cleared the stack.
 */
other_context:
    lw      t1, DOORBELL(t0)
    call    set_registers
    csrw    UTVEC, zero
    csrw    UEPC, zero
    csrw    UCAUSE, zero
    .irp    register, ra, tp, t1, t2, s0, s1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, t3, t4, t5, t6
    li      \register, 0
    .endr
    j       enter_user_mode
    .size trap, . - trap
