/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storage node of a distributed file system, on the card: it validates requests, writes and reads host memory, and
 * forwards, encodes and acknowledges writes, without the host.
 *
 * The header handler checks the request and its capability, keeps the result in the table of messages, and forwards the
 * request to the next nodes. The payload handler does the work of each packet of an accepted request, and waits until
 * the data are in host memory. The completion handler does the work of the last packet and answers the client. Payload
 * handlers run at the same time and end in any order, so only the header handler can forward the first packet first,
 * and the completion handler the last one last. After Di Girolamo et al., "Building Blocks for Network-Accelerated
 * Distributed File Systems", SC 2022, as presented at the OFA Workshop 2022; the packet format (wire.h) is our own.
 *
 * Packets of a message may come twice, and in any order between its first and last one. If packets are missing at its
 * end, the node answers STORAGE_TORN, and the client repeats the message with the next attempt.
 *
 * Memory: handler memory and scratchpad as in node.h, 649 KiB in L2 and 219 KiB in each L1. Addresses are offsets in
 * host memory. Cost: see docs/guides/storage.md.
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
    bool is_inside = is_within(request->address, request->bytes, capability->begin, capability->bytes) &&
                     is_within(request->address, request->bytes, 0, task->host_mem_size);
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
    if (header->kind == STORAGE_WRITE && request->policy == STORAGE_CODE_PARITY) {
        message->stripe = storage_open_stripe(task, header);
        if (message->stripe == NULL) {
            return STORAGE_BUSY;
        }
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
        storage_count(task, STORAGE_REFUSED);
        if (is_answerable) {
            storage_reply((uint8_t *)task->pkt_mem, message->own, status, 0);
        }
    } else if ((storage_packet(task)->place & STORAGE_LAST) == 0) {
        storage_forward(message, (uint8_t *)task->pkt_mem, STORAGE_ONLY_DATA_AT);
    }
}

/*
 * Send the data of a read, block by block. The headers of a packet take the place of the last data of the packet before, which
 * has been sent.
 */
static void __attribute__((noinline)) read_all(const handler_args_t *args, const storage_message_t *message)
{
    const task_t *task = args->task;
    uint8_t *packet = (uint8_t *)task->pkt_mem;
    uint8_t *block = storage_block(args);
    const uint32_t bytes = message->bytes;
    for (uint32_t at = 0; at < bytes;) {
        const uint32_t end = at + MIN(bytes - at, STORAGE_BLOCK);
        spin_cmd_t read, sent;
        spin_dma_from_host(spin_host_address(task, message->address + at), (uintptr_t)block, end - at, false, &read);
        if (at == 0) {
            storage_turn(packet, message->own, STORAGE_DATA, STORAGE_DATA_AT); /* the template of all packets */
        }
        spin_cmd_wait(read);
        for (uint8_t *room = block - STORAGE_DATA_AT; at < end; at += STORAGE_UNIT, room += STORAGE_UNIT) {
            const uint32_t n = MIN(bytes - at, STORAGE_UNIT);
            for (uint32_t i = 0; i < STORAGE_DATA_AT / 4; i++) {
                ((uint32_t *)room)[i] = ((const uint32_t *)packet)[i];
            }
            storage_packet_t *header = (storage_packet_t *)(room + STORAGE_PACKET_AT);
            storage_resize(room, STORAGE_DATA_AT + n);
            header->offset = at;
            header->bytes = (uint16_t)n;
            header->place = (at == 0 ? STORAGE_FIRST : 0) | (at + n == bytes ? STORAGE_LAST : 0);
            spin_send_packet(room, STORAGE_DATA_AT + n, &sent);
            spin_cmd_wait(sent);
        }
    }
}

/* Write to host memory from the packet in L2: it is unchanged there, and leaves in rows of 64 bytes. */
static spin_cmd_t write_from_l2(const task_t *task, uint32_t address, uint32_t at, uint32_t n)
{
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, address), (uintptr_t)task->l2_pkt_mem + at, n, false, &written);
    return written;
}

/* Write the complete parity of a unit to the host. The last unit of the stripe acknowledges the stripe. */
static void store_parity(const task_t *task, const storage_message_t *message, uint32_t offset, const uint8_t *data, uint32_t n)
{
    storage_stripe_t *stripe = message->stripe;
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, message->address + offset), (uintptr_t)data, n, false, &written);
    spin_cmd_wait(written);
    if ((uint32_t)amo_add((volatile int32_t *)&stripe->done, 1) + 1 == message->units) {
        amo_store(&stripe->client, 0);
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

__handler__ void storage_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    storage_message_t *message = storage_message(task);
    if (!message->is_accepted) {
        return;
    }
    if (__builtin_expect(message->kind == STORAGE_READ, 0)) { /* a branch that is not taken is faster */
        read_all(args, message);
    } else if ((storage_packet(task)->place & (STORAGE_FIRST | STORAGE_LAST)) == 0) {
        take(args, message);
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
