/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strided datatype: a contiguous message is written to host memory as blocks with gaps between them.
 *
 * This is what MPI calls a vector: blocks of `block` bytes, `stride` bytes from the beginning of one to that of the
 * next. A vector may itself be repeated: after `blocks` blocks, the next plane begins `plane` bytes after the beginning
 * of the last one, like the faces of a three-dimensional array. The layout is in L2 handler memory, where the receiver
 * wrote it (spinet.workloads.layout). Packets may come in any order: each says where in the message its bytes belong.
 *
 * Memory: the layout comes from L2 by DMA; the data is moved by DMA, a command for each block or part of one.
 * Scratchpad: 16 bytes a core.
 * Handler memory: 16 bytes; a block of 0 bytes means no gaps at all. Host memory: the whole layout.
 * Cost: 110 cycles, and 35 for each block.
 *
 * Run it with --handler-memory LAYOUT --message 'all last' --traffic 'udp:size=1072,count=1024,payload=segment', for 1
 * MiB.
 */
#include <handler.h>
#include <spin_data.h>

typedef struct {
    uint32_t block;  /* bytes */
    uint32_t stride; /* bytes */
    uint32_t blocks; /* in a plane; 0: all */
    uint32_t plane;  /* bytes */
} layout_t;

/* The position in the layout of a byte of the message. */
typedef struct {
    uint32_t plane;    /* where its plane begins */
    uint32_t block;    /* where its block begins */
    uint32_t in_plane; /* blocks before it in its plane */
    uint32_t in_block; /* bytes before it in its block */
} place_t;

/* One DMA transfer into this core's place in L1: 40 cycles, instead of 21 for each of four words. */
static layout_t fetch(const handler_args_t *args)
{
    layout_t *copy = (layout_t *)args->task->scratchpad[args->cluster_id] + args->hpu_id;
    spin_dma_t fetched;
    spin_dma(args->task->handler_mem, copy, sizeof *copy, SPIN_DMA_EXT2LOC, 0, &fetched);
    spin_dma_wait(fetched);
    return *copy;
}

static place_t place_of(const layout_t *layout, uint32_t at)
{
    uint32_t index = at / layout->block;
    place_t place = {.in_plane = index, .in_block = at - index * layout->block};
    if (layout->blocks != 0) {
        uint32_t planes = index / layout->blocks;
        place.plane = planes * layout->plane;
        place.in_plane = index - planes * layout->blocks;
    }
    place.block = place.plane + place.in_plane * layout->stride;
    return place;
}

static void next_block(const layout_t *layout, place_t *place)
{
    place->in_block = 0;
    place->block += layout->stride;
    if (++place->in_plane == layout->blocks) {
        place->in_plane = 0;
        place->plane += layout->plane;
        place->block = place->plane;
    }
}

__handler__ void strided_ddt_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    if (data.size < sizeof(uint32_t) || task->handler_mem_size < sizeof(layout_t)) {
        return;
    }
    uint32_t at = *(const uint32_t *)data.data;
    /* The packet's data was not touched, so it is read from L2, which delivers rows of 64 bytes. */
    const uint8_t *from = (const uint8_t *)task->l2_pkt_mem + SPIN_DATA_OFFSET + sizeof(uint32_t);
    uint32_t left = data.size - sizeof(uint32_t);

    layout_t layout = fetch(args);
    if (layout.block == 0) {
        layout = (layout_t){.block = UINT32_MAX};
    }
    const uint64_t host = spin_host_address(task, 0);
    const uint32_t room = task->host_mem_size;
    place_t place = place_of(&layout, at);
    while (left > 0) {
        uint32_t size = MIN(left, layout.block - place.in_block), to = place.block + place.in_block;
        if (size > room || to > room - size) {
            return; /* the layout is larger than the context's host memory */
        }
        spin_cmd_t moved;
        spin_dma_to_host(host + to, (uintptr_t)from, size, false, &moved);
        from += size;
        left -= size;
        next_block(&layout, &place);
    }
}
