/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI datatypes on the NIC: a message arrives in packed order, and handlers write each piece to its place in host
 * memory. Senders use the same descriptions the other way round (spin_ddt_send.h).
 *
 * The host compiles a type into a description (spinet.datatypes.compile) and puts it into handler memory. The first
 * handler of each cluster copies the description to the cluster's scratchpad, where a load takes 1 cycle. All numbers
 * have 32 bits and are little-endian. Offsets of tables count from the start of the description.
 *
 * A packet is UDP over IPv4 without options. Its data begins with the header `spin_ddt_header_t`; the rest is a part of
 * the message. Packets may arrive in any order and more than once.
 *
 * Scratchpad: `scratchpad_bytes` of the description, in each cluster. Handler memory: `handler_memory_bytes`.
 * Host memory: slots, `slot_bytes` apart, and from `completions` on 16 bytes for each slot.
 */
#ifndef SPIN_DDT_H
#define SPIN_DDT_H

#include <handler.h>
#include <spin_data.h>

#define SPIN_DDT_MAGIC 0x31544444u /* "DDT1" */
#define SPIN_DDT_NOINLINE __attribute__((noinline)) /* for functions that rarely run */

/* In front of a packet's part of the message. */
typedef struct {
    uint32_t at;   /* bytes of the message before this part */
    uint32_t slot; /* the posted receive to which the message belongs */
} spin_ddt_header_t;

/* Written to host memory at the end of a message. */
typedef struct {
    uint32_t received; /* bytes that handlers processed; repeated packets count again */
    uint32_t size;     /* bytes of the message */
    uint32_t status;   /* SPIN_DDT_DONE, SPIN_DDT_REFUSED or SPIN_DDT_INEXACT */
    uint32_t slot;
} spin_ddt_completion_t;

#define SPIN_DDT_DONE 1u    /* each byte of the message was processed once */
#define SPIN_DDT_REFUSED 2u /* the description does not fit the context's memory; nothing was written */
#define SPIN_DDT_INEXACT 3u /* bytes are missing, or came more than once */

/* The description of a type. A handler reads only the fields that its strategy needs. */
typedef struct {
    uint32_t magic;
    uint32_t bytes;      /* bytes of the description, which is copied to each scratchpad */
    uint32_t size;       /* bytes of a message */
    uint32_t slots;      /* receives that can be posted at a time */
    uint32_t slot_bytes; /* distance from one slot to the next in host memory */
    uint32_t scratchpad_bytes;
    uint32_t handler_memory_bytes;

    /* Blocks: `blocks` blocks make an element, and elements repeat. */
    uint32_t first;         /* offset of the first element in host memory */
    uint32_t block;         /* bytes of a block */
    uint32_t stride;        /* bytes from one block to the next */
    uint32_t blocks;        /* in an element */
    uint32_t extent;        /* bytes from one element to the next */
    uint32_t element_bytes; /* data of an element */
    uint32_t table;         /* offsets, entries or members of an element */

    /* Loops and segments. */
    uint32_t root;          /* the outermost loop */
    uint32_t segment_bytes; /* size of a segment, for the depth of this type */
    uint32_t checkpoints;   /* the first of them, for the start of the message */
    uint32_t interval;      /* bytes of the message from one checkpoint to the next */
    uint32_t n_checkpoints;
    uint32_t work;          /* in the scratchpad: segments of the first core */
    uint32_t work_bytes;    /* size of a core's segments */

    /* Owned checkpoints. */
    uint32_t owned;       /* in handler memory: those of slot 0 */
    uint32_t owned_bytes; /* size of one owned checkpoint */
    uint32_t buffers;     /* in the scratchpad: packets that wait */
    uint32_t buffer_bytes;
    uint32_t n_buffers; /* at most 32 */

    uint32_t completions; /* offset in host memory of the first slot's completion */

    /* Senders. */
    uint32_t payload; /* bytes of the message in a packet */
    uint32_t frames;  /* in the scratchpad: the packet that the first core makes */
    uint32_t frame_bytes;
    uint32_t windows; /* in the scratchpad: host memory that the first core read */
    uint32_t window_bytes;
} spin_ddt_t;

/* The scratchpad. It is zero before the first packet. */
typedef struct {
    volatile uint32_t claimed;
    volatile uint32_t state; /* 0, or one of those below */
    volatile uint32_t free_buffers;
    uint32_t unused[13];
    spin_ddt_t type; /* its tables follow, then a spin_ddt_count_t for each slot, segments and buffers */
} spin_ddt_l1_t;

/* The parts of a message that a cluster's handlers processed. */
typedef struct {
    volatile int32_t bytes;
    volatile int32_t marks; /* sum of the marks of their ends, minus those of their starts */
} spin_ddt_count_t;

#define SPIN_DDT_READY 1u
#define SPIN_DDT_BAD 2u

/* A part of a message: bytes of a packet, which belong to pieces of host memory. */
typedef struct {
    uint32_t at;   /* position in the message */
    uint32_t left; /* bytes */
    uintptr_t nic; /* the packet's next byte, in L2 packet memory or in L1 */
    uint64_t host; /* host address of the slot */
    uint32_t slot;
#ifdef SPIN_DDT_SEND
    /* `window_bytes` bytes from `window_at` of the slot, in L1; there is room for `window_room`. */
    uint8_t *window;
    uint32_t window_at, window_bytes, window_room;
    uint32_t host_bytes; /* bytes from the slot to the end of host memory */
#endif
} spin_ddt_part_t;

/* In the scratchpad of any cluster: counts by slot. */
static inline spin_ddt_count_t *spin_ddt_counts(const task_t *task, uint32_t cluster, const spin_ddt_t *type)
{
    uint8_t *l1 = (uint8_t *)task->scratchpad[cluster];
    return (spin_ddt_count_t *)(l1 + offsetof(spin_ddt_l1_t, type) + type->bytes);
}

/*
 * The mark of a position in a message: a hash of it. The mark of 0 is 0. A part adds the mark of its end and subtracts the
 * mark of its start. If each byte was processed once, only the mark of the message's end is left. Otherwise the sum is
 * another one, except by chance, once in 2^32 times.
 */
static inline uint32_t spin_ddt_mark(uint32_t at)
{
    at *= 0x9e3779b1u;
    at ^= at >> 15;
    at *= at;
    return at ^ at >> 16;
}

/* Count a part of a message. About 20 cycles. */
static inline void spin_ddt_count(const handler_args_t *args, const spin_ddt_t *type, const spin_ddt_part_t *part)
{
    spin_ddt_count_t *count = &spin_ddt_counts(args->task, args->cluster_id, type)[part->slot];
    amo_add(&count->bytes, (int32_t)part->left);
    amo_add(&count->marks, (int32_t)(spin_ddt_mark(part->at + part->left) - spin_ddt_mark(part->at)));
}

/*
 * Copy the description from handler memory to this cluster's scratchpad, or wait for the core that copies it. About 150
 * cycles, and one for each 64 bytes.
 */
static inline SPIN_DDT_NOINLINE void spin_ddt_fetch(const handler_args_t *args, spin_ddt_l1_t *l1)
{
    const task_t *task = args->task;
    if (amo_swap(&l1->claimed, 1) != 0) {
        while (l1->state == 0) {
            rt_time_wait_cycles(32);
        }
        return;
    }
    const spin_ddt_t *type = (const spin_ddt_t *)task->handler_mem;
    uint32_t room = task->handler_mem_size;
    if (room < sizeof *type || type->magic != SPIN_DDT_MAGIC || type->handler_memory_bytes > room ||
        type->scratchpad_bytes > task->scratchpad_size[args->cluster_id] ||
        (uint64_t)type->completions + type->slots * sizeof(spin_ddt_completion_t) > task->host_mem_size) {
        l1->state = SPIN_DDT_BAD;
        return;
    }
    const uint32_t piece = 32768; /* PsPIN's limit of a transfer, DMA_MAX_XFER_SIZE */
    uint8_t *from = (uint8_t *)task->handler_mem, *to = (uint8_t *)&l1->type;
    spin_dma_t copied;
    for (uint32_t left = type->bytes; left > 0;) {
        uint32_t size = MIN(left, piece);
        spin_dma(from, to, size, SPIN_DMA_EXT2LOC, 0, &copied);
        spin_dma_wait(copied);
        from += size;
        to += size;
        left -= size;
    }
    l1->free_buffers = l1->type.n_buffers < 32 ? (1u << l1->type.n_buffers) - 1 : UINT32_MAX;
    SPIN_COMPILER_BARRIER();
    l1->state = SPIN_DDT_READY;
}

/* The description in this cluster's scratchpad; NULL if it is invalid. 3 loads. */
static inline const spin_ddt_t *spin_ddt_type(const handler_args_t *args)
{
    spin_ddt_l1_t *l1 = (spin_ddt_l1_t *)args->task->scratchpad[args->cluster_id];
    if (l1->state == 0) {
        spin_ddt_fetch(args, l1);
    }
    return l1->state == SPIN_DDT_READY ? &l1->type : NULL;
}

/* Find this packet's part of its message. False if it has none, or one outside the message. About 45 cycles. */
static inline bool spin_ddt_part(const handler_args_t *args, const spin_ddt_t *type, spin_ddt_part_t *part)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    if (type == NULL || data.size < sizeof(spin_ddt_header_t)) {
        return false;
    }
    const spin_ddt_header_t *header = (const spin_ddt_header_t *)data.data;
    part->at = header->at;
    part->slot = header->slot;
    part->left = data.size - sizeof *header;
    if (part->slot >= type->slots || part->at > type->size || part->left > type->size - part->at || part->left == 0) {
        return false;
    }
    /* No handler changes the data, so commands read it from L2, in rows of 64 bytes. */
    part->nic = (uintptr_t)task->l2_pkt_mem + SPIN_DATA_OFFSET + sizeof *header;
    part->host = spin_host_address(task, 0) + (uint64_t)part->slot * type->slot_bytes;
    spin_ddt_count(args, type, part);
    return true;
}

#ifdef SPIN_DDT_SEND

/* Copy within L1. About 2 cycles for 4 bytes, 4 if `from` is not at a multiple of 4. */
static inline void spin_ddt_copy(uint8_t *to, const uint8_t *from, uint32_t size)
{
    for (; size >= 16; size -= 16, to += 16, from += 16) {
        uint32_t words[4];
        __builtin_memcpy(words, from, 16);
        __builtin_memcpy(to, words, 16);
    }
    for (; size >= 4; size -= 4, to += 4, from += 4) {
        __builtin_memcpy(to, from, 4);
    }
    for (; size > 0; size--) {
        *to++ = *from++;
    }
}

/* Read a window of host memory that begins with the line of byte `offset` of the slot. Waits for it. */
static inline SPIN_DDT_NOINLINE void spin_ddt_open_window(spin_ddt_part_t *part, uint32_t offset)
{
    spin_cmd_t read;
    part->window_at = offset & ~63u;
    part->window_bytes = MIN(part->window_room, part->host_bytes - part->window_at);
    spin_dma_from_host(part->host + part->window_at, (uintptr_t)part->window, part->window_bytes, false, &read);
    spin_cmd_wait(read);
}

/*
 * Read `size` bytes at `offset` of the slot to the packet's next bytes. PsPIN has at most two reads of host memory under
 * way, so few large reads are faster than many small ones: small pieces are copied from windows, large ones come
 * directly. Without a window, one command: about 25 cycles, or more if no handle is free.
 */
static inline void spin_ddt_move(spin_ddt_part_t *part, uint32_t offset, uint32_t size)
{
    if (size > part->window_room / 4) {
        spin_cmd_t moved;
        spin_dma_from_host(part->host + offset, part->nic, size, false, &moved);
    } else {
        if (offset < part->window_at || offset + size > part->window_at + part->window_bytes) {
            spin_ddt_open_window(part, offset);
        }
        spin_ddt_copy((uint8_t *)part->nic, part->window + (offset - part->window_at), size);
    }
    part->nic += size;
    part->left -= size;
}

#else

/* Write the packet's next `size` bytes to `offset` of the slot. A command: about 25 cycles, more if no handle is free. */
static inline void spin_ddt_move(spin_ddt_part_t *part, uint32_t offset, uint32_t size)
{
    spin_cmd_t moved;
    spin_dma_to_host(part->host + offset, part->nic, size, false, &moved);
    part->nic += size;
    part->left -= size;
}

#endif

/* Wait until all commands of this core have finished. 4 stores. */
static inline void spin_ddt_wait(void)
{
    for (spin_cmd_t handle = 0; handle < 4; handle++) {
        spin_cmd_wait(handle);
    }
}

/* For a header handler: begin a message. Two stores for each cluster, 23 cycles each. */
static inline void spin_ddt_begin(const handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_pkt_t data = spin_data(args->task);
    if (type == NULL || data.size < sizeof(spin_ddt_header_t)) {
        return;
    }
    uint32_t slot = ((const spin_ddt_header_t *)data.data)->slot;
    for (uint32_t cluster = 0; slot < type->slots && cluster < NB_CLUSTERS; cluster++) {
        spin_ddt_counts(args->task, cluster, type)[slot] = (spin_ddt_count_t){0, 0};
    }
}

/*
 * For a completion handler: end a message, whose packets are all processed and written. Writes the slot's completion,
 * 16 bytes in two commands; the second one has the status.
 */
static inline void spin_ddt_end(const handler_args_t *args)
{
    const task_t *task = args->task;
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_pkt_t data = spin_data(task);
    if (data.size < sizeof(spin_ddt_header_t)) {
        return;
    }
    uint32_t slot = ((const spin_ddt_header_t *)data.data)->slot, received = 0, marks = 0;
    uint64_t host = spin_host_address(task, 0);
    uint32_t size = 0, status = SPIN_DDT_REFUSED;
    if (type != NULL) {
        if (slot >= type->slots) {
            return;
        }
        for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
            const spin_ddt_count_t *count = &spin_ddt_counts(task, cluster, type)[slot];
            received += (uint32_t)count->bytes;
            marks += (uint32_t)count->marks;
        }
        host += type->completions + slot * sizeof(spin_ddt_completion_t);
        size = type->size;
        status = received == size && marks == spin_ddt_mark(size) ? SPIN_DDT_DONE : SPIN_DDT_INEXACT;
    } else if (task->host_mem_size < sizeof(spin_ddt_completion_t)) {
        return;
    }
    spin_cmd_t written;
    spin_write_to_host(host, (uint64_t)size << 32 | received, &written);
    spin_cmd_wait(written);
    spin_write_to_host(host + 8, (uint64_t)slot << 32 | status, &written);
}

#endif
