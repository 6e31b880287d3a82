/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the times that handlers read to the host: two reads in a row, both forms at once, and a wait of 100 cycles. */
#include <handler.h>
#include <spin_time.h>

__handler__ void now_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t *times = (uint32_t *)task->pkt_mem;
    uint32_t first = spin_now32();
    uint32_t second = spin_now32();
    uint64_t whole = spin_now();
    uint32_t waits_from = spin_now32();
    while (spin_now32() - waits_from < 100) {
    }
    uint32_t waited = spin_now32() - waits_from;
    times[0] = first;
    times[1] = second - first;
    times[2] = (uint32_t)whole - second;
    times[3] = (uint32_t)(whole >> 32);
    times[4] = waited;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t written;
    spin_dma_to_host(host, (uint32_t)times, 64, 0, &written);
    spin_cmd_wait(written);
}
