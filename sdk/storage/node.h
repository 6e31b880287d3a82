/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a storage node: data of all handlers in L2, and data of each message in the L1 of its home cluster.
 * `spinet.storage` reads the numbers in this file, and writes the key, the free accumulators and the products.
 */
#ifndef STORAGE_NODE_H
#define STORAGE_NODE_H

#include "capability.h"
#include "wire.h"
#include <handler.h>

#define STORAGE_STRIPES 16   /* erasure-coded writes whose parity is computed at the same time */
#define STORAGE_BUFFERS 512  /* accumulators */
#define STORAGE_LOCKS 64     /* locks of places that are read, changed and written */
#define STORAGE_STRIPE_CYCLES 1000000u /* age at which an unfinished stripe may be given up; no message lives so long */
#define STORAGE_RANKS 256    /* bits for data blocks: one more than a stripe can have */
#define STORAGE_SETS 32      /* updates of RAID-5 that a node remembers, by request number: sets of STORAGE_WAYS */
#define STORAGE_WAYS 4

/* A read of the host's memory, and a page. DMA cuts transfers at pages, and the second part costs some 400 cycles. */
#define STORAGE_BLOCK 4096
#define STORAGE_BLOCKS 3 /* blocks of a request: two are read, the maximum of the host's link, while one is sent */
#define STORAGE_READS 16 /* requests of more than a packet that are answered at the same time; others wait */

/* Offsets in handler memory. */
#define STORAGE_KEY_AT 0        /* two words: the key of capabilities */
#define STORAGE_FREE_AT 8       /* numbers of accumulators: free, taken so far, returned so far */
#define STORAGE_EVENTS_AT 32    /* counters, by the numbers below */
#define STORAGE_RING_AT 4096    /* free accumulators: their numbers, from 1 */
#define STORAGE_PRODUCTS_AT 8192 /* products in GF(256): row a has a * b at b */
#define STORAGE_SUMS_AT 73728
#define STORAGE_BUFFERS_AT 139776
#define STORAGE_READS_AT 664064
#define STORAGE_NODE_BYTES 864768

/* Counters of packets, requests and stripes that a node ignored or gave up. */
#define STORAGE_DUPLICATES 0 /* packets, and messages of products or differences, that had arrived before */
#define STORAGE_STRAYS 1     /* packets that contradict their message */
#define STORAGE_REFUSED 2    /* requests */
#define STORAGE_TORN_ENDS 3  /* messages that ended with packets missing */
#define STORAGE_POOL_EMPTY 4 /* packets without an accumulator */
#define STORAGE_STRIPES_LOST 5 /* unfinished stripes that made room for others */
#define STORAGE_EVENT_KINDS 6

/*
 * A stripe whose parity is being computed, or was computed. One that was never used is all zeros. Handlers copy all 16 to L1, where
 * they find theirs.
 */
typedef struct {
    uint32_t client; /* 0: never used */
    uint32_t request;
    uint32_t attempt;
    uint32_t began;                /* cycles */
    volatile uint32_t is_finished; /* the parity is in host memory; kept until another stripe needs the place */
    uint32_t unused[3];
    volatile uint32_t ranks[STORAGE_RANKS / 32]; /* a bit for each data block whose products have come */
} storage_stripe_t;

/* The sums of a stripe. Those of a finished one are all zeros. */
typedef struct {
    volatile uint32_t done; /* units whose parity is in host memory */
    uint32_t unused[7];
    /* The sum of each unit: the low half is its accumulator, the high half the number of products in it; 0: none. */
    volatile uint32_t units[STORAGE_MAX_UNITS];
} storage_sums_t;

/* The latest messages of updates with similar request numbers. The oldest one makes room for a new one. */
typedef struct {
    struct {
        uint32_t client, request, attempt_stream, policy;
    } ways[STORAGE_WAYS];
    uint32_t next; /* the way for the next message */
    spin_lock_t lock;
} storage_seen_t;

typedef struct {
    uint32_t key[2];
    volatile int32_t free;
    volatile uint32_t taken, returned; /* places in the ring, modulo STORAGE_BUFFERS */
    volatile uint32_t stripes_lock;
    volatile uint32_t reading; /* a bit for each part of `reads` that is in use */
    uint32_t unused;
    volatile uint32_t events[STORAGE_EVENT_KINDS];
    spin_lock_t locks[STORAGE_LOCKS];
    storage_seen_t seen[STORAGE_SETS];
    uint8_t unused2[STORAGE_RING_AT - STORAGE_EVENTS_AT - 4 * (STORAGE_EVENT_KINDS + STORAGE_LOCKS) -
                    STORAGE_SETS * sizeof(storage_seen_t)];
    volatile uint32_t ring[STORAGE_BUFFERS];
    storage_stripe_t stripes[STORAGE_STRIPES];
    uint8_t unused3[STORAGE_PRODUCTS_AT - STORAGE_RING_AT - 4 * STORAGE_BUFFERS - STORAGE_STRIPES * sizeof(storage_stripe_t)];
    uint8_t products[256][256];
    storage_sums_t sums[STORAGE_STRIPES];
    uint8_t buffers[STORAGE_BUFFERS][STORAGE_UNIT];
    uint8_t reads[1 + STORAGE_READS * STORAGE_BLOCKS][STORAGE_BLOCK]; /* see storage_blocks */
} storage_node_t;

_Static_assert(offsetof(storage_node_t, events) == STORAGE_EVENTS_AT, "as Python reads it");
_Static_assert(offsetof(storage_node_t, ring) == STORAGE_RING_AT, "as Python fills it");
_Static_assert(offsetof(storage_node_t, products) == STORAGE_PRODUCTS_AT, "as Python fills it");
_Static_assert(offsetof(storage_node_t, sums) == STORAGE_SUMS_AT, "behind the products");
_Static_assert(offsetof(storage_node_t, buffers) == STORAGE_BUFFERS_AT, "as Python reads it");
_Static_assert(offsetof(storage_node_t, reads) == STORAGE_READS_AT, "behind the accumulators");
_Static_assert(sizeof(storage_node_t) == STORAGE_NODE_BYTES, "as Python allocates it");

/* A message, from its header handler to its completion handler. */
typedef struct {
    uint32_t is_accepted;
    volatile uint32_t status;
    uint32_t own;     /* IPv4 address of this node, as in packets */
    uint32_t address; /* in host memory */
    uint32_t bytes;
    uint32_t units;            /* number of its packets with data */
    volatile int32_t received; /* packets whose work is done */
    uint8_t kind, policy, k, m;
    uint8_t rank, n_next;       /* n_next: number of nodes to forward to */
    uint8_t next_policy, unused; /* policy in forwarded packets */
    uint32_t next[STORAGE_MAX_PARITY];
    uint8_t next_rank[2];              /* ranks of these nodes among the replicas */
    uint8_t unused2[2];
    uint8_t coefficients[STORAGE_MAX_PARITY];
    uint32_t stripe; /* its number */
    volatile uint32_t arrived[STORAGE_MAX_UNITS / 32]; /* a bit for each packet */
} storage_message_t;

#define STORAGE_KNOWN 16     /* capabilities that a cluster remembers */
#define STORAGE_MESSAGES 256 /* one for each message queue of the card: scheduler.n_mpqs */
#define STORAGE_ROOM (STORAGE_ONLY_DATA_AT + STORAGE_UNIT + 48) /* a packet; a multiple of 64 */

/* A scratchpad. */
typedef struct {
    storage_message_t messages[STORAGE_MESSAGES]; /* messages whose home is this cluster */
    volatile uint32_t products_state; /* state of the table below: 0 absent, 1 being copied, 3 ready */
    uint32_t unused[15];
    storage_known_t known[STORAGE_KNOWN];
    uint8_t products[256][256];
    uint8_t rooms[NB_CORES][STORAGE_MAX_PARITY][STORAGE_ROOM]; /* rooms of each core, for packets that it builds */
} storage_scratchpad_t;

_Static_assert(STORAGE_STRIPES * sizeof(storage_stripe_t) <= STORAGE_ROOM, "a room holds a copy of all stripes");
_Static_assert(STORAGE_BLOCK / STORAGE_UNIT <= STORAGE_MAX_PARITY, "a core has a room for each packet of a block");

static inline storage_node_t *storage_node(const task_t *task) { return (storage_node_t *)task->handler_mem; }

/* In the scratchpad of this core's cluster. */
static inline storage_scratchpad_t *storage_own(const handler_args_t *args)
{
    return (storage_scratchpad_t *)args->task->scratchpad[args->cluster_id];
}

/*
 * Take blocks for a read, which are whole pages in L2; wait until some are free. L1 would be nearer, but while the address of a
 * host's data waits for a cluster, the card does not read packets from L1. One atomic on L2, or more if others take blocks too.
 * The blocks of a handler that a watchdog ends stay taken.
 */
static inline uint8_t *storage_take_blocks(const handler_args_t *args, uint32_t *number)
{
    storage_node_t *node = storage_node(args->task);
    const uint32_t first = args->cluster_id * NB_CORES + args->hpu_id;
    for (uint32_t turn = 0;; turn++) {
        const uint32_t i = (first + turn) % STORAGE_READS;
        if ((amo_or(&node->reading, 1u << i) >> i & 1) == 0) {
            const uintptr_t pages = ((uintptr_t)node->reads + STORAGE_BLOCK - 1) & ~(uintptr_t)(STORAGE_BLOCK - 1);
            *number = i;
            return (uint8_t *)pages + i * STORAGE_BLOCKS * STORAGE_BLOCK;
        }
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
}

static inline void storage_free_blocks(storage_node_t *node, uint32_t number) { amo_and(&node->reading, ~(1u << number)); }

/* True if an address is in the card's memory. */
static inline bool storage_is_on_card(uint32_t address) { return address >= STORAGE_CARD_AT; }

/* Bytes of the card's memory that clients can use: what handler memory has behind storage_node_t. */
static inline uint32_t storage_card_bytes(const task_t *task) { return task->handler_mem_size - sizeof(storage_node_t); }

static inline void *storage_on_card(const task_t *task, uint32_t address)
{
    return (uint8_t *)task->handler_mem + sizeof(storage_node_t) + (address - STORAGE_CARD_AT);
}

/* The message of a task. It is in this cluster's L1 unless the home cluster was full. */
static inline storage_message_t *storage_message(const task_t *task)
{
    storage_scratchpad_t *home = (storage_scratchpad_t *)task->scratchpad[task->home_cluster_id];
    return &home->messages[task->flow_id % STORAGE_MESSAGES];
}

static inline storage_packet_t *storage_packet(const task_t *task)
{
    return (storage_packet_t *)((uint8_t *)task->pkt_mem + STORAGE_PACKET_AT);
}

/* One atomic on L2: for rare events. */
static inline void storage_count(const task_t *task, uint32_t event)
{
    amo_add((volatile int32_t *)&storage_node(task)->events[event], 1);
}

#endif
