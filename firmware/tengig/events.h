/* The event queue: tasks as (type, start, end), and their handlers. */
#ifndef TENGIG_EVENTS_H
#define TENGIG_EVENTS_H

#include "config.h"
#include "regs.h"

enum event_type {
    FETCH_SEND_DESCRIPTORS,    /* Send ring descriptors that the host has filled. */
    FETCH_RECEIVE_DESCRIPTORS, /* Receive ring descriptors that the host has filled. */
    READ_DONE,                 /* Finished transfers from the host. */
    WRITE_DONE,                /* Finished transfers to the host. */
    FRAMES_ARRIVED,            /* Frames that the MAC has stored in frame memory. */
    TIME_PASSED,               /* Microseconds. */
    FETCH_FRAMES,              /* Send descriptors that have been read. */
    MARK_BUFFERS,              /* Receive descriptors that have been read. */
#ifdef THESIS
    MARK_MINI_BUFFERS,         /* Likewise for the other rings, in the order of their transfer kinds. */
    MARK_JUMBO_BUFFERS,
    FETCH_MINI_DESCRIPTORS,
    FETCH_JUMBO_DESCRIPTORS,
#endif
    EVENT_TYPES
};

/* Handles an event; returns the first element that it could not process, or `end`. */
typedef uint32_t handler(uint32_t start, uint32_t end);

handler fetch_send_descriptors, fetch_receive_descriptors, read_done, write_done, frames_arrived, time_passed, fetch_frames,
    mark_buffers;
#ifdef THESIS
handler mark_mini_buffers, mark_jumbo_buffers, fetch_mini_descriptors, fetch_jumbo_descriptors;

/* Assigns buffers to frames `frame` up to `end`, under LOCK_ARRIVED; returns the first frame that must wait for a buffer. */
uint32_t place_frames(uint32_t frame, uint32_t end);

/* Inserts the checksum into a frame whose data has been read. */
void insert_sum(uint32_t frame);

/* Combines the sums of a frame's pieces, stored by the assist, into the frame's sum. */
void add_sums(uint32_t frame);

/* Sends the counters of all processors to the host; returns 0 if that must wait. */
int refresh_statistics(void);

/* Reads the host's settings of its rings. */
void set_up_rings(void);
#endif

/* Queues an event, split into pieces of up to `most` elements. */
void enqueue(enum event_type type, uint32_t start, uint32_t end, uint32_t most);

/* The main loop of every processor. */
void dispatch(void) __attribute__((noreturn));

/* Commits, which the dispatch loop checks for together with events. */
void commit_reads(void);
void commit_writes(void);
void commit_send(int is_late);
void commit_receive(int is_late);

#endif
