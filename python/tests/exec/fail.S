/* SPDX-License-Identifier: Apache-2.0 */
/* Test 3 is wrong on purpose. The signature is written anyway. */
#include "machine.h"
BEGIN(0)
    TEST(2, a0, 2, la a1, words; lw a0, 0(a1); addi a0, a0, 1; sw a0, 4(a1))
    TEST(3, a0, 7, li a0, 8)
    PASS
    FAIL
DATA
words: .word 1, 0xdeadbeef, 3, 4
END
