/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros that handler code uses everywhere. */
#ifndef SPIN_UTIL_H
#define SPIN_UTIL_H

#include <stdint.h>
#include <stdio.h>

/* Braces and semicolons are where PsPIN has them: its handlers also leave out the semicolon behind a macro. */

#define STRINGIFY(x) #x /* the text of `x`, not expanded */

#ifndef MIN
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#endif
#define DIV_CEIL(a, b) (((a) + (b) - 1) / (b))

/* Division and remainder by powers of two: the first takes the exponent, the second the power itself. */
#define FAST_DIV(a, log2_b) ((a) >> (log2_b))
#define FAST_MOD(a, b) ((a) & ((b) - 1))
#define AND(a, b) ((a) & (b))

/* A place in the program that a disassembly shows by name. */
#define LABEL(name) __asm__ volatile(#name ":" ::: "memory")

/*
 * Control and status registers, by name, number, or a macro that is one. Handlers run in user mode and may read 0x014 and
 * 0xC10 only.
 */
#define read_csr(csr, var) __asm__ volatile("csrr %0, " STRINGIFY(csr) : "=r"(var));
#define write_csr(csr, value) __asm__ volatile("csrw " STRINGIFY(csr) ", %0" ::"rK"(value) : "memory");
#define clear_csr(csr, bits) __asm__ volatile("csrc " STRINGIFY(csr) ", %0" ::"rK"(bits) : "memory");

/* General registers by name; for start-up code. */
#define read_register(reg, var) __asm__ volatile("mv %0, " STRINGIFY(reg) : "=r"(var));
#define write_register(reg, value) __asm__ volatile("mv " STRINGIFY(reg) ", %0" ::"r"(value) : "memory");

/* Tell the cluster's control unit that this cluster has ended. */
#define TERMINATE { *(volatile uint32_t *)0x1B200000u = 1; }

#ifdef CHECK_ASSERTS
#define ASSERT(condition)                                                          \
    {                                                                              \
        if (!(condition)) {                                                        \
            printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            for (;;) TERMINATE                                                     \
        }                                                                          \
    }
#else
#define ASSERT(condition)
#endif

#define SPIN_PRINTF(format, ...) printf("%s:%s:%d: " format, __FILE__, __func__, __LINE__, ##__VA_ARGS__)

#ifdef LOG
#define DEBUG_PRINT(...) SPIN_PRINTF(__VA_ARGS__)
#else
#define DEBUG_PRINT(...)
#endif

#ifdef ENABLE_TRACING
#define TRACING_DUMMY_INSTR() __asm__ volatile("nop")
#else
#define TRACING_DUMMY_INSTR()
#endif

/*
 * Memory barrier: earlier writes are in memory before later ones. On the card it concerns only the compiler, because a core
 * waits for each access. Other processors (sdk/native) need an instruction.
 */
#ifdef SPIN_NATIVE
#define SPIN_COMPILER_BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define SPIN_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#endif

#endif
