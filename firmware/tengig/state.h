/* What the processors share, all of it in control memory. */
#ifndef TENGIG_STATE_H
#define TENGIG_STATE_H

#include "config.h"
#include "regs.h"

/* A slot of a DMA ring goes round these; each step has one producer and one consumer, so none needs a lock. */
enum { SLOT_FREE, SLOT_READY, SLOT_POSTED };

/* What the firmware keeps of a transfer beside the descriptor that the assist reads. */
struct transfer {
    uint32_t kind;
    uint32_t argument;
    uint32_t immediate; /* A word that goes to the host. */
    uint32_t unused;
};

/* Its kinds. */
enum {
    KIND_HEADER,              /* First piece of a frame. */
    KIND_FRAME,               /* Last piece of a frame. */
    KIND_SEND_DESCRIPTORS,    /* argument: the first one's number. */
    KIND_RECEIVE_DESCRIPTORS, /* argument: the first one's number. */
    KIND_RETURN_DESCRIPTORS,
    KIND_STATUS,
};

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
extern struct transfer read_transfers[DMA_ENTRIES], write_transfers[DMA_ENTRIES];

/* Sending. Frames are counted from reset; a frame has two descriptors. */
struct send_state {
    volatile uint32_t seen;      /* Mailbox, in descriptors. */
    volatile uint32_t next;      /* The next frame to get its slots in the DMA read ring, in order. */
    volatile uint32_t committed; /* Frames before this one are the MAC's. */
    volatile uint32_t reported;  /* Frames before this one the host knows about. */
    uint32_t ring_high, ring_low;
    uint32_t coalesce;
};
extern struct send_state sending;
extern struct send_descriptor send_descriptors[SEND_ENTRIES];
extern struct transmit_descriptor transmit_ring[MAC_TRANSMIT_ENTRIES];
extern volatile uint8_t frame_described[MAC_TRANSMIT_ENTRIES]; /* Its descriptors are here and it has no slots. */
extern volatile uint8_t frame_fetched[MAC_TRANSMIT_ENTRIES]; /* Reorder buffer: the data is in frame memory. */
extern volatile uint32_t frame_slot[MAC_TRANSMIT_ENTRIES];   /* First of the frame's two slots in the DMA read ring. */

/* Receiving. Frame n goes to the host's buffer n. */
struct receive_state {
    volatile uint32_t mailbox_seen;
    volatile uint32_t seen;      /* Arrived frames of which an event was made. */
    volatile uint32_t buffers;   /* Buffers before this one are here; for a hardware-managed event queue only. */
    volatile uint32_t committed; /* Frames before this one need nothing more on the card. */
    volatile uint32_t reported;  /* Frames before this one the host knows about, or soon will. */
    uint32_t ring_high, ring_low;
    uint32_t return_high, return_low;
    uint32_t coalesce;
};
extern struct receive_state receiving;
extern struct buffer_descriptor buffer_descriptors[RECEIVE_ENTRIES];
extern volatile uint8_t buffer_there[RECEIVE_ENTRIES];     /* The buffer descriptor is here. */
extern struct receive_descriptor receive_ring[MAC_RECEIVE_ENTRIES];
extern struct return_descriptor returns[RETURN_ENTRIES];
extern volatile uint8_t frame_written[RETURN_ENTRIES];     /* Reorder buffer: the data is in the host's memory. */

struct host_state {
    volatile uint32_t is_started; /* The first processor has set everything up. */
    volatile uint32_t next_tick;  /* Of the timer, in microseconds. */
    uint32_t tick;
    uint32_t status_high, status_low;
};
extern struct host_state host;

#endif
