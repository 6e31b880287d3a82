/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divisions by 1 that decode repeats: one behind a taken branch whose target straddles two fetch lines, and one before a
 * line that is missing at first. Then a division that straddles two lines, followed by a jump to a line that is missing
 * at first.
 */
#include "place.h"
    HANDLER(divisions_ph)
    li      t0, 1
    li      t1, 1000
    .balign 16
    beq     zero, zero, 1f
    divu    t2, t1, t0
    .balign 16
    .rept 7
    c.nop
    .endr
1:  lui     t3, 0x12345
    .balign 16
    .rept 6
    c.nop
    .endr
    divu    t2, t1, t0
    .rept 7
    c.nop
    .endr
    divu    t2, t1, t0
    j       2f
    .balign 64
2:  c.nop
    ret
    END(divisions_ph)
