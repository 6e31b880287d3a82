/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a handler begins within its fetch line of 16 bytes: in the last word, and no other code is in the lines around it.
 *
 * The first run of a handler misses the instruction cache at each of its lines, so cold timing depends on the placement. The
 * programs that are compared with the RTL are in ../rtl, placed as they were there.
 */
#define HANDLER(name) \
    .section .text.name, "ax"; \
    .globl name; \
    .type name, @function; \
    .balign 16; \
    .skip 16 + 12; \
name:

/* Ends a handler; the rest of its line and the whole next line contain no code. */
#define END(name) \
    .size name, . - name; \
    .balign 16; \
    .skip 16

/* handler_args_t and task_t. Source: PsPIN RTL a49fec8, sw/runtime/include/handler.h. */
#define ARGS_TASK 0
#define ARGS_GLOBAL 4
#define ARGS_CLUSTER 8
#define ARGS_HPU 12
#define TASK_HANDLER_MEM 0
#define TASK_PKT_MEM 8
#define TASK_SCRATCHPADS 16
#define TASK_HOST_HIGH 48
#define TASK_HOST_LOW 52
#define TASK_L2_PKT 60

/* Upper part of the HPU driver's address, and its command registers. Source: same repository, hwsched.h. */
#define DRIVER 0x1B205
#define CMD_ISSUE 0x80
#define CMD_WAIT 0x84
#define CMD_INFO 0x8C
#define CMD_WORD0 0x90
#define CMD_WORD1 0x94
#define CMD_WORD2 0x98
#define CMD_WORD3 0x9C
#define CMD_WORD4 0xA0
