/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros that handler code uses everywhere. */
#ifndef SPIN_UTIL_H
#define SPIN_UTIL_H

#include <stdint.h>

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)

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
#define LABEL(name) __asm__ volatile(STRINGIFY(name) ":")

/* Control and status registers, by name or number. Handlers run in user mode and may read 0x014 and 0xC10 only. */
#define read_csr(csr)                                              \
    ({                                                             \
        uint32_t csr_value_;                                       \
        __asm__ volatile("csrr %0, " #csr : "=r"(csr_value_));     \
        csr_value_;                                                \
    })
#define write_csr(csr, value) __asm__ volatile("csrw " #csr ", %0" ::"rK"(value))
#define clear_csr(csr, bits) __asm__ volatile("csrc " #csr ", %0" ::"rK"(bits))

/* General registers by name; for start-up code. */
#define read_register(reg, var) __asm__ volatile("mv %0, " #reg : "=r"(var))
#define write_register(reg, value) __asm__ volatile("mv " #reg ", %0" ::"r"(value))

/* Tell the cluster's control unit that this cluster has ended. */
#define TERMINATE (*(volatile uint32_t *)0x1B200000u = 1)

#ifdef CHECK_ASSERTS
#include <stdio.h>
#define ASSERT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            for (;;) TERMINATE;                                               \
        }                                                                     \
    } while (0)
#else
#define ASSERT(condition) ((void)0)
#endif

#ifdef LOG
#include <stdio.h>
#define SPIN_PRINTF(format, ...) printf("[%s:%s:%d] " format, __FILE__, __func__, __LINE__, ##__VA_ARGS__)
#define DEBUG_PRINT(...) SPIN_PRINTF(__VA_ARGS__)
#else
#define SPIN_PRINTF(...) ((void)0)
#define DEBUG_PRINT(...) ((void)0)
#endif

#ifdef ENABLE_TRACING
#define TRACING_DUMMY_INSTR __asm__ volatile("nop")
#else
#define TRACING_DUMMY_INSTR ((void)0)
#endif

/*
 * What was written before this line is in memory before what follows. On the card that is the compiler's business alone: a core
 * waits for each access. Other processors (sdk/native) have to be told.
 */
#ifdef SPIN_NATIVE
#define SPIN_COMPILER_BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define SPIN_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#endif

#endif
