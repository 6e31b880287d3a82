/* From the host to the network: descriptors, then frames, then their order. */

#include "dma.h"
#include "events.h"

struct send_state sending;
struct send_descriptor send_descriptors[SEND_ENTRIES];
struct transmit_descriptor transmit_ring[MAC_TRANSMIT_ENTRIES];
volatile uint8_t frame_described[MAC_TRANSMIT_ENTRIES];
volatile uint8_t frame_fetched[MAC_TRANSMIT_ENTRIES];
volatile uint32_t frame_slot[MAC_TRANSMIT_ENTRIES];

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

#ifdef THESIS
/* Sums of a frame's two pieces, stored by the assist. */
static volatile struct {
    uint16_t header, payload;
} frame_sums[MAC_TRANSMIT_ENTRIES];
#endif

/* Fetches descriptors `start` up to but not including `end` of the host's ring into their places in the card's copy. */
uint32_t fetch_send_descriptors(uint32_t start, uint32_t end) {
    /* Their places are free: the frames that used them have left. */
    while (start != end) {
        uint32_t place = start % SEND_ENTRIES;
        uint32_t n = least(end - start, SEND_ENTRIES - place);
        uint32_t slot;
        if (!take_reads(&slot, 1)) {
            COUNT(short_of_reads);
            break;
        }
        uint32_t offset = place * sizeof(struct send_descriptor);
        fill_read(slot, sending.ring_high, sending.ring_low + offset, (uint32_t)send_descriptors + offset,
                  n * sizeof(struct send_descriptor), KIND_SEND_DESCRIPTORS, start);
        reads_ready(slot, 1);
        start += n;
    }
    return start;
}

/* Address of a frame in frame memory; its pieces are contiguous. */
static inline uint32_t place_of(uint32_t frame) {
    return TRANSMIT_AREA + frame % MAC_TRANSMIT_ENTRIES * TRANSMIT_SLOT_BYTES;
}

/* Requests a frame's first piece. */
static inline void ask_for_header(uint32_t frame, uint32_t slot) {
    struct send_descriptor *header = &send_descriptors[2 * frame % SEND_ENTRIES];
#ifdef THESIS
    struct dma_descriptor *transfer =
        fill_read(slot, header->host_high, header->host_low, place_of(frame), header->length, KIND_HEADER, frame);
    if (header->flags & FLAG_SUM) store_sum(transfer, (void *)&frame_sums[frame % MAC_TRANSMIT_ENTRIES].header);
#else
    fill_read(slot, header->host_high, header->host_low, place_of(frame), header->length, KIND_HEADER, frame);
#endif
}

/* Requests the second piece and fills the MAC's descriptor. */
static inline void ask_for_payload(uint32_t frame, uint32_t slot) {
    struct send_descriptor *header = &send_descriptors[2 * frame % SEND_ENTRIES], *payload = header + 1;
    struct transmit_descriptor *whole = &transmit_ring[frame % MAC_TRANSMIT_ENTRIES];
    uint32_t at = place_of(frame), first = header->length, second = payload->length;
#ifdef THESIS
    uint32_t flags = payload->flags, length = first + second;
    struct statistics *counts = own();
    counts->out_frames++;
    counts->out_octets += length;
    struct dma_descriptor *transfer =
        fill_read(slot, payload->host_high, payload->host_low, at + first, second,
                  KIND_FRAME | (flags & FLAG_NOW) | (flags & FLAG_SUM) << 8, frame);
    if (flags & FLAG_SUM) store_sum(transfer, (void *)&frame_sums[frame % MAC_TRANSMIT_ENTRIES].payload);
    whole->frame = flags & FLAG_VLAN ? at | TRANSMIT_TAG : at;
    whole->length = flags & FLAG_VLAN ? (uint32_t)payload->vlan << 16 | length : length;
#else
    fill_read(slot, payload->host_high, payload->host_low, at + first, second, KIND_FRAME, frame);
    whole->frame = at;
    whole->length = first + second;
#endif
}

#ifdef THESIS
/* The host has seeded the field so that the sum of all bytes equals that of the datagram with its pseudo header. */
void insert_sum(uint32_t frame) {
    uint32_t sum = frame_sums[frame % MAC_TRANSMIT_ENTRIES].header + frame_sums[frame % MAC_TRANSMIT_ENTRIES].payload;
    sum = ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF;
    if (sum == 0) sum = 0xFFFF; /* 0 means no checksum. Source: RFC 768. */
    volatile uint16_t *field =
        (volatile uint16_t *)(place_of(frame) + send_descriptors[2 * frame % SEND_ENTRIES].sum_at);
    *field = sum;
    (void)*field; /* Reads the field back, so that the write is complete before the MAC reads it. */
}
#endif

#ifdef BASE

/* Requests descriptors one by one, as the ring has room; descriptors of other frames may come in between. */
uint32_t fetch_frames(uint32_t start, uint32_t end) {
    for (; start != end; start++) {
        uint32_t frame = start / 2, slot;
        if (!take_reads(&slot, 1)) {
            COUNT(short_of_reads);
            break;
        }
        if (start % 2 == 0)
            ask_for_header(frame, slot);
        else
            ask_for_payload(frame, slot);
        reads_ready(slot, 1);
    }
    return start;
}

#else

/* Requests frames in slots that keep the frames' order. */
uint32_t fetch_frames(uint32_t start, uint32_t end) {
    uint32_t slot, last = 2 * take_frame_reads(&slot, start / 2, end / 2);
    if (last != end) COUNT(short_of_reads);
    for (; start != last; start += 2, slot += 2) {
        uint32_t frame = start / 2;
        frame_described[frame % MAC_TRANSMIT_ENTRIES] = 0;
        ask_for_header(frame, slot);
        ask_for_payload(frame, slot + 1);
        reads_ready(slot, 2);
    }
    return start;
}

#endif

/* Reports to the host that frames before `frame` are sent; returns 0 if that must wait. */
static int report(uint32_t frame) {
    uint32_t slot;
    if (!take_writes(&slot, 1)) {
        COUNT(short_of_writes);
        return 0;
    }
    uint32_t *immediate = &immediates[slot % DMA_ENTRIES];
    *immediate = 2 * frame;
    fill_write(slot, host.status_high, host.status_low, (uint32_t)immediate, 4, KIND_STATUS, 0);
    writes_ready(slot, 1);
    COUNT(send_reports);
    return 1;
}

/* Gives the MAC all consecutive frames whose data is here; one processor at a time, so reports keep their order too. */
void commit_send(int is_late) {
    if (!try_lock(LOCK_SEND_COMMIT)) return;
    uint32_t frame = sending.committed;
    uint8_t fetched;
    while ((fetched = frame_fetched[frame % MAC_TRANSMIT_ENTRIES])) {
        if (fetched == FETCHED_NOW) sending.is_urgent = 1;
        frame_fetched[frame % MAC_TRANSMIT_ENTRIES] = 0;
        frame++;
    }
    if (frame != sending.committed) {
        sending.committed = frame;
        keep_order();
        REG(MAC_TRANSMIT_PRODUCER) = frame;
    }
    uint32_t news = frame - sending.reported;
    int is_enough = news >= sending.coalesce;
    if (is_enough || ((is_late || sending.is_urgent) && news != 0)) {
        if (report(frame)) {
            sending.reported = frame;
            sending.is_urgent = 0;
            if (is_enough) COUNT(limit_hits);
        }
    }
    unlock(LOCK_SEND_COMMIT);
}
