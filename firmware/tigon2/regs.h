/* SPDX-License-Identifier: Apache-2.0
 *
 * The Tigon-2 as firmware sees it: registers, memory shared with the host, and formats. docs/machines/tigon2.md gives the
 * sources.
 */
#ifndef TIGON2_REGS_H
#define TIGON2_REGS_H

#define SCRATCHPAD 0x00c00000
#define STACK_WINDOW_A 0x00bff000 /* minus P: the stack offset that maps CPU A's stack to P */
#define STACK_WINDOW_B 0x00bfe000 /* maps CPU B's stack to P + 0x1000 */
#define REGISTERS 0xc0000000
#define BUFFERS_END 0x00200000 /* end of the receive buffers; on a smaller board an alias of the top */

/* The 20 KB of firmware's private area below the transmit buffers, from P. */
#define PRIVATE_BYTES 0x5000
#define TRANSMIT_RING 0x2800 /* 256 of 8 bytes */
#define TRANSMIT_RING_BYTES 0x800
#define RECEIVE_RING 0x3000 /* 512 of 8 bytes */
#define RECEIVE_RING_BYTES 0x1000
#define DMA_READ_RING 0x4000  /* 64 of 32 bytes */
#define DMA_WRITE_RING 0x4800 /* 64 of 32 bytes */
#define DMA_RING_BYTES 0x800

/* Offsets of registers. */
#define MISC_LOCAL_CONTROL 0x044
#define SEMAPHORE_A 0x048
#define SEMAPHORE_B 0x04c
#define TIMER 0x054
#define TIMER_REFERENCE_A 0x058
#define TIMER_REFERENCE_B 0x078
#define EVENT_A 0x060
#define EVENT_B 0x070
#define MAILBOX_EVENT_A 0x064
#define MAILBOX_EVENT_B 0x074
#define DMA_WRITE_STATE 0x0a0
#define DMA_READ_HOST_HIGH 0x090
#define DMA_READ_HOST_LOW 0x094
#define DMA_READ_LENGTH 0x09c
#define DMA_READ_STATE 0x0b0
#define DMA_READ_LOCAL 0x0b4
#define RECEIVE_BUFFER_BASE 0x0c0
#define RECEIVE_BUFFER_PRODUCER 0x0c4
#define RECEIVE_BUFFER_CONSUMER 0x0c8
#define TRANSMIT_BUFFER_BASE 0x0d0
#define TRANSMIT_BUFFER_PRODUCER 0x0d4
#define TRANSMIT_BUFFER_CONSUMER 0x0d8
#define RECEIVE_PRODUCER 0x0e0
#define RECEIVE_CONSUMER 0x0e4
#define RECEIVE_REFERENCE 0x0e8
#define RECEIVE_THRESHOLD 0x0ec
#define TRANSMIT_PRODUCER 0x0f0
#define TRANSMIT_CONSUMER 0x0f4
#define TRANSMIT_REFERENCE 0x0f8
#define TRANSMIT_FREE 0x0fc
#define DMA_READ_PRODUCER 0x100
#define DMA_READ_CONSUMER 0x104
#define DMA_READ_REFERENCE 0x108
#define DMA_READ_FREE 0x10c
#define DMA_READ_HIGH_PRODUCER 0x110 /* the second rings, not used by this firmware */
#define DMA_READ_HIGH_CONSUMER 0x114
#define DMA_READ_HIGH_REFERENCE 0x118
#define ASSIST_STATE 0x11c
#define DMA_WRITE_PRODUCER 0x120
#define DMA_WRITE_CONSUMER 0x124
#define DMA_WRITE_REFERENCE 0x128
#define DMA_WRITE_FREE 0x12c
#define DMA_WRITE_HIGH_PRODUCER 0x130
#define DMA_WRITE_HIGH_CONSUMER 0x134
#define DMA_WRITE_HIGH_REFERENCE 0x138
#define CPU_STATE_B 0x240
#define PROGRAM_COUNTER_B 0x244
#define STACK_OFFSET_A 0x150
#define STACK_OFFSET_B 0x250
#define MAC_TRANSMIT_STATE 0x200
#define MAC_ADDRESS_HIGH 0x208
#define MAC_ADDRESS_LOW 0x20c
#define MAC_FLOW_CONTROL_SOURCE 0x210
#define MAC_VLAN_TYPE 0x214
#define MAC_THRESHOLDS 0x21c
#define MAC_RECEIVE_STATE 0x220
#define MAC_MULTICAST 0x228 /* four words */
#define MAC_STATISTICS_BASE 0x23c

/* Bits of registers. */
#define LOCAL_RAISE_INTERRUPT 0x4
#define ASSIST_ENABLE 0x1
#define ASSIST_ONE_CHANNEL 0x4
#define ASSIST_START_UP 0x20 /* set by the released firmware; meaning unknown */
#define CHANNEL_ACTIVE 0x4
#define MAC_ENABLE 0x2
#define MAC_TRANSMIT_ATTENTIONS 0x3f000000 /* write 1 to clear */
#define MAC_RECEIVE_ATTENTIONS 0xf7000000
#define MAC_STOP 0x4
#define MAC_PROMISCUOUS 0x8
#define CPU_HALT 0xffff0000

/* Events: bits of the event register; the index in the jump table is one more. Higher events have priority. */
#define EVENT_SEND_DATA 3
#define EVENT_SEND_DESCRIPTORS 4
#define EVENT_RECEIVE 6
#define EVENT_HOUSEKEEPING 7 /* statistics to the host */
#define EVENT_JUMBO_DESCRIPTORS 8
#define EVENT_STANDARD_DESCRIPTORS 9
#define EVENT_MINI_DESCRIPTORS 11
#define EVENT_DMA_WRITE 14
#define EVENT_DMA_READ 15
#define EVENT_DMA_WRITE_ATTENTION 19
#define EVENT_DMA_READ_ATTENTION 20
#define EVENT_MAILBOX 22
#define EVENT_SEND_CONSUMER 23
#define EVENT_RETURN_PRODUCER 24
#define EVENT_RECEIVE_ATTENTION 25
#define EVENT_TRANSMIT_ATTENTION 26
#define EVENT_TIMER 28
#define EVENTS 32

/* Words shared by host and card, by their host offset. */
#define SHARED_WORD(offset) (((offset)-0x600) / 4)
#define MAC_ADDRESS SHARED_WORD(0x600)
#define INFORMATION_BLOCK SHARED_WORD(0x608)
#define MODE SHARED_WORD(0x618)
#define DMA_READ_CONFIGURATION SHARED_WORD(0x61c)
#define DMA_WRITE_CONFIGURATION SHARED_WORD(0x620)
#define TRANSMIT_BUFFER_RATIO SHARED_WORD(0x624)
#define EVENT_CONSUMER SHARED_WORD(0x628)
#define COMMAND_CONSUMER SHARED_WORD(0x62c)
#define RECEIVE_COALESCING_TIME SHARED_WORD(0x630)
#define SEND_COALESCING_TIME SHARED_WORD(0x634)
#define STATISTICS_TIME SHARED_WORD(0x638)
#define SEND_COALESCING_LIMIT SHARED_WORD(0x63c)
#define RECEIVE_COALESCING_LIMIT SHARED_WORD(0x640)
#define GIGABIT_LINK SHARED_WORD(0x648)
#define MTU SHARED_WORD(0x660)
#define GIGABIT_LINK_STATE SHARED_WORD(0x668)
#define FAST_LINK_STATE SHARED_WORD(0x66c)

#define MODE_SWAP_DESCRIPTOR_BYTES 0x2
#define MODE_SWAP_DATA_BYTES 0x10
#define MODE_ONE_CHANNEL 0x40
#define MODE_KEEP_CRC 0x400
#define MODE_PASS_BAD_FRAMES 0x800
#define MODE_NO_EVENT_INTERRUPT 0x1000
#define MODE_NO_SEND_INTERRUPT 0x2000
#define MODE_NO_RECEIVE_INTERRUPT 0x4000

#define LINK_UP 0x80000000

#define MAILBOX_INTERRUPT 0
#define MAILBOX_COMMAND 1
#define MAILBOX_SEND 2
#define MAILBOX_STANDARD 3
#define MAILBOX_JUMBO 4
#define MAILBOX_MINI 5

/* State words of the assists. */
#define DMA_KEEPS_WORDS 0x2 /* 32-bit words keep their value; otherwise bytes keep their order */
#define DMA_LAST 0x20000    /* control data, and the last piece of a frame */
#define DMA_FRAME_WRITE 0x80000

#define TRANSMIT_VLAN 0x40000000
#define RECEIVE_EMPTY 0x01000000
#define RECEIVE_ERRORS 0x00bf0000 /* all but runt, which is not treated as an error */

/* Flags of descriptors. */
#define FLAG_CHECKSUM 0x1
#define FLAG_END 0x4
#define FLAG_JUMBO 0x10
#define FLAG_UNICAST 0x20
#define FLAG_MULTICAST 0x40
#define FLAG_BROADCAST 0x60
#define FLAG_VLAN 0x200
#define FLAG_ERROR 0x400
#define FLAG_COALESCE_NOW 0x800
#define FLAG_MINI 0x1000

/* Flags of ring control blocks. */
#define RING_VLAN 0x10
#define RING_IN_HOST 0x40
#define RING_EXTENDED 0x100
#define RING_DISABLED 0x200

#define CRC_BYTES 4

#ifndef __ASSEMBLER__

typedef unsigned int u32;
typedef int i32;

#define REG(offset) (*(volatile u32 *)(REGISTERS + (offset)))

struct mailbox {
    volatile u32 high;
    volatile u32 low; /* the used word */
};

/* Defined by the linker script. */
extern struct mailbox mailboxes[32];
extern volatile u32 shared_words[64];
extern volatile u32 command_ring[64];
extern volatile u32 mac_statistics[32];

/* A descriptor of a DMA assist. */
struct transfer {
    volatile u32 host_high;
    volatile u32 host_low;
    volatile u32 local;
    volatile u32 length;
    volatile u32 state;
    volatile u32 checksum_at;
    volatile u32 tag;      /* purpose of this transfer; ignored by the assist */
    volatile u32 argument; /* ignored by the assist */
};

/* A descriptor of a MAC assist. */
struct frame {
    volatile u32 address;
    volatile u32 length;
};

/* A send descriptor. */
struct send_descriptor {
    u32 host_high;
    u32 host_low;
    u32 length_flags;
    u32 vlan;
};

/* A receive descriptor, as posted by the host and as returned. */
struct receive_descriptor {
    u32 host_high;
    u32 host_low;
    u32 index_length;
    u32 type_flags;
    u32 checksums;
    u32 error_vlan;
    u32 reserved;
    u32 opaque;
};

struct ring_control {
    u32 host_high;
    u32 host_low;
    u32 length_flags;
    u32 reserved;
};

struct address {
    u32 high;
    u32 low;
};

/* The general information block in host memory. */
struct information {
    u32 statistics[256];
    struct ring_control events;
    struct ring_control commands;
    struct ring_control send;
    struct ring_control standard;
    struct ring_control jumbo;
    struct ring_control mini;
    struct ring_control returns;
    struct address event_producer;
    struct address return_producer;
    struct address send_consumer;
    struct address refreshed_statistics;
};

#endif
#endif
