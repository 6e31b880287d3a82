/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache for a key-value store: the NIC answers reads of keys that it holds, and all other requests go to the host.
 *
 * 500 entries in 125 sets of 4 ways in L2 handler memory. A key can only be in the set `key % 125`, and an insert
 * replaces one of its four entries. Updates and inserts write into the cache and go to the host as well; a read that
 * finds nothing, a scan and everything unknown go to the host alone.
 *
 * A word of L2 costs a core about 21 cycles, and the memory serves no more than four cores' words at a time, but DMA
 * moves a row of 64 bytes at once. So a set is a row: a handler copies all of it, which gives a consistent state, and a
 * writer writes the whole row back. All 32 cores work on the cache at once, and with few hot keys they use the same row.
 * Readers take no lock. A writer locks it only when it knows what to write. The version counts writes, and its lowest bit
 * is the lock: it shows if the row is still the one that the writer has read.
 *
 * A request (spin_data.h says where) is an operation, a key and a value of 32 bits each. The answer is the request with
 * the value filled in, sent back. Key 2^32 - 1 is never cached.
 *
 * Memory: each request copies 64 bytes from L2 to L1 by DMA. A write also needs an atomic on L2, of about 27 cycles, and a DMA back.
 * Scratchpad: 64 bytes a core.
 * Handler memory: 8000 bytes, zeros before the first packet.
 * Cost: 154 cycles for a read that hits, 126 for one that misses, 190 for a write.
 *
 * Run it with --match 'udp && ipv4.header_words == 5' --traffic 'udp:size=1024,count=1000,payload=ycsb:a:1.1'.
 */
#include <handler.h>
#include <spin_data.h>

#define WAYS 4
#define SETS 125

enum { READ, UPDATE, INSERT, SCAN };

typedef struct {
    uint32_t operation, key, value;
} request_t;

typedef struct {
    uint32_t tag; /* key + 1; 0: free */
    uint32_t value;
} entry_t;

#define ROW 64 /* bytes */

typedef struct __attribute__((__aligned__(ROW))) {
    uint32_t version; /* counts writes by twos; bit 0: a core writes */
    entry_t ways[WAYS];
} set_t;

/* The row in L2, and this core's place for a copy of it in L1. */
typedef struct {
    set_t *in_l2;
    set_t *copy;
} row_t;

static row_t row_of(const handler_args_t *args, uint32_t key)
{
    const task_t *task = args->task;
    return (row_t){(set_t *)task->handler_mem + key % SETS, (set_t *)task->scratchpad[args->cluster_id] + args->hpu_id};
}

static void copy_row(row_t row)
{
    spin_dma_t copied;
    spin_dma(row.in_l2, row.copy, ROW, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
}

/* A consistent copy. The card moves the row in one step; natively, the copy is valid only if no thread wrote meanwhile. */
static void take_copy(row_t row)
{
    copy_row(row);
#ifdef SPIN_NATIVE
    while (row.copy->version % 2 != 0 || *(volatile uint32_t *)&row.in_l2->version != row.copy->version) {
        copy_row(row);
    }
#endif
}

/* Also writes the new version, which releases the lock: on the card in the same step, natively after the rest. */
static void put_back(row_t row)
{
    spin_dma_t written;
#ifdef SPIN_NATIVE
    spin_dma(row.copy->ways, row.in_l2->ways, sizeof row.copy->ways, SPIN_DMA_LOC2EXT, 0, &written);
    amo_store(&row.in_l2->version, row.copy->version);
#else
    spin_dma(row.copy, row.in_l2, ROW, SPIN_DMA_LOC2EXT, 0, &written);
#endif
    spin_dma_wait(written);
}

/* The way that holds `tag`, else WAYS. */
static uint32_t find(const set_t *set, uint32_t tag)
{
    uint32_t way = 0;
    while (way < WAYS && set->ways[way].tag != tag) {
        way++;
    }
    return way;
}

/* True if the cache has the key; then `value` is its value. */
static bool look_up(row_t row, uint32_t tag, uint32_t *value)
{
    take_copy(row);
    uint32_t way = find(row.copy, tag);
    if (way == WAYS) {
        return false;
    }
    *value = row.copy->ways[way].value;
    return true;
}

static void store(row_t row, uint32_t tag, uint32_t value)
{
    set_t *set = row.copy;
    uint32_t version;
    take_copy(row);
    while ((version = amo_or(&row.in_l2->version, 1)) % 2 != 0) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    if (set->version != version) {
        copy_row(row); /* another core wrote since; now it is ours */
    }
    uint32_t way = find(set, tag);
    if (way == WAYS) {
        way = find(set, 0);
    }
    if (way == WAYS) {
        way = version / 2 % WAYS; /* none is free: the count of writes chooses the entry to evict */
    }
    set->ways[way] = (entry_t){tag, value};
    set->version = version + 2;
    put_back(row);
}

static void answer(const task_t *task, request_t *request, uint32_t value)
{
    spin_udp_t *udp = spin_data_udp(task);
    spin_udp_checksum_update32(udp, request->value, value);
    request->value = value;
    spin_data_turn_round(task);
    spin_cmd_t sent;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}

__handler__ void kvstore_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    request_t *request = (request_t *)data.data;
    if (data.size < sizeof(request_t) || task->handler_mem_size < SETS * sizeof(set_t)) {
        return;
    }
    uint32_t operation = request->operation, key = request->key, tag = key + 1, value;
    row_t row = row_of(args, key);
    if (tag != 0 && operation == READ && look_up(row, tag, &value)) {
        answer(task, request, value);
        return;
    }
    if (tag != 0 && (operation == UPDATE || operation == INSERT)) {
        store(row, tag, request->value);
    }
    spin_data_to_host(task);
}
