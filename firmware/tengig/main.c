/* Start-up, and the events of both directions. */

#include "dma.h"
#include "events.h"

struct host_state host;

/* Transfers from the host are done; handles each by its kind. */
uint32_t read_done(uint32_t start, uint32_t end) {
    for (; start != end; start++) {
        uint32_t place = start % DMA_ENTRIES;
        uint32_t kind = read_slots[place].kind, argument = read_slots[place].argument;
        uint32_t length = read_slots[place].length;
        keep_order();
        reads.flags[place] = SLOT_FREE;
        switch (kind & KIND_MASK) {
        case KIND_HEADER: break;
        case KIND_FRAME:
#ifdef THESIS
            if (kind & KIND_SUM) insert_sum(argument);
            frame_fetched[argument % MAC_TRANSMIT_ENTRIES] = kind & KIND_NOW ? FETCHED_NOW : FETCHED;
#else
            frame_fetched[argument % MAC_TRANSMIT_ENTRIES] = FETCHED;
#endif
            break;
        case KIND_SEND_DESCRIPTORS: {
            uint32_t end_of_them = argument + length / sizeof(struct send_descriptor);
            for (uint32_t n = argument; n != end_of_them; n += 2) frame_described[n / 2 % MAC_TRANSMIT_ENTRIES] = 1;
            enqueue(FETCH_FRAMES, argument, end_of_them, 2 * FRAMES_AN_EVENT);
            break;
        }
#ifdef THESIS
        case KIND_RECEIVE_DESCRIPTORS:
        case KIND_MINI_DESCRIPTORS:
        case KIND_JUMBO_DESCRIPTORS: {
            uint32_t end_of_them = argument + length / sizeof(struct buffer_descriptor);
            enqueue(MARK_BUFFERS + (kind - KIND_RECEIVE_DESCRIPTORS), argument, end_of_them, DESCRIPTORS_AN_EVENT);
            break;
        }
#else
        case KIND_RECEIVE_DESCRIPTORS: {
            uint32_t end_of_them = argument + length / sizeof(struct short_buffer);
            enqueue(MARK_BUFFERS, argument, end_of_them, DESCRIPTORS_AN_EVENT);
            break;
        }
#endif
        }
    }
    return end;
}

/* Transfers to the host are done. */
uint32_t write_done(uint32_t start, uint32_t end) {
    for (; start != end; start++) {
        uint32_t place = start % DMA_ENTRIES;
#ifdef BASE
        lock(LOCK_WRITE_LOOP);
#endif
        uint32_t kind = write_slots[place].kind, argument = write_slots[place].argument;
        keep_order();
        writes.flags[place] = SLOT_FREE;
        if (kind == KIND_FRAME) {
#ifdef THESIS
            if (receiving.sums) add_sums(argument);
#endif
            frame_written[argument % MAC_RECEIVE_ENTRIES] = 1;
        } else if (kind == KIND_STATUS) {
            REG(INTERRUPT) = 1;
            COUNT(interrupts);
        }
#ifdef THESIS
        else if (kind == KIND_RETURN_DESCRIPTORS) {
            receiving.returned = argument; /* Another processor may set it back a little, which is safe. */
            receiving.waits = 0;
        }
#endif
#ifdef BASE
        unlock(LOCK_WRITE_LOOP);
#endif
    }
    return end;
}

/* Reports finished frames to the host even if there are fewer than the coalescing limit. */
uint32_t time_passed(uint32_t start, uint32_t end) {
    (void)start;
    commit_send(1);
    commit_receive(1);
#ifdef THESIS
    if (host.refresh && (int32_t)(end - host.next_refresh) >= 0 && refresh_statistics())
        host.next_refresh = end + host.refresh;
    receiving.waits = 0;
#endif
    return end;
}

static void set_up(void) {
    while (!REG(HOST_READY)) {
    }
    sending.ring_high = REG(SEND_RING);
    sending.ring_low = REG(SEND_RING + 4);
    sending.coalesce = REG(SEND_COALESCE);
#ifdef THESIS
    set_up_rings();
    host.refresh = REG(STATISTICS_US);
    host.statistics_high = REG(STATISTICS);
    host.statistics_low = REG(STATISTICS + 4);
    REG(MAC_STATISTICS) = MAC_STATISTICS_AT;
    REG(RINGS) = RINGS_THREE;
#else
    receiving.ring_high = REG(RECEIVE_RING);
    receiving.ring_low = REG(RECEIVE_RING + 4);
    REG(RINGS) = RINGS_ONE;
#endif
    receiving.return_high = REG(RETURN_RING);
    receiving.return_low = REG(RETURN_RING + 4);
    receiving.coalesce = REG(RECEIVE_COALESCE);
    host.status_high = REG(STATUS);
    host.status_low = REG(STATUS + 4);
    host.tick = REG(COALESCE_US);
    host.next_tick = REG(TIMER) + host.tick;
#ifdef HARDWARE_QUEUE
    static const uint8_t most[EVENT_TYPES] = {
        [FETCH_SEND_DESCRIPTORS] = DESCRIPTORS_AN_EVENT, [FETCH_RECEIVE_DESCRIPTORS] = DESCRIPTORS_AN_EVENT,
        [READ_DONE] = TRANSFERS_AN_EVENT,                [WRITE_DONE] = TRANSFERS_AN_EVENT,
        [FRAMES_ARRIVED] = FRAMES_AN_EVENT,              [TIME_PASSED] = 0,
        [FETCH_FRAMES] = 2 * FRAMES_AN_EVENT,            [MARK_BUFFERS] = DESCRIPTORS_AN_EVENT,
    };
    for (unsigned type = 0; type < EVENT_TYPES; type++) REG(EVENT_MOST + 4 * type) = most[type];
#endif
    REG(DMA_READ_BASE) = (uint32_t)read_slots;
    REG(DMA_WRITE_BASE) = (uint32_t)write_slots;
    REG(MAC_TRANSMIT_BASE) = (uint32_t)transmit_ring;
    REG(MAC_RECEIVE_BASE) = (uint32_t)receive_ring;
    REG(RECEIVE_AREA) = RECEIVE_AREA_AT;
    REG(RECEIVE_AREA_BYTES) = RECEIVE_AREA_SIZE;
    keep_order();
    host.is_started = 1;
}

/* Entry of every processor, with a stack of its own. */
void start(void) {
    if (REG(CPU_ID) == 0)
        set_up();
    else
        while (!host.is_started) {
        }
    dispatch();
}
