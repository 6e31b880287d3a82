/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flare on the NICs of hosts, for sparse vectors (sparse.h has the format). The processor writes packets to host
 * memory, from their Flare header on: `packets` places of 1,024 bytes for each block. The NIC inserts its number at the
 * switch and sends them. It writes packets of results behind them: `results` places for each block. It sends block b +
 * window when it has the result of block b.
 *
 * Memory: scratchpad: 256 bytes for the configuration, then a frame for each HPU. Handler memory: the configuration
 * with its counters, then a word for each block.
 */
#include "sparse.h"

#define FRAMES_AT 256
#define BLOCKS_AT 256

typedef struct {
    uint32_t blocks;
    uint32_t packets, results; /* places for each block */
    uint32_t result;           /* offset of the results in host memory; the 8 bytes behind them become 1 at the end */
    uint32_t window, first, port;
    flare_peer_t self, root;
    volatile int32_t started, finished;
} sparse_host_t;

static void send_block(const handler_args_t *args, const sparse_host_t *host, uint32_t block)
{
    const task_t *task = args->task;
    uint8_t *frame = (uint8_t *)task->scratchpad[args->cluster_id] + FRAMES_AT + args->hpu_id * SPARSE_FRAME_BYTES;
    flare_head_t *head = (flare_head_t *)(frame + FLARE_HEAD_AT);
    for (uint32_t i = 0; i < host->packets; i++) {
        const uint32_t at = (block * host->packets + i) * SPARSE_SLOT_BYTES;
        spin_cmd_t fetched;
        spin_dma_from_host(spin_host_address(task, at), (uintptr_t)head, sizeof(flare_head_t) + SPARSE_DATA_BYTES, false, &fetched);
        spin_cmd_wait(fetched);
        head->port = (uint8_t)host->port;
        flare_send(frame, flare_headers(frame, &host->self, &host->root, FLARE_UP, sparse_data_bytes(head->elements)));
        if (head->split != 0) {
            return;
        }
    }
}

__handler__ void sparse_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const sparse_host_t *host = (const sparse_host_t *)flare_configuration(args, sizeof(sparse_host_t));
    sparse_host_t *counters = (sparse_host_t *)task->handler_mem;
    const uint32_t port = flare_port(task);
    if (port == FLARE_GO) {
        const uint32_t in_flight = MIN(host->window, host->blocks), k = (uint32_t)amo_add(&counters->started, 1);
        if (k < in_flight) {
            send_block(args, host, (host->first + k) % in_flight);
        }
        return;
    }
    const flare_head_t *head = flare_head(task);
    if (port != FLARE_DOWN || head->block >= host->blocks || head->elements > SPARSE_MAX ||
        task->pkt_mem_size < FLARE_DATA_AT + sparse_data_bytes(head->elements)) {
        return;
    }
    /* Like sparse_is_done, but atomic; the count before this packet is its place. */
    volatile int32_t *progress = (volatile int32_t *)((uint8_t *)task->handler_mem + BLOCKS_AT) + head->block;
    const uint32_t place = (uint32_t)amo_add(progress, 0x10000) >> 16;
    if (place < host->results) {
        const uint32_t at = host->result + (head->block * host->results + place) * SPARSE_SLOT_BYTES;
        spin_cmd_t stored;
        spin_dma_to_host(spin_host_address(task, at), (uintptr_t)head, sizeof(flare_head_t) + sparse_data_bytes(head->elements), false,
                         &stored);
        spin_cmd_wait(stored);
    }
    /* The low byte counts stored packets; the byte above it becomes `split` of the last packet. */
    const uint32_t now = (uint32_t)amo_add(progress, 1 + (head->split << 8)) + 1 + (head->split << 8);
    if ((now >> 8 & 0xff) == 0 || (now >> 8 & 0xff) != (now & 0xff)) {
        return;
    }
    if (head->block + host->window < host->blocks) {
        send_block(args, host, head->block + host->window);
    }
    if ((uint32_t)amo_add(&counters->finished, 1) + 1 == host->blocks) {
        spin_cmd_t command;
        spin_write_to_host(spin_host_address(task, host->result + host->blocks * host->results * SPARSE_SLOT_BYTES), 1, &command);
    }
}
