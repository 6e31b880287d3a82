/* SPDX-License-Identifier: Apache-2.0 */
/* Traps without a trap handler. */
    .section .text.start, "ax"
    .globl _start
_start:
    csrw mtvec, zero
    .word 0
DATA:
    .section .tohost, "aw"
    .globl tohost
tohost: .quad 0
