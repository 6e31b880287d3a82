/* The event queue and the dispatch loop. */

#include "events.h"

#include "lock.h"
#include "state.h"

static handler *const handlers[EVENT_TYPES] = {
    [FETCH_SEND_DESCRIPTORS] = fetch_send_descriptors,
    [FETCH_RECEIVE_DESCRIPTORS] = fetch_receive_descriptors,
    [READ_DONE] = read_done,
    [WRITE_DONE] = write_done,
    [FRAMES_ARRIVED] = frames_arrived,
    [TIME_PASSED] = time_passed,
    [FETCH_FRAMES] = fetch_frames,
    [MARK_BUFFERS] = mark_buffers,
#ifdef THESIS
    [MARK_MINI_BUFFERS] = mark_mini_buffers,
    [MARK_JUMBO_BUFFERS] = mark_jumbo_buffers,
    [FETCH_MINI_DESCRIPTORS] = fetch_mini_descriptors,
    [FETCH_JUMBO_DESCRIPTORS] = fetch_jumbo_descriptors,
#endif
};

#ifdef HARDWARE_QUEUE

/* The hardware keeps the queue. Each processor writes through registers of its own, so there is no lock. The maximum of a type
 * is set once. */
void enqueue(enum event_type type, uint32_t start, uint32_t end, uint32_t most) {
    (void)most;
    REG(PUSH_START) = start;
    REG(PUSH_END) = end;
    REG(PUSH) = type;
}

void dispatch(void) {
    for (;;) {
        uint32_t type = REG(EVENT);
        if (type != 0) {
            uint32_t start = REG(EVENT_START), end = REG(EVENT_END);
            uint32_t left = handlers[type - 1](start, end);
            if (left != end) enqueue(type - 1, left, end, end - left);
        }
        if (frame_fetched[sending.committed % MAC_TRANSMIT_ENTRIES]) commit_send(0);
        if (frame_written[receiving.committed % MAC_RECEIVE_ENTRIES]) commit_receive(0);
    }
}

#else

struct event {
    uint32_t type, start, end, unused;
};

/* An element is in at most one queued event: at most 255 transfers in each direction, 512 arrived frames, 256 frames to fetch,
 * and 512 descriptors of each mailbox in pieces of 32 or as returned rests. These fit the queue. */
static struct event queue[QUEUE_EVENTS];
static volatile uint32_t queued, taken;

void enqueue(enum event_type type, uint32_t start, uint32_t end, uint32_t most) {
    lock(LOCK_QUEUE);
    uint32_t place = queued;
    do {
        struct event *event = &queue[place++ % QUEUE_EVENTS];
        uint32_t here = end - start > most ? start + most : end;
        event->type = type;
        event->start = start;
        event->end = here;
        start = here;
    } while (start != end);
    queued = place;
    unlock(LOCK_QUEUE);
}

/* Handles an event. The rest that its handler leaves is queued again; other processors continue with theirs meanwhile. */
static void run(enum event_type type, uint32_t start, uint32_t end) {
    COUNT(events[type]);
    uint32_t rest = handlers[type](start, end);
    if (rest != end) enqueue(type, rest, end, end - rest);
}

/* These functions return each hardware pointer, limited to what can be processed now; the rest waits for later rounds. */

/* Frames leave frame memory in descriptor order: descriptors are fetched only if the frame has a place there. */
static inline uint32_t newest_send(void) {
    uint32_t posted = REG(MAILBOX_SEND), limit = 2 * (REG(MAC_TRANSMIT_CONSUMER) + TRANSMIT_SLOTS);
    return (int32_t)(posted - limit) > 0 ? limit : posted;
}

static inline uint32_t newest_receive(void) { return REG(MAILBOX_RECEIVE); }
static inline uint32_t newest_read(void) { return REG(DMA_READ_CONSUMER); }
static inline uint32_t newest_write(void) { return REG(DMA_WRITE_CONSUMER); }

/* A frame needs a buffer. Only a few events are made at once, because the lock is held. */
static inline uint32_t newest_arrived(void) {
    uint32_t frame = receiving.seen, end = REG(MAC_RECEIVE_PRODUCER);
    if (end - frame > 4 * FRAMES_AN_EVENT) end = frame + 4 * FRAMES_AN_EVENT;
#ifdef THESIS
    return place_frames(frame, end);
#else
    while (frame != end && buffer_there[frame % RECEIVE_ENTRIES]) frame++;
    return frame;
#endif
}

#ifdef THESIS
static inline uint32_t newest_mini(void) { return REG(MAILBOX_MINI); }
static inline uint32_t newest_jumbo(void) { return REG(MAILBOX_JUMBO); }
static inline int can_place(void) { return !receiving.waits; }
#define RECEIVE_MAILBOX_SEEN buffer_rings[STANDARD].seen
#else
static inline int can_place(void) { return buffer_there[receiving.seen % RECEIVE_ENTRIES]; }
#define RECEIVE_MAILBOX_SEEN receiving.mailbox_seen
#endif

/* The pointer `newest` has moved past `seen`. Unless another processor was faster, makes an event and handles it at once,
 * except for the part beyond `most` elements. */
static inline void hardware_event(enum event_type type, uint32_t (*newest)(void), volatile uint32_t *seen, unsigned which,
                                  uint32_t most) {
    lock(which);
    uint32_t start = *seen, end = newest();
    *seen = end;
    unlock(which);
    if (start == end) return;
    uint32_t first = end;
    if (end - start > most) {
        first = start + most;
        enqueue(type, first, end, most);
    }
    run(type, start, first);
}

/* One function for each, so that the loop keeps its registers. */
static __attribute__((noinline)) void send_posted(void) {
    hardware_event(FETCH_SEND_DESCRIPTORS, newest_send, &sending.seen, LOCK_MAILBOX_SEND, DESCRIPTORS_AN_EVENT);
}
static __attribute__((noinline)) void buffers_posted(void) {
    hardware_event(FETCH_RECEIVE_DESCRIPTORS, newest_receive, &RECEIVE_MAILBOX_SEEN, LOCK_MAILBOX_RECEIVE,
                   DESCRIPTORS_AN_EVENT);
}
#ifdef THESIS
static __attribute__((noinline)) void mini_buffers_posted(void) {
    hardware_event(FETCH_MINI_DESCRIPTORS, newest_mini, &buffer_rings[MINI].seen, LOCK_MAILBOX_MINI, DESCRIPTORS_AN_EVENT);
}
static __attribute__((noinline)) void jumbo_buffers_posted(void) {
    hardware_event(FETCH_JUMBO_DESCRIPTORS, newest_jumbo, &buffer_rings[JUMBO].seen, LOCK_MAILBOX_JUMBO,
                   DESCRIPTORS_AN_EVENT);
}
#endif
static __attribute__((noinline)) void reads_done(void) {
    hardware_event(READ_DONE, newest_read, &reads.seen, LOCK_READ_DONE, TRANSFERS_AN_EVENT);
}
static __attribute__((noinline)) void writes_done(void) {
    hardware_event(WRITE_DONE, newest_write, &writes.seen, LOCK_WRITE_DONE, TRANSFERS_AN_EVENT);
}
static __attribute__((noinline)) void arrived(void) {
    hardware_event(FRAMES_ARRIVED, newest_arrived, &receiving.seen, LOCK_ARRIVED, FRAMES_AN_EVENT);
}

static void queued_event(uint32_t last) {
    lock(LOCK_QUEUE);
    uint32_t place = taken;
    if ((int32_t)(last - place) <= 0) {
        unlock(LOCK_QUEUE);
        return;
    }
    struct event *event = &queue[place % QUEUE_EVENTS];
    uint32_t type = event->type, start = event->start, end = event->end;
    taken = place + 1;
    unlock(LOCK_QUEUE);
    run(type, start, end);
}

/* Handles the events queued now; events that they cause wait for the next round. */
static void queued_events(void) {
    uint32_t last = queued;
    while ((int32_t)(last - taken) > 0) queued_event(last);
}

static void timer_event(void) {
    lock(LOCK_TIMER);
    uint32_t start = host.next_tick, now = REG(TIMER);
    int is_due = (int32_t)(now - start) >= 0;
    if (is_due) host.next_tick = now + host.tick;
    unlock(LOCK_TIMER);
    if (is_due) run(TIME_PASSED, start, now + 1);
}

/* Handles at least one event of each pending type, then repeats. */
void dispatch(void) {
#ifdef BASE
    /* In the first version the last processor only keeps the order of sent frames. */
    int is_committer = REG(CPU_ID) + 1 == REG(CPUS);
    int is_alone = REG(CPUS) == 1;
    while (is_committer && !is_alone) commit_send(0);
#endif
    for (;;) {
        if (newest_send() != sending.seen) send_posted();
        if (newest_read() != reads.seen) reads_done();
#ifndef BASE
        if (reads.flags[reads.posted % DMA_ENTRIES] == SLOT_READY) commit_reads();
        if (frame_fetched[sending.committed % MAC_TRANSMIT_ENTRIES]) commit_send(0);
#else
        if (is_alone) commit_send(0);
#endif
        queued_events();
        if (REG(MAC_RECEIVE_PRODUCER) != receiving.seen && can_place()) arrived();
#ifndef BASE
        if (writes.flags[writes.posted % DMA_ENTRIES] == SLOT_READY) commit_writes();
#endif
        if (newest_write() != writes.seen) writes_done();
        if (frame_written[receiving.committed % MAC_RECEIVE_ENTRIES]) commit_receive(0);
        if (newest_receive() != RECEIVE_MAILBOX_SEEN) buffers_posted();
#ifdef THESIS
        if (newest_mini() != buffer_rings[MINI].seen) mini_buffers_posted();
        if (newest_jumbo() != buffer_rings[JUMBO].seen) jumbo_buffers_posted();
#endif
        if ((int32_t)(REG(TIMER) - host.next_tick) >= 0) timer_event();
    }
}

#endif
