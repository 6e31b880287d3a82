/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a packet handler, and the commands that it can issue.
 *
 * A handler is a function `void NAME_hh(handler_args_t *)`: the suffix says when it runs. `_hh` runs once on the first
 * packet of a message, before any other; `_ph` on every packet; `_th` once after the last. Any may be absent.
 *
 * Costs in the comments are cycles with nothing else on the interconnect. A command is 7 accesses of 1 cycle each
 * plus what its operands need; it then runs by itself, and the packet is not released before it has finished.
 */
#ifndef SPIN_HANDLER_H
#define SPIN_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwsched.h>
#include <pspin.h>
#include <spin_conf.h>
#include <spin_dma.h>
#include <util.h>
#if defined(__riscv) && !defined(SPIN_NATIVE)
#include <spin_xpulp_asm.h>
#endif

#define __handler__ __attribute__((used))

#define SPIN_OK 0
#define SPIN_FAIL 1

/* Direction argument of spin_dma; unused, because the addresses imply it. */
#define SPIN_DMA_LOC2EXT 0
#define SPIN_DMA_EXT2LOC 1

/*
 * Point `ptr` at the UDP payload of `pkt` and put its length in bytes into `len`; for the headers of packets.h, or others with
 * the same names.
 */
#define GET_IP_UDP_PLD(pkt, ptr, len)                                                \
    {                                                                                \
        ip_hdr_t *ip_hdr_ = (ip_hdr_t *)(pkt);                                       \
        (len) = ip_hdr_->length - sizeof(ip_hdr_t) - sizeof(udp_hdr_t);              \
        (ptr) = (void *)((uint8_t *)(pkt) + ip_hdr_->ihl * 4 + sizeof(udp_hdr_t));   \
    }

/*
 * The task: registers of the HPU driver, at 0x1B205008 for every core (0x1B205108 on a NIC of more than 4 clusters). A
 * read is 1 cycle.
 * Packed, as in PsPIN; every field is on a 4-byte boundary.
 */
typedef struct __attribute__((__packed__, __aligned__(4))) task {
    void *handler_mem; /* this context's part of L2 handler memory */
    size_t handler_mem_size;
    void *pkt_mem;       /* the packet's copy in this cluster's L1 */
    size_t pkt_mem_size; /* bytes of it */
    void *scratchpad[NB_SCRATCHPADS]; /* this context's scratchpad in the L1 of each cluster */
    size_t scratchpad_size[NB_SCRATCHPADS];
    uint32_t host_mem_high; /* this context's host memory */
    uint32_t host_mem_low;
    size_t host_mem_size;
    void *l2_pkt_mem;         /* the packet in L2 packet memory */
    uint32_t home_cluster_id; /* the cluster that the message prefers */
    uint32_t flow_id;         /* the message: number of its queue, 0..255 on the published card */
} task_t;

/* Address of byte `at` of this context's host memory. Reads two registers of the HPU driver, 1 cycle each. */
static inline uint64_t spin_host_address(const task_t *task, uint32_t at)
{
    return ((uint64_t)task->host_mem_high << 32 | task->host_mem_low) + at;
}

/* Stored on the core's stack, in its own L1. */
typedef struct handler_args {
    task_t *task;
    uint32_t hpu_gid; /* 0..31 on 4 clusters of 8: cluster_id * NB_CORES + hpu_id */
    uint32_t cluster_id;
    uint32_t hpu_id; /* 0..7 within the cluster */
} handler_args_t;

typedef void (*handler_fn)(handler_args_t *);

typedef uint32_t spin_cmd_t; /* handle of a command: 0..3, this core's own */
typedef futex_t spin_lock_t;

typedef struct spin_rw_lock {
    spin_lock_t glock;
    volatile int32_t num_readers;
} spin_rw_lock_t;

#include <spin_cmd.h>
#include <spin_lock.h>

/*
 * Called once, by core 0 of cluster 0, before the first packet; handlers are found by their names, so it need not
 * exist. Values that it stores through its arguments are ignored.
 */
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr);

#endif
