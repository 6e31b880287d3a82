/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that write all their memory forever, in different ways, and one that reports its contents; see test_floods.py. */
#include <handler.h>

#define FLOOD(name)                                                                                                    \
    static void name##_once(const handler_args_t *args, const task_t *task, uint32_t at);                              \
    __handler__ void name##_ph(handler_args_t *args)                                                                   \
    {                                                                                                                  \
        for (uint32_t at = 0;; at += 4) {                                                                              \
            name##_once(args, args->task, at % 65536);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_once(const handler_args_t *args, const task_t *task, uint32_t at)
#define MINE ((uint32_t)task->handler_mem)
#define PAD(cluster) ((uint32_t)task->scratchpad[cluster])
#define WORD(address) (*(volatile int32_t *)(address))

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

FLOOD(from_host)
{
    spin_cmd_t command;
    (void)args, (void)at;
    spin_dma_from_host(host_of(task), MINE, 65536, true, &command);
}

FLOOD(to_host)
{
    spin_cmd_t command;
    (void)args, (void)at;
    spin_dma_to_host(host_of(task), MINE, 65536, true, &command);
}

FLOOD(copies)
{
    spin_dma_t copy;
    (void)at;
    spin_dma((void *)MINE, (void *)PAD(args->cluster_id), 32768, 0, 0, &copy);
}

FLOOD(words)
{
    WORD(MINE + at) = 0x5EC12E75;
    WORD(PAD(args->cluster_id) + at % 32768) = 0x5EC12E75;
    amo_add(&WORD(PAD(!args->cluster_id) + at % 32768), 0x5EC12E75);
}

/* Checks that all words of handler memory and scratchpads are 0; reports 1 if one is set, and the union of all. */
__handler__ void look_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_cmd_t command;
    int32_t found = 0;
    for (uint32_t at = 0; at < 65536; at += 64) {
        found |= WORD(MINE + at) | WORD(PAD(args->cluster_id) + at % 32768);
    }
    spin_write_to_host(host_of(task), (uint64_t)(uint32_t)found << 32 | 1, &command);
}
