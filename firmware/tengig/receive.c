/* From the network to the host: empty buffers, then frames, then their order. */

#include "dma.h"
#include "events.h"

struct receive_state receiving;
struct receive_descriptor receive_ring[MAC_RECEIVE_ENTRIES];
volatile uint8_t frame_written[MAC_RECEIVE_ENTRIES];

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

#ifdef THESIS

static struct buffer_descriptor standard_copy[RECEIVE_ENTRIES], mini_copy[MINI_ENTRIES], jumbo_copy[JUMBO_ENTRIES];
static volatile uint8_t standard_there[RECEIVE_ENTRIES], mini_there[MINI_ENTRIES], jumbo_there[JUMBO_ENTRIES];
struct buffer_ring buffer_rings[BUFFER_RINGS];
struct place places[MAC_RECEIVE_ENTRIES];
struct buffer_descriptor returns[RETURN_COPY];

static void set_up_ring(unsigned which, uint32_t at, uint32_t longest, uint32_t flags, struct buffer_descriptor *copy,
                        volatile uint8_t *there, uint32_t entries) {
    struct buffer_ring *ring = &buffer_rings[which];
    ring->host_high = REG(at);
    ring->host_low = REG(at + 4);
    ring->longest = REG(longest);
    ring->flags = flags;
    ring->kind = KIND_RECEIVE_DESCRIPTORS + which;
    ring->copy = copy;
    ring->there = there;
    ring->mask = entries - 1;
}

void set_up_rings(void) {
    set_up_ring(STANDARD, RECEIVE_RING, STANDARD_BYTES, 0, standard_copy, standard_there, RECEIVE_ENTRIES);
    set_up_ring(MINI, MINI_RING, MINI_BYTES, FLAG_MINI, mini_copy, mini_there, MINI_ENTRIES);
    set_up_ring(JUMBO, JUMBO_RING, JUMBO_BYTES, FLAG_JUMBO, jumbo_copy, jumbo_there, JUMBO_ENTRIES);
    receiving.sums = REG(RECEIVE_SUMS);
}

/* Fetches descriptors `start` up to but not including `end` of a host ring into their places in the card's copy. */
static uint32_t fetch_buffers(struct buffer_ring *ring, uint32_t start, uint32_t end) {
    /* A place is free when its previous frame is finished. */
    uint32_t entries = ring->mask + 1, limit = ring->freed + entries;
    while (start != end && start != limit) {
        uint32_t place = start & ring->mask;
        uint32_t n = least(least(end - start, limit - start), entries - place);
        uint32_t slot;
        if (!take_reads(&slot, 1)) {
            COUNT(short_of_reads);
            break;
        }
        uint32_t offset = place * sizeof(struct buffer_descriptor), low = ring->host_low + offset;
        fill_read(slot, ring->host_high + (low < offset), low, (uint32_t)&ring->copy[place],
                  n * sizeof(struct buffer_descriptor), ring->kind, start);
        reads_ready(slot, 1);
        start += n;
    }
    return start;
}

uint32_t fetch_receive_descriptors(uint32_t start, uint32_t end) {
    return fetch_buffers(&buffer_rings[STANDARD], start, end);
}
uint32_t fetch_mini_descriptors(uint32_t start, uint32_t end) { return fetch_buffers(&buffer_rings[MINI], start, end); }
uint32_t fetch_jumbo_descriptors(uint32_t start, uint32_t end) { return fetch_buffers(&buffer_rings[JUMBO], start, end); }

/* The descriptors of these buffers are here. */
static uint32_t mark(struct buffer_ring *ring, uint32_t start, uint32_t end) {
    for (; start != end; start++) ring->there[start & ring->mask] = 1;
    receiving.waits = 0;
    return end;
}

uint32_t mark_buffers(uint32_t start, uint32_t end) { return mark(&buffer_rings[STANDARD], start, end); }
uint32_t mark_mini_buffers(uint32_t start, uint32_t end) { return mark(&buffer_rings[MINI], start, end); }
uint32_t mark_jumbo_buffers(uint32_t start, uint32_t end) { return mark(&buffer_rings[JUMBO], start, end); }

static inline int has_buffer(struct buffer_ring *ring) { return ring->there[ring->next & ring->mask]; }

/* The ring whose buffers fit a frame, or 0. Mini frames take standard buffers when no mini buffer is free. */
static inline struct buffer_ring *ring_for(uint32_t length) {
    struct buffer_ring *standard = &buffer_rings[STANDARD], *mini = &buffer_rings[MINI], *jumbo = &buffer_rings[JUMBO];
    if (length <= mini->longest && has_buffer(mini)) return mini;
    if (length <= standard->longest) return standard;
    return length <= jumbo->longest ? jumbo : 0;
}

uint32_t place_frames(uint32_t frame, uint32_t end) {
    uint32_t number = receiving.numbered;
    for (; frame != end; frame++) {
        struct place *place = &places[frame % MAC_RECEIVE_ENTRIES];
        uint32_t status = receive_ring[frame % MAC_RECEIVE_ENTRIES].status;
        uint32_t length = (status & RECEIVE_LENGTH) - FCS_BYTES;
        struct buffer_ring *ring = 0;
        if ((status & RECEIVE_ERRORS) || (int32_t)length < ETHERNET_HEADER) {
            COUNT(in_errors);
        } else if (!(ring = ring_for(length))) {
            COUNT(in_too_long);
        }
        place->ring = ring;
        if (!ring) continue;
        if (!has_buffer(ring) || number - receiving.returned == RETURN_COPY) {
            /* New buffers clear `waits`: buffers that arrived in between must be seen. */
            receiving.waits = 1;
            COUNT(short_of_buffers);
            if (!has_buffer(ring) || number - receiving.returned == RETURN_COPY) break;
            receiving.waits = 0;
        }
        uint32_t buffer = ring->next;
        ring->there[buffer & ring->mask] = 0;
        ring->next = buffer + 1;
        place->buffer = buffer;
        place->number = number++;
    }
    receiving.numbered = number;
    return frame;
}

/* Number of transfers for a frame: the receive area wraps, so a frame near its end needs two. */
static inline uint32_t pieces_of(uint32_t frame) {
    struct receive_descriptor *arrived = &receive_ring[frame % MAC_RECEIVE_ENTRIES];
    if (!places[frame % MAC_RECEIVE_ENTRIES].ring) return 0;
    uint32_t length = (arrived->status & RECEIVE_LENGTH) - FCS_BYTES;
    return arrived->frame + length > RECEIVE_AREA_AT + RECEIVE_AREA_SIZE ? 2 : 1;
}

/* Sends a frame to its buffer in `pieces` transfers; 0 drops it. */
static inline void to_host(uint32_t frame, uint32_t slot, uint32_t pieces) {
    struct place *place = &places[frame % MAC_RECEIVE_ENTRIES];
    if (pieces == 0) {
        frame_written[frame % MAC_RECEIVE_ENTRIES] = 1;
        return;
    }
    struct receive_descriptor *arrived = &receive_ring[frame % MAC_RECEIVE_ENTRIES];
    struct buffer_ring *ring = place->ring;
    struct buffer_descriptor *buffer = &ring->copy[place->buffer & ring->mask];
    struct buffer_descriptor *given = &returns[place->number % RETURN_COPY];
    uint32_t status = arrived->status, at = arrived->frame;
    uint32_t length = (status & RECEIVE_LENGTH) - FCS_BYTES;
    uint32_t high = buffer->host_high, low = buffer->host_low;
    struct statistics *counts = own();
    counts->in_frames++;
    counts->in_octets += length;
    given->host_high = high;
    given->host_low = low;
    given->index = buffer->index;
    given->length = length;
    given->type = buffer->type;
    given->flags = ring->flags | FLAG_END | (receiving.sums ? FLAG_SUM : 0);
    given->first_sum = 0;
    given->sum = 0;
    given->errors = 0;
    given->vlan = 0;
    given->number = place->number;
    given->opaque = buffer->opaque;
    if (pieces == 2) {
        uint32_t first = RECEIVE_AREA_AT + RECEIVE_AREA_SIZE - at;
        struct dma_descriptor *transfer = fill_write(slot++, high, low, at, first, KIND_HEADER, frame);
        if (receiving.sums) store_sum(transfer, &given->first_sum);
        low += first;
        high += low < first;
        at = RECEIVE_AREA_AT;
        length -= first;
    }
    struct dma_descriptor *transfer = fill_write(slot, high, low, at, length, KIND_FRAME, frame);
    if (receiving.sums) store_sum(transfer, &given->sum);
}

void add_sums(uint32_t frame) {
    volatile struct buffer_descriptor *given = &returns[places[frame % MAC_RECEIVE_ENTRIES].number % RETURN_COPY];
    uint32_t first = given->first_sum;
    if (first == 0) return;
    /* The first piece has an even number of bytes, because the area and its frames are aligned. */
    uint32_t both = first + given->sum;
    given->sum = (both & 0xFFFF) + (both >> 16);
    given->first_sum = 0;
}

#else

struct short_buffer buffer_descriptors[RECEIVE_ENTRIES];
volatile uint8_t buffer_there[RECEIVE_ENTRIES];
struct short_return returns[RETURN_ENTRIES];

/* Fetches descriptors `start` up to but not including `end` of the host's ring into their places in the card's copy. */
uint32_t fetch_receive_descriptors(uint32_t start, uint32_t end) {
    /* A place is free when its previous frame is finished. */
    uint32_t limit = receiving.committed + RECEIVE_ENTRIES;
    while (start != end && start != limit) {
        uint32_t place = start % RECEIVE_ENTRIES;
        uint32_t n = least(least(end - start, limit - start), RECEIVE_ENTRIES - place);
        uint32_t slot;
        if (!take_reads(&slot, 1)) break;
        uint32_t offset = place * sizeof(struct short_buffer);
        fill_read(slot, receiving.ring_high, receiving.ring_low + offset, (uint32_t)buffer_descriptors + offset,
                  n * sizeof(struct short_buffer), KIND_RECEIVE_DESCRIPTORS, start);
        reads_ready(slot, 1);
        start += n;
    }
    return start;
}

/* The descriptors of these buffers are here. */
uint32_t mark_buffers(uint32_t start, uint32_t end) {
    for (; start != end; start++) buffer_there[start % RECEIVE_ENTRIES] = 1;
#ifdef HARDWARE_QUEUE
    /* The registers must get buffers in order. */
    lock(LOCK_BUFFERS);
    uint32_t buffer = receiving.buffers, limit = receiving.committed + RECEIVE_ENTRIES;
    while (buffer != limit && buffer_there[buffer % RECEIVE_ENTRIES]) buffer++;
    receiving.buffers = buffer;
    REG(BUFFERS_THERE) = buffer;
    unlock(LOCK_BUFFERS);
#endif
    return end;
}

/* Number of transfers for a frame: the receive area wraps, so a frame near its end may need two. */
static inline uint32_t pieces_of(uint32_t frame) {
    uint32_t at = receive_ring[frame % MAC_RECEIVE_ENTRIES].frame;
    return at > RECEIVE_AREA_AT + RECEIVE_AREA_SIZE - LONGEST_FRAME ? 2 : 1;
}

/* Sends a frame to its buffer in `pieces` transfers. */
static inline void to_host(uint32_t frame, uint32_t slot, uint32_t pieces) {
    uint32_t place = frame % RECEIVE_ENTRIES;
    struct receive_descriptor *arrived = &receive_ring[frame % MAC_RECEIVE_ENTRIES];
    struct short_buffer *buffer = &buffer_descriptors[place];
    struct short_return *given = &returns[frame % RETURN_ENTRIES];
    uint32_t status = arrived->status, at = arrived->frame;
    uint32_t errors = status & RECEIVE_ERRORS;
    uint32_t length = (status & RECEIVE_LENGTH) - FCS_BYTES;
    uint32_t high = buffer->host_high, low = buffer->host_low;
    buffer_there[place] = 0;
    if (errors || length > buffer->length) length = 0; /* The buffer is returned empty. */
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
        length -= first; /* 0 if the frame ends before the area does. */
    }
    fill_write(slot, high, low, at, length, KIND_FRAME, frame);
}

#endif

#ifdef BASE

uint32_t frames_arrived(uint32_t start, uint32_t end) {
    for (; start != end; start++) {
        lock(LOCK_RECEIVE_LOOP);
        uint32_t slot, pieces = pieces_of(start);
        int can_go = take_writes(&slot, pieces);
        if (!can_go) COUNT(short_of_writes);
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
    if (!take_writes(&slot, slots)) {
        COUNT(short_of_writes);
        return start;
    }
    for (; start != end; start++) {
        uint32_t pieces = pieces_of(start);
        to_host(start, slot, pieces);
        writes_ready(slot, pieces);
        slot += pieces;
    }
    return start;
}

#endif

#ifdef THESIS
#define RETURN_PLACES LONG_RETURN_ENTRIES
#define RETURN_COPIES RETURN_COPY
#else
#define RETURN_PLACES RETURN_ENTRIES
#define RETURN_COPIES RETURN_ENTRIES
#endif

/* Sends return descriptors `start` up to but not including `end`, then the producer; returns 0 if that must wait. */
static int report(uint32_t start, uint32_t end) {
    /* The ring ends where the card's copy ends, or continues there. */
    uint32_t place = start % RETURN_PLACES, copy = start % RETURN_COPIES;
    uint32_t n = end - start, first = least(n, RETURN_COPIES - copy);
    uint32_t pieces = n == first ? 1 : 2;
    uint32_t slot;
    if (!take_writes(&slot, pieces + 1)) {
        COUNT(short_of_writes);
        return 0;
    }
    uint32_t offset = place * sizeof returns[0];
    fill_write(slot, receiving.return_high, receiving.return_low + offset, (uint32_t)&returns[copy], first * sizeof returns[0],
               KIND_RETURN_DESCRIPTORS, start + first);
    if (pieces == 2)
        fill_write(slot + 1, receiving.return_high,
                   receiving.return_low + (start + first) % RETURN_PLACES * sizeof returns[0], (uint32_t)returns,
                   (n - first) * sizeof returns[0], KIND_RETURN_DESCRIPTORS, end);
    uint32_t *immediate = &immediates[(slot + pieces) % DMA_ENTRIES];
    *immediate = end;
    fill_write(slot + pieces, host.status_high, host.status_low + 4, (uint32_t)immediate, 4, KIND_STATUS, end);
    writes_ready(slot, pieces + 1);
    COUNT(return_reports);
    return 1;
}

/* Frees all consecutive frames that are in the host's memory, and reports them; one processor at a time. */
void commit_receive(int is_late) {
    if (!try_lock(LOCK_RECEIVE_COMMIT)) return;
    uint32_t frame = receiving.committed;
    while (frame_written[frame % MAC_RECEIVE_ENTRIES]) {
        frame_written[frame % MAC_RECEIVE_ENTRIES] = 0;
#ifdef THESIS
        struct place *place = &places[frame % MAC_RECEIVE_ENTRIES];
        if (place->ring) {
            place->ring->freed = place->buffer + 1;
            receiving.numbers = place->number + 1;
        }
#endif
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
#ifdef THESIS
    frame = receiving.numbers;
#endif
    uint32_t news = frame - receiving.reported;
    int is_enough = news >= receiving.coalesce;
    if (is_enough || (is_late && news != 0)) {
        if (report(receiving.reported, frame)) {
            receiving.reported = frame;
            if (is_enough) COUNT(limit_hits);
        }
    }
    unlock(LOCK_RECEIVE_COMMIT);
}
