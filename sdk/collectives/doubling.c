/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allreduce by recursive doubling, for short vectors and groups of any size (group.h has the format).
 *
 * In step s, from 1 on, a rank exchanges its sums with the rank whose number differs in bit s - 1. If the size is not a
 * power of two, the ranks beyond the next lower power 2^k take part through another rank: in step 0, rank 2^k + i sends
 * its vector to rank i, and at the end it gets the result from rank i.
 *
 * A step needs the partner's packet and this rank's sums of the previous step, which come in any order. The handler of
 * the first one stores it in handler memory; the handler of the second one combines both. So no handler waits. A rank
 * that is `window` blocks ahead can send before its partner has finished the block in the same place, so there are 2 *
 * window places.
 *
 * -DTYPE and -DOP are those of spin_reduce.h. Memory: handler memory: the configuration, then 64 bytes and 14 blocks
 * for each of 2 * window places. Scratchpad: the configuration and two frames for each HPU.
 */
#include "group.h"

#define STEPS 7         /* step 0 for the ranks beyond the power of two, then 6 for 64 ranks */
#define RESULT_STEP 100 /* the result, for a rank beyond the power of two */

typedef struct {
    volatile uint32_t first_has_come; /* a bit for each step */
    uint32_t unused[15];
    uint8_t waiting[STEPS][2][GROUP_BLOCK_BYTES]; /* this rank's sums, the partner's */
} place_t;

static void copy(void *to, const void *from, uint32_t bytes)
{
    spin_dma_t copied;
    spin_dma((void *)from, to, bytes, 0, 0, &copied);
    spin_dma_wait(copied);
}

static uint32_t power_below(uint32_t size)
{
    uint32_t power = 1;
    while (power * 2 <= size) {
        power *= 2;
    }
    return power;
}

/* True if this rank receives a partner's data in this step. */
static bool is_step(const group_t *group, uint32_t step)
{
    const uint32_t power = power_below(group->size);
    if (step == 0) {
        return group->rank + power < group->size;
    }
    return group->rank < power && step < STEPS && 1u << (step - 1) < power;
}

static void begin(const handler_args_t *args, const group_t *group, uint32_t block);

/* Stores the result, which is in `frame`, and begins another block. */
static void finish(const handler_args_t *args, const group_t *group, uint8_t *frame, uint32_t block, uint32_t bytes)
{
    group_deliver(args, group, block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
    begin(args, group, block + group->window);
}

/* Accepts data of a step, from a frame in L1: this rank's sums (`side` 0) or the partner's. Performs all complete steps. */
static void arrive(const handler_args_t *args, const group_t *group, uint8_t *frame, uint32_t block, uint32_t step,
                   uint32_t side)
{
    const uint32_t power = power_below(group->size), rank = group->rank, bytes = group_block_bytes(group, block);
    place_t *places = (place_t *)((uint8_t *)args->task->handler_mem + GROUP_CONFIGURATION_BYTES);
    place_t *place = &places[block % (2 * group->window)];
    uint8_t *data = frame + FLARE_DATA_AT, *fetched = group_frame(args) + NUM_CLUSTER_HPUS * GROUP_FRAME_BYTES;
    while (step == 0 || 1u << (step - 1) < power) {
        const uint32_t partner = step == 0 ? rank + power : rank ^ 1u << (step - 1);
        if (step == 0 && partner >= group->size) { /* no rank sends to this one in step 0 */
            step = 1;
            side = 0;
            if (power > 1) {
                group_send(group, frame, rank ^ 1, (group_head_t){block, (uint16_t)rank, 1, bytes});
            }
            continue;
        }
        copy(place->waiting[step][side], data, bytes);
        if ((amo_xor(&place->first_has_come, 1u << step) >> step & 1) == 0) {
            return;
        }
        copy(fetched, place->waiting[step][1 - side], bytes);
        const bool own_is_first = rank < partner, data_is_own = side == 0;
        spin_reduce(TYPE, OP, data, own_is_first == data_is_own ? data : fetched,
                    own_is_first == data_is_own ? fetched : data, bytes);
        step++;
        side = 0;
        if (1u << (step - 1) < power) {
            const group_head_t head = {block, (uint16_t)rank, (uint16_t)step, bytes};
            group_send(group, frame, rank ^ 1u << (step - 1), head);
        }
    }
    if (rank + power < group->size) {
        group_send(group, frame, rank + power, (group_head_t){block, (uint16_t)rank, RESULT_STEP, bytes});
    }
    finish(args, group, frame, block, bytes);
}

static void begin(const handler_args_t *args, const group_t *group, uint32_t block)
{
    if (block >= group->blocks) {
        return;
    }
    const uint32_t power = power_below(group->size), rank = group->rank, bytes = group_block_bytes(group, block);
    uint8_t *frame = group_frame(args);
    group_fetch(args->task, block * GROUP_BLOCK_BYTES, frame + FLARE_DATA_AT, bytes);
    if (rank >= power) {
        group_send(group, frame, rank - power, (group_head_t){block, (uint16_t)rank, 0, bytes});
    } else {
        arrive(args, group, frame, block, 0, 0);
    }
}

__handler__ void doubling_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    if (flare_port(task) == GROUP_GO) {
        const uint32_t block = group_next(args);
        if (block < group->window) {
            begin(args, group, block);
        }
        return;
    }
    const group_head_t *head = group_head(task);
    if (head == NULL || head->block >= group->blocks || head->bytes != group_block_bytes(group, head->block)) {
        return;
    }
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    if (head->step == RESULT_STEP) {
        if (group->rank >= power_below(group->size)) {
            finish(args, group, frame, head->block, head->bytes);
        }
    } else if (is_step(group, head->step)) {
        arrive(args, group, frame, head->block, head->step, 1);
    }
}
