/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storage node of a distributed file system, on the card: it validates requests, writes and reads host memory or its own,
 * and forwards, encodes and acknowledges writes, without the host.
 *
 * The header handler checks the request and its capability, keeps the result in the table of messages, and forwards the
 * request to the next nodes. The payload handler does the work of each packet of an accepted request, and waits until
 * the data are in host memory. The completion handler does the work of the last packet and answers the client. Payload
 * handlers run at the same time and end in any order, so only the header handler can forward the first packet first,
 * and the completion handler the last one last. After Di Girolamo et al., "Building Blocks for Network-Accelerated
 * Distributed File Systems", SC 2022, as presented at the OFA Workshop 2022; the packet format (wire.h) is our own.
 *
 * Packets of a message may come twice, and in any order between its first and last one. A message of one packet that comes twice
 * is two messages: the nodes that compute parity ignore the second one, because it would change the parity. If packets are
 * missing at the end of a message, the node answers STORAGE_TORN, and the client repeats the message with the next attempt.
 *
 * Memory: handler memory and scratchpad as in node.h, 845 KiB in L2 and 156 KiB in each L1. Handler memory beyond that is for
 * objects that clients keep on the card. Cost: see docs/guides/storage.md.
 *
 * With -DSTORAGE_RV32, PULP's instructions are not used.
 *
 * Run it with `spinet.storage.node()`, which has the context's match expression, message definition and memory.
 */
#if defined(__riscv) && !defined(STORAGE_RV32)
#define SPIN_XPULP
#endif

#include "capability.h"
#include "code.h"
#include "node.h"
#include "raid.h"
#include "send.h"
#include "wire.h"

/* True if a range lies within another one; safe for any numbers. */
static bool is_within(uint32_t address, uint32_t bytes, uint32_t begin, uint32_t size)
{
    return address >= begin && bytes <= size && address - begin <= size - bytes;
}

/* Returns STORAGE_OK if the capability grants the request, otherwise the reason. */
static uint32_t check_capability(const handler_args_t *args, const storage_packet_t *header, const storage_request_t *request)
{
    const task_t *task = args->task;
    const storage_capability_t *capability = &request->capability;
    storage_known_t *known = &storage_own(args)->known[capability->tag[0] % STORAGE_KNOWN];
    if (capability->client != header->client || !storage_is_genuine(known, storage_node(task)->key, capability)) {
        return STORAGE_FORGED;
    }
    if ((uint32_t)(spin_now() >> STORAGE_TICK_SHIFT) >= capability->expires) {
        return STORAGE_EXPIRED;
    }
    uint32_t right = header->kind == STORAGE_READ ? STORAGE_MAY_READ : STORAGE_MAY_WRITE;
    if ((capability->rights & right) == 0) {
        return STORAGE_FORBIDDEN;
    }
    /* Only plain writes and replicas can be on the card. */
    const bool is_on_card = storage_is_on_card(request->address) && request->policy <= STORAGE_TREE;
    const uint32_t first = is_on_card ? STORAGE_CARD_AT : 0;
    const uint32_t size = is_on_card ? storage_card_bytes(task) : MIN(task->host_mem_size, STORAGE_CARD_AT);
    bool is_inside = is_within(request->address, request->bytes, capability->begin, capability->bytes) &&
                     is_within(request->address, request->bytes, first, size);
    return is_inside ? STORAGE_OK : STORAGE_OUT_OF_RANGE;
}

/* False if no node can execute the request. */
static bool is_well_formed(const storage_packet_t *header, const storage_request_t *request)
{
    const uint32_t k = request->k, m = request->m, rank = request->rank;
    if (header->client == 0 || request->bytes == 0 || request->bytes > STORAGE_MAX_UNITS * STORAGE_UNIT) {
        return false;
    }
    if (header->kind == STORAGE_READ) {
        return header->place == (STORAGE_FIRST | STORAGE_LAST);
    }
    if (header->kind != STORAGE_WRITE) {
        return false;
    }
    switch (request->policy) {
    case STORAGE_PLAIN:
        return true;
    case STORAGE_CHAIN:
    case STORAGE_TREE:
        return k >= 1 && k <= STORAGE_MAX_NODES && rank < k;
    case STORAGE_CODE_DATA:
    case STORAGE_CODE_PARITY:
        return k >= 1 && rank < k && m >= 1 && m <= STORAGE_MAX_PARITY;
    case STORAGE_RAID_DATA:
    case STORAGE_RAID_PARITY:
        return true;
    default:
        return false;
    }
}

/* Finds the nodes to which this message's packets are forwarded. */
static void plan_forwarding(storage_message_t *message, const storage_request_t *request)
{
    const uint32_t k = request->k, rank = request->rank;
    uint32_t child = k, n_children = 0, n = 0;
    message->next_policy = request->policy;
    switch (request->policy) {
    case STORAGE_CHAIN:
        child = rank + 1;
        n_children = 1;
        break;
    case STORAGE_TREE:
        child = 2 * rank + 1;
        n_children = 2;
        break;
    case STORAGE_CODE_DATA:
        for (uint32_t j = 0; j < request->m; j++) {
            message->next[j] = request->nodes[j];
            message->coefficients[j] = request->coefficients[j];
        }
        n = request->m;
        message->next_policy = STORAGE_CODE_PARITY;
        break;
    case STORAGE_RAID_DATA:
        message->next[0] = request->nodes[0];
        n = 1;
        message->next_policy = STORAGE_RAID_PARITY;
        break;
    default:
        break;
    }
    for (; n < n_children && child < k; n++, child++) {
        message->next[n] = request->nodes[child];
        message->next_rank[n] = (uint8_t)child;
    }
    message->n_next = (uint8_t)n;
}

/* Not a status of a reply: the message has come before, and its products or differences must be added once only. */
#define REPEATED 256

/* Fills the message's entry of the table. Returns the status of the request. */
static uint32_t open_message(const handler_args_t *args, storage_message_t *message)
{
    const task_t *task = args->task;
    const storage_packet_t *header = storage_packet(task);
    const storage_request_t *request = (const storage_request_t *)(header + 1);
    if (task->pkt_mem_size < STORAGE_ONLY_DATA_AT || (header->place & STORAGE_FIRST) == 0 ||
        task->handler_mem_size < sizeof(storage_node_t) || !is_well_formed(header, request)) {
        return STORAGE_MALFORMED;
    }
    message->kind = header->kind;
    message->address = request->address;
    message->bytes = request->bytes;
    message->units = header->kind == STORAGE_READ ? 1 : (request->bytes + STORAGE_UNIT - 1) / STORAGE_UNIT;
    message->policy = request->policy;
    message->k = request->k;
    message->m = request->m;
    message->rank = request->rank;
    for (uint32_t i = 0; i < (message->units + 31) / 32; i++) {
        message->arrived[i] = 0;
    }
    plan_forwarding(message, request);
    uint32_t status = check_capability(args, header, request);
    if (status != STORAGE_OK) {
        return status;
    }
    if (header->kind != STORAGE_WRITE) {
        return STORAGE_OK;
    }
    if (request->policy == STORAGE_CODE_PARITY) {
        message->stripe = storage_open_stripe(args, header, request->rank);
        return message->stripe < STORAGE_STRIPES ? STORAGE_OK : message->stripe == STORAGE_REPEATED ? REPEATED : STORAGE_BUSY;
    }
    if (request->policy >= STORAGE_RAID_DATA && !storage_is_new_update(task, header, request->policy)) {
        return REPEATED;
    }
    return STORAGE_OK;
}

__handler__ void storage_hh(handler_args_t *args)
{
    const task_t *task = args->task;
    storage_message_t *message = storage_message(task);
    const bool is_answerable = task->pkt_mem_size >= STORAGE_REPLY_BYTES;
    uint32_t status = STORAGE_MALFORMED;
    message->received = 0;
    message->status = STORAGE_OK;
    if (is_answerable) {
        message->own = storage_ip((uint8_t *)task->pkt_mem)->dst;
        status = open_message(args, message);
    }
    message->is_accepted = status == STORAGE_OK;
    if (!message->is_accepted) {
        /* The first packet is not needed any more: packets of a refused message are ignored. */
        storage_count(task, status == REPEATED ? STORAGE_DUPLICATES : STORAGE_REFUSED);
        if (is_answerable && status != REPEATED) {
            storage_reply((uint8_t *)task->pkt_mem, message->own, status, 0);
        }
    } else if ((storage_packet(task)->place & STORAGE_LAST) == 0) {
        storage_forward(message, (uint8_t *)task->pkt_mem, STORAGE_ONLY_DATA_AT);
    }
}

/* Write to host memory from the packet in L2: it is unchanged there, and leaves in rows of 64 bytes. */
static spin_cmd_t write_from_l2(const task_t *task, uint32_t address, uint32_t at, uint32_t n)
{
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, address), (uintptr_t)task->l2_pkt_mem + at, n, false, &written);
    return written;
}

/* Write to the card's memory, and wait. */
static void __attribute__((noinline)) keep(const task_t *task, uint32_t address, uint8_t *data, uint32_t n)
{
    spin_dma_t copied;
    spin_dma(data, storage_on_card(task, address), n, SPIN_DMA_LOC2EXT, 0, &copied);
    spin_dma_wait(copied);
}

/* Write the complete parity of a unit to the host. The last unit of the stripe acknowledges the stripe. */
static void store_parity(const task_t *task, const storage_message_t *message, uint32_t offset, const uint8_t *data, uint32_t n)
{
    storage_node_t *node = storage_node(task);
    storage_sums_t *sums = &node->sums[message->stripe];
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, message->address + offset), (uintptr_t)data, n, false, &written);
    spin_cmd_wait(written);
    if ((uint32_t)amo_add((volatile int32_t *)&sums->done, 1) + 1 == message->units) {
        amo_store(&sums->done, 0);
        amo_store(&node->stripes[message->stripe].is_finished, 1);
        storage_reply((uint8_t *)task->pkt_mem, message->own, STORAGE_OK, message->bytes);
    }
}

/* Do the work of a write's packet, which is not a duplicate. False if no accumulator is free. */
static bool process(const handler_args_t *args, const storage_message_t *message, uint32_t offset, uint8_t *data, uint32_t n)
{
    const task_t *task = args->task;
    uint8_t *packet = (uint8_t *)task->pkt_mem;
    const uint32_t at = (uint32_t)(data - packet), address = message->address + offset;
    spin_cmd_t written;
    int sum;
    switch (message->policy) {
    case STORAGE_CODE_DATA:
        written = write_from_l2(task, address, at, n);
        storage_encode(args, message, packet, data, n);
        spin_cmd_wait(written);
        return true;
    case STORAGE_CODE_PARITY:
        sum = storage_accumulate(args, message, offset / STORAGE_UNIT, data, n);
        if (sum > 0) {
            store_parity(task, message, offset, data, n);
        }
        return sum >= 0;
    case STORAGE_RAID_DATA:
        storage_exchange(args, address, data, n, false);
        storage_forward(message, packet, at + n);
        return true;
    case STORAGE_RAID_PARITY:
        storage_exchange(args, address, data, n, true);
        return true;
    default:
        if (__builtin_expect(storage_is_on_card(address), 0)) {
            keep(task, address, data, n);
            storage_forward(message, packet, at + n);
            return true;
        }
        written = write_from_l2(task, address, at, n);
        storage_forward(message, packet, at + n);
        spin_cmd_wait(written);
        return true;
    }
}

/* Take a packet of a write. Each unit is in one packet. */
static void take(const handler_args_t *args, storage_message_t *message)
{
    const task_t *task = args->task;
    const storage_packet_t *header = storage_packet(task);
    const uint32_t at = header->place & STORAGE_FIRST ? STORAGE_ONLY_DATA_AT : STORAGE_DATA_AT;
    const uint32_t offset = header->offset, unit = offset / STORAGE_UNIT, n = header->bytes;
    if (task->pkt_mem_size < at || n > task->pkt_mem_size - at || header->kind != STORAGE_WRITE || unit >= message->units ||
        offset != unit * STORAGE_UNIT || n != MIN(message->bytes - offset, STORAGE_UNIT)) {
        storage_count(task, STORAGE_STRAYS);
        return;
    }
    const uint32_t bit = 1u << unit % 32;
    if (amo_or(&message->arrived[unit / 32], bit) & bit) {
        storage_count(task, STORAGE_DUPLICATES);
        return;
    }
    if (process(args, message, offset, (uint8_t *)task->pkt_mem + at, n)) {
        amo_add(&message->received, 1);
    } else {
        storage_count(task, STORAGE_POOL_EMPTY);
        message->status = STORAGE_BUSY;
    }
}

/* Set the fields of a packet with `n` bytes of a read, which has the headers of a packet with STORAGE_UNIT bytes. */
static inline void fill_in(uint8_t *packet, uint32_t at, uint32_t n, uint32_t bytes)
{
    storage_packet_t *header = (storage_packet_t *)(packet + STORAGE_PACKET_AT);
    header->offset = at;
    header->bytes = (uint16_t)n;
    header->place = (at == 0 ? STORAGE_FIRST : 0) | (at + n == bytes ? STORAGE_LAST : 0);
    if (n != STORAGE_UNIT) {
        storage_resize(packet, STORAGE_DATA_AT + n);
    }
}

/* Begin to copy the packet at `at` of a block of `n` bytes into its room. */
static inline spin_dma_t begin_packet(uint8_t (*rooms)[STORAGE_ROOM], uint8_t *block, uint32_t at, uint32_t n)
{
    spin_dma_t copied;
    spin_dma(block + at, rooms[at / STORAGE_UNIT] + STORAGE_DATA_AT, MIN(n - at, STORAGE_UNIT), SPIN_DMA_EXT2LOC, 0, &copied);
    return copied;
}

/*
 * Send a block of `n` bytes in L2, which are at `first` in the read. The data of a packet are copied into its room while the two
 * packets before are sent.
 */
static void __attribute__((noinline)) send_block(uint8_t (*rooms)[STORAGE_ROOM], uint8_t *block, uint32_t n, uint32_t first,
                                                 uint32_t bytes)
{
    spin_cmd_t sent[2] = {0, 0};
    spin_dma_t copied[2];
    copied[0] = begin_packet(rooms, block, 0, n);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < STORAGE_BLOCK / STORAGE_UNIT; i++) {
        const uint32_t at = i * STORAGE_UNIT;
        if (at >= n) {
            break;
        }
        if (at + STORAGE_UNIT < n) {
            copied[(i + 1) % 2] = begin_packet(rooms, block, at + STORAGE_UNIT, n);
        }
        const uint32_t size = MIN(n - at, STORAGE_UNIT);
        fill_in(rooms[i], first + at, size, bytes);
        spin_dma_wait(copied[i % 2]);
        if (i >= 2) {
            spin_cmd_wait(sent[i % 2]);
        }
        spin_send_packet(rooms[i], STORAGE_DATA_AT + size, &sent[i % 2]);
    }
    spin_cmd_wait(sent[0]);
    spin_cmd_wait(sent[1]);
}

/* Begin to read the block at `at` of a read from the host, if there is one. */
static inline void begin_block(const handler_args_t *args, const storage_message_t *message, uint32_t at, uint8_t *to,
                               spin_cmd_t *read)
{
    if (at < message->bytes) {
        const uint64_t host = spin_host_address(args->task, message->address + at);
        spin_dma_from_host(host, (uintptr_t)to, MIN(message->bytes - at, STORAGE_BLOCK), false, read);
    }
}

/*
 * Send the data of a read, block by block. While the packets of a block are sent, two blocks of the host's memory are read: these
 * are the four commands that a core can have under way. A new command may get the handle of one that has ended, so a read begins
 * only after the waits for all commands that must end before it.
 */
static void __attribute__((noinline)) read_all(const handler_args_t *args, const storage_message_t *message)
{
    const task_t *task = args->task;
    uint8_t *packet = (uint8_t *)task->pkt_mem;
    uint8_t(*rooms)[STORAGE_ROOM] = storage_own(args)->rooms[args->hpu_id];
    const uint32_t bytes = message->bytes;
    const bool is_on_card = storage_is_on_card(message->address);
    uint32_t number = 0;
    spin_cmd_t reads[2] = {0, 0};  /* reads of this block and of the next one */
    uint8_t *blocks[STORAGE_BLOCKS]; /* memory of this block and of the next two */
    if (!is_on_card) {
        blocks[0] = storage_take_blocks(args, &number);
        blocks[1] = blocks[0] + STORAGE_BLOCK;
        blocks[2] = blocks[1] + STORAGE_BLOCK;
        begin_block(args, message, 0, blocks[0], &reads[0]);
        begin_block(args, message, STORAGE_BLOCK, blocks[1], &reads[1]);
    }
    storage_turn(packet, message->own, STORAGE_DATA, STORAGE_DATA_AT + STORAGE_UNIT);
    for (uint32_t room = 0; room < STORAGE_BLOCK / STORAGE_UNIT && room * STORAGE_UNIT < bytes; room++) {
        __builtin_memcpy(__builtin_assume_aligned(rooms[room], 4), __builtin_assume_aligned(packet, 4), STORAGE_DATA_AT);
    }
    for (uint32_t at = 0; at < bytes; at += STORAGE_BLOCK) {
        const uint32_t n = MIN(bytes - at, STORAGE_BLOCK);
        if (is_on_card) {
            send_block(rooms, storage_on_card(task, message->address + at), n, at, bytes);
            continue;
        }
        uint8_t *block = blocks[0];
        spin_cmd_wait(reads[0]);
        reads[0] = reads[1];
        begin_block(args, message, at + 2 * STORAGE_BLOCK, blocks[2], &reads[1]);
        send_block(rooms, block, n, at, bytes);
        blocks[0] = blocks[1];
        blocks[1] = blocks[2];
        blocks[2] = block;
    }
    if (!is_on_card) {
        storage_free_blocks(storage_node(task), number);
    }
}

/* Send the data of a read in one packet, from the host directly to its room: the first, or the second if that crosses a page. */
static void __attribute__((noinline)) read_one(const handler_args_t *args, const storage_message_t *message)
{
    const task_t *task = args->task;
    uint8_t *packet = (uint8_t *)task->pkt_mem;
    uint8_t(*rooms)[STORAGE_ROOM] = storage_own(args)->rooms[args->hpu_id];
    const uint32_t bytes = message->bytes, at = (uint32_t)(uintptr_t)rooms[0] + STORAGE_DATA_AT;
    uint8_t *room = rooms[(at ^ (at + bytes - 1)) >= STORAGE_BLOCK];
    spin_cmd_t command;
    spin_dma_from_host(spin_host_address(task, message->address), (uintptr_t)room + STORAGE_DATA_AT, bytes, false, &command);
    storage_turn(packet, message->own, STORAGE_DATA, STORAGE_DATA_AT + STORAGE_UNIT);
    __builtin_memcpy(__builtin_assume_aligned(room, 4), __builtin_assume_aligned(packet, 4), STORAGE_DATA_AT);
    fill_in(room, 0, bytes, bytes);
    spin_cmd_wait(command);
    spin_send_packet(room, STORAGE_DATA_AT + bytes, &command);
    spin_cmd_wait(command);
}

__handler__ void storage_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    storage_message_t *message = storage_message(task);
    if (!message->is_accepted) {
        return;
    }
    if (__builtin_expect(message->kind != STORAGE_READ, 1)) { /* a branch that is not taken is faster */
        if ((storage_packet(task)->place & (STORAGE_FIRST | STORAGE_LAST)) == 0) {
            take(args, message);
        }
        return;
    }
    if (message->bytes <= STORAGE_UNIT && !storage_is_on_card(message->address)) {
        read_one(args, message);
    } else {
        read_all(args, message);
    }
}

/* Runs after all payload handlers, which have waited: their data are in host memory, and their copies are sent. */
__handler__ void storage_th(handler_args_t *args)
{
    const task_t *task = args->task;
    storage_message_t *message = storage_message(task);
    if (!message->is_accepted || message->kind == STORAGE_READ) {
        return; /* the data are the answer to a read */
    }
    take(args, message);
    uint32_t status = message->status;
    if (status == STORAGE_OK && (uint32_t)message->received != message->units) {
        storage_count(task, STORAGE_TORN_ENDS);
        status = STORAGE_TORN;
    }
    if (status == STORAGE_OK && message->policy == STORAGE_CODE_PARITY) {
        return; /* the message with the stripe's last unit acknowledges it */
    }
    storage_reply((uint8_t *)task->pkt_mem, message->own, status, status == STORAGE_OK ? message->bytes : 0);
}
