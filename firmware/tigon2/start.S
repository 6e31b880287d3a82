/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry of both CPUs, the dispatch loop, and its jump tables.
 *
 * The loop uses registers that compiled code does not use or restores:
 *   $26 (k0)  mask of the events that this CPU serves
 *   $27 (k1)  its jump table
 *   $16 (s0)  the chip's registers
 *   $17 (s1)  the loop
 */
#include "../common/dispatch.h"
#include "regs.h"

#define BIT(event) (1 << (event))

    .set noreorder
    .set noat

#if defined(SPLIT)
#define SERVED_A                                                                                                            \
    (BIT(EVENT_SEND_DATA) | BIT(EVENT_SEND_DESCRIPTORS) | BIT(EVENT_JUMBO_DESCRIPTORS) | BIT(EVENT_STANDARD_DESCRIPTORS) |  \
     BIT(EVENT_MINI_DESCRIPTORS) | BIT(EVENT_DMA_READ) | BIT(EVENT_MAILBOX) | BIT(EVENT_TIMER) |                          \
     BIT(EVENT_DMA_READ_ATTENTION) | BIT(EVENT_TRANSMIT_ATTENTION))
#define SERVED_B                                                                                                            \
    (BIT(EVENT_RECEIVE) | BIT(EVENT_HOUSEKEEPING) | BIT(EVENT_STANDARD_DESCRIPTORS) | BIT(EVENT_DMA_WRITE) |                \
     BIT(EVENT_SEND_CONSUMER) | BIT(EVENT_RETURN_PRODUCER) | BIT(EVENT_DMA_WRITE_ATTENTION) | BIT(EVENT_RECEIVE_ATTENTION))
#else
#define SERVED_A                                                                                                            \
    (BIT(EVENT_SEND_DATA) | BIT(EVENT_SEND_DESCRIPTORS) | BIT(EVENT_RECEIVE) | BIT(EVENT_HOUSEKEEPING) |                    \
     BIT(EVENT_JUMBO_DESCRIPTORS) | BIT(EVENT_STANDARD_DESCRIPTORS) | BIT(EVENT_MINI_DESCRIPTORS) | BIT(EVENT_DMA_WRITE) |  \
     BIT(EVENT_DMA_READ) | BIT(EVENT_MAILBOX) | BIT(EVENT_SEND_CONSUMER) | BIT(EVENT_RETURN_PRODUCER) | SERVED_TIMER |       \
     BIT(EVENT_DMA_READ_ATTENTION) | BIT(EVENT_DMA_WRITE_ATTENTION) | BIT(EVENT_RECEIVE_ATTENTION) |                         \
     BIT(EVENT_TRANSMIT_ATTENTION))
#ifdef TIMER_ON_B
#define SERVED_TIMER 0
#define SERVED_B BIT(EVENT_TIMER)
#else
#define SERVED_TIMER BIT(EVENT_TIMER)
#endif
#endif

/* Start of a CPU, from its entry to its loop. */
    .macro ENTRY name, stack, start_up, served, table, loop
    .globl \name
    .type \name, @function
\name:
    la      $29, \stack
    jal     \start_up
    nop
    li      $26, \served
    la      $27, \table
    la      $17, \loop
    lui     $16, REGISTERS >> 16
    jr      $17
    lui     $29, SCRATCHPAD >> 16 /* the stack grows down from here, into its window */
    .size \name, . - \name
    .endm

/* Takes the highest pending event that is served and jumps to its entry in the table, at the event's number plus one; entry 0
 * means no event. A handler returns to the loop. */
    .macro LOOP name, event_register
    .globl \name
    .type \name, @function
\name:
    lw      $2, \event_register($16)
    PRI(2, 2, 26)
    JOFF(27, 2)
    move    $31, $17
    .size \name, . - \name
    .endm

/* An entry of the table. */
    .macro TO handler
    j       \handler
    nop
    .endm

    .macro TO_NONE count=1
    .rept \count
    jr      $31
    nop
    .endr
    .endm

    .section .start, "ax"
    ENTRY _start, early_stack_a, start_up, SERVED_A, table_a, dispatch_a
#ifdef SERVED_B
    ENTRY start_b, early_stack_b, start_up_b, SERVED_B, table_b, dispatch_b
#endif

    .section .hot_a.dispatch, "ax"
    LOOP dispatch_a, EVENT_A
    .type table_a, @object
table_a:
    TO_NONE 4
    TO send_data
    TO send_descriptors
    TO_NONE
#ifdef SPLIT
    TO_NONE 2
#else
    TO receive
    TO housekeeping
#endif
    TO jumbo_descriptors
    TO standard_descriptors
    TO_NONE
    TO mini_descriptors
    TO_NONE 2
#ifdef SPLIT
    TO_NONE
#else
    TO dma_write_done
#endif
    TO dma_read_done
    TO_NONE 3
#ifdef SPLIT
    TO_NONE
#else
    TO fatal
#endif
    TO fatal
    TO_NONE
    TO mailbox
#ifdef SPLIT
    TO_NONE 2
#else
    TO send_consumer_update
    TO return_producer_update
#endif
#ifdef SPLIT
    TO_NONE
#else
    TO receive_attention
#endif
    TO transmit_attention
    TO_NONE
#ifdef TIMER_ON_B
    TO_NONE
#else
    TO timer
#endif
    TO_NONE 3
    .size table_a, . - table_a
    .if . - table_a != 8 * (EVENTS + 1)
    .error "table_a has an entry for each event, and one for none"
    .endif

#ifdef SERVED_B
    .section .hot_b.dispatch, "ax"
    LOOP dispatch_b, EVENT_B
    .type table_b, @object
table_b:
#ifdef SPLIT
    TO_NONE 7
    TO receive
    TO housekeeping
    TO_NONE
    TO receive_descriptors_arrived
    TO_NONE 4
    TO dma_write_done
    TO_NONE 4
    TO fatal
    TO_NONE 3
    TO send_consumer_update
    TO return_producer_update
    TO receive_attention
    TO_NONE 6
#else
    TO_NONE 29
    TO timer
    TO_NONE 3
#endif
    .size table_b, . - table_b
    .if . - table_b != 8 * (EVENTS + 1)
    .error "table_b has an entry for each event, and one for none"
    .endif
#endif
