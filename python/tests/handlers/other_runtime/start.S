/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that is not ours, booting as PsPIN's own does (a49fec8): every core clears .bss, takes its numbers from mhartid by
 * PULP's p.bclr, and finds its stack by them; core 0 sets the event unit's mask outright and dispatches to all.
 */
#define EVENT_UNIT 0x1B204000
#define DISPATCH_EVENT 18
#define DISPATCH_FIFO 0x80
#define DISPATCH_TEAM 0x84
#define DRIVER 0x1B205000
#define DOORBELL 0x50
#define ERROR 0x54
#define STRIDE 0x400000
#define STACK 0x400
#define T0 5
#define T1 6
#define S2 18
/* rd = rs with `bits` bits from bit `first` on cleared. */
#define BCLR(rd, rs, bits, first) \
    .4byte 3 << 30 | (bits - 1) << 25 | first << 20 | rs << 15 | 3 << 12 | rd << 7 | 0x33

    .section .vectors, "ax"
    .option push
    .option norvc
    .option norelax
    .rept 32
    j stuck
    .endr
    .globl _start
_start:
    j       boot
stuck:
    j       stuck
    .option pop

    .section .text.boot, "ax"
boot:
    li      t0, 1 << DISPATCH_EVENT
    li      t1, EVENT_UNIT
    sw      t0, 0(t1)
    la      t0, bss_begin
    la      t1, bss_end
1:  sw      zero, 0(t0)
    addi    t0, t0, 4
    bltu    t0, t1, 1b
    la      sp, stack
    csrr    t0, mhartid
    srai    t1, t0, 5
    BCLR(T1, T1, 26, 6)
    li      t2, STRIDE
    mul     t1, t1, t2
    add     sp, sp, t1
    BCLR(T1, T0, 27, 5)
    li      t2, STACK
    mul     t2, t1, t2
    add     sp, sp, t2
    li      s2, EVENT_UNIT
    bnez    t1, wait
    call    prepare_cluster
    li      t3, -1
    sw      t3, DISPATCH_TEAM(s2)
    sw      zero, DISPATCH_FIFO(s2)
    call    enter
wait:
    .4byte  DISPATCH_FIFO << 20 | S2 << 15 | 6 << 12 | T0 << 7 | 0x03 /* p.elw t0, DISPATCH_FIFO(s2) */
    call    enter

/* After a trap the loop starts again. a0 and a1 keep their values, as in PsPIN's compiled runtime (hpu.c). */
    .section .text.on_trap, "ax"
    .balign 256
    .globl on_trap
on_trap:
    csrr    a4, mcause
    li      a5, DRIVER
    sw      a4, ERROR(a5)
    lw      a5, DOORBELL(a5)
    csrr    a4, 0x014       /* uhartid */
    andi    a4, a4, 0x1f
    slli    a4, a4, 2
    la      a5, first_sp
    add     a5, a5, a4
    lw      sp, 0(a5)
    li      a5, 3 << 11     /* to user mode */
    csrc    mstatus, a5
    la      a5, run
    csrw    mepc, a5
    mret
