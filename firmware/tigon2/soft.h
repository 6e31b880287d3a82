/* SPDX-License-Identifier: Apache-2.0
 *
 * Soft events, the mask of served events, turns between send and receive, and interrupts.
 */
#ifndef TIGON2_SOFT_H
#define TIGON2_SOFT_H

#include "state.h"

/* Soft events. If two CPUs write one event register, they do so under the semaphore. */

static inline void lock(u32 semaphore)
{
    do
        REG(semaphore) = 1;
    while (REG(semaphore) == 0);
}

static inline void unlock(u32 semaphore)
{
    REG(semaphore) = 1;
}

static inline void raise_under(u32 semaphore, int is_shared, u32 event_register, u32 bits)
{
    if (is_shared)
        lock(semaphore);
    REG(event_register) |= bits;
    if (is_shared)
        unlock(semaphore);
}

static inline void clear_under(u32 semaphore, int is_shared, u32 event_register, u32 bits)
{
    if (is_shared)
        lock(semaphore);
    REG(event_register) &= ~bits;
    if (is_shared)
        unlock(semaphore);
}

/* The send side raises and clears its own events and raises those of the receive side, and vice versa. */
#define send_raise(bit) raise_under(SEMAPHORE_A, SEND_SIDE_IS_SHARED, EVENT_SEND_SIDE, 1u << (bit))
#define send_clear(bit) clear_under(SEMAPHORE_A, SEND_SIDE_IS_SHARED, EVENT_SEND_SIDE, 1u << (bit))
#define send_tells_receive(bit) raise_under(SEMAPHORE_A, RECEIVE_SIDE_IS_SHARED, EVENT_RECEIVE_SIDE, 1u << (bit))
#define receive_raise(bits) raise_under(SEMAPHORE_RECEIVE_SIDE, RECEIVE_SIDE_IS_SHARED, EVENT_RECEIVE_SIDE, bits)
#define receive_clear(bit) clear_under(SEMAPHORE_RECEIVE_SIDE, RECEIVE_SIDE_IS_SHARED, EVENT_RECEIVE_SIDE, 1u << (bit))
#define timer_tells_receive(bits) raise_under(SEMAPHORE_TIMER, RECEIVE_SIDE_IS_SHARED, EVENT_RECEIVE_SIDE, bits)

/* Interrupts the host, or waits with the interrupt until the host unmasks it. */
static inline void interrupt(u32 mode_bit)
{
    if (shared_words[MODE] & mode_bit)
        return;
    if (mailboxes[MAILBOX_INTERRUPT].low) {
        here->interrupts.avoided++;
        common.interrupt_waits = 1;
        if (mailboxes[MAILBOX_INTERRUPT].low) /* if it has just been unmasked, the other CPU may have missed the word */
            return;
        common.interrupt_waits = 0;
    }
    here->interrupts.raised++;
    REG(MISC_LOCAL_CONTROL) |= LOCAL_RAISE_INTERRUPT;
}

/* The mask of served events is in $26, which compilers do not use (see start.S). */

static inline void serve(u32 event)
{
    __asm__ volatile("or $26, $26, %0" : : "r"(1u << event));
}

static inline void do_not_serve(u32 event)
{
    __asm__ volatile("and $26, $26, %0" : : "r"(~(1u << event)));
}

/* Receiving has priority over sending, and a busy network could keep one CPU occupied with it. So after a received frame,
 * waiting send work gets a turn. With a CPU for each side, neither waits. */

static inline void give_send_a_turn(void)
{
#ifndef SPLIT
    if (REG(EVENT_A) & (1u << EVENT_SEND_DATA | 1u << EVENT_SEND_DESCRIPTORS)) {
        here->send_has_turn = 1;
        do_not_serve(EVENT_RECEIVE);
    }
#endif
}

static inline void take_turn(void)
{
#ifndef SPLIT
    here->send_has_turn = 0;
    serve(EVENT_RECEIVE);
#endif
}

/* A resource that receiving waited for may be available. */
static inline void serve_receive(void)
{
    if (!here->send_has_turn)
        serve(EVENT_RECEIVE);
}

#endif
