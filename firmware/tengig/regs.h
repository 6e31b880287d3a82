/* Registers and memory layout of the 10 Gigabit NIC, as the firmware sees them.
 *
 * The thesis (Willmann 2004, chapter 4) prints no register map: "hardware-maintained pointers", mailboxes, a timer and four
 * assists that are "completely analogous to those in the Tigon-2". This file defines what such hardware needs; all addresses
 * and layouts are assumed. The model is crates/spinach/src/tengig/registers.rs, and a test compares the two.
 *
 * A producer or consumer is the number of descriptors since reset, modulo 2^32; the low bits are the position in the ring. The
 * number of descriptors in between is a subtraction. The assists hold positions only, so one entry of a ring stays empty. */
#ifndef TENGIG_REGS_H
#define TENGIG_REGS_H

#include <stdint.h>

/* Address map of a processor. The assists share it, except for the instruction memory and the registers. */
#define CONTROL_MEMORY 0x00000000u /* 256 KiB in banks, interleaved by words of 32 bits. */
#define CONTROL_BYTES 0x00040000u
#define INSTRUCTION_MEMORY 0x00400000u /* 64 KiB, for instruction fetch only; execution starts at its first word. */
#define INSTRUCTION_BYTES 0x00010000u
#define FRAME_MEMORY 0x10000000u /* GDDR; not accessed by the processors. */
#define REGISTERS 0xC0000000u

/* A register; offsets are the same for the host. */
#define REG(offset) (*(volatile uint32_t *)(REGISTERS + (offset)))

/* Processor number and time. */
#define CPU_ID 0x000 /* Number of the reading processor, from 0. */
#define CPUS 0x004   /* Number of processors. */
#define TIMER 0x008  /* Microseconds since reset. */

/* The host writes these; the firmware waits for HOST_READY before it reads the others. */
#define HOST_READY 0x010
#define SEND_COALESCE 0x014     /* Sent frames per update of the send consumer. */
#define RECEIVE_COALESCE 0x018  /* Received frames per update of the return producer. */
#define COALESCE_US 0x01C       /* Microseconds after which fewer frames suffice for an update. */
#define SEND_RING 0x020         /* Host address of the send ring: high word, then low word. The next three have the same form. */
#define RECEIVE_RING 0x028      /* Host address of the ring of empty buffers. */
#define RETURN_RING 0x030       /* Host address of the return ring. */
#define STATUS 0x038            /* Host address of two words: send consumer, return producer. */
#define MAILBOX_SEND 0x040      /* Producer of the send ring, in descriptors. */
#define MAILBOX_RECEIVE 0x044   /* Producer of the receive ring, in descriptors. */

/* Level of the interrupt line: firmware writes 1, the host writes 0 to acknowledge. */
#define INTERRUPT 0x048

/* Firmware writes the rings that it supports, RINGS_ONE or RINGS_THREE, before it enables the receiver. */
#define RINGS 0x04C
#define RINGS_ONE 0   /* One ring of empty buffers; struct short_buffer, struct short_return. */
#define RINGS_THREE 1 /* Mini, standard and jumbo buffers, statistics; struct buffer_descriptor. */

/* For RINGS_THREE; the host writes them all before HOST_READY. The standard ring is RECEIVE_RING. */
#define MINI_RING 0x050       /* Host address of the ring of mini buffers, two words. */
#define JUMBO_RING 0x058      /* Host address of the ring of jumbo buffers, two words. */
#define STATISTICS 0x060      /* Host address of struct statistics, two words. */
#define MAILBOX_MINI 0x068    /* Producer of the mini ring. */
#define MAILBOX_JUMBO 0x06C   /* Producer of the jumbo ring. */
#define MINI_BYTES 0x070      /* Longest frame for a mini buffer, without frame check sequence. */
#define STANDARD_BYTES 0x074  /* Longest frame for a standard buffer. */
#define JUMBO_BYTES 0x078     /* Longest frame for a jumbo buffer; longer ones are dropped. */
#define STATISTICS_US 0x07C   /* Interval of statistics updates in microseconds; 0 for never. */
#define RECEIVE_SUMS 0x0CC    /* Nonzero if return descriptors shall hold the frame's sum. */
#define MAC_STATISTICS 0x0D0  /* Address of 32 words in frame memory in which the MAC counts drops. */

/* Assists. Set a ring's base before the first move of its producer. */
#define DMA_READ_BASE 0x080      /* Host to NIC. */
#define DMA_READ_PRODUCER 0x084  /* Firmware writes. */
#define DMA_READ_CONSUMER 0x088  /* Written by the assist: transfers done. */
#define DMA_WRITE_BASE 0x090     /* NIC to host. */
#define DMA_WRITE_PRODUCER 0x094
#define DMA_WRITE_CONSUMER 0x098
#define MAC_TRANSMIT_BASE 0x0A0
#define MAC_TRANSMIT_PRODUCER 0x0A4
#define MAC_TRANSMIT_CONSUMER 0x0A8 /* Written by the assist: frames that have left frame memory. */
#define MAC_RECEIVE_BASE 0x0B0
#define MAC_RECEIVE_PRODUCER 0x0B4 /* Written by the assist: frames that have arrived. */
#define MAC_RECEIVE_CONSUMER 0x0B8 /* Written by firmware: frames whose descriptors it has processed. */
#define RECEIVE_AREA 0x0C0         /* Address in frame memory of the area for received frames. */
#define RECEIVE_AREA_BYTES 0x0C4   /* Its size; a write enables the MAC's receiver. */
#define RECEIVE_AREA_CONSUMER 0x0C8 /* Written by firmware: address after the last processed frame. */

/* Locks: a read takes a free lock and returns 0, or returns 1 if the lock is taken; a write frees it. */
#define LOCK_WORDS 0x100
#define LOCKS 32

/* The hardware-managed event queue, on cards that have one. Each processor has its own EVENT_START, EVENT_END, PUSH_START and
 * PUSH_END. Moved pointers and queued events take turns; types are those of events.h. */
#define EVENT 0x200         /* A read takes the next event: its type plus 1, or 0 if there is none. */
#define EVENT_START 0x204   /* First element of the event. */
#define EVENT_END 0x208     /* Element after the last of the event. */
#define PUSH_START 0x20C    /* First element of an event to queue. */
#define PUSH_END 0x210      /* Element after the last of an event to queue. */
#define PUSH 0x214          /* Type of an event to queue; a write queues it, split by EVENT_MOST. */
#define READ_READY 0x218    /* Number of a filled slot of the DMA read ring; slots are posted in order. */
#define WRITE_READY 0x21C   /* Likewise for the DMA write ring. */
#define EVENT_MOST 0x220    /* Eight words: maximum number of elements per event, by type. */
#define BUFFERS_THERE 0x240 /* Number of frames with a host buffer; no events are made for frames beyond it. */

/* Entries of the assists' rings. */
#define DMA_ENTRIES 256
#define MAC_TRANSMIT_ENTRIES 256
#define MAC_RECEIVE_ENTRIES 512

/* Structures that the assists access in control memory. A DMA descriptor has 32 bytes, as on the Tigon-2: for 224 more of
 * them, the thesis (4.5.1) states "8 KB". */
struct dma_descriptor {
    uint32_t host_high, host_low; /* Address in the host's memory. */
    uint32_t nic;                 /* Address on the card: control or frame memory. */
    uint32_t length;              /* Bytes. */
    uint32_t state;               /* 0 or DMA_SUM. */
    uint32_t sum_at;              /* Address where the assist stores the 16-bit sum of the bytes. */
    uint32_t kind, argument;      /* For firmware's use. */
};
#define DMA_SUM 0xA00u

struct transmit_descriptor {
    uint32_t frame;  /* Address in frame memory. */
    uint32_t length; /* Bytes, without frame check sequence; bits 31:16: VLAN tag. */
};
#define TRANSMIT_TAG 0x40000000u /* Bit of the address: insert the tag. */

struct receive_descriptor {
    uint32_t frame;  /* Address in frame memory, a multiple of 8. */
    uint32_t status; /* Bits 15:0: bytes with frame check sequence; bits 23:16: errors, as on the Tigon-2. */
};
#define RECEIVE_LENGTH 0x0000FFFFu
#define RECEIVE_ERRORS 0x00BF0000u /* A runt (0x00400000) is not an error here. */
#define FCS_BYTES 4
#define ETHERNET_HEADER 14
#define LONGEST_FRAME 1518 /* Bytes, with frame check sequence. */

/* Rings in the host's memory; all sizes are powers of two. */
#define SEND_ENTRIES 512        /* Two per frame: headers and payload. */
#define RECEIVE_ENTRIES 512     /* Standard buffers: one per frame. */
#define MINI_ENTRIES 1024       /* As on the Tigon-2. */
#define JUMBO_ENTRIES 256       /* As on the Tigon-2. */
#define RETURN_ENTRIES 512      /* For RINGS_ONE: one per received frame, in buffer order. */
#define LONG_RETURN_ENTRIES 2048 /* For RINGS_THREE: in frame order. */

struct send_descriptor {
    uint32_t host_high, host_low;
    uint16_t length;
    uint16_t flags;   /* Combination of the FLAG_ values below. */
    uint16_t sum_at;  /* With FLAG_SUM: offset in the frame of the field for the complement of the frame's sum. */
    uint16_t vlan;    /* With FLAG_VLAN: the tag. */
};

/* Flags of descriptors, as on the Tigon-2. */
#define FLAG_SUM 0x1u      /* Send: the card inserts the checksum. Return: `sum` is valid. */
#define FLAG_END 0x4u      /* Last descriptor of a frame. */
#define FLAG_JUMBO 0x10u   /* Return: a jumbo buffer. */
#define FLAG_VLAN 0x200u   /* Send: the card inserts the tag. */
#define FLAG_NOW 0x800u    /* Send: report this frame at once. */
#define FLAG_MINI 0x1000u  /* Return: a mini buffer. */

/* A buffer, and its return descriptor (RINGS_THREE); the layout is the Tigon-2's. */
struct buffer_descriptor {
    uint32_t host_high, host_low;
    uint16_t index, length;   /* Index in its ring; size of the buffer, then length of the frame. */
    uint16_t type, flags;
    uint16_t first_sum, sum;  /* Set by the card; the sum of all bytes of the frame. */
    uint16_t errors, vlan;
    uint32_t number;          /* The frame's number among those returned. */
    uint32_t opaque;          /* Returned unchanged. */
};

/* Likewise for RINGS_ONE. */
struct short_buffer {
    uint32_t host_high, host_low;
    uint32_t length; /* Size of the buffer. */
    uint32_t opaque; /* Returned unchanged. */
};

struct short_return {
    uint32_t opaque;
    uint32_t length; /* Bytes without frame check sequence; 0 if the frame had an error. */
    uint32_t errors;
    uint32_t number; /* The frame's number since reset. */
};

/* Counters of the card since reset. 64-bit counters: high word, then low word. */
struct statistics {
    uint32_t in_octets_high, in_octets;   /* Bytes of received frames given to the host, without frame check sequence. */
    uint32_t out_octets_high, out_octets; /* Bytes of frames whose data was requested. */
    uint32_t in_frames, out_frames;
    uint32_t in_errors;                   /* Damaged or short frames. */
    uint32_t in_too_long;                 /* Frames too long for any ring. */
    uint32_t in_dropped;                  /* Frames dropped by the MAC for lack of room. */
    uint32_t short_of_buffers;            /* Number of times a frame waited for a buffer. */
    uint32_t short_of_reads;              /* Number of times an event waited for slots of the DMA read ring. */
    uint32_t short_of_writes;             /* Number of times an event waited for slots of the DMA write ring. */
    uint32_t send_reports, return_reports; /* Updates of the send consumer and the return producer. */
    uint32_t limit_hits;                  /* Updates triggered by the coalescing limit. */
    uint32_t interrupts;
    uint32_t events[12];                  /* By type, as in events.h. */
};

#endif
