/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving: the DMA write assist writes a frame to a buffer posted by the host, and its descriptor to the return ring.
 */
#include "dma.h"

/* A word of a frame, which may wrap around the end of the receive buffers. */
static inline u32 word_at(u32 address)
{
    if (address >= BUFFERS_END)
        address = address - BUFFERS_END + here->receive_base;
    return *(volatile u32 *)address;
}

/* Queues bytes of a frame for the host, in two pieces if they wrap around the end of the buffers. */
static u32 write_pieces(u32 producer, u32 high, u32 low, u32 from, u32 length, u32 state)
{
    u32 room = BUFFERS_END - from;
    if (from >= BUFFERS_END) {
        from = from - BUFFERS_END + here->receive_base;
    } else if (length > room) {
        producer = queue(producer, high, low, from, room, state & ~DMA_LAST, TAG_FRAME, 0);
        low += room;
        high += low < room;
        from = here->receive_base;
        length -= room;
    }
    return queue(producer, high, low, from, length, state, TAG_FRAME, 0);
}

/* Queues a frame without its VLAN tag. */
static __attribute__((noinline)) u32 write_untagged(u32 producer, u32 high, u32 low, u32 from, u32 length)
{
    u32 state = here->write_data;
    producer = write_pieces(producer, high, low, from, 12, state & ~DMA_LAST);
    low += 12;
    return write_pieces(producer, high + (low < 12), low, from + 16, length - 12, state);
}

/* Skips a frame that the host will not get. Its bytes are freed with those of the previous frames. */
static __attribute__((noinline)) void drop(u32 end)
{
    here->receive_end = end;
    here->in.dropped++;
    if (here->receive_in_flight == 0)
        REG(RECEIVE_BUFFER_CONSUMER) = end;
}

/* The ring whose buffers fit a frame; 0 if none fits, or none has a free buffer now (`waits`). */
static inline struct receive_copy *choose(u32 bytes, int *waits)
{
    struct receive_copy *ring = &here->standard;
    volatile u32 *arrived = &common.standard_arrived;

    *waits = 1;
    if (bytes <= here->mini.longest) {
        struct receive_copy *mini = &here->mini;
        if (mini->next != mini->arrived)
            return mini;
        mini->arrived = common.mini_arrived;
        if (mini->next != mini->arrived)
            return mini;
    } else if (bytes > ring->longest) {
        ring = &here->jumbo;
        arrived = &common.jumbo_arrived;
        if (bytes > ring->longest) {
            *waits = 0;
            return 0;
        }
    }
    if (ring->next != ring->arrived)
        return ring;
    ring->arrived = *arrived;
    return ring->next != ring->arrived ? ring : 0;
}

/* Event 6: a frame has arrived from the network. */
SECTION_RECEIVE void receive(void)
{
    u32 reference = REG(RECEIVE_REFERENCE);
    struct frame *frame = (struct frame *)reference;
    u32 producer = REG(DMA_WRITE_PRODUCER);
    int waits;

    count(TASK_RECEIVE);
    /* At most four pieces of a frame, and its descriptor. */
    if (!has_room(producer, REG(DMA_WRITE_REFERENCE), 5)) {
        here->in.short_of_write_descriptors++;
        do_not_serve(EVENT_RECEIVE); /* until the assist has made room */
        return;
    }
    u32 from = frame->address;
    u32 length = frame->length;
    u32 errors = length & here->error_mask;
    u32 end = from + (((length & 0xffff) + 7) & ~7u);
    if (end >= BUFFERS_END)
        end = end - BUFFERS_END + here->receive_base;
    u32 bytes = (length & 0xffff) - here->crc_bytes;

    struct receive_copy *ring = choose(bytes, &waits);
    if (!ring && waits) {
        here->in.short_of_receive_descriptors++;
        do_not_serve(EVENT_RECEIVE); /* until the host posts buffers */
        return;
    }
    frame->length = RECEIVE_EMPTY;
    u32 next = reference + sizeof(struct frame);
    next = next & (RECEIVE_RING_BYTES - 1) ? next : next - RECEIVE_RING_BYTES;
    REG(RECEIVE_REFERENCE) = next;
    REG(RECEIVE_CONSUMER) = next;
    if (length & RECEIVE_ERRORS)
        here->in.errors++;
    if (errors || !ring || (i32)bytes < 14) {
        drop(end);
        return;
    }

    volatile struct receive_descriptor *descriptor = (volatile struct receive_descriptor *)(ring->local + ring->next);
    u32 after = ring->next + sizeof *descriptor;
    ring->next = after == ring->bytes ? 0 : after;
    u32 low = descriptor->host_low;
    u32 high = descriptor->host_high;
    u32 flags = ring->flags | FLAG_END;
    u32 vlan = 0;

    u32 first = *(volatile u32 *)from;
    if (!(first & 0x01000000)) {
        here->in.received.unicast++;
        flags |= FLAG_UNICAST;
    } else if (first == 0xffffffff) {
        here->in.received.broadcast++;
        flags |= FLAG_BROADCAST;
    } else {
        here->in.received.multicast++;
        flags |= FLAG_MULTICAST;
    }
    u32 octets = here->in.received.octets + (length & 0xffff);
    here->in.received.octets_high += octets < here->in.received.octets;
    here->in.received.octets = octets;

    u32 type = ring->is_vlan ? word_at(from + 12) : 0;
    if (type >> 16 == 0x8100) {
        flags |= FLAG_VLAN;
        vlan = type & 0xffff;
        bytes -= 4;
        producer = write_untagged(producer, high, low, from, bytes);
    } else if (from + bytes <= BUFFERS_END) {
        producer = queue(producer, high, low, from, bytes, here->write_data, TAG_FRAME, 0);
    } else {
        producer = write_pieces(producer, high, low, from, bytes, here->write_data);
    }
    if (length & RECEIVE_ERRORS)
        flags |= FLAG_ERROR;

    /* The card's copy of the descriptor becomes the returned one. */
    descriptor->index_length = (descriptor->index_length & 0xffff0000) | bytes;
    descriptor->type_flags = (descriptor->type_flags & 0xffff0000) | flags;
    descriptor->error_vlan = (length & RECEIVE_ERRORS) | vlan;
    descriptor->reserved = from;
    u32 put = here->return_put;
    low = here->return_host_low + put;
    high = here->return_host_high + (low < put);
    producer = queue(producer, high, low, (u32)descriptor, sizeof *descriptor, here->write_control, TAG_RETURN, end);
    put += sizeof *descriptor;
    here->return_put = put == here->return_bytes ? 0 : put;
    here->receive_end = end;
    here->receive_in_flight++;
    REG(DMA_WRITE_PRODUCER) = producer;
    give_send_a_turn();
}

/* Event 9 of a CPU that receives but does not fetch descriptors: new descriptors are here. */
SECTION_RECEIVE void receive_descriptors_arrived(void)
{
    receive_clear(EVENT_STANDARD_DESCRIPTORS);
    serve_receive();
}

/* Event 14: a DMA write is done. */
SECTION_RECEIVE void dma_write_done(void)
{
    u32 reference = REG(DMA_WRITE_REFERENCE);
    struct transfer *transfer = (struct transfer *)reference;
    u32 tag = transfer->tag;

    count(TASK_DMA_WRITE);
    if (tag & TAG_RETURN) {
        /* The frame's buffer is free too. After the last frame, so are those of the frames dropped after it. */
        u32 in_flight = here->receive_in_flight - 1;
        here->receive_in_flight = in_flight;
        REG(RECEIVE_BUFFER_CONSUMER) = in_flight ? transfer->argument : here->receive_end;
        u32 arrived = here->return_arrived + sizeof(struct receive_descriptor);
        here->return_arrived = arrived == here->return_bytes ? 0 : arrived;
        u32 pending = here->return_pending + 1;
        here->return_pending = pending;
        if (pending >= here->return_limit) {
            here->in.limit_hits++;
            here->return_pending = 0;
            receive_raise(1 << EVENT_RETURN_PRODUCER);
        }
    } else if (tag & (TAG_SEND_CONSUMER | TAG_RETURN_PRODUCER | TAG_EVENT_PRODUCER)) {
        interrupt(tag & TAG_SEND_CONSUMER     ? MODE_NO_SEND_INTERRUPT
                  : tag & TAG_RETURN_PRODUCER ? MODE_NO_RECEIVE_INTERRUPT
                                              : MODE_NO_EVENT_INTERRUPT);
    }
    REG(DMA_WRITE_REFERENCE) = ring_after(reference);
    if (here->blocked) {
        receive_raise(here->blocked);
        here->blocked = 0;
    }
    serve_receive();
}

/* Event 23: reports the send consumer to the host. */
SECTION_RECEIVE void send_consumer_update(void)
{
    count(TASK_SEND_CONSUMER);
    receive_clear(EVENT_SEND_CONSUMER);
    here->send_pending = 0;
    u32 consumer = common.send_consumer;
    if (consumer == here->send_told)
        return;
    if (write_word(&information.send_consumer, &common.send_consumer, TAG_SEND_CONSUMER)) {
        here->in.send_consumer_updates++;
        here->send_told = consumer;
    } else {
        wait_for_room(EVENT_SEND_CONSUMER);
    }
}

/* Event 24: reports the return producer to the host. */
SECTION_RECEIVE void return_producer_update(void)
{
    count(TASK_RETURN_PRODUCER);
    receive_clear(EVENT_RETURN_PRODUCER);
    here->return_pending = 0;
    here->return_limit = shared_words[RECEIVE_COALESCING_LIMIT]; /* the host may have changed it */
    u32 producer = here->return_arrived / sizeof(struct receive_descriptor);
    if (producer == here->return_told)
        return;
    common.return_producer = producer;
    if (write_word(&information.return_producer, &common.return_producer, TAG_RETURN_PRODUCER)) {
        here->in.return_producer_updates++;
        here->return_told = producer;
    } else {
        wait_for_room(EVENT_RETURN_PRODUCER);
    }
}
