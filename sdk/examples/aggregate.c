/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate: the sum of all integers of a message.
 *
 * A payload handler sums its packet's words in a register, and adds this once to a sum in its cluster's scratchpad. So
 * this is a measure of how fast a core reads its L1. The completion handler adds the four clusters' sums and writes the
 * result to the host with a command that carries it.
 *
 * Memory: a load a word and one atomic a packet in the cluster's own L1; in the end four atomics, three of them on
 * other clusters' L1. Scratchpad: 4 bytes for each message that can be open at a time, zeros before the first packet.
 * Host memory: 8 bytes for each message, the sum modulo 2^32, at 8 * flow_id.
 * Cost: 6.2 cycles a word; with -DUNROLLED, eight words a turn, 3.0; with -DSPIN_XPULP 2.2. The completion handler:
 * 180.
 *
 * Run it with --message 'all last' --traffic 'udp:size=1068,count=1024,payload=ints', for 1 MiB of integers.
 */
#include <handler.h>
#include <spin_data.h>
#ifdef SPIN_XPULP
#include <spin_xpulp.h>
#endif

static uint32_t sum_of(const uint32_t *words, uint32_t n)
{
#ifdef SPIN_XPULP
    return spin_xpulp_sum_words(words, n);
#else
    uint32_t sum = 0;
#ifdef UNROLLED
#pragma GCC unroll 8
#endif
    for (uint32_t i = 0; i < n; i++) {
        sum += words[i];
    }
    return sum;
#endif
}

/* Of this message, in the scratchpad of a cluster. */
static volatile int32_t *sum_in(const task_t *task, uint32_t cluster)
{
    return (volatile int32_t *)task->scratchpad[cluster] + task->flow_id;
}

__handler__ void aggregate_ph(handler_args_t *args)
{
    spin_pkt_t data = spin_data(args->task);
    uint32_t sum = sum_of((const uint32_t *)data.data, data.size / 4);
    amo_add(sum_in(args->task, args->cluster_id), (int32_t)sum);
}

__handler__ void aggregate_th(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t sum = 0;
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        /* Take the sum and leave zero for the next message. */
        sum += amo_swap((volatile uint32_t *)sum_in(task, cluster), 0);
    }
    uint64_t host = spin_host_address(task, task->flow_id * sizeof(uint64_t));
    spin_cmd_t written;
    spin_write_to_host(host, sum, &written);
}
