/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest handler: it does nothing. The packet is received, handed to a core, and released.
 *
 * The rest is the cost of the machine itself, so this is the baseline for every other handler. With
 * -DINSTRUCTIONS=100 it executes 100 additions, a cycle each, to find how long handlers may be at a given rate of
 * packets.
 *
 * Each addition takes 2 bytes of code, and no branch lies between them. More than 1024 would not fit into the instruction
 * cache of 4 KiB with the rest, so a loop repeats a block of them. A turn of the loop takes 1024 cycles, its branch
 * included. A program with a loop takes one cycle less in total.
 */
#include <handler.h>

#ifndef INSTRUCTIONS
#define INSTRUCTIONS 0
#endif

#define TEXT(macro) STRINGIFY(macro) /* macro-expanded */
#define ADDITIONS(n) __asm__ volatile(".rept " TEXT(n) "\n\t addi a5, a5, 1\n\t .endr" ::: "a5")

__handler__ void empty_ph(handler_args_t *args)
{
#if !defined(__riscv)
    for (volatile unsigned left = INSTRUCTIONS; left != 0; left--) {
    }
#elif INSTRUCTIONS > 1024
    __asm__ volatile("li a4, (" TEXT(INSTRUCTIONS) ") / 1024\n"
                     "1:\n\t"
                     ".rept 1020\n\t addi a5, a5, 1\n\t .endr\n\t" /* the next two take 4 cycles more */
                     "addi a4, a4, -1\n\t"
                     "bnez a4, 1b" ::: "a4", "a5");
    ADDITIONS((INSTRUCTIONS) & 1023);
#elif INSTRUCTIONS > 0
    ADDITIONS(INSTRUCTIONS);
#endif
}
