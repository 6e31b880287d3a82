/* What the firmware of the 10 Gigabit NIC sees of its hardware and of its host.
 *
 * The thesis (Willmann 2004, chapter 4) prints no register map: "hardware-maintained pointers", mailboxes, a timer and
 * four assists that are "completely analogous to those in the Tigon-2". What follows is what such hardware needs; all
 * addresses and layouts are assumed. The model of it is crates/spinach/src/tengig/registers.rs, and a test holds the two
 * together.
 *
 * Pointers count: a producer or consumer is the number of descriptors since reset, modulo 2^32, and a descriptor's place in
 * its ring is the low bits of its number. So "how many" is a subtraction. The assists hold positions only, so one entry of
 * a ring stays empty.
 */
#ifndef TENGIG_REGS_H
#define TENGIG_REGS_H

#include <stdint.h>

/* Address map of a processor and, but for the instruction memory and the registers, of the assists. */
#define CONTROL_MEMORY 0x00000000u /* 256 KiB in banks: words of 32 bits, interleaved. */
#define CONTROL_BYTES 0x00040000u
#define INSTRUCTION_MEMORY 0x00400000u /* 64 KiB, fetched from only; execution starts at its first word. */
#define INSTRUCTION_BYTES 0x00010000u
#define FRAME_MEMORY 0x10000000u /* GDDR; the processors have no need of it. */
#define REGISTERS 0xC0000000u

/* A register; offsets are the same for the host. */
#define REG(offset) (*(volatile uint32_t *)(REGISTERS + (offset)))

/* Who and when. */
#define CPU_ID 0x000 /* The number of the processor that reads, from 0. */
#define CPUS 0x004   /* How many there are. */
#define TIMER 0x008  /* Microseconds since reset. */

/* The host writes these; the firmware waits for HOST_READY before it reads the others. */
#define HOST_READY 0x010
#define SEND_COALESCE 0x014     /* Sent frames that one update of the send consumer stands for. */
#define RECEIVE_COALESCE 0x018  /* Received frames that one update of the return producer stands for. */
#define COALESCE_US 0x01C       /* Microseconds after which fewer do. */
#define SEND_RING 0x020         /* Host address of the send ring: high word, then low word; so for the next three. */
#define RECEIVE_RING 0x028      /* Host address of the ring of empty buffers. */
#define RETURN_RING 0x030       /* Host address of the return ring. */
#define STATUS 0x038            /* Host address of two words: send consumer, return producer. */
#define MAILBOX_SEND 0x040      /* Producer of the send ring, in descriptors. */
#define MAILBOX_RECEIVE 0x044   /* Producer of the receive ring, in descriptors. */

/* The level of the interrupt line: firmware writes 1, the host writes 0 when it has heard. */
#define INTERRUPT 0x048

/* Assists. A ring's base is set before its first producer moves. */
#define DMA_READ_BASE 0x080      /* Host to NIC. */
#define DMA_READ_PRODUCER 0x084  /* Firmware writes. */
#define DMA_READ_CONSUMER 0x088  /* The assist writes: transfers that are done. */
#define DMA_WRITE_BASE 0x090     /* NIC to host. */
#define DMA_WRITE_PRODUCER 0x094
#define DMA_WRITE_CONSUMER 0x098
#define MAC_TRANSMIT_BASE 0x0A0
#define MAC_TRANSMIT_PRODUCER 0x0A4
#define MAC_TRANSMIT_CONSUMER 0x0A8 /* The assist writes: frames that have left frame memory. */
#define MAC_RECEIVE_BASE 0x0B0
#define MAC_RECEIVE_PRODUCER 0x0B4 /* The assist writes: frames that have arrived. */
#define MAC_RECEIVE_CONSUMER 0x0B8 /* Firmware writes: frames whose descriptors it is done with. */
#define RECEIVE_AREA 0x0C0         /* Address in frame memory of the area for received frames. */
#define RECEIVE_AREA_BYTES 0x0C4   /* Its size; writing it enables the MAC's receiver. */
#define RECEIVE_AREA_CONSUMER 0x0C8 /* Firmware writes: address behind the last frame it is done with. */

/* Locks: reading takes a free lock and returns 0; a lock that is held reads as 1; writing frees it. */
#define LOCK_WORDS 0x100
#define LOCKS 32

/* The hardware-managed event queue, of a card that has one. Each processor has its own EVENT_START, EVENT_END, PUSH_START and
 * PUSH_END. Pointers that have moved and queued events take turns; types are those of events.h. */
#define EVENT 0x200         /* Reading takes the next event: its type and 1, or 0 if there is none. */
#define EVENT_START 0x204   /* Its first element. */
#define EVENT_END 0x208     /* The element behind its last. */
#define PUSH_START 0x20C    /* An event to queue: its first element, */
#define PUSH_END 0x210      /* the element behind its last, */
#define PUSH 0x214          /* and its type; writing it queues the event, in pieces. */
#define READ_READY 0x218    /* Number of a slot of the DMA read ring that is filled: slots are posted in order. */
#define WRITE_READY 0x21C   /* The same for the DMA write ring. */
#define EVENT_MOST 0x220    /* Eight words: largest number of elements of an event, by type. */
#define BUFFERS_THERE 0x240 /* Frames that have a buffer of the host: no events are made of those beyond. */

/* Entries of the assists' rings. */
#define DMA_ENTRIES 256
#define MAC_TRANSMIT_ENTRIES 256
#define MAC_RECEIVE_ENTRIES 512

/* What the assists read and write in control memory. */
struct dma_descriptor {
    uint32_t host_high, host_low; /* Address in the host's memory. */
    uint32_t nic;                 /* Address on the card: control or frame memory. */
    uint32_t length;              /* Bytes. */
};

struct transmit_descriptor {
    uint32_t frame;  /* Address in frame memory. */
    uint32_t length; /* Bytes, without frame check sequence. */
};

struct receive_descriptor {
    uint32_t frame;  /* Address in frame memory, a multiple of 8. */
    uint32_t status; /* Bits 15:0: bytes with frame check sequence; bits 23:16: errors, as on the Tigon-2. */
};
#define RECEIVE_LENGTH 0x0000FFFFu
#define RECEIVE_ERRORS 0x00BF0000u /* A runt (0x00400000) is no error here. */
#define FCS_BYTES 4
#define LONGEST_FRAME 1518 /* Bytes, with frame check sequence. */

/* Rings in the host's memory; all numbers of entries are powers of two. */
#define SEND_ENTRIES 512    /* Two for a frame: its headers, its payload. */
#define RECEIVE_ENTRIES 512 /* One for a buffer. */
#define RETURN_ENTRIES 512  /* One for a received frame, in the order of their buffers. */

struct send_descriptor {
    uint32_t host_high, host_low;
    uint32_t length;
    uint32_t flags;
};

struct buffer_descriptor {
    uint32_t host_high, host_low;
    uint32_t length; /* Room in the buffer. */
    uint32_t opaque; /* Returned as it is. */
};

struct return_descriptor {
    uint32_t opaque;
    uint32_t length; /* Bytes without frame check sequence; 0 if the frame had an error. */
    uint32_t errors;
    uint32_t number; /* The frame's number since reset. */
};

#endif
