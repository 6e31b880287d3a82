/* SPDX-License-Identifier: Apache-2.0 */
/* A program without the symbol tohost. */
    .section .text.start, "ax"
    .globl _start
_start:
    j _start
