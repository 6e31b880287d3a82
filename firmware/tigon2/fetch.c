/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetches descriptors that the host has filled, for the send ring and the three receive rings.
 */
#include "dma.h"

/* Event 4: the host has filled send descriptors that were not requested yet. */
SECTION_SEND void send_descriptors(void)
{
    u32 fetched = here->send_fetched;
    u32 producer = mailboxes[MAILBOX_SEND].low * sizeof(struct send_descriptor);

    count(TASK_SEND_DESCRIPTORS);
    take_turn();
    if (producer >= here->send_bytes) /* no such descriptor: the host will write again */
        producer = fetched;
    if (!here->send_is_in_host) { /* the host writes them through its window to where the firmware reads them */
        here->send_fetched = producer;
        here->send_arrived = producer;
        send_clear(EVENT_SEND_DESCRIPTORS);
        send_raise(EVENT_SEND_DATA);
        return;
    }
    if (producer != fetched) {
        u32 place = REG(DMA_READ_PRODUCER);
        u32 end = producer > fetched ? producer : here->send_bytes; /* a transfer cannot wrap around the ring */
        u32 low = here->send_host_low + fetched;
        if (!has_room(place, REG(DMA_READ_REFERENCE), 1)) {
            here->out.short_of_read_descriptors++;
            return; /* the event stays; it ranks below the one that makes room */
        }
        u32 high = here->send_host_high + (low < fetched);
        u32 next = end == here->send_bytes ? 0 : end;
        REG(DMA_READ_PRODUCER) = queue(place, high, low, here->send_local + fetched, end - fetched, here->read_control,
                                       TAG_SEND_DESCRIPTORS, next);
        here->send_fetched = next;
        fetched = next;
    }
    if (producer == fetched)
        send_clear(EVENT_SEND_DESCRIPTORS);
}

/* Requests the receive descriptors that the host has filled in one of its rings. */
static inline void fetch(struct receive_ring *ring, u32 box, u32 bytes, u32 tag, u32 event)
{
    u32 producer = mailboxes[box].low * sizeof(struct receive_descriptor);
    u32 fetched = ring->fetched;

    count(TASK_RECEIVE_DESCRIPTORS);
    if (producer >= bytes || ring->local == 0)
        producer = fetched;
    if (producer != fetched) {
        u32 place = REG(DMA_READ_PRODUCER);
        u32 end = producer > fetched ? producer : bytes;
        u32 low = ring->host_low + fetched;
        if (!has_room(place, REG(DMA_READ_REFERENCE), 1)) {
            here->out.short_of_read_descriptors++;
            return;
        }
        u32 high = ring->host_high + (low < fetched);
        u32 next = end == bytes ? 0 : end;
        REG(DMA_READ_PRODUCER) =
            queue(place, high, low, ring->local + fetched, end - fetched, here->read_control, tag, next);
        ring->fetched = next;
        fetched = next;
    }
    if (producer == fetched)
        send_clear(event);
}

/* Event 9. */
SECTION_SEND void standard_descriptors(void)
{
    fetch(&here->standard_ring, MAILBOX_STANDARD, sizeof standard_copy, TAG_STANDARD, EVENT_STANDARD_DESCRIPTORS);
}

/* Event 11. */
SECTION_SEND void mini_descriptors(void)
{
    fetch(&here->mini_ring, MAILBOX_MINI, sizeof mini_copy, TAG_MINI, EVENT_MINI_DESCRIPTORS);
}

/* Event 8. */
void jumbo_descriptors(void)
{
    fetch(&here->jumbo_ring, MAILBOX_JUMBO, sizeof jumbo_copy, TAG_JUMBO, EVENT_JUMBO_DESCRIPTORS);
}
