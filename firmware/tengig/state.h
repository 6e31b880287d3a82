/* State shared by the processors, all of it in control memory. */
#ifndef TENGIG_STATE_H
#define TENGIG_STATE_H

#include "config.h"
#include "regs.h"

/* Stacks as start.S assigns them. */
#define STACK_BYTES 1024
#define MOST_CPUS 32

/* States of a DMA ring slot, in a cycle; each step has one producer and one consumer, so none needs a lock. */
enum { SLOT_FREE, SLOT_READY, SLOT_POSTED };

/* Kinds of transfers. */
enum {
    KIND_HEADER,              /* First piece of a frame. */
    KIND_FRAME,               /* Last piece of a frame; with KIND_NOW and KIND_SUM. */
    KIND_SEND_DESCRIPTORS,    /* argument: number of the first one. */
    KIND_RECEIVE_DESCRIPTORS, /* argument: number of the first one. */
    KIND_MINI_DESCRIPTORS,    /* THESIS only, like the next one: likewise for the other rings. */
    KIND_JUMBO_DESCRIPTORS,
    KIND_RETURN_DESCRIPTORS,  /* argument: number after the last one. */
    KIND_STATUS,
    KIND_STATISTICS,          /* THESIS only. */
};
#define KIND_MASK 0xFFu
#define KIND_NOW FLAG_NOW        /* Report the frame to the host at once. THESIS only, like the next one. */
#define KIND_SUM (FLAG_SUM << 8) /* Insert the frame's checksum. */

/* A DMA ring. Slots are allocated in order, filled in any order, posted to the assist in order, and freed in any order. */
struct dma_ring {
    volatile uint32_t allocated; /* Under its lock. */
    volatile uint32_t freed;     /* Under the same lock: all slots before it are free. */
    volatile uint32_t posted;    /* Under its commit lock: all slots before it are posted or done. */
    volatile uint32_t seen;      /* Finished transfers that have become events. */
    volatile uint16_t flags[DMA_ENTRIES];
};

extern struct dma_ring reads, writes;
extern struct dma_descriptor read_slots[DMA_ENTRIES], write_slots[DMA_ENTRIES];
extern uint32_t immediates[DMA_ENTRIES]; /* Words to write to the host, by slot of the write ring. */

/* Sending. Frames are counted from reset; a frame has two descriptors. */
struct send_state {
    volatile uint32_t seen;      /* Mailbox value, in descriptors. */
    volatile uint32_t next;      /* Next frame to get its slots in the DMA read ring, in order. */
    volatile uint32_t committed; /* Frames before this one belong to the MAC. */
    volatile uint32_t reported;  /* Frames before this one have been reported to the host. */
    volatile uint32_t is_urgent; /* A frame must be reported at once; THESIS only. */
    uint32_t ring_high, ring_low;
    uint32_t coalesce;
};
extern struct send_state sending;
extern struct send_descriptor send_descriptors[SEND_ENTRIES];
extern struct transmit_descriptor transmit_ring[MAC_TRANSMIT_ENTRIES];
extern volatile uint8_t frame_described[MAC_TRANSMIT_ENTRIES]; /* The frame's descriptors are here, and it has no slots yet. */
extern volatile uint8_t frame_fetched[MAC_TRANSMIT_ENTRIES]; /* Reorder buffer: the data is in frame memory; one of these. */
enum { FETCHED = 1, FETCHED_NOW = 3 };

extern volatile uint32_t frame_slot[MAC_TRANSMIT_ENTRIES];   /* First of the frame's two slots in the DMA read ring. */

#ifdef THESIS

/* A ring of empty buffers in the host, with the card's copy. */
struct buffer_ring {
    volatile uint32_t seen;  /* Mailbox value. */
    volatile uint32_t next;  /* Under LOCK_ARRIVED: the buffer for the next frame. */
    volatile uint32_t freed; /* Under LOCK_RECEIVE_COMMIT: buffers before this one are finished. */
    uint32_t host_high, host_low;
    uint32_t mask;           /* Number of entries minus 1. */
    uint32_t longest;        /* Longest frame in bytes. */
    uint32_t flags;          /* Flags for return descriptors. */
    uint32_t kind;           /* Kind of transfers of its descriptors. */
    struct buffer_descriptor *copy;
    volatile uint8_t *there; /* True if the descriptor is here. */
};
enum { STANDARD, MINI, JUMBO, BUFFER_RINGS };
extern struct buffer_ring buffer_rings[BUFFER_RINGS];

/* Assignment of an arrived frame, in frame order. */
struct place {
    struct buffer_ring *ring; /* 0: the frame is dropped. */
    uint32_t buffer;          /* Number of the buffer in the ring. */
    uint32_t number;          /* Number of its return descriptor. */
    uint32_t unused;
};
extern struct place places[MAC_RECEIVE_ENTRIES];
extern struct buffer_descriptor returns[RETURN_COPY];

/* Counters of this processor, at the low end of its stack; no other processor writes them. Byte counts have only their low
 * words. */
static inline struct statistics *own(void) {
    uint32_t stack;
    __asm__("move %0, $sp" : "=r"(stack));
    return (struct statistics *)(stack & ~(STACK_BYTES - 1u));
}

extern struct statistics statistics; /* The sum over all processors, for the host. */

#define COUNT(what) (own()->what++)

#else

#define COUNT(what) ((void)0)

extern struct short_buffer buffer_descriptors[RECEIVE_ENTRIES];
extern volatile uint8_t buffer_there[RECEIVE_ENTRIES]; /* True if the buffer descriptor is here. */
extern struct short_return returns[RETURN_ENTRIES];

#endif

/* Receiving. Without THESIS, frame n goes to the host's buffer n. */
struct receive_state {
#ifdef THESIS
    volatile uint32_t waits;     /* A frame has no buffer; no frame is tried again until new buffers arrive. */
    volatile uint32_t numbered;  /* Under LOCK_ARRIVED: return descriptors before this one are assigned to frames. */
    volatile uint32_t returned;  /* Return descriptors before this one have left the card. */
    volatile uint32_t numbers;   /* Under LOCK_RECEIVE_COMMIT: return descriptors before this one are filled, in order. */
    uint32_t sums;               /* The host wants sums. */
#else
    volatile uint32_t mailbox_seen;
    uint32_t ring_high, ring_low;
#endif
    volatile uint32_t seen;      /* Arrived frames that have become events. */
    volatile uint32_t buffers;   /* Buffers before this one are here; for a hardware-managed event queue only. */
    volatile uint32_t committed; /* Frames before this one are finished on the card. */
    volatile uint32_t reported;  /* Frames before this one have been or are being reported to the host. */
    uint32_t return_high, return_low;
    uint32_t coalesce;
};
extern struct receive_state receiving;
extern struct receive_descriptor receive_ring[MAC_RECEIVE_ENTRIES];
extern volatile uint8_t frame_written[MAC_RECEIVE_ENTRIES]; /* Reorder buffer: the data is in the host's memory. */

struct host_state {
    volatile uint32_t is_started; /* Set when the first processor has finished the set-up. */
    volatile uint32_t next_tick;  /* Next tick of the timer, in microseconds. */
    uint32_t tick;
    uint32_t status_high, status_low;
#ifdef THESIS
    volatile uint32_t next_refresh; /* Next update of the statistics, in microseconds. */
    uint32_t refresh;
    uint32_t statistics_high, statistics_low;
#endif
};
extern struct host_state host;

#endif
