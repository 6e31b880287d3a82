/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every handler records that it ran, in the order of the runs on all cores: host memory holds 8 bytes for each,
 * stage in bits 63:48, message in 47:32, length of the packet in 31:0. The handlers exist that -D names.
 */
#include <handler.h>

static void note(const task_t *task, uint64_t stage)
{
    uint32_t number = (uint32_t)amo_add((volatile int32_t *)task->handler_mem, 1);
    uint64_t host = ((uint64_t)task->host_mem_high << 32 | task->host_mem_low) + number * sizeof(uint64_t);
    spin_cmd_t written;
    spin_write_to_host(host, stage << 48 | (uint64_t)task->flow_id << 32 | task->pkt_mem_size, &written);
}

#ifdef HEADER
__handler__ void journal_hh(handler_args_t *args) { note(args->task, 1); }
#endif

#ifdef PAYLOAD
__handler__ void journal_ph(handler_args_t *args) { note(args->task, 2); }
#endif

#ifdef COMPLETION
__handler__ void journal_th(handler_args_t *args) { note(args->task, 3); }
#endif
