/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplication and division. */
#include "machine.h"
BEGIN(0)
    TEST(2, a0, 0x242d2080, li a1, 0x12345678; li a2, 0x9abcdef0; mul a0, a1, a2)
    TEST(3, a0, 0xf8cc93d6, li a1, 0x12345678; li a2, 0x9abcdef0; mulh a0, a1, a2)
    TEST(4, a0, 0x0b00ea4e, li a1, 0x12345678; li a2, 0x9abcdef0; mulhu a0, a1, a2)
    TEST(5, a0, 0xf8cc93d6, li a1, 0x9abcdef0; li a2, 0x12345678; mulhsu a0, a1, a2)
    TEST(6, a0, -3, li a1, -20; li a2, 6; div a0, a1, a2)
    TEST(7, a0, -2, li a1, -20; li a2, 6; rem a0, a1, a2)
    TEST(8, a0, -1, li a1, 5; div a0, a1, zero)
    TEST(9, a0, 5, li a1, 5; rem a0, a1, zero)
    TEST(10, a0, 0x80000000, li a1, 0x80000000; li a2, -1; div a0, a1, a2)
    TEST(11, a0, 0, li a1, 0x80000000; li a2, -1; rem a0, a1, a2)
    TEST(12, a0, 0x2aaaaaa7, li a1, -20; li a2, 6; divu a0, a1, a2)
    TEST(13, a0, 2, li a1, -20; li a2, 6; remu a0, a1, a2)
    PASS
    FAIL
DATA
END
