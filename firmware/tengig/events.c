/* The event queue and the dispatch loop. */

#include "events.h"

#include "lock.h"
#include "state.h"

struct event {
    uint32_t type, start, end, unused;
};

/* An element is in at most one queued event: at most 255 transfers each way, 512 arrived frames, 256 frames to fetch, and
 * 512 descriptors of each mailbox in pieces of 32 or returned rests. That does not fill it. */
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

static handler *const handlers[EVENT_TYPES] = {
    [FETCH_SEND_DESCRIPTORS] = fetch_send_descriptors,
    [FETCH_RECEIVE_DESCRIPTORS] = fetch_receive_descriptors,
    [READ_DONE] = read_done,
    [WRITE_DONE] = write_done,
    [FRAMES_ARRIVED] = frames_arrived,
    [TIME_PASSED] = time_passed,
    [FETCH_FRAMES] = fetch_frames,
    [MARK_BUFFERS] = mark_buffers,
};

/* Does an event; what its handler leaves is queued again, and others go on with theirs meanwhile. */
static void run(enum event_type type, uint32_t start, uint32_t end) {
    uint32_t rest = handlers[type](start, end);
    if (rest != end) enqueue(type, rest, end, end - rest);
}

/* A hardware pointer has moved on from `seen`: unless another processor was faster, that is an event. It is done at once,
 * but for what goes beyond `most` elements. */
static void hardware_event(enum event_type type, unsigned pointer, volatile uint32_t *seen, unsigned which, uint32_t most) {
    lock(which);
    uint32_t start = *seen, end = REG(pointer);
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

/* Events that are queued now; those that they lead to wait for the next round. */
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

/* One event at least of each type that there is, then again. */
void dispatch(void) {
#ifdef BASE
    /* The first version gives its last processor nothing but the order of sent frames. */
    int is_committer = REG(CPU_ID) + 1 == REG(CPUS);
    int is_alone = REG(CPUS) == 1;
    while (is_committer && !is_alone) commit_send(0);
#endif
    for (;;) {
        if (REG(MAILBOX_SEND) != sending.seen)
            hardware_event(FETCH_SEND_DESCRIPTORS, MAILBOX_SEND, &sending.seen, LOCK_MAILBOX_SEND, DESCRIPTORS_AN_EVENT);
        if (REG(DMA_READ_CONSUMER) != reads.seen)
            hardware_event(READ_DONE, DMA_READ_CONSUMER, &reads.seen, LOCK_READ_DONE, TRANSFERS_AN_EVENT);
#ifndef BASE
        if (reads.flags[reads.posted % DMA_ENTRIES] == SLOT_READY) commit_reads();
        if (frame_fetched[sending.committed % MAC_TRANSMIT_ENTRIES]) commit_send(0);
#else
        if (is_alone) commit_send(0);
#endif
        queued_events();
        if (REG(MAC_RECEIVE_PRODUCER) != receiving.seen)
            hardware_event(FRAMES_ARRIVED, MAC_RECEIVE_PRODUCER, &receiving.seen, LOCK_ARRIVED, FRAMES_AN_EVENT);
#ifndef BASE
        if (writes.flags[writes.posted % DMA_ENTRIES] == SLOT_READY) commit_writes();
#endif
        if (REG(DMA_WRITE_CONSUMER) != writes.seen)
            hardware_event(WRITE_DONE, DMA_WRITE_CONSUMER, &writes.seen, LOCK_WRITE_DONE, TRANSFERS_AN_EVENT);
        if (frame_written[receiving.committed % RETURN_ENTRIES]) commit_receive(0);
        if (REG(MAILBOX_RECEIVE) != receiving.mailbox_seen)
            hardware_event(FETCH_RECEIVE_DESCRIPTORS, MAILBOX_RECEIVE, &receiving.mailbox_seen, LOCK_MAILBOX_RECEIVE,
                           DESCRIPTORS_AN_EVENT);
        if ((int32_t)(REG(TIMER) - host.next_tick) >= 0) timer_event();
    }
}
