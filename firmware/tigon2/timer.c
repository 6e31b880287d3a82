/* SPDX-License-Identifier: Apache-2.0
 *
 * The timer: reports finished work to the host after a time limit, and sends statistics regularly.
 */
#include "soft.h"

#define LONGEST 1000 /* microseconds after which the times set by the host are read again; assumed */

/* Returns true if a deadline has passed, and then sets the next one. A time of 0 means none. */
static inline int is_over(u32 now, u32 *deadline, u32 time)
{
    if (time == 0 || (i32)(now - *deadline) < 0)
        return 0;
    *deadline = now + time;
    return 1;
}

static inline u32 earlier(u32 a, u32 b)
{
    return (i32)(a - b) < 0 ? a : b;
}

/* Event 28. */
SECTION_TIMER void timer(void)
{
    u32 now = REG(TIMER);
    u32 send_time = shared_words[SEND_COALESCING_TIME];
    u32 return_time = shared_words[RECEIVE_COALESCING_TIME];
    u32 statistics_time = shared_words[STATISTICS_TIME];
    u32 wanted = 0;
    u32 next = now + LONGEST;

    count(TASK_TIMER);
    if (is_over(now, &here->send_deadline, send_time))
        wanted |= 1u << EVENT_SEND_CONSUMER;
    if (is_over(now, &here->return_deadline, return_time))
        wanted |= 1u << EVENT_RETURN_PRODUCER;
    if (is_over(now, &here->statistics_deadline, statistics_time)) {
#ifdef SPLIT
        collect_send(); /* the other CPU cannot access the counters of this one */
#endif
        common.statistics_wanted++;
        wanted |= 1u << EVENT_HOUSEKEEPING;
    }
    if (wanted)
        timer_tells_receive(wanted);
    if (send_time)
        next = earlier(next, here->send_deadline);
    if (return_time)
        next = earlier(next, here->return_deadline);
    REG(TIMER_REFERENCE) = next;
}
