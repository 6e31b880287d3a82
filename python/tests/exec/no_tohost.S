/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody to report to. */
    .section .text.start, "ax"
    .globl _start
_start:
    j _start
