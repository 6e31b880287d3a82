/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds two arrays of OUTPUTS bytes in L1, one instruction after the other as a compiler would put them: for RV32IM (WAY 0),
 * with post-increment (1), with a hardware loop besides (2), and with packed SIMD besides (3).
 */
#include <handler.h>
#include <spin_xpulp.h>

#define ALIGNED ".option push\n.option norvc\n.balign 16\n"

__handler__ void add_arrays_ph(handler_args_t *args)
{
    uint8_t *a = args->task->scratchpad[args->cluster_id], *b = a + 0x2000, *to = b + 0x2000;
#if OUTPUTS > 0
    uint32_t x, y, i = 0, n = OUTPUTS;
#if WAY == 0
    __asm__ volatile(ALIGNED
                     "1: lbu %[x], 0(%[a])\n"
                     "lbu %[y], 0(%[b])\n"
                     "addi %[i], %[i], 1\n"
                     "addi %[a], %[a], 1\n"
                     "add %[x], %[x], %[y]\n"
                     "addi %[b], %[b], 1\n"
                     "sb %[x], 0(%[to])\n"
                     "addi %[to], %[to], 1\n"
                     "bne %[i], %[n], 1b\n"
                     ".option pop\n"
#elif WAY == 1
    __asm__ volatile(ALIGNED
                     "1:\n" SPIN_LBU_POST("%[x]", "1", "%[a]")
                     SPIN_LBU_POST("%[y]", "1", "%[b]")
                     "addi %[i], %[i], 1\n"
                     "add %[x], %[x], %[y]\n"
                     SPIN_SB_POST("%[x]", "1", "%[to]")
                     "bne %[i], %[n], 1b\n"
                     ".option pop\n"
#elif WAY == 2
    __asm__ volatile(SPIN_LOOP("%[n]", 4,
                               SPIN_LBU_POST("%[x]", "1", "%[a]")
                               SPIN_LBU_POST("%[y]", "1", "%[b]")
                               "add %[x], %[x], %[y]\n"
                               SPIN_SB_POST("%[x]", "1", "%[to]"))
#else
    n /= 4;
    __asm__ volatile(SPIN_LOOP("%[n]", 4,
                               SPIN_LW_POST("%[x]", "4", "%[a]")
                               SPIN_LW_POST("%[y]", "4", "%[b]")
                               SPIN_PV_ADD_B("%[x]", "%[x]", "%[y]")
                               SPIN_SW_POST("%[x]", "4", "%[to]"))
#endif
                     : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to), [i] "+r"(i), [x] "=&r"(x), [y] "=&r"(y)
                     : [n] "r"(n)
                     : "memory");
#else
    (void)b;
    (void)to;
#endif
}
