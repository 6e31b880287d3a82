/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware loops of PULP's instructions: a body runs a counted number of times, and going back costs nothing.
 *
 * A compiler must not move anything into, out of or within such a body, so it is written in assembly, as a whole:
 *
 *     __asm__ volatile(SPIN_LOOP("%[n]", 2, SPIN_LW_POST("%[t]", "4", "%[at]") "add %[sum], %[sum], %[t]\n")
 *                      : [sum] "+r"(sum), [at] "+r"(at), [t] "=&r"(t) : [n] "r"(n) : "memory");
 *
 * A body has 2 to 1023 instructions of 4 bytes (the macro turns off shorter ones). Jumps may only leave the body. Its
 * last instruction must not be a branch. The count must be 1 or more: a count of 0 runs the body once. SPIN_LOOP is
 * loop 0. SPIN_LOOP_OUTER is loop 1, for a body that contains a SPIN_LOOP; the inner loop counts as its body plus 1
 * instruction. The outer body ends at least one instruction behind the inner one.
 *
 * An early exit from a loop leaves its count behind; the next SPIN_LOOP sets it again.
 */
#ifndef SPIN_XPULP_LOOPS_H
#define SPIN_XPULP_LOOPS_H

#include <stdint.h>

#define SPIN_X_LOOP_(id, count, n, body)                                                                               \
    ".option push\n.option norvc\n.insn i 0x7b, 4, " id ", " count ", 2 * (" #n ")\n" body ".option pop\n"
#define SPIN_LOOP(count, n, body) SPIN_X_LOOP_("x0", count, n, body)
#define SPIN_LOOP_OUTER(count, n, body) SPIN_X_LOOP_("x1", count, n, body)

/* Instructions for bodies; all operands are text. Loads: `rd` from the place `at`, which then moves by `step` bytes. */
#define SPIN_LB_POST(rd, step, at) ".insn i 0x0b, 0, " rd ", " at ", " step "\n"
#define SPIN_LBU_POST(rd, step, at) ".insn i 0x0b, 4, " rd ", " at ", " step "\n"
#define SPIN_LH_POST(rd, step, at) ".insn i 0x0b, 1, " rd ", " at ", " step "\n"
#define SPIN_LHU_POST(rd, step, at) ".insn i 0x0b, 5, " rd ", " at ", " step "\n"
#define SPIN_LW_POST(rd, step, at) ".insn i 0x0b, 2, " rd ", " at ", " step "\n"
#define SPIN_SB_POST(rs, step, at) ".insn s 0x2b, 0, " rs ", " step "(" at ")\n"
#define SPIN_SH_POST(rs, step, at) ".insn s 0x2b, 1, " rs ", " step "(" at ")\n"
#define SPIN_SW_POST(rs, step, at) ".insn s 0x2b, 2, " rs ", " step "(" at ")\n"
#define SPIN_MAC(rd, rs1, rs2) ".insn r 0x33, 0, 0x21, " rd ", " rs1 ", " rs2 "\n"
#define SPIN_PV_ADD_B(rd, rs1, rs2) ".insn r 0x57, 1, 0x00, " rd ", " rs1 ", " rs2 "\n"
#define SPIN_PV_ADD_H(rd, rs1, rs2) ".insn r 0x57, 0, 0x00, " rd ", " rs1 ", " rs2 "\n"

/*
 * Whole loops. Words lie at multiples of 4. In L1 and without conflicts: the stated cycles, and about 5 at the start.
 */

/* Sum of n words: 2 cycles a word. */
static inline uint32_t spin_xpulp_sum_words(const uint32_t *at, uint32_t n)
{
    uint32_t sum = n % 2 != 0 ? *at++ : 0, first, second;
    if (n / 2 != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 4,
                                   SPIN_LW_POST("%[first]", "4", "%[at]")
                                   SPIN_LW_POST("%[second]", "4", "%[at]")
                                   "add %[sum], %[sum], %[first]\n"
                                   "add %[sum], %[sum], %[second]\n")
                         : [sum] "+r"(sum), [at] "+r"(at), [first] "=&r"(first), [second] "=&r"(second)
                         : [n] "r"(n / 2)
                         : "memory");
    }
    return sum;
}

/* `sum` and the products of n pairs of words: 3 cycles and a wait of 1 for the second operand, 4 a pair. */
static inline uint32_t spin_xpulp_dot_words(uint32_t sum, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    uint32_t x, y;
    if (n != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 3,
                                   SPIN_LW_POST("%[x]", "4", "%[a]")
                                   SPIN_LW_POST("%[y]", "4", "%[b]")
                                   SPIN_MAC("%[sum]", "%[x]", "%[y]"))
                         : [sum] "+r"(sum), [a] "+r"(a), [b] "+r"(b), [x] "=&r"(x), [y] "=&r"(y)
                         : [n] "r"(n)
                         : "memory");
    }
    return sum;
}

/* Four sums of bytes in each of n words: to[i] = a[i] + b[i]. 5 cycles a word; `to` may be a or b. */
static inline void spin_xpulp_add_bytes(uint32_t *to, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    uint32_t x, y;
    if (n != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 4,
                                   SPIN_LW_POST("%[x]", "4", "%[a]")
                                   SPIN_LW_POST("%[y]", "4", "%[b]")
                                   SPIN_PV_ADD_B("%[x]", "%[x]", "%[y]")
                                   SPIN_SW_POST("%[x]", "4", "%[to]"))
                         : [to] "+r"(to), [a] "+r"(a), [b] "+r"(b), [x] "=&r"(x), [y] "=&r"(y)
                         : [n] "r"(n)
                         : "memory");
    }
}

/* n words from one place to another: 2 cycles a word. */
static inline void spin_xpulp_copy_words(uint32_t *to, const uint32_t *from, uint32_t n)
{
    uint32_t first, second;
    if (n % 2 != 0) {
        *to++ = *from++;
    }
    if (n / 2 != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 4,
                                   SPIN_LW_POST("%[first]", "4", "%[from]")
                                   SPIN_LW_POST("%[second]", "4", "%[from]")
                                   SPIN_SW_POST("%[first]", "4", "%[to]")
                                   SPIN_SW_POST("%[second]", "4", "%[to]"))
                         : [to] "+r"(to), [from] "+r"(from), [first] "=&r"(first), [second] "=&r"(second)
                         : [n] "r"(n / 2)
                         : "memory");
    }
}

/* Adds n words to n others, each atomically, as other cores may add too: 3 cycles a word, and the time that the AMOs
/  wait. */
static inline void spin_xpulp_amoadd_words(volatile uint32_t *to, const uint32_t *from, uint32_t n)
{
    uint32_t x, before = (uint32_t)to - 4;
    if (n != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 3,
                                   SPIN_LW_POST("%[x]", "4", "%[from]")
                                   "addi %[before], %[before], 4\n"
                                   "amoadd.w zero, %[x], (%[before])\n")
                         : [before] "+r"(before), [from] "+r"(from), [x] "=&r"(x)
                         : [n] "r"(n)
                         : "memory");
    }
}

/* Counts n words in a table, atomically: table[word] += 1. 5 cycles a word, plus the time that the AMOs wait. */
static inline void spin_xpulp_count_words(volatile uint32_t *table, const uint32_t *from, uint32_t n)
{
    uint32_t x, one = 1;
    if (n != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 4,
                                   SPIN_LW_POST("%[x]", "4", "%[from]")
                                   "slli %[x], %[x], 2\n"
                                   "add %[x], %[x], %[table]\n"
                                   "amoadd.w zero, %[one], (%[x])\n")
                         : [from] "+r"(from), [x] "=&r"(x)
                         : [n] "r"(n), [table] "r"(table), [one] "r"(one)
                         : "memory");
    }
}

#endif
