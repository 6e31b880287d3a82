/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare's switch for sparse blocks (sparse.h has the format): adds the elements of all children for a block.
 *
 * Array (default): a value for each place of the block; zero means absent. When the last child is done, the handler
 * scans the array and sends the nonzero values.
 * -DHASH: a table of 256 to 1,024 entries. If an element's entry and the next one hold other places, the element goes
 * to a stash. A full stash is sent at once as a further packet of this block, which the next switch or the host adds.
 *
 * A handler locks the block, copies it from L2 to its own L1 by DMA, adds its packet, and writes it back. A value that
 * becomes zero is absent. -DTYPE, -DOP and -DRANGE are those of sparse.h.
 *
 * Memory: handler memory: the configuration, then 64 bytes and a block_t for each of `window` blocks.
 * Scratchpad: a copy of the configuration, then a block_t and a frame for each HPU.
 */
#include "sparse.h"

#define LOCK_BYTES 64

#define SLOTS (SPARSE_VALUE_BYTES == 4 ? 256 : SPARSE_VALUE_BYTES == 2 ? 512 : 1024)

typedef struct {
    uint32_t done;                         /* number of children that are done */
    uint32_t sent;                         /* number of packets sent for this block */
    uint32_t stashed;                      /* number of elements in the stash */
    uint32_t unused;
    uint32_t progress[FLARE_MAX_CHILDREN]; /* words of sparse_is_done */
#ifdef HASH
    uint32_t values[SLOTS * SPARSE_VALUE_BYTES / 4];
    uint32_t stash[(SPARSE_DATA_BYTES + 7) / 4]; /* values of the stash */
    uint16_t places[SLOTS];
    uint16_t stash_places[SPARSE_MAX];
#else
    uint32_t values[(RANGE * SPARSE_VALUE_BYTES + 3) / 4];
#endif
} __attribute__((__aligned__(64))) block_t;

typedef struct {
    const handler_args_t *args;
    const flare_switch_t *tree;
    block_t *block;
    uint8_t *frame;
    uint32_t number, elements; /* number of the block; elements in the frame */
} work_t;

static void send_down(const flare_switch_t *tree, uint8_t *frame, uint32_t size, uint32_t block)
{
    ((spin_udp_t *)(frame + 34))->dst_port = spin_htons(FLARE_DOWN);
    uint32_t child = block % tree->children;
    for (uint32_t i = 0; i < tree->children; i++) {
        flare_address(frame, &tree->self, &tree->child[child]);
        flare_send(frame, size);
        child = child + 1 == tree->children ? 0 : child + 1;
    }
}

/* Sends the elements in the frame, to the parent or, from the root, to the hosts. */
static void emit(work_t *work, bool is_last)
{
    uint8_t *data = work->frame + FLARE_DATA_AT;
    const uint32_t n = work->elements, places = sparse_places_bytes(n);
    if (n % 2 != 0) {
        ((uint16_t *)data)[n] = 0;
    }
    /* pack() has written the values behind the places of a full packet. */
    memmove(data + places, data + sparse_places_bytes(SPARSE_MAX), n * SPARSE_VALUE_BYTES);
    const uint32_t size = flare_headers(work->frame, &work->tree->self, &work->tree->parent, FLARE_UP, sparse_data_bytes(n));
    work->block->sent++;
    *(flare_head_t *)(work->frame + FLARE_HEAD_AT) = (flare_head_t){
        .block = work->number,
        .root = work->tree->parent.ip,
        .elements = (uint16_t)n,
        .split = is_last ? (uint8_t)work->block->sent : 0,
        .port = (uint8_t)work->tree->port,
    };
    if (work->tree->is_root) {
        send_down(work->tree, work->frame, size, work->number);
    } else {
        flare_send(work->frame, size);
    }
    work->elements = 0;
}

/* Adds an element to the frame. A full frame is sent when the next element comes. */
static void pack(work_t *work, uint32_t place, uint32_t value)
{
    if (work->elements == SPARSE_MAX) {
        emit(work, false);
    }
    uint8_t *data = work->frame + FLARE_DATA_AT;
    ((uint16_t *)data)[work->elements] = (uint16_t)place;
    sparse_set(data + sparse_places_bytes(SPARSE_MAX), work->elements, value);
    work->elements++;
}

#ifdef HASH
static void add(work_t *work, uint32_t place, uint32_t value)
{
    block_t *block = work->block;
    for (uint32_t probe = 0; probe < 2; probe++) {
        const uint32_t slot = (place + probe) % SLOTS, held = sparse_get(block->values, slot);
        if (held == 0) {
            block->places[slot] = (uint16_t)place;
            sparse_set(block->values, slot, value);
            return;
        }
        if (block->places[slot] == place) {
            sparse_set(block->values, slot, spin_reduce_one(TYPE, OP, held, value));
            return;
        }
    }
    if (block->stashed == SPARSE_MAX) { /* spill */
        for (uint32_t i = 0; i < SPARSE_MAX; i++) {
            pack(work, block->stash_places[i], sparse_get(block->stash, i));
        }
        emit(work, false);
        block->stashed = 0;
    }
    block->stash_places[block->stashed] = (uint16_t)place;
    sparse_set(block->stash, block->stashed++, value);
}

static void flush(work_t *work)
{
    block_t *block = work->block;
    for (uint32_t i = 0; i < block->stashed; i++) {
        pack(work, block->stash_places[i], sparse_get(block->stash, i));
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const uint32_t value = sparse_get(block->values, slot);
        if (value != 0) {
            pack(work, block->places[slot], value);
        }
    }
    emit(work, true);
}
#else
static void add(work_t *work, uint32_t place, uint32_t value)
{
    const uint32_t held = sparse_get(work->block->values, place);
    sparse_set(work->block->values, place, held == 0 ? value : spin_reduce_one(TYPE, OP, held, value));
}

static void flush(work_t *work)
{
    for (uint32_t place = 0; place < RANGE; place++) {
        const uint32_t value = sparse_get(work->block->values, place);
        if (value != 0) {
            pack(work, place, value);
        }
    }
    emit(work, true);
}
#endif

static void copy(void *to, const void *from)
{
    spin_dma_t copied;
    spin_dma((void *)from, to, sizeof(block_t), 0, 0, &copied);
    spin_dma_wait(copied);
}

/* Adds a packet to its block in L2. */
static void combine(work_t *work, const flare_head_t *head)
{
    const task_t *task = work->args->task;
    const uint32_t at = FLARE_CONFIGURATION_BYTES + work->number % work->tree->window * (LOCK_BYTES + sizeof(block_t));
    if (at + LOCK_BYTES + sizeof(block_t) > task->handler_mem_size) {
        return;
    }
    volatile uint32_t *lock = (volatile uint32_t *)((uint8_t *)task->handler_mem + at); /* bit 0: locked; bit 1: has data */
    block_t *stored = (block_t *)((uint8_t *)lock + LOCK_BYTES), *block = work->block;
    uint32_t before;
    while ((before = amo_or(lock, 1)) % 2 != 0) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    if (before != 0) {
        copy(block, stored);
    } else {
        memset(block, 0, sizeof(block_t));
    }
    const uint8_t *data = (const uint8_t *)task->pkt_mem + FLARE_DATA_AT;
    const uint16_t *places = (const uint16_t *)data;
    const uint8_t *values = data + sparse_places_bytes(head->elements);
    for (uint32_t i = 0; i < head->elements; i++) {
        const uint32_t value = sparse_get(values, i);
        if (places[i] < RANGE && value != 0) {
            add(work, places[i], spin_reduce_canonical(TYPE, value)); /* it may be the only one at its place */
        }
    }
    if (sparse_is_done(&block->progress[head->port], head->split)) {
        block->done++;
    }
    if (block->done == work->tree->children) {
        amo_store(lock, 0); /* the next block in this place begins empty */
        flush(work);
    } else {
        copy(stored, block);
        amo_store(lock, 2);
    }
}

__handler__ void sparse_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const flare_switch_t *tree = (const flare_switch_t *)flare_configuration(args, sizeof(flare_switch_t));
    const uint32_t port = flare_port(task);
    const flare_head_t *head = flare_head(task);
    if ((port != FLARE_UP && port != FLARE_DOWN) || head->elements > SPARSE_MAX ||
        task->pkt_mem_size < FLARE_DATA_AT + sparse_data_bytes(head->elements)) {
        return;
    }
    if (port == FLARE_DOWN) {
        send_down(tree, (uint8_t *)task->pkt_mem, task->pkt_mem_size, head->block);
        return;
    }
    if (!flare_is_from_child(task, tree)) {
        return;
    }
    uint8_t *own = (uint8_t *)task->scratchpad[args->cluster_id] + FLARE_CONFIGURATION_BYTES;
    own += args->hpu_id * (sizeof(block_t) + SPARSE_FRAME_BYTES);
    work_t work = {args, tree, (block_t *)own, own + sizeof(block_t), head->block, 0};
    combine(&work, head);
}
