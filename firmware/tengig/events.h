/* The event queue: what is to be done, as (type, start, end), and who does it. */
#ifndef TENGIG_EVENTS_H
#define TENGIG_EVENTS_H

#include "config.h"
#include "regs.h"

enum event_type {
    FETCH_SEND_DESCRIPTORS,    /* Descriptors of the send ring that the host has filled. */
    FETCH_RECEIVE_DESCRIPTORS, /* Descriptors of the receive ring that the host has filled. */
    READ_DONE,                 /* Transfers from the host that are done. */
    WRITE_DONE,                /* Transfers to the host that are done. */
    FRAMES_ARRIVED,            /* Frames that the MAC has put into frame memory. */
    TIME_PASSED,               /* Microseconds. */
    FETCH_FRAMES,              /* Send descriptors that are here. */
    MARK_BUFFERS,              /* Receive descriptors that are here. */
#ifdef THESIS
    MARK_MINI_BUFFERS,         /* The same for the other rings, in the order of their kinds of transfers. */
    MARK_JUMBO_BUFFERS,
    FETCH_MINI_DESCRIPTORS,
    FETCH_JUMBO_DESCRIPTORS,
#endif
    EVENT_TYPES
};

/* Does an event; gives the first element that it could not do, `end` if it did all. */
typedef uint32_t handler(uint32_t start, uint32_t end);

handler fetch_send_descriptors, fetch_receive_descriptors, read_done, write_done, frames_arrived, time_passed, fetch_frames,
    mark_buffers;
#ifdef THESIS
handler mark_mini_buffers, mark_jumbo_buffers, fetch_mini_descriptors, fetch_jumbo_descriptors;

/* Gives frames `frame` to before `end` their buffers, under LOCK_ARRIVED; gives the first one that has to wait for one. */
uint32_t place_frames(uint32_t frame, uint32_t end);

/* Puts the checksum into a frame whose data is here. */
void insert_sum(uint32_t frame);

/* The sums of a frame's pieces, which the assist has stored, become the frame's. */
void add_sums(uint32_t frame);

/* Sends the host what all processors have counted; 0 if that must wait. */
int refresh_statistics(void);

/* Reads the addresses of the host's rings. */
void set_up_rings(void);
#endif

/* Queues an event, in pieces of up to `most` elements. */
void enqueue(enum event_type type, uint32_t start, uint32_t end, uint32_t most);

/* Every processor's life. */
void dispatch(void) __attribute__((noreturn));

/* Commits, which the dispatch loop looks for as it looks for events. */
void commit_reads(void);
void commit_writes(void);
void commit_send(int is_late);
void commit_receive(int is_late);

#endif
