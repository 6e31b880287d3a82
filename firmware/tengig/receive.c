/* From the network to the host: empty buffers, then frames, then their order. */

#include "dma.h"
#include "events.h"

struct receive_state receiving;
struct buffer_descriptor buffer_descriptors[RECEIVE_ENTRIES];
volatile uint8_t buffer_there[RECEIVE_ENTRIES];
struct receive_descriptor receive_ring[MAC_RECEIVE_ENTRIES];
struct return_descriptor returns[RETURN_ENTRIES];
volatile uint8_t frame_written[RETURN_ENTRIES];

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Fetches descriptors `start` to before `end` of the host's ring into their places in the card's copy. */
uint32_t fetch_receive_descriptors(uint32_t start, uint32_t end) {
    /* A place is free when the frame that used it is done with. */
    uint32_t limit = receiving.committed + RECEIVE_ENTRIES;
    while (start != end && start != limit) {
        uint32_t place = start % RECEIVE_ENTRIES;
        uint32_t n = least(least(end - start, limit - start), RECEIVE_ENTRIES - place);
        uint32_t slot;
        if (!take_reads(&slot, 1)) break;
        uint32_t offset = place * sizeof(struct buffer_descriptor);
        fill_read(slot, receiving.ring_high, receiving.ring_low + offset, (uint32_t)buffer_descriptors + offset,
                  n * sizeof(struct buffer_descriptor), KIND_RECEIVE_DESCRIPTORS, start);
        reads_ready(slot, 1);
        start += n;
    }
    return start;
}

/* The descriptors of these buffers are here. */
uint32_t mark_buffers(uint32_t start, uint32_t end) {
    for (; start != end; start++) buffer_there[start % RECEIVE_ENTRIES] = 1;
#ifdef HARDWARE_QUEUE
    /* The registers hear of buffers in their order. */
    lock(LOCK_BUFFERS);
    uint32_t buffer = receiving.buffers, limit = receiving.committed + RECEIVE_ENTRIES;
    while (buffer != limit && buffer_there[buffer % RECEIVE_ENTRIES]) buffer++;
    receiving.buffers = buffer;
    REG(BUFFERS_THERE) = buffer;
    unlock(LOCK_BUFFERS);
#endif
    return end;
}

/* Transfers for a frame: the area of received frames goes on at its start, so one near its end may need two. */
static inline uint32_t pieces_of(uint32_t frame) {
    uint32_t at = receive_ring[frame % MAC_RECEIVE_ENTRIES].frame;
    return at > RECEIVE_AREA_AT + RECEIVE_AREA_SIZE - LONGEST_FRAME ? 2 : 1;
}

/* Sends one frame to its buffer, in so many transfers. */
static inline void to_host(uint32_t frame, uint32_t slot, uint32_t pieces) {
    uint32_t place = frame % RECEIVE_ENTRIES;
    struct receive_descriptor *arrived = &receive_ring[frame % MAC_RECEIVE_ENTRIES];
    struct buffer_descriptor *buffer = &buffer_descriptors[place];
    struct return_descriptor *given = &returns[frame % RETURN_ENTRIES];
    uint32_t status = arrived->status, at = arrived->frame;
    uint32_t errors = status & RECEIVE_ERRORS;
    uint32_t length = (status & RECEIVE_LENGTH) - FCS_BYTES;
    uint32_t high = buffer->host_high, low = buffer->host_low;
    buffer_there[place] = 0;
    if (errors || length > buffer->length) length = 0; /* The buffer goes back empty. */
    given->opaque = buffer->opaque;
    given->length = length;
    given->errors = errors;
    given->number = frame;
    if (pieces == 2) {
        uint32_t first = least(length, RECEIVE_AREA_AT + RECEIVE_AREA_SIZE - at);
        fill_write(slot++, high, low, at, first, KIND_HEADER, frame);
        low += first;
        if (low < first) high++;
        at = RECEIVE_AREA_AT;
        length -= first; /* Nothing is left if the frame ends before the area does. */
    }
    fill_write(slot, high, low, at, length, KIND_FRAME, frame);
}

#ifdef BASE

uint32_t frames_arrived(uint32_t start, uint32_t end) {
    for (; start != end; start++) {
        lock(LOCK_RECEIVE_LOOP);
        uint32_t slot, pieces = pieces_of(start);
        int can_go = take_writes(&slot, pieces);
        if (can_go) {
            to_host(start, slot, pieces);
            writes_ready(slot, pieces);
        }
        unlock(LOCK_RECEIVE_LOOP);
        if (!can_go) break;
    }
    return start;
}

#else

uint32_t frames_arrived(uint32_t start, uint32_t end) {
    uint32_t slots = 0, slot;
    for (uint32_t frame = start; frame != end; frame++) slots += pieces_of(frame);
    if (!take_writes(&slot, slots)) return start;
    for (; start != end; start++) {
        uint32_t pieces = pieces_of(start);
        to_host(start, slot, pieces);
        writes_ready(slot, pieces);
        slot += pieces;
    }
    return start;
}

#endif

/* Sends the return descriptors of frames `start` to before `end`, then the producer; 0 if that must wait. */
static int report(uint32_t start, uint32_t end) {
    uint32_t place = start % RETURN_ENTRIES;
    uint32_t n = end - start, first = least(n, RETURN_ENTRIES - place);
    uint32_t pieces = n == first ? 1 : 2;
    uint32_t slot;
    if (!take_writes(&slot, pieces + 1)) return 0;
    uint32_t offset = place * sizeof(struct return_descriptor);
    fill_write(slot, receiving.return_high, receiving.return_low + offset, (uint32_t)returns + offset,
               first * sizeof(struct return_descriptor), KIND_RETURN_DESCRIPTORS, end);
    if (pieces == 2)
        fill_write(slot + 1, receiving.return_high, receiving.return_low, (uint32_t)returns,
                   (n - first) * sizeof(struct return_descriptor), KIND_RETURN_DESCRIPTORS, end);
    struct transfer *transfer = &write_transfers[(slot + pieces) % DMA_ENTRIES];
    transfer->immediate = end;
    fill_write(slot + pieces, host.status_high, host.status_low + 4, (uint32_t)&transfer->immediate, 4, KIND_STATUS, end);
    writes_ready(slot, pieces + 1);
    return 1;
}

/* Frees all consecutive frames that are in the host's memory, and tells the host; one processor at a time. */
void commit_receive(int is_late) {
    if (!try_lock(LOCK_RECEIVE_COMMIT)) return;
    uint32_t frame = receiving.committed;
    while (frame_written[frame % RETURN_ENTRIES]) {
        frame_written[frame % RETURN_ENTRIES] = 0;
        frame++;
    }
    if (frame != receiving.committed) {
        struct receive_descriptor *last = &receive_ring[(frame - 1) % MAC_RECEIVE_ENTRIES];
        uint32_t behind = (last->frame + (last->status & RECEIVE_LENGTH) + 7) & ~7u;
        if (behind >= RECEIVE_AREA_AT + RECEIVE_AREA_SIZE) behind -= RECEIVE_AREA_SIZE;
        receiving.committed = frame;
        keep_order();
        REG(RECEIVE_AREA_CONSUMER) = behind;
        REG(MAC_RECEIVE_CONSUMER) = frame;
    }
    uint32_t news = frame - receiving.reported;
    if (news >= receiving.coalesce || (is_late && news != 0)) {
        if (report(receiving.reported, frame)) receiving.reported = frame;
    }
    unlock(LOCK_RECEIVE_COMMIT);
}
