/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core-based unit of a PANIC NIC: doorbells and the data cache.
 *
 * A program is a function `void panic_main(void)` that takes packets and answers each, forever:
 *
 *     for (;;) {
 *         panic_packet_t packet = panic_take();
 *         ... change packet.data ...
 *         panic_flush();
 *         panic_send(packet.data, packet.size);
 *     }
 *
 * Packets arrive in a region of the local memory without updating the data cache. So cached lines of that region must be
 * invalidated between two packets: by panic_flush, or by panic_flush_line for each line that was read. A program that reads
 * no packet needs neither. Stores go through the cache to memory.
 *
 * Costs are cycles without other users of the memory; a read of a register takes about 11.
 */
#ifndef SPIN_PANIC_H
#define SPIN_PANIC_H

#include <stdint.h>

/* The registers of crates/panic/src/unit/riscv/bus.rs. */
#define PANIC_REGISTERS 0xF0000000u
#define PANIC_IN_LENGTH 0x00       /* read: bytes of the current packet; waits for one */
#define PANIC_IN_ADDRESS 0x04      /* read: its address */
#define PANIC_IN_HASH 0x08         /* read: hash that the RMT pipeline made */
#define PANIC_IN_HEADERS 0x0C      /* read: offsets of network (low half) and transport header; 0 means not present */
#define PANIC_IN_PAYLOAD 0x10      /* read: offset of the payload, behind all headers */
#define PANIC_IN_FLOW 0x14         /* read: flow */
#define PANIC_IN_METADATA_LOW 0x18 /* read: metadata of this service in the packet's chain */
#define PANIC_IN_METADATA_HIGH 0x1C
#define PANIC_IN_SERVICE 0x20 /* read: number of this service (bits 0 to 7), class of the packet (8 to 15) */
#define PANIC_OUT_ADDRESS 0x40 /* write: address of the answer */
#define PANIC_OUT_LENGTH 0x44  /* write: its length in bytes; sends it */
#define PANIC_OUT_CHAIN 0x48   /* write: other services to visit afterwards; a byte is a number plus 1, 0 ends the list */
#define PANIC_OUT_DROP 0x4C    /* write: the current packet is dropped */
#define PANIC_OUT_COUNT 0x50   /* read: answers that have not left the memory */

/* Registers are at a multiple of 4096, so that each access is one instruction after one lui. */
#define PANIC_REGISTER(offset) (*(volatile uint32_t *)(PANIC_REGISTERS + (offset)))

typedef struct {
    void *data;
    uint32_t size; /* bytes */
} panic_packet_t;

/* The next packet; waits for it. 2 reads. It is the current packet until panic_send or panic_drop. */
static inline panic_packet_t panic_take(void)
{
    uint32_t size = PANIC_REGISTER(PANIC_IN_LENGTH);
    return (panic_packet_t){(void *)PANIC_REGISTER(PANIC_IN_ADDRESS), size};
}

/* Values of the current packet's descriptor. 1 read each. */
static inline uint32_t panic_hash(void) { return PANIC_REGISTER(PANIC_IN_HASH); }
static inline uint32_t panic_flow(void) { return PANIC_REGISTER(PANIC_IN_FLOW); }
static inline uint32_t panic_headers(void) { return PANIC_REGISTER(PANIC_IN_HEADERS); }

/*
 * Send `size` bytes, anywhere in the local memory, instead of the current packet. 2 stores. Bytes outside the packet's own memory
 * must stay unchanged until the answer has left (panic_unsent).
 */
static inline void panic_send(const void *data, uint32_t size)
{
    PANIC_REGISTER(PANIC_OUT_ADDRESS) = (uint32_t)data;
    PANIC_REGISTER(PANIC_OUT_LENGTH) = size;
}

/* Drops the current packet. 1 store. */
static inline void panic_drop(void) { PANIC_REGISTER(PANIC_OUT_DROP) = 0; }

/* Replaces the services to visit after this one. Each byte of `services` is a service number plus 1; 0 ends the list. 1 store. */
static inline void panic_chain(uint32_t services) { PANIC_REGISTER(PANIC_OUT_CHAIN) = services; }

/* Answers that have not left the memory. 1 read. */
static inline uint32_t panic_unsent(void) { return PANIC_REGISTER(PANIC_OUT_COUNT); }

/* Waits for stores and empties the data cache: a cycle for each of its lines, valid or not. */
static inline void panic_flush(void) { __asm__ volatile(".4byte 0x0000500F" ::: "memory"); }

/* Likewise for the line of 64 bytes that holds this byte. 1 cycle. */
static inline void panic_flush_line(const void *byte)
{
    register const void *a0 __asm__("a0") = byte;
    __asm__ volatile(".4byte 0x0005500F" ::"r"(a0) : "memory"); /* 0x500F with rs1 = a0 */
}

/* The program. */
void panic_main(void);

#endif
