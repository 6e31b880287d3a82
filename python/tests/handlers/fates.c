/* SPDX-License-Identifier: Apache-2.0 */
/* A packet's length decides its fate. */
#include <handler.h>

__handler__ void fates_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t size = task->pkt_mem_size;
    spin_cmd_t sent, written;
    if (size & 1) {
        spin_send_packet(task->pkt_mem, size, &sent);
    }
    if (size & 2) {
        spin_write_to_host((uint64_t)task->host_mem_high << 32 | task->host_mem_low, size, &written);
    }
    if (size & 4) {
        __builtin_trap();
    }
}
