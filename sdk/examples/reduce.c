/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduce: add vectors of integers element by element, as a collective reduction does.
 *
 * Every packet is one vector of up to 512 elements of 32 bits (spin_data.h says where), and every packet of the message
 * adds to the same sums. They are kept in the scratchpad of each cluster: an atomic addition there takes one cycle, and
 * cores that add at the same time rarely conflict, because neighbouring words are in different banks. The completion
 * handler adds up the four clusters' sums and writes them to the host.
 *
 * Memory: 2 loads and atomics a word in the cluster's own L1, nothing else. Scratchpad: 8 KiB, zeros before the first
 * packet.
 * Host memory: the sums, 2 KiB; 8 KiB are used.
 * Cost: 8.1 cycles a word; with -DUNROLLED, four words a turn, 5.3; with -DSPIN_XPULP 3.3. The completion handler:
 * 8,300.
 *
 * Run it with all packets as one message: --message 'all last' --traffic 'udp:size=2092,count=512,payload=ints'
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_merge.h>
#ifdef SPIN_XPULP
#include <spin_xpulp.h>
#endif

#define ELEMENTS 512

static void add_to(volatile int32_t *sums, const int32_t *vector, uint32_t n)
{
#ifdef SPIN_XPULP
    spin_xpulp_amoadd_words((volatile uint32_t *)sums, (const uint32_t *)vector, n);
    n = 0;
#elif defined(UNROLLED)
    /* Loads first: none of them is used by the instruction behind it. */
    for (; n >= 4; n -= 4, vector += 4, sums += 4) {
        int32_t a = vector[0], b = vector[1], c = vector[2], d = vector[3];
        amo_add(&sums[0], a);
        amo_add(&sums[1], b);
        amo_add(&sums[2], c);
        amo_add(&sums[3], d);
    }
#endif
    for (uint32_t i = 0; i < n; i++) {
        amo_add(&sums[i], vector[i]);
    }
}

__handler__ void reduce_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    add_to((int32_t *)task->scratchpad[args->cluster_id], (const int32_t *)data.data, MIN(data.size / 4, ELEMENTS));
}

__handler__ void reduce_th(handler_args_t *args) { spin_merge(args, ELEMENTS); }
