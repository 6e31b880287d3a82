/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From reset to panic_main, and back there after a trap. The hardware has dropped the current packet when a trap comes; the
 * program's memory stays as it is. A trap before panic_main is called starts everything again.
 */
    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      t0, __bss_start
    la      t1, __bss_end
    bgeu    t0, t1, 2f
1:  sw      zero, 0(t0)
    addi    t0, t0, 4
    bltu    t0, t1, 1b
2:  la      sp, stack
    call    panic_start
    la      t0, trap
    csrw    mtvec, t0
    j       enter
    .size _start, . - _start

    .balign 4
    .type trap, @function
trap:
    .4byte  0x0000500F          /* the cache may have lines of the packet that is gone */
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
enter:
    la      sp, stack
    call    panic_main
    ebreak                      /* panic_main must not return */
    j       enter
    .size trap, . - trap

    .weak panic_start
    .type panic_start, @function
panic_start:                    /* what a program does once, before the first packet */
    ret
    .size panic_start, . - panic_start
