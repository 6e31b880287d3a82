/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the firmware. Each CPU has a `struct state` at the base of its scratchpad. Data written by one CPU and read by the
 * other, and data read by the assists, is in SRAM (`struct common`).
 *
 * Three builds divide the events, and with them the fields of `struct state`, each of which only one side uses:
 *
 *   (none)            CPU A does everything, CPU B stays halted
 *   -DTIMER_ON_B      CPU B serves the timer
 *   -DSPLIT           CPU A sends, owns the DMA read ring and the timer; CPU B receives and owns the DMA write ring
 */
#ifndef TIGON2_STATE_H
#define TIGON2_STATE_H

#include "regs.h"

#ifdef SPLIT
#define SECTION_SEND __attribute__((section(".hot_a")))
#define SECTION_RECEIVE __attribute__((section(".hot_b")))
#define SECTION_TIMER __attribute__((section(".hot_a")))
#define EVENT_SEND_SIDE EVENT_A
#define EVENT_RECEIVE_SIDE EVENT_B
#define SEMAPHORE_RECEIVE_SIDE SEMAPHORE_B
#define TIMER_REFERENCE TIMER_REFERENCE_A
#define SEND_SIDE_IS_SHARED 0 /* only CPU A writes its event register */
#define RECEIVE_SIDE_IS_SHARED 1
#define SEMAPHORE_TIMER SEMAPHORE_A
#elif defined(TIMER_ON_B)
#define SECTION_SEND __attribute__((section(".hot_a")))
#define SECTION_RECEIVE __attribute__((section(".hot_a")))
#define SECTION_TIMER __attribute__((section(".hot_b")))
#define EVENT_SEND_SIDE EVENT_A
#define EVENT_RECEIVE_SIDE EVENT_A
#define SEMAPHORE_RECEIVE_SIDE SEMAPHORE_A
#define TIMER_REFERENCE TIMER_REFERENCE_B
#define SEND_SIDE_IS_SHARED 1
#define RECEIVE_SIDE_IS_SHARED 1
#define SEMAPHORE_TIMER SEMAPHORE_B
#else
#define SECTION_SEND __attribute__((section(".hot_a")))
#define SECTION_RECEIVE __attribute__((section(".hot_a")))
#define SECTION_TIMER __attribute__((section(".hot_a")))
#define EVENT_SEND_SIDE EVENT_A
#define EVENT_RECEIVE_SIDE EVENT_A
#define SEMAPHORE_RECEIVE_SIDE SEMAPHORE_A
#define TIMER_REFERENCE TIMER_REFERENCE_A
#define SEND_SIDE_IS_SHARED 0
#define RECEIVE_SIDE_IS_SHARED 0
#define SEMAPHORE_TIMER SEMAPHORE_A
#endif

#define SEND_ENTRIES 512 /* the largest ring that a host may have */
#define STANDARD_ENTRIES 512
#define JUMBO_ENTRIES 256
#define MINI_ENTRIES 1024
#define EVENT_ENTRIES 256
#define COMMAND_ENTRIES 64

/* Tags of DMA reads. */
#define TAG_SEND_DATA 0x1     /* a piece that does not end a frame */
#define TAG_SEND_LAST 0x2     /* the last piece of a frame */
#define TAG_SEND_NOW 0x4      /* report this descriptor to the host at once */
#define TAG_SEND_COUNTS 0x8   /* the last piece of its descriptor */
#define TAG_SEND 0xf
#define TAG_SEND_DESCRIPTORS 0x10
#define TAG_STANDARD 0x20
#define TAG_JUMBO 0x40
#define TAG_MINI 0x80

/* Tags of DMA writes. */
#define TAG_FRAME 0x1
#define TAG_RETURN 0x2
#define TAG_SEND_CONSUMER 0x4
#define TAG_RETURN_PRODUCER 0x8
#define TAG_EVENT 0x10
#define TAG_EVENT_PRODUCER 0x20
#define TAG_STATISTICS 0x40

/* Tasks, as words of the profile: first those of the send side. */
enum task {
    TASK_SEND_DESCRIPTORS,
    TASK_SEND_DATA,
    TASK_DMA_READ,
    TASK_TRANSMIT,
    TASK_RECEIVE_DESCRIPTORS,
    TASK_MAILBOX,
    TASK_COMMAND,
    TASK_TIMER,
    TASK_SEND_CONSUMER,
    TASK_RECEIVE,
    TASK_DMA_WRITE,
    TASK_RETURN_PRODUCER,
    TASK_STATISTICS,
    TASKS
};

#define COMMAND_CODES 20
#define EVENT_CODES 10

/* A ring of receive descriptors in the host, and the requested part of it. `struct receive_copy` has the rest. */
struct receive_ring {
    u32 host_high;
    u32 host_low;
    u32 local;   /* address of the card's copy */
    u32 fetched; /* bytes of the ring before this offset have been requested */
};

/* The card's copy of such a ring: present and used descriptors. Offsets in bytes. */
struct receive_copy {
    u32 local;
    u32 bytes; /* size of the ring; 0 if there is none */
    u32 next;    /* the next free descriptor */
    u32 arrived; /* descriptors before it are here, as far as this side has checked */
    u32 longest; /* longest frame that fits */
    u32 flags;   /* flags to set in returned descriptors */
    u32 is_vlan; /* true if tags are removed */
};

/* Counters of 64 bits: octets, and frames by kind. */
struct traffic {
    u32 octets_high;
    u32 octets;
    u32 unicast;
    u32 multicast;
    u32 broadcast;
};

/* Most frames that wait for their data or for a transmit descriptor, in the MAC's format. */
#define IN_FLIGHT 64
struct in_flight {
    u32 address;
    u32 length;
};

/* Counters of the send side. */
struct send_counts {
    struct traffic sent;
    u32 short_of_read_descriptors;
    u32 short_of_transmit_descriptors;
    u32 short_of_transmit_buffer;
    u32 producer_updates;
    u32 limit_hits;
    u32 attentions;
    u32 commands[COMMAND_CODES];
};

/* Counters of the receive side. */
struct receive_counts {
    struct traffic received;
    u32 errors;
    u32 dropped;
    u32 short_of_write_descriptors;
    u32 short_of_receive_descriptors;
    u32 return_producer_updates;
    u32 send_consumer_updates;
    u32 limit_hits;
    u32 attentions;
    u32 events[EVENT_CODES];
};

/* Either side may raise interrupts. */
struct interrupt_counts {
    u32 raised;
    u32 avoided;
};

struct state {
    /* Send. Positions in rings are offsets in bytes. */
    u32 send_host_high;
    u32 send_host_low;
    u32 send_local;
    u32 send_bytes;
    u32 send_is_in_host;
    u32 send_fetched;
    u32 send_arrived;
    u32 send_next;
    u32 send_done;    /* bytes of the next descriptor already requested; nonzero if its data wraps around the buffer */
    u32 send_pending; /* finished descriptors not yet reported to the host */
    u32 send_limit;
    u32 transmit_put;
    u32 transmit_base;
    u32 transmit_end;
    u32 frame_start;
    u32 frame_length;
    u32 frame_vlan;
    u32 frames_put;
    u32 frames_get;
    u32 frames_waiting; /* their data is here, but the transmit ring was full */
    u32 read_control;   /* state words for the DMA read assist */
    u32 read_data;
    u32 command_next;
    struct receive_ring standard_ring;
    struct receive_ring jumbo_ring;
    struct receive_ring mini_ring;
    struct send_counts out;

    /* Receive. */
    struct receive_copy standard;
    struct receive_copy jumbo;
    struct receive_copy mini;
    u32 receive_base;
    u32 receive_end; /* end of the last checked frame */
    u32 receive_in_flight;
    u32 return_host_high;
    u32 return_host_low;
    u32 return_bytes;
    u32 return_put;
    u32 return_arrived;
    u32 return_pending; /* written descriptors not yet reported to the host */
    u32 return_limit;
    u32 return_told; /* return producer reported to the host */
    u32 send_told;   /* send consumer reported to the host */
    u32 crc_bytes;   /* removed from each frame */
    u32 error_mask;  /* errors for which a frame is dropped */
    u32 write_control; /* state words for the DMA write assist */
    u32 write_data;
    u32 send_has_turn; /* a frame has been received, and sending, which ranks lower, waits */
    u32 blocked;     /* soft events that wait for a DMA write descriptor */
    u32 event_put;   /* number of the next event */
    u32 event_sent;  /* number of the next event to send to the host */
    u32 statistics_written; /* compared with `common.statistics_wanted` */
    u32 clears_done;        /* compared with `common.clears_wanted` */
    struct receive_counts in;

    /* Timer. */
    u32 send_deadline;
    u32 return_deadline;
    u32 statistics_deadline;

    struct interrupt_counts interrupts;
    u32 events_lost;
    u32 profile[TASKS];
    struct in_flight frames[IN_FLIGHT];
};

#define STATE_BYTES 0x600
_Static_assert(sizeof(struct state) <= STATE_BYTES, "the linker script keeps this much room for the state");

/* Addresses the state by one register and an offset; with a constant address compilers build each field's address again. */
static inline struct state *state_base(void)
{
    struct state *base;
    __asm__("lui %0, %1" : "=r"(base) : "i"(SCRATCHPAD >> 16));
    return base;
}

#define here (state_base())

#define POSTS 64

/* In SRAM. Each word has one writer: the named side or the DMA read assist. */
struct common {
    u32 send_consumer;     /* send side, before it raises EVENT_SEND_CONSUMER; the host's copy is written from here */
    u32 return_producer;   /* receive side, likewise */
    u32 event_producer;    /* receive side, likewise */
    u32 interrupt_waits;   /* set by the receive side, cleared by the send side when the host unmasks */
    u32 standard_arrived;  /* send side */
    u32 jumbo_arrived;     /* send side */
    u32 mini_arrived;      /* send side */
    u32 statistics_wanted; /* incremented by send side and timer */
    u32 clears_wanted;     /* incremented by the send side */
    u32 posted;            /* send side: events in `posts` before this one are to be delivered */
    u32 posts_taken;       /* receive side: events before this one have been delivered */
    u32 posts[POSTS];
    u32 private_base; /* start-up: P of docs/machines/tigon2.md */
    u32 transmit_base;
    u32 receive_base;
    u32 memory_bytes;
};

extern volatile struct common common;
extern struct information information;
extern u32 statistics[256];
extern u32 events[EVENT_ENTRIES][2];
extern struct send_descriptor send_copy[SEND_ENTRIES];
extern struct receive_descriptor standard_copy[STANDARD_ENTRIES];
extern struct receive_descriptor jumbo_copy[JUMBO_ENTRIES];
extern struct receive_descriptor mini_copy[MINI_ENTRIES];

static inline void count(enum task task)
{
    here->profile[task]++;
}

/* Handlers, one for each event. */
void send_descriptors(void);
void send_data(void);
void dma_read_done(void);
void dma_write_done(void);
void standard_descriptors(void);
void jumbo_descriptors(void);
void mini_descriptors(void);
void receive(void);
void receive_descriptors_arrived(void);
void send_consumer_update(void);
void return_producer_update(void);
void mailbox(void);
void timer(void);
void housekeeping(void);
void transmit_attention(void);
void receive_attention(void);
void fatal(void);

/* Low-priority work. */
void commands(void);
void post_event(u32 code, u32 subcode, u32 index);
void collect_send(void);
void collect_receive(void);
void clear_words(void *from, u32 bytes);

#endif
