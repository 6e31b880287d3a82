/* SPDX-License-Identifier: Apache-2.0
 *
 * The two instructions that the Tigon-2 adds to MIPS, for compilers and assemblers that do not know them.
 *
 *   pri  rd, rs, rt   rd = 0 if (rs & rt) is 0, else 1 + the number of its highest set bit
 *   joff rs, rt       jump to rs + 8 * rt; the next instruction is its delay slot
 *
 * In assembly, registers are given by number: PRI(2, 3, 20) is pri $2, $3, $20.
 */
#ifndef COMMON_DISPATCH_H
#define COMMON_DISPATCH_H

#define PRI(rd, rs, rt) .word ((rs) << 21 | (rt) << 16 | (rd) << 11 | 0x0b)
#define JOFF(rs, rt) .word ((rs) << 21 | (rt) << 16 | 0x0a)

#ifndef __ASSEMBLER__

/* 1 + the number of the highest bit that is set in both, 0 if there is none. One instruction between fixed registers. */
static inline unsigned pri(unsigned value, unsigned mask)
{
    register unsigned index __asm__("$2");
    register unsigned in_value __asm__("$4") = value;
    register unsigned in_mask __asm__("$5") = mask;
    __asm__(".word 0x0085100b" : "=r"(index) : "r"(in_value), "r"(in_mask));
    return index;
}

#endif
#endif
