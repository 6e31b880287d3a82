/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare on the NICs of hosts: sends the blocks of a vector in host memory, and writes the results there (flare.h has
 * the format).
 *
 * Each packet to port FLARE_GO starts one of the first `window` blocks. The result of block b starts block b + window.
 * The processor does nothing until the 8 bytes behind the result become 1.
 *
 * Memory: scratchpad: 256 bytes for the configuration, then a frame for each HPU. Handler memory: the configuration
 * with its counters, then a bit for each block. Host memory: the vector and the result.
 */
#include "flare.h"

#define FRAMES_AT 256
#define STORED_AT 64
#define FRAME_BYTES ((FLARE_DATA_AT + FLARE_BLOCK_BYTES + 63) / 64 * 64)

_Static_assert(sizeof(flare_host_t) <= STORED_AT, "the bits are behind the configuration");

static uint32_t block_bytes(const flare_host_t *host, uint32_t block)
{
    return MIN(host->bytes - block * FLARE_BLOCK_BYTES, FLARE_BLOCK_BYTES);
}

/* Fetches a block from host memory and sends it. */
static void send_block(const handler_args_t *args, const flare_host_t *host, uint32_t block)
{
    const task_t *task = args->task;
    uint8_t *frame = (uint8_t *)task->scratchpad[args->cluster_id] + FRAMES_AT + args->hpu_id * FRAME_BYTES;
    const uint32_t bytes = block_bytes(host, block);
    spin_cmd_t fetched;
    spin_dma_from_host(spin_host_address(task, block * FLARE_BLOCK_BYTES), (uintptr_t)frame + FLARE_DATA_AT, bytes, false,
                       &fetched);
    const uint32_t size = flare_headers(frame, &host->self, &host->root, FLARE_UP, bytes);
    *(flare_head_t *)(frame + FLARE_HEAD_AT) = (flare_head_t){
        .block = block,
        .root = host->root.ip,
        .elements = (uint16_t)(bytes / host->element_bytes),
        .split = 1,
        .port = (uint8_t)host->port,
    };
    spin_cmd_wait(fetched);
    flare_send(frame, size);
}

/* True for the first result of a block. */
static bool is_first(const task_t *task, uint32_t block)
{
    volatile uint32_t *stored = (volatile uint32_t *)((uint8_t *)task->handler_mem + STORED_AT);
    return (amo_or(&stored[block / 32], 1u << block % 32) >> block % 32 & 1) == 0;
}

/* Writes a result to host memory; the last one sets the flag for the processor. */
static void store_block(const handler_args_t *args, const flare_host_t *host, uint32_t block)
{
    const task_t *task = args->task;
    flare_host_t *counters = (flare_host_t *)task->handler_mem;
    spin_cmd_t stored;
    spin_dma_to_host(spin_host_address(task, host->result + block * FLARE_BLOCK_BYTES),
                     (uintptr_t)task->pkt_mem + FLARE_DATA_AT, block_bytes(host, block), false, &stored);
    spin_cmd_wait(stored);
    if ((uint32_t)amo_add(&counters->finished, 1) + 1 == host->blocks) {
        spin_write_to_host(spin_host_address(task, host->result + host->bytes), 1, &stored);
    }
}

__handler__ void flare_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const flare_host_t *host = (const flare_host_t *)flare_configuration(args, sizeof(flare_host_t));
    const uint32_t port = flare_port(task);
    if (port == FLARE_GO) {
        const uint32_t in_flight = MIN(host->window, host->blocks);
        const uint32_t k = (uint32_t)amo_add(&((flare_host_t *)task->handler_mem)->started, 1);
        if (k < in_flight) {
            send_block(args, host, (host->first + k) % in_flight);
        }
        return;
    }
    const uint32_t block = flare_head(task)->block;
    if (port != FLARE_DOWN || block >= host->blocks || flare_data_bytes(task) != block_bytes(host, block) ||
        !is_first(task, block)) {
        return;
    }
    if (block + host->window < host->blocks) {
        send_block(args, host, block + host->window);
    }
    store_block(args, host, block);
}
