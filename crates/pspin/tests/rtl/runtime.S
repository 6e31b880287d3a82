/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to the loop that runs handlers, placed as in the programs that were measured on the RTL.
 *
 * The first run of each line of code misses the instruction cache, so cold figures depend on the placement. LOOP and
 * HANDLERS are the positions of the loop and of the handler behind it in PsPIN's runtime as gcc 12.2 lays it out. ALIGN
 * is the value of -falign-functions.
 */
#define EVENT_UNIT 0x1B204000
#define DISPATCH_EVENT 18
#define DISPATCH_FIFO 0x80
#define DISPATCH_TEAM 0x84
#define DOORBELL 0x50
#define T0 5
#define S2 18

#if ALIGN == 4
#define LOOP 0x2BC
#elif ALIGN == 16
#define LOOP 0x2F0
#elif ALIGN == 32
#define LOOP 0x340
#else
#define LOOP 0x2A2
#endif

    .section .text.runtime, "ax"
    .globl _start
    .option push
    .option norvc
    .option norelax
    .rept 32
    j stuck
    .endr
_start:
    j       boot
stuck:
    j       stuck
    .option pop

boot:
    li      t0, 1 << DISPATCH_EVENT
    li      s2, EVENT_UNIT
    sw      t0, 0(s2)
    csrr    a1, mhartid
    srli    a0, a1, 5
    andi    a1, a1, 31
    li      sp, 0x10000400 - 32     /* PsPIN's `hpu_entry` holds 32 bytes while handlers run */
    slli    t0, a0, 22      /* clusters are 4 MiB apart */
    add     sp, sp, t0
    slli    t0, a1, 10      /* 1 KiB of stack a core */
    add     sp, sp, t0
    bnez    a1, wait
    li      t0, 0x1B201000  /* instruction cache: banks on, flush, enable */
    li      t1, -1
    sw      t1, 0x400(t0)
    li      t1, 1
    sw      t1, 0x404(t0)
    addi    t0, a0, 64
    slli    t0, t0, 22
    li      t1, 0x201000
    add     t0, t0, t1
    li      t1, -1
    sw      t1, 0x400(t0)
    sw      t1, DISPATCH_TEAM(s2)
    sw      zero, DISPATCH_FIFO(s2)
    j       enter
wait:
    .4byte  DISPATCH_FIFO << 20 | S2 << 15 | 6 << 12 | T0 << 7 | 0x03 /* p.elw t0, DISPATCH_FIFO(s2) */
enter:
    li      t0, 3 << 11
    csrc    mstatus, t0
    la      t0, run
    csrw    mepc, t0
    la      t0, stuck
    csrw    mtvec, t0
    mret

    .org    LOOP - 32
run:
    addi    sp, sp, -32
    sw      ra, 28(sp)
    sw      s1, 24(sp)
    mv      a5, a0
    sw      a5, 8(sp)
    mv      a4, a1
    slli    a5, a5, 3
    add     a5, a5, a4
    sw      a5, 4(sp)
    sw      a4, 12(sp)
    li      a5, 0x1B205008
    sw      a5, 0(sp)
    li      s1, 0x1B205000
    .org    LOOP
next_task:
    lw      a5, 0(s1)       /* waits for a task */
    nop                     /* handler begins */
    mv      a0, sp
    jalr    a5
    nop                     /* handler ended */
    lw      a5, DOORBELL(s1)
    j       next_task
