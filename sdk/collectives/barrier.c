/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barrier by dissemination (group.h has the format): in round r, rank i sends a packet to rank i + 2^r, and waits for
 * the packet of rank i - 2^r, both modulo n. After ceil(log2 n) rounds, all ranks have entered the barrier. A start
 * packet makes its rank enter. At the end, the handler writes the number of completed barriers to host memory. A rank
 * may be one barrier ahead of another one, so even and odd barriers have separate records.
 *
 * A round ends when two events have happened, in any order: this rank has come to the round, and the packet of the other
 * rank has come. Each event is one atomic on a bit of the round, and the handler of the second event begins the next
 * round. So no handler waits for a packet or a lock.
 *
 * Memory: handler memory behind the configuration: two atomics on L2 for each round. The packet's frame in L1 becomes
 * the next packet.
 */
#include "group.h"

typedef struct {
    volatile uint32_t half[2]; /* a bit for each round, set after the first of its two events; even and odd barriers */
    volatile int32_t entered;  /* barriers that this rank has entered and not completed */
    volatile uint32_t epoch;   /* barriers that it has completed */
} state_t;

/* Comes to a round: sends its packet, in a frame that has all headers. */
static spin_cmd_t come(const group_t *group, uint8_t *frame, uint32_t epoch, uint32_t round)
{
    const uint32_t to = group->rank + (1u << round);
    group_head_t *head = (group_head_t *)(frame + FLARE_HEAD_AT);
    *head = (group_head_t){epoch, (uint16_t)group->rank, (uint16_t)round, 0};
    flare_address(frame, &group->peer[group->rank], &group->peer[to < group->size ? to : to - group->size]);
    spin_cmd_t sent;
    spin_send_packet(frame, FLARE_DATA_AT, &sent);
    return sent;
}

/* True for the second event of a round. Clears the bit for the next barrier but one. */
static bool is_second(state_t *state, uint32_t epoch, uint32_t round)
{
    return (amo_xor(&state->half[epoch % 2], 1u << round) >> round & 1) != 0;
}

/* Continues after a round that has ended, until another event is missing. */
static void advance(const handler_args_t *args, const group_t *group, uint8_t *frame, uint32_t epoch, uint32_t round)
{
    state_t *state = (state_t *)((uint8_t *)args->task->handler_mem + GROUP_CONFIGURATION_BYTES);
    spin_cmd_t written;
    bool has_written = false;
    while (true) {
        round++;
        if (1u << round >= group->size) {
            epoch = state->epoch + 1;
            state->epoch = epoch;
            if (has_written) {
                spin_cmd_wait(written);
            }
            spin_write_to_host(spin_host_address(args->task, group->result), epoch, &written);
            has_written = true;
            if (amo_add(&state->entered, -1) == 1) {
                break;
            }
            round = 0; /* this rank has entered the next barrier already */
        }
        const spin_cmd_t sent = come(group, frame, epoch, round);
        const bool ends = is_second(state, epoch, round);
        spin_cmd_wait(sent);
        if (!ends) {
            break;
        }
    }
    if (has_written) {
        spin_cmd_wait(written);
    }
}

__handler__ void barrier_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const group_t *group = group_of(args);
    state_t *state = (state_t *)((uint8_t *)task->handler_mem + GROUP_CONFIGURATION_BYTES);
    if (flare_port(task) == GROUP_GO) {
        if (amo_add(&state->entered, 1) == 0) {
            uint8_t *frame = group_frame(args);
            const uint32_t epoch = state->epoch;
            group_headers(group, frame, group->rank, (group_head_t){0});
            const spin_cmd_t sent = come(group, frame, epoch, 0);
            const bool ends = is_second(state, epoch, 0);
            spin_cmd_wait(sent);
            if (ends) {
                advance(args, group, frame, epoch, 0);
            }
        }
        return;
    }
    const group_head_t *head = group_head(task);
    if (head != NULL && spin_data(task).size == sizeof(*head) && head->step < 32 && 1u << head->step < group->size &&
        is_second(state, head->block, head->step)) {
        spin_data_udp(task)->checksum = 0; /* the addresses change; IPv4 allows UDP without a checksum */
        advance(args, group, (uint8_t *)task->pkt_mem, head->block, head->step);
    }
}
