/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant that writes words to the scratchpads of all clusters, and one that reports what it finds there. */
#include <handler.h>

__handler__ void leave_ph(handler_args_t *args)
{
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        volatile uint32_t *words = args->task->scratchpad[cluster];
        for (uint32_t i = 0; i < args->task->scratchpad_size[cluster] / 4; i++) {
            words[i] = 0x5EC4E700u + cluster;
        }
    }
}

__handler__ void take_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t size = task->scratchpad_size[0];
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        volatile uint32_t *words = task->scratchpad[cluster], *found = task->handler_mem;
        for (uint32_t i = 0; i < size / 4; i++) {
            found[i] = words[i];
        }
        spin_cmd_t command;
        spin_dma_to_host(host + cluster * size, (uintptr_t)found, size, false, &command);
        spin_cmd_wait(command);
    }
}
