/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant that takes the most it can of one shared resource; see test_sharing.py. All of its accesses
 * are allowed. The watchdog stops handlers that do not end.
 */
#include <handler.h>
#include <spin_net.h>

#define HOG(name) __handler__ void name##_ph(handler_args_t *args)
#define L1(cluster) (0x10000000u + (cluster) * 0x400000u)

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

HOG(quiet) { (void)args; }

HOG(run) { for (;;) __asm__ volatile("" ::"r"(args)); }

/* The header handler keeps its message's packets waiting. */
__handler__ void keep_hh(handler_args_t *args) { for (;;) __asm__ volatile("" ::"r"(args)); }
HOG(keep) { (void)args; }

HOG(trap) { *(volatile uint32_t *)0x1C400000u = (uint32_t)args; }

HOG(add)
{
    for (;;) {
        amo_add((volatile int32_t *)args->task->scratchpad[0], 1);
    }
}

HOG(load)
{
    for (;;) {
        (void)*(volatile uint32_t *)args->task->handler_mem;
    }
}

HOG(copy)
{
    spin_dma_t copy;
    for (;;) {
        spin_dma(args->task->handler_mem, args->task->scratchpad[args->cluster_id], 4096, 0, 0, &copy);
    }
}

HOG(send)
{
    spin_cmd_t sent;
    for (;;) {
        spin_send_packet(args->task->handler_mem, 1024, &sent);
    }
}

HOG(to_host)
{
    spin_cmd_t written;
    for (;;) {
        spin_dma_to_host(host_of(args->task), (uint32_t)args->task->handler_mem, 4096, 0, &written);
    }
}

HOG(from_host)
{
    spin_cmd_t read;
    for (;;) {
        spin_dma_from_host(host_of(args->task), (uint32_t)args->task->handler_mem, 4096, 0, &read);
    }
}

/* A word to each page of its host memory: more pages than the translation cache has. */
HOG(pages)
{
    spin_cmd_t written;
    for (;;) {
        for (uint32_t page = 0; page < 256; page++) {
            spin_write_to_host(host_of(args->task) + 4096 * page, page, &written);
        }
    }
}
