/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of the handlers in OSMOSIS's logs of the RTL. A handler reads its number of transfers from its context's
 * handler memory in L2, and waits for each transfer before it starts the next. The packet gives the number of bytes of a
 * transfer.
 */
#include <handler.h>
#include <packets.h>
#include <spin_xpulp.h>

#include "osmosis_place.h"

/* As in the published handlers: the rest of handler memory begins after it. */
typedef struct {
    int32_t turns;      /* iterations of a loop, or number of L2 reads */
    uint32_t unused;
    int32_t to_host;    /* number of writes to the host */
    uint32_t unused2;
    int32_t from_host;  /* number of reads from the host, or of packets to send */
} params_t;

static uint32_t length(const task_t *task) { return ((const pkt_hdr_t *)task->pkt_mem)->ip_hdr.length; }

/*
 * Issue a command `n` times, and wait for each. Only the words before `info` differ between commands. The loop is a hardware loop,
 * as PsPIN's compiler makes of such loops.
 */
static inline void repeat(int32_t n, uint32_t word0, uint32_t word1, uintptr_t word2, uint32_t word3, uint32_t word4, uint32_t info)
{
    uint32_t handle;
    if (n <= 0) {
        return;
    }
    __asm__ volatile(SPIN_LOOP("%[n]", 8,
                               "sw %z[word0], 0x90(%[driver])\n"
                               "sw %z[word1], 0x94(%[driver])\n"
                               "sw %z[word2], 0x98(%[driver])\n"
                               "sw %z[word3], 0x9C(%[driver])\n"
                               "sw %z[word4], 0xA0(%[driver])\n"
                               "sw %z[info], 0x8C(%[driver])\n"
                               "lw %[handle], 0x80(%[driver])\n"
                               "sw %[handle], 0x84(%[driver])\n")
                     : [handle] "=&r"(handle)
                     : [n] "r"(n), [driver] "r"(HWSCHED_BASE_ADDR), [word0] "rJ"(word0), [word1] "rJ"(word1), [word2] "rJ"(word2),
                       [word3] "rJ"(word3), [word4] "rJ"(word4), [info] "rJ"(info)
                     : "memory");
}

PLACE(to_host_ph, 0x1d00038e)
__handler__ void to_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const int32_t n = ((const params_t *)task->handler_mem)->to_host;
    repeat(n, task->host_mem_low, task->host_mem_high, (uintptr_t)task->pkt_mem, length(task), 1, HWSCHED_INFO_HOST_DMA | 1);
}

PLACE(from_host_ph, 0x1d00038e)
__handler__ void from_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const int32_t n = ((const params_t *)task->handler_mem)->from_host;
    repeat(n, task->host_mem_low, task->host_mem_high, (uintptr_t)task->pkt_mem, length(task), 0, HWSCHED_INFO_HOST_DMA | 1);
}

PLACE(send_ph, 0x1d00038e)
__handler__ void send_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const int32_t n = ((const params_t *)task->handler_mem)->from_host;
    repeat(n, 0, 0, (uintptr_t)task->pkt_mem, 0, length(task), HWSCHED_INFO_NIC);
}

/*
 * Copies from handler memory, after the parameters, to the packet's place in L1, by the cluster's DMA. The published
 * source is a loop of spin_dma and spin_dma_wait. assumed: PULP's compiler loads before the loop all that does not depend
 * on the number of copies, and tests at the end of the loop.
 */
PLACE(l2_read_ph, 0x1d0005c6)
__handler__ void l2_read_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const params_t *params = task->handler_mem;
    const uint32_t n_bytes = length(task);
    int32_t i = 0, n;
    uint32_t number, done;
    __asm__ volatile("lw %[n], 0(%[params])\n"
                     "blez %[n], 3f\n"
                     "0: sw %[from], 0(%[dma])\n"
                     "sw %[to], 8(%[dma])\n"
                     "sw %[n_bytes], 16(%[dma])\n"
                     "lw %[number], 24(%[dma])\n"
                     "lw %[done], 32(%[dma])\n"
                     "bgeu %[done], %[number], 2f\n"
                     "1: nop\n"
                     "lw %[done], 32(%[dma])\n"
                     "bltu %[done], %[number], 1b\n"
                     "2: addi %[i], %[i], 1\n"
                     "bne %[i], %[n], 0b\n"
                     "3:"
                     : [number] "=&r"(number), [done] "=&r"(done), [i] "+r"(i), [n] "=&r"(n)
                     : [params] "r"(params), [from] "r"(params + 1), [to] "r"(task->pkt_mem), [n_bytes] "r"(n_bytes),
                       [dma] "r"(SPIN_DMA_PRIVATE_PORT)
                     : "memory");
}
