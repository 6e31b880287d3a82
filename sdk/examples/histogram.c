/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram: how often each integer below 1024 occurs in a set of messages, as distributed joins count their keys.
 *
 * Every cluster counts in its own scratchpad, with an atomic addition for each word of a packet (spin_data.h says where they
 * are). The lowest ten bits choose the bin, so that no data reaches beyond the bins. Many messages make one histogram: the
 * completion handler that ends the last of them adds up the four clusters' bins and writes them to the host.
 *
 * Memory: a load and an atomic a word in the cluster's own L1. Two cores that count the same value meet in its bank, which an atomic
 * holds for 2 cycles. Scratchpad: 16 KiB and a word, zeros before the first packet.
 * Host memory: 1024 bins of 32 bits; 16 KiB are used.
 * Cost: 10.2 cycles a word; with -DUNROLLED, four words a turn, 6.5; with -DXPULP, PULP's instructions, 4.4. The last completion handler: 17,000, the others 40.
 *
 * Compile with -DMESSAGES=512 for 512 messages to a histogram; each message its own if not given. Run it with
 * --message 'all count 2' --traffic 'udp:size=1068,count=1024,payload=ints:1024' for 512 messages of 512 integers.
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_merge.h>
#ifdef XPULP
#include <spin_xpulp_loops.h>
#endif

#ifndef MESSAGES
#define MESSAGES 1
#endif

#define BINS 1024

#ifdef XPULP
/* p.insert: the lowest ten bits of `from` become the offset of a bin in `offset`, whose other bits stay zero. */
#define BIN_OFFSET(offset, from) ".insn r 0x33, 2, 0x5f + 10, " offset ", " from ", x2\n"

/* Two words a turn, so that no instruction waits for the load before it. */
static void count_pairs(volatile int32_t *bins, const uint32_t *words, uint32_t n)
{
    uint32_t x, y, at_x = 0, at_y = 0;
    _Static_assert(BINS == 1 << 10, "BIN_OFFSET takes ten bits");
    __asm__ volatile(SPIN_LOOP("%[n]", 8,
                               SPIN_LW_POST("%[x]", "4", "%[words]")
                               SPIN_LW_POST("%[y]", "4", "%[words]")
                               BIN_OFFSET("%[at_x]", "%[x]")
                               BIN_OFFSET("%[at_y]", "%[y]")
                               "add %[x], %[at_x], %[bins]\n"
                               "add %[y], %[at_y], %[bins]\n"
                               "amoadd.w zero, %[one], (%[x])\n"
                               "amoadd.w zero, %[one], (%[y])\n")
                     : [words] "+r"(words), [at_x] "+r"(at_x), [at_y] "+r"(at_y), [x] "=&r"(x), [y] "=&r"(y)
                     : [n] "r"(n), [bins] "r"(bins), [one] "r"(1)
                     : "memory");
}
#endif

static void count(volatile int32_t *bins, const uint32_t *words, uint32_t n)
{
#ifdef XPULP
    if (n >= 2) {
        count_pairs(bins, words, n / 2);
        words += n & ~1u;
        n &= 1;
    }
#endif
#ifdef UNROLLED
    /* Loads first: none of them is used by the instruction behind it. */
    for (; n >= 4; n -= 4, words += 4) {
        uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
        amo_add(&bins[a % BINS], 1);
        amo_add(&bins[b % BINS], 1);
        amo_add(&bins[c % BINS], 1);
        amo_add(&bins[d % BINS], 1);
    }
#endif
    for (uint32_t i = 0; i < n; i++) {
        amo_add(&bins[words[i] % BINS], 1);
    }
}

__handler__ void histogram_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    count((volatile int32_t *)task->scratchpad[args->cluster_id], (const uint32_t *)data.data, data.size / 4);
}

__handler__ void histogram_th(handler_args_t *args)
{
    const task_t *task = args->task;
    /* All clusters count ended messages in one place, cluster 0's scratchpad behind what the merge uses. */
    volatile int32_t *ended = (volatile int32_t *)((uint8_t *)task->scratchpad[0] + SPIN_MERGE_BYTES(BINS));
    if (amo_add(ended, 1) + 1 == MESSAGES) {
        amo_store((volatile uint32_t *)ended, 0);
        spin_merge(args, BINS);
    }
}
