/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds two arrays of N bytes in L1, as in the talk: WAY 0 with RV32IM alone, 1 also with post-increment loads and stores,
 * 2 also with a hardware loop, 3 also with four bytes at a time.
 */
#include <handler.h>
#include <spin_xpulp_loops.h>

__handler__ void array_add_ph(handler_args_t *args)
{
    uint8_t *own = args->task->scratchpad[args->cluster_id];
    const uint8_t *a = own, *b = own + 0x2000;
    uint8_t *d = own + 0x4000;
    uint32_t n = N, x, y;
#if N > 0 && WAY == 0
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "1: lb %[x], 0(%[a])\n"
                     "lb %[y], 0(%[b])\n"
                     "addi %[a], %[a], 1\n"
                     "addi %[b], %[b], 1\n"
                     "add %[x], %[y], %[x]\n"
                     "sb %[x], 0(%[d])\n"
                     "addi %[n], %[n], -1\n"
                     "addi %[d], %[d], 1\n"
                     "bnez %[n], 1b\n"
                     ".option pop\n"
                     : [a] "+r"(a), [b] "+r"(b), [d] "+r"(d), [n] "+r"(n), [x] "=&r"(x), [y] "=&r"(y)::"memory");
#elif N > 0 && WAY == 1
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "1:\n" SPIN_LB_POST("%[x]", "1", "%[a]") SPIN_LB_POST("%[y]", "1", "%[b]")
                     "addi %[n], %[n], -1\n"
                     "add %[x], %[y], %[x]\n" SPIN_SB_POST("%[x]", "1", "%[d]")
                     "bnez %[n], 1b\n"
                     ".option pop\n"
                     : [a] "+r"(a), [b] "+r"(b), [d] "+r"(d), [n] "+r"(n), [x] "=&r"(x), [y] "=&r"(y)::"memory");
#elif N > 0 && WAY == 2
    __asm__ volatile(SPIN_LOOP("%[n]", 4,
                               SPIN_LB_POST("%[x]", "1", "%[a]") SPIN_LB_POST("%[y]", "1", "%[b]")
                               "add %[x], %[y], %[x]\n" SPIN_SB_POST("%[x]", "1", "%[d]"))
                     : [a] "+r"(a), [b] "+r"(b), [d] "+r"(d), [x] "=&r"(x), [y] "=&r"(y)
                     : [n] "r"(n)
                     : "memory");
#elif N > 0
    __asm__ volatile(SPIN_LOOP("%[n]", 4,
                               SPIN_LW_POST("%[x]", "4", "%[a]") SPIN_LW_POST("%[y]", "4", "%[b]")
                               SPIN_PV_ADD_B("%[x]", "%[x]", "%[y]") SPIN_SW_POST("%[x]", "4", "%[d]"))
                     : [a] "+r"(a), [b] "+r"(b), [d] "+r"(d), [x] "=&r"(x), [y] "=&r"(y)
                     : [n] "r"(n / 4)
                     : "memory");
#endif
}
