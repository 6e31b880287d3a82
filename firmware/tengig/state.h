/* Data that the processors share, all in control memory. */
#ifndef TENGIG_STATE_H
#define TENGIG_STATE_H

#include "config.h"
#include "regs.h"

/* As start.S gives them out. */
#define STACK_BYTES 1024
#define MOST_CPUS 32

/* A slot of a DMA ring goes round these; each step has one producer and one consumer, so none needs a lock. */
enum { SLOT_FREE, SLOT_READY, SLOT_POSTED };

/* Kinds of transfers. */
enum {
    KIND_HEADER,              /* First piece of a frame. */
    KIND_FRAME,               /* Last piece of a frame; with KIND_NOW and KIND_SUM. */
    KIND_SEND_DESCRIPTORS,    /* argument: the first one's number. */
    KIND_RECEIVE_DESCRIPTORS, /* argument: the first one's number. */
    KIND_MINI_DESCRIPTORS,    /* THESIS only, as the next one: the same for the other rings. */
    KIND_JUMBO_DESCRIPTORS,
    KIND_RETURN_DESCRIPTORS,  /* argument: the number behind the last one. */
    KIND_STATUS,
    KIND_STATISTICS,          /* THESIS only. */
};
#define KIND_MASK 0xFFu
#define KIND_NOW FLAG_NOW        /* The host wants to hear of the frame at once. THESIS only, as the next one. */
#define KIND_SUM (FLAG_SUM << 8) /* The frame's checksum is to be inserted. */

/* A DMA ring. Slots are allocated, made ready in any order, posted to the assist in order, freed in any order. */
struct dma_ring {
    volatile uint32_t allocated; /* Under its lock. */
    volatile uint32_t freed;     /* Under the same lock: all before it are free. */
    volatile uint32_t posted;    /* Under its commit lock: all before it are the assist's or done. */
    volatile uint32_t seen;      /* Done transfers of which an event was made. */
    volatile uint16_t flags[DMA_ENTRIES];
};

extern struct dma_ring reads, writes;
extern struct dma_descriptor read_slots[DMA_ENTRIES], write_slots[DMA_ENTRIES];
extern uint32_t immediates[DMA_ENTRIES]; /* Words that go to the host, by slot of the write ring. */

/* Sending. Frames are counted from reset; a frame has two descriptors. */
struct send_state {
    volatile uint32_t seen;      /* Mailbox, in descriptors. */
    volatile uint32_t next;      /* The next frame to get its slots in the DMA read ring, in order. */
    volatile uint32_t committed; /* Frames before this one are the MAC's. */
    volatile uint32_t reported;  /* Frames before this one the host knows about. */
    volatile uint32_t is_urgent; /* The host wants to hear of a frame at once; THESIS only. */
    uint32_t ring_high, ring_low;
    uint32_t coalesce;
};
extern struct send_state sending;
extern struct send_descriptor send_descriptors[SEND_ENTRIES];
extern struct transmit_descriptor transmit_ring[MAC_TRANSMIT_ENTRIES];
extern volatile uint8_t frame_described[MAC_TRANSMIT_ENTRIES]; /* Its descriptors are here and it has no slots. */
extern volatile uint8_t frame_fetched[MAC_TRANSMIT_ENTRIES]; /* Reorder buffer: the data is in frame memory; one of these. */
enum { FETCHED = 1, FETCHED_NOW = 3 };

extern volatile uint32_t frame_slot[MAC_TRANSMIT_ENTRIES];   /* First of the frame's two slots in the DMA read ring. */

#ifdef THESIS

/* A ring of empty buffers in the host, and the card's copy of it. */
struct buffer_ring {
    volatile uint32_t seen;  /* Mailbox. */
    volatile uint32_t next;  /* Under LOCK_ARRIVED: the buffer that the next frame gets. */
    volatile uint32_t freed; /* Under LOCK_RECEIVE_COMMIT: frames are done with the buffers before this one. */
    uint32_t host_high, host_low;
    uint32_t mask;           /* Entries less 1. */
    uint32_t longest;        /* Bytes of a frame. */
    uint32_t flags;          /* For return descriptors. */
    uint32_t kind;           /* Of transfers of its descriptors. */
    struct buffer_descriptor *copy;
    volatile uint8_t *there; /* The descriptor is here. */
};
enum { STANDARD, MINI, JUMBO, BUFFER_RINGS };
extern struct buffer_ring buffer_rings[BUFFER_RINGS];

/* Buffer and ring of an arrived frame, assigned in the order of frames. */
struct place {
    struct buffer_ring *ring; /* 0: the frame is dropped. */
    uint32_t buffer;          /* Number in the ring. */
    uint32_t number;          /* Of its return descriptor. */
    uint32_t unused;
};
extern struct place places[MAC_RECEIVE_ENTRIES];
extern struct buffer_descriptor returns[RETURN_COPY];

/* Counts of a processor, at the low end of its stack; only it writes them. Octets have their low words only. */
static inline struct statistics *own(void) {
    uint32_t stack;
    __asm__("move %0, $sp" : "=r"(stack));
    return (struct statistics *)(stack & ~(STACK_BYTES - 1u));
}

extern struct statistics statistics; /* The sum over all, on its way to the host. */

#define COUNT(what) (own()->what++)

#else

#define COUNT(what) ((void)0)

extern struct short_buffer buffer_descriptors[RECEIVE_ENTRIES];
extern volatile uint8_t buffer_there[RECEIVE_ENTRIES]; /* The buffer descriptor is here. */
extern struct short_return returns[RETURN_ENTRIES];

#endif

/* Receiving. Without THESIS, frame n goes to the host's buffer n. */
struct receive_state {
#ifdef THESIS
    volatile uint32_t waits;     /* A frame has no buffer; until there are new ones nobody looks again. */
    volatile uint32_t numbered;  /* Under LOCK_ARRIVED: return descriptors before this one have a frame. */
    volatile uint32_t returned;  /* Return descriptors before this one have left the card. */
    volatile uint32_t numbers;   /* Under LOCK_RECEIVE_COMMIT: those before this one are filled, in order. */
    uint32_t sums;               /* The host wants sums. */
#else
    volatile uint32_t mailbox_seen;
    uint32_t ring_high, ring_low;
#endif
    volatile uint32_t seen;      /* Arrived frames of which an event was made. */
    volatile uint32_t buffers;   /* Buffers before this one are here; for a hardware-managed event queue only. */
    volatile uint32_t committed; /* Frames before this one need nothing more on the card. */
    volatile uint32_t reported;  /* Frames before this one the host knows about, or soon will. */
    uint32_t return_high, return_low;
    uint32_t coalesce;
};
extern struct receive_state receiving;
extern struct receive_descriptor receive_ring[MAC_RECEIVE_ENTRIES];
extern volatile uint8_t frame_written[MAC_RECEIVE_ENTRIES]; /* Reorder buffer: the data is in the host's memory. */

struct host_state {
    volatile uint32_t is_started; /* The first processor has set everything up. */
    volatile uint32_t next_tick;  /* For the timer, in microseconds. */
    uint32_t tick;
    uint32_t status_high, status_low;
#ifdef THESIS
    volatile uint32_t next_refresh; /* For the statistics, in microseconds. */
    uint32_t refresh;
    uint32_t statistics_high, statistics_low;
#endif
};
extern struct host_state host;

#endif
