/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barrier by dissemination (group.h has the format): in round r, rank i sends a packet to rank i + 2^r, and waits for
 * the packet of rank i - 2^r, both modulo n. After ceil(log2 n) rounds, all ranks have entered the barrier. A start
 * packet makes its rank enter. At the end, the handler writes the number of completed barriers to host memory. A rank
 * may be one barrier ahead of another one, so even and odd barriers have separate records of arrivals.
 *
 * Memory: handler memory behind the configuration. No handler waits for a packet; handlers wait for the lock only.
 */
#include "group.h"

typedef struct {
    spin_lock_t lock;
    uint32_t arrived[2]; /* a bit for each round */
    uint32_t epoch;      /* barriers that this rank has completed */
    uint32_t entered;    /* barriers that it has entered */
    uint32_t round;      /* current round: this rank has sent its packet and waits for the other one */
} state_t;

static void send_round(const handler_args_t *args, const group_t *group, uint32_t epoch, uint32_t round)
{
    const group_head_t head = {epoch, (uint16_t)group->rank, (uint16_t)round, 0};
    group_send(group, group_frame(args), (group->rank + (1u << round)) % group->size, head);
}

/* Completes all rounds whose packets have arrived. The caller holds the lock. */
static void advance(const handler_args_t *args, const group_t *group, state_t *state)
{
    while (state->entered > state->epoch && (state->arrived[state->epoch % 2] >> state->round & 1) != 0) {
        state->round++;
        if (1u << state->round < group->size) {
            send_round(args, group, state->epoch, state->round);
            continue;
        }
        state->arrived[state->epoch % 2] = 0;
        state->epoch++;
        state->round = 0;
        spin_cmd_t written;
        spin_write_to_host(spin_host_address(args->task, group->result), state->epoch, &written);
        spin_cmd_wait(written);
        if (state->entered > state->epoch) {
            send_round(args, group, state->epoch, 0);
        }
    }
}

__handler__ void barrier_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    const group_head_t *head = group_head(task);
    state_t *state = (state_t *)((uint8_t *)task->handler_mem + GROUP_CONFIGURATION_BYTES);
    spin_lock_lock(&state->lock);
    if (head == NULL) {
        state->entered++;
        if (state->entered == state->epoch + 1) {
            send_round(args, group, state->epoch, 0);
        }
    } else {
        state->arrived[head->block % 2] |= 1u << head->step % 32;
    }
    advance(args, group, state);
    spin_lock_unlock(&state->lock);
}
