/* SPDX-License-Identifier: Apache-2.0
 *
 * Events and statistics for the host. Both sides post events; the receive side, which owns the DMA write ring, delivers them.
 */
#include "dma.h"

/* Posts an event for the host; for the send side and start-up. */
void post_event(u32 code, u32 subcode, u32 index)
{
    u32 posted = common.posted;
    if (posted - common.posts_taken == POSTS) {
        here->events_lost++;
        return;
    }
    common.posts[posted % POSTS] = code << 24 | subcode << 12 | index;
    common.posted = posted + 1;
    send_tells_receive(EVENT_HOUSEKEEPING);
}

/* Adds an event to the card's copy of the ring; returns 0 if the host has not consumed enough events. */
static int keep_event(u32 word)
{
    u32 put = here->event_put;
    if (((put + 1 - shared_words[EVENT_CONSUMER]) % EVENT_ENTRIES) == 0)
        return 0;
    events[put % EVENT_ENTRIES][0] = word;
    events[put % EVENT_ENTRIES][1] = 0;
    here->event_put = put + 1;
    here->in.events[word >> 24]++; /* the codes are the firmware's own */
    return 1;
}

/* Writes new events, then their number. Returns 0 if the assist has no room. */
static int write_events(void)
{
    while (here->event_sent != here->event_put) {
        u32 first = here->event_sent % EVENT_ENTRIES;
        u32 n = here->event_put - here->event_sent;
        u32 producer = REG(DMA_WRITE_PRODUCER);
        if (!has_room(producer, REG(DMA_WRITE_REFERENCE), 2))
            return 0;
        if (n > EVENT_ENTRIES - first)
            n = EVENT_ENTRIES - first;
        u32 low = information.events.host_low + first * 8;
        u32 high = information.events.host_high + (low < first * 8);
        REG(DMA_WRITE_PRODUCER) = queue(producer, high, low, (u32)&events[first], n * 8, here->write_control, TAG_EVENT, 0);
        here->event_sent += n;
        common.event_producer = here->event_sent % EVENT_ENTRIES;
        write_word(&information.event_producer, &common.event_producer, TAG_EVENT_PRODUCER);
    }
    return 1;
}

/* Writes the whole block of statistics. Returns 0 if the assist has no room. */
static int write_statistics(void)
{
    const struct address *to = &information.refreshed_statistics;
    u32 producer = REG(DMA_WRITE_PRODUCER);
    if (!has_room(producer, REG(DMA_WRITE_REFERENCE), 1))
        return 0;
    collect_receive();
    REG(DMA_WRITE_PRODUCER) = queue(producer, to->high, to->low, (u32)statistics, sizeof information.statistics,
                                    here->write_control, TAG_STATISTICS, 0);
    return 1;
}

/* Event 7: low-priority work. */
void housekeeping(void)
{
    int is_done = 1;

    receive_clear(EVENT_HOUSEKEEPING);
    if (here->clears_done != common.clears_wanted) {
        here->clears_done = common.clears_wanted;
        clear_words(&here->in, sizeof here->in);
        clear_words(&here->interrupts, sizeof here->interrupts);
    }
    if (here->statistics_written != common.statistics_wanted) {
        count(TASK_STATISTICS);
        if (write_statistics() && keep_event(4 << 24))
            here->statistics_written = common.statistics_wanted;
        else
            is_done = 0;
    }
    while (common.posts_taken != common.posted && keep_event(common.posts[common.posts_taken % POSTS]))
        common.posts_taken++;
    if (!write_events() || !is_done)
        wait_for_room(EVENT_HOUSEKEEPING);
}
