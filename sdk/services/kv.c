/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key-value store on the card. Clients put and get values over the network; the host's processor does nothing.
 *
 * Requests and replies have the header of service.h. The data of a request are
 *
 *     byte 56  key, 32 bytes
 *     byte 88  value of a put, up to KV_VALUE_BYTES
 *
 * and the data of the reply to a get are the value. `status` of a reply is one of KV_OK, KV_MISS (the key is unknown),
 * KV_FULL (the key is new, and the store has KV_CAPACITY keys), KV_MALFORMED or SERVICE_DENIED.
 *
 * Keys are in chains in L2: a bucket is the number of its first entry, and each entry has the number of the next one.
 * An entry is a row of 64 bytes, which DMA moves at once. Its value is in host memory, or in L2 with
 * -DKV_VALUES_ON_CARD. Entries never move and are never freed, so readers walk a chain without a lock. A core that adds
 * an entry locks the bucket, and links the entry only when it is complete. A core that changes a value makes the
 * entry's version odd meanwhile; a reader that finds an odd version, or another version after it has read the value,
 * reads again. Hence a get always returns one whole value.
 *
 * A put happens once, however often its request arrives: the store keeps the latest requests of each client, and
 * answers a copy with the first one's status. A copy that arrives while the first one is in progress, or later than
 * SERVICE_WINDOW newer requests, is ignored. So a put that the network repeats late cannot undo a newer one.
 *
 * Memory: handler memory as in kv_t; scratchpad of KV_SCRATCHPAD_BYTES. `spinet.services.KeyValue` makes both.
 * Cost: see docs/guides/services.md.
 */
#include "service.h"

#ifndef KV_BUCKETS
#define KV_BUCKETS 1024 /* a power of 2 */
#endif
#ifndef KV_CAPACITY
#define KV_CAPACITY 1024 /* keys */
#endif
#ifndef KV_CLIENTS
#define KV_CLIENTS 16
#endif

#define KV_PORT 9501
#define KV_KEY_BYTES 32
#define KV_VALUE_BYTES 1408
#define KV_VALUE_AT 88
#define KV_LOCKS 64
#define KV_SCRATCHPAD_BYTES 12800 /* a row and a frame for each core */

/* service_head_t.kind */
#define KV_GET 1
#define KV_PUT 2

/* service_head_t.status */
#define KV_OK 1
#define KV_MISS 2
#define KV_FULL 3
#define KV_MALFORMED 4

/* Counters of events. */
#define KV_REFUSED 0    /* malformed requests, and those without the access key */
#define KV_DUPLICATES 1 /* copies of puts */
#define KV_EVENTS 2

/* An entry. DMA moves it at once. */
typedef struct {
    volatile uint32_t version; /* odd while a core writes the value */
    volatile uint32_t bytes;   /* size of the value */
    uint32_t next;             /* number of the next entry in the chain; 0: none */
    uint32_t unused[5];
    uint32_t key[KV_KEY_BYTES / 4];
} kv_row_t;

/* Handler memory. All zeros at first. Entries have numbers from 1. */
typedef struct {
    volatile int32_t used; /* entries */
    volatile uint32_t events[KV_EVENTS];
    uint32_t unused[13];
    spin_lock_t locks[KV_LOCKS]; /* locks of buckets */
    service_latest_t puts[KV_CLIENTS];
    volatile uint32_t buckets[(KV_BUCKETS + 15) / 16 * 16];
    kv_row_t rows[KV_CAPACITY];
#ifdef KV_VALUES_ON_CARD
    uint8_t values[KV_CAPACITY][KV_VALUE_BYTES];
#endif
} kv_t;

_Static_assert((KV_BUCKETS & (KV_BUCKETS - 1)) == 0, "the hash selects a bucket by its low bits");
_Static_assert(sizeof(kv_row_t) == 64, "DMA moves a row of L2 at once");
_Static_assert(__builtin_offsetof(kv_t, rows) % 64 == 0, "rows do not cross lines");
#ifdef KV_MEMORY_BYTES
_Static_assert(sizeof(kv_t) == KV_MEMORY_BYTES, "as Python allocates it");
#endif
_Static_assert(KV_VALUE_AT + KV_VALUE_BYTES <= SERVICE_DATA_AT + SERVICE_MAX_DATA, "a request is one packet");
_Static_assert(KV_SCRATCHPAD_BYTES >= NB_CORES * (sizeof(kv_row_t) + SERVICE_FRAME_BYTES), "as Python allocates it");

/* A core's memory for a request. */
typedef struct {
    const task_t *task;
    kv_t *kv;
    kv_row_t *row; /* in L1: a copy of an entry */
    uint8_t *frame; /* in L1: the reply */
} kv_core_t;

/* The bucket of a key. Each step also mixes the high bits into the low ones. 5 cycles a word. */
static uint32_t bucket_of(const uint32_t *key)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < KV_KEY_BYTES / 4; i++) {
        hash = (hash ^ key[i]) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    return hash & (KV_BUCKETS - 1);
}

static bool is_equal(const uint32_t *a, const uint32_t *b)
{
    for (uint32_t i = 0; i < KV_KEY_BYTES / 4; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static kv_row_t *row_of(const kv_core_t *core, uint32_t entry) { return &core->kv->rows[entry - 1]; }

static void copy_row(const kv_core_t *core, uint32_t entry)
{
    spin_dma_t copied;
    spin_dma(row_of(core, entry), core->row, sizeof(kv_row_t), SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
}

/* Walk a chain. Returns the entry with this key, of which `row` has a copy, or 0. */
static uint32_t find(const kv_core_t *core, uint32_t entry, const uint32_t *key)
{
    for (; entry != 0; entry = core->row->next) {
        copy_row(core, entry);
        if (is_equal(core->row->key, key)) {
            break;
        }
    }
    return entry;
}

/* Copy a value to `to` in L1, and wait. */
static void read_value(const kv_core_t *core, uint32_t entry, uint8_t *to, uint32_t bytes)
{
    if (bytes == 0) {
        return;
    }
#ifdef KV_VALUES_ON_CARD
    spin_dma_t copied;
    spin_dma(core->kv->values[entry - 1], to, bytes, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
#else
    spin_cmd_t fetched;
    spin_dma_from_host(spin_host_address(core->task, (entry - 1) * KV_VALUE_BYTES), (uintptr_t)to, bytes, false, &fetched);
    spin_cmd_wait(fetched);
#endif
}

/* Copy a value from L1 to its place, and wait. */
static void write_value(const kv_core_t *core, uint32_t entry, const uint8_t *from, uint32_t bytes)
{
    if (bytes == 0) {
        return;
    }
#ifdef KV_VALUES_ON_CARD
    spin_dma_t copied;
    spin_dma((void *)from, core->kv->values[entry - 1], bytes, SPIN_DMA_LOC2EXT, 0, &copied);
    spin_dma_wait(copied);
#else
    spin_cmd_t stored;
    spin_dma_to_host(spin_host_address(core->task, (entry - 1) * KV_VALUE_BYTES), (uintptr_t)from, bytes, false, &stored);
    spin_cmd_wait(stored);
#endif
}

/* Put the value of a key into the reply. */
static uint32_t get(const kv_core_t *core, const uint32_t *key, uint32_t *bytes)
{
    const uint32_t entry = find(core, core->kv->buckets[bucket_of(key)], key);
    if (entry == 0) {
        return KV_MISS;
    }
    for (;;) {
        const uint32_t version = core->row->version;
        if (version % 2 == 0) {
            *bytes = core->row->bytes;
            read_value(core, entry, core->frame + SERVICE_DATA_AT, *bytes);
            if (row_of(core, entry)->version == version) {
                return KV_OK;
            }
        }
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
        copy_row(core, entry);
    }
}

/* Change the value of an entry. */
static void update(const kv_core_t *core, uint32_t entry, const uint8_t *value, uint32_t bytes)
{
    kv_row_t *row = row_of(core, entry);
    uint32_t version;
    while ((version = amo_or(&row->version, 1)) % 2 != 0) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    write_value(core, entry, value, bytes);
    row->bytes = bytes;
    amo_store(&row->version, version + 2);
}

/* Add an entry at the start of a chain, whose bucket this core has locked. Returns false if the store is full. */
static bool add(const kv_core_t *core, volatile uint32_t *bucket, const uint32_t *key, const uint8_t *value, uint32_t bytes)
{
    volatile int32_t *used = &core->kv->used;
    const uint32_t entry = (uint32_t)amo_add(used, 1) + 1;
    if (entry > KV_CAPACITY) {
        amo_add(used, -1);
        return false;
    }
    write_value(core, entry, value, bytes);
    *core->row = (kv_row_t){.bytes = bytes, .next = *bucket};
    for (uint32_t i = 0; i < KV_KEY_BYTES / 4; i++) {
        core->row->key[i] = key[i];
    }
    spin_dma_t copied;
    spin_dma(core->row, row_of(core, entry), sizeof(kv_row_t), SPIN_DMA_LOC2EXT, 0, &copied);
    spin_dma_wait(copied);
    amo_store(bucket, entry);
    return true;
}

static uint32_t put(const kv_core_t *core, const uint32_t *key, const uint8_t *value, uint32_t bytes)
{
    const uint32_t number = bucket_of(key);
    volatile uint32_t *bucket = &core->kv->buckets[number];
    uint32_t entry = find(core, *bucket, key);
    bool is_added = false;
    if (entry == 0) {
        /* Search again under the lock: another core may have added the key since. */
        spin_lock_t *lock = &core->kv->locks[number % KV_LOCKS];
        spin_lock_lock(lock);
        entry = find(core, *bucket, key);
        if (entry == 0) {
            is_added = add(core, bucket, key, value, bytes);
        }
        spin_lock_unlock(lock);
    }
    if (entry != 0) {
        update(core, entry, value, bytes);
        return KV_OK;
    }
    return is_added ? KV_OK : KV_FULL;
}

/* Perform a put unless this is a copy of one. Returns its status; 0 if there is nothing to answer. */
static uint32_t put_once(const kv_core_t *core, const service_head_t *head)
{
    service_latest_t *puts = &core->kv->puts[head->client];
    uint32_t status;
    if (!service_is_first(puts, head->request, &status)) {
        amo_add((volatile int32_t *)&core->kv->events[KV_DUPLICATES], 1);
        return status;
    }
    const uint8_t *packet = (const uint8_t *)core->task->pkt_mem;
    status = put(core, (const uint32_t *)(packet + SERVICE_DATA_AT), packet + KV_VALUE_AT, head->bytes - KV_KEY_BYTES);
    service_keep_status(puts, head->request, status);
    return status;
}

static bool is_well_formed(const task_t *task, const service_head_t *head)
{
    if (!service_is_whole(task) || head->client >= KV_CLIENTS || !service_has_number(head)) {
        return false;
    }
    return head->kind == KV_GET
               ? head->bytes == KV_KEY_BYTES
               : head->kind == KV_PUT && head->bytes >= KV_KEY_BYTES && head->bytes <= KV_KEY_BYTES + KV_VALUE_BYTES;
}

__handler__ void kv_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint8_t *own = (uint8_t *)task->scratchpad[args->cluster_id];
    kv_row_t *rows = (kv_row_t *)(own + NB_CORES * SERVICE_FRAME_BYTES);
    const kv_core_t core = {task, (kv_t *)task->handler_mem, &rows[args->hpu_id],
                            own + args->hpu_id * SERVICE_FRAME_BYTES};
    const service_head_t *head = service_head(task->pkt_mem);
    uint32_t status = KV_MALFORMED, bytes = 0;
    if (task->handler_mem_size < sizeof(kv_t)) {
        return;
    }
    const bool has_head = service_has_head(task), is_denied = has_head && service_is_denied(task);
    if (is_denied || !has_head || !is_well_formed(task, head)) {
        amo_add((volatile int32_t *)&core.kv->events[KV_REFUSED], 1);
        if (!has_head) {
            return;
        }
        status = is_denied ? SERVICE_DENIED : KV_MALFORMED;
    } else if (head->kind == KV_GET) {
        status = get(&core, (const uint32_t *)((const uint8_t *)task->pkt_mem + SERVICE_DATA_AT), &bytes);
    } else {
        status = put_once(&core, head);
    }
    if (status != 0) {
        service_turn(task, core.frame)->status = (uint8_t)status;
        service_send(core.frame, bytes);
    }
}
