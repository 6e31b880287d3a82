/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Count the packets and bytes of each message, and write the result to the host when the message ends.
 *
 * A message prefers one cluster, but a busy one passes packets on to the others. So each cluster counts in the
 * scratchpad of its own L1, where an atomic addition takes one cycle, and the completion handler adds the four up.
 *
 * Host memory: 8 bytes for each message, packets in the low half, bytes in the high half, at 8 * flow_id.
 */
#include <handler.h>

/* One for each message that can be open at a time, in every cluster's scratchpad. */
typedef struct {
    int32_t packets;
    int32_t bytes;
} counters_t;

static counters_t *counters_in(const task_t *task, uint32_t cluster)
{
    return (counters_t *)task->scratchpad[cluster] + task->flow_id;
}

/* Before the first packet: set the counters of this message to zero. */
__handler__ void count_hh(handler_args_t *args)
{
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        *counters_in(args->task, cluster) = (counters_t){0, 0};
    }
}

/* Every packet, on any core. */
__handler__ void count_ph(handler_args_t *args)
{
    counters_t *counters = counters_in(args->task, args->cluster_id);
    amo_add(&counters->packets, 1);
    amo_add(&counters->bytes, (int32_t)args->task->pkt_mem_size);
}

/* After the last packet: no other handler of this message runs any more, so plain loads are enough. */
__handler__ void count_th(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t packets = 0, bytes = 0;
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        const counters_t *counters = counters_in(task, cluster);
        packets += (uint32_t)counters->packets;
        bytes += (uint32_t)counters->bytes;
    }

    uint64_t host = spin_host_address(task, task->flow_id * sizeof(uint64_t));
    spin_cmd_t written;
    spin_write_to_host(host, (uint64_t)bytes << 32 | packets, &written);
}
