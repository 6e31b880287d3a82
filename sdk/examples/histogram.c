/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram: how often each integer below 1024 occurs in a set of messages, as distributed joins count their keys.
 *
 * Every cluster counts in its own scratchpad, with an atomic addition for each word of a packet (spin_data.h says where
 * they are). The lowest ten bits choose the bin, so that no data reaches beyond the bins. Many messages make one
 * histogram: the completion handler that ends the last of them adds up the four clusters' bins and writes them to the
 * host.
 *
 * Memory: a load and an atomic a word in the cluster's own L1. Two cores that count the same value meet in its bank,
 * which an atomic holds for 2 cycles. Scratchpad: 16 KiB and a word, zeros before the first packet.
 * Host memory: 1024 bins of 32 bits; 16 KiB are used.
 * Cost: 10.2 cycles a word; with -DUNROLLED, four words a turn, 6.5; with -DSPIN_XPULP 4.4. The last completion
 * handler: 17,000, the others 40.
 *
 * Compile with -DMESSAGES=512 for 512 messages to a histogram; each message its own if not given. Run it with
 * --message 'all count 2' --traffic 'udp:size=1068,count=1024,payload=ints:1024' for 512 messages of 512 integers.
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_merge.h>
#ifdef SPIN_XPULP
#include <spin_xpulp.h>
#endif

#ifndef MESSAGES
#define MESSAGES 1
#endif

#define BINS 1024

#ifdef SPIN_XPULP
/* p.insert of 10 bits to bit 2: a word becomes the offset of its bin, rd being 0 in all other bits. */
#define BIN_OFFSET(rd, rs1) ".insn r 0x33, 2, 0x69, " rd ", " rs1 ", x2\n"

/* Two words a turn of the hardware loop, so that nothing waits for a load. */
static void count_pairs(volatile int32_t *bins, const uint32_t *words, uint32_t n)
{
    uint32_t a, b, a_at = 0, b_at = 0, a_bin, b_bin, one = 1;
    __asm__ volatile(SPIN_LOOP("%[n]", 8,
                               SPIN_LW_POST("%[a]", "4", "%[words]")
                               SPIN_LW_POST("%[b]", "4", "%[words]")
                               BIN_OFFSET("%[a_at]", "%[a]")
                               BIN_OFFSET("%[b_at]", "%[b]")
                               "add %[a_bin], %[a_at], %[bins]\n"
                               "add %[b_bin], %[b_at], %[bins]\n"
                               "amoadd.w zero, %[one], (%[a_bin])\n"
                               "amoadd.w zero, %[one], (%[b_bin])\n")
                     : [words] "+r"(words), [a] "=&r"(a), [b] "=&r"(b), [a_at] "+&r"(a_at), [b_at] "+&r"(b_at),
                       [a_bin] "=&r"(a_bin), [b_bin] "=&r"(b_bin)
                     : [n] "r"(n), [bins] "r"(bins), [one] "r"(one)
                     : "memory");
}
#endif

static void count(volatile int32_t *bins, const uint32_t *words, uint32_t n)
{
#ifdef SPIN_XPULP
    if (n >= 2) {
        count_pairs(bins, words, n / 2);
        words += n - n % 2;
        n %= 2;
    }
#elif defined(UNROLLED)
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
