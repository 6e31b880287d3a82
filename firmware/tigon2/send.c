/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending: reads the data of descriptors into the transmit buffer, then gives frames to the MAC.
 */
#include "dma.h"

/* Gives the oldest frame whose data is here to the MAC. Returns 0 if the transmit ring is full. */
static inline int transmit(void)
{
    struct frame *place = (struct frame *)REG(TRANSMIT_FREE);
    struct in_flight *frame = &here->frames[here->frames_get % IN_FLIGHT];

    if (!place) {
        REG(TRANSMIT_REFERENCE) = REG(TRANSMIT_CONSUMER);
        return 0;
    }
    count(TASK_TRANSMIT);
    place->address = frame->address;
    place->length = frame->length;
    u32 next = (u32)(place + 1);
    REG(TRANSMIT_PRODUCER) = next & (TRANSMIT_RING_BYTES - 1) ? next : next - TRANSMIT_RING_BYTES;
    here->frames_get++;

    u32 octets = here->out.sent.octets + (frame->length & 0xffff) + CRC_BYTES;
    here->out.sent.octets_high += octets < here->out.sent.octets;
    here->out.sent.octets = octets;
    u32 first = *(volatile u32 *)(frame->address & ~TRANSMIT_VLAN); /* first word of the destination address */
    if (!(first & 0x01000000))
        here->out.sent.unicast++;
    else if (first == 0xffffffff)
        here->out.sent.broadcast++;
    else
        here->out.sent.multicast++;
    return 1;
}

/* Gives the MAC the frames that found the transmit ring full. */
static inline void transmit_waiting(void)
{
    while (here->frames_waiting && transmit())
        here->frames_waiting--;
}

/* Event 3: requests the data of one descriptor. */
SECTION_SEND void send_data(void)
{
    u32 at = here->send_next;

    take_turn();
    if (here->frames_waiting)
        transmit_waiting();
    if (at == here->send_arrived) {
        if (!here->frames_waiting)
            send_clear(EVENT_SEND_DATA);
        return;
    }
    count(TASK_SEND_DATA);
    u32 producer = REG(DMA_READ_PRODUCER);
    if (!has_room(producer, REG(DMA_READ_REFERENCE), 1)) {
        here->out.short_of_read_descriptors++;
        return;
    }
    volatile struct send_descriptor *descriptor = (volatile struct send_descriptor *)(here->send_local + at);
    u32 length_flags = descriptor->length_flags;
    u32 length = length_flags >> 16;
    u32 tag = TAG_SEND_COUNTS;
    u32 put = here->transmit_put;
    u32 low = descriptor->host_low;
    u32 high = descriptor->host_high;

    /* If a descriptor's data wrapped around the buffer, this is its second part. */
    u32 done = here->send_done;
    if (done) {
        length -= done;
        low += done;
        high += low < done;
        here->send_done = 0;
    }
    u32 used = put - REG(TRANSMIT_BUFFER_CONSUMER);
    if ((i32)used < 0)
        used += here->transmit_end - here->transmit_base;
    if (used + length + 8 >= here->transmit_end - here->transmit_base) {
        here->send_done = done;
        here->out.short_of_transmit_buffer++;
        return; /* until the MAC has sent something */
    }
    if (length > here->transmit_end - put) {
        length = here->transmit_end - put;
        here->send_done = done + length;
        length_flags &= ~(FLAG_END | FLAG_COALESCE_NOW);
        tag = 0;
    }

    u32 frame_length = here->frame_length;
    if (frame_length == 0) {
        if (here->frames_put - here->frames_get == IN_FLIGHT)
            return; /* too many frames wait for a transmit descriptor or for their data */
        here->frame_start = put;
        here->frame_vlan = length_flags & FLAG_VLAN ? descriptor->vlan << 16 | 1 : 0;
    }
    u32 next = at;
    if (tag) {
        next = at + sizeof(struct send_descriptor);
        if (next == here->send_bytes)
            next = 0;
        here->send_next = next;
    }
    u32 from = put;
    put += length;
    frame_length += length;
    u32 state = here->read_data;
    if (length_flags & FLAG_END) {
        struct in_flight *frame = &here->frames[here->frames_put++ % IN_FLIGHT];
        u32 vlan = here->frame_vlan;
        frame->address = here->frame_start | (vlan ? TRANSMIT_VLAN : 0);
        frame->length = (vlan & 0xffff0000) | frame_length;
        put = (put + 7) & ~7u;
        frame_length = 0;
        tag |= TAG_SEND_LAST;
        state |= DMA_LAST;
    }
    if (length_flags & FLAG_COALESCE_NOW)
        tag |= TAG_SEND_NOW;
    here->frame_length = frame_length;
    here->transmit_put = put == here->transmit_end ? here->transmit_base : put;
    REG(DMA_READ_PRODUCER) = queue(producer, high, low, from, length, state, tag | TAG_SEND_DATA, next);
}

/* The data of a send descriptor, or of a part of it, is in the transmit buffer. */
static inline void send_data_arrived(u32 tag, u32 next)
{
    if (tag & TAG_SEND_LAST) {
        if (here->frames_waiting || !transmit()) {
            here->out.short_of_transmit_descriptors++;
            here->frames_waiting++;
            send_raise(EVENT_SEND_DATA);
        }
    }
    if (tag & TAG_SEND_COUNTS) {
        u32 pending = here->send_pending + 1;
        here->send_pending = pending;
        common.send_consumer = next / sizeof(struct send_descriptor);
        if (pending >= here->send_limit || tag & TAG_SEND_NOW) {
            here->out.limit_hits++;
            here->send_pending = 0;
            send_tells_receive(EVENT_SEND_CONSUMER);
        }
    }
}

/* Receive descriptors are here: notifies the side that uses them. */
static inline void receive_descriptors_are_here(u32 tag, u32 next)
{
    if (tag & TAG_STANDARD)
        common.standard_arrived = next;
    else if (tag & TAG_MINI)
        common.mini_arrived = next;
    else
        common.jumbo_arrived = next;
#ifdef SPLIT
    send_tells_receive(EVENT_STANDARD_DESCRIPTORS);
#else
    serve_receive();
#endif
}

/* Event 15: a DMA read is done. */
SECTION_SEND void dma_read_done(void)
{
    u32 reference = REG(DMA_READ_REFERENCE);
    struct transfer *transfer = (struct transfer *)reference;
    u32 tag = transfer->tag;
    u32 argument = transfer->argument;

    count(TASK_DMA_READ);
    REG(DMA_READ_REFERENCE) = ring_after(reference);
    if (tag & TAG_SEND) {
        send_data_arrived(tag, argument);
    } else if (tag & TAG_SEND_DESCRIPTORS) {
        here->send_arrived = argument;
        send_raise(EVENT_SEND_DATA);
    } else {
        receive_descriptors_are_here(tag, argument);
    }
}
