/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram: how often each integer below 1024 occurs in a set of messages, as distributed joins count their keys.
 *
 * Every cluster counts in its own scratchpad, with an atomic addition for each word of a packet (spin_data.h says where
 * they are). The lowest ten bits choose the bin, so that no data reaches beyond the bins. Many messages make one
 * histogram: the handler that ends the last of them adds up the four clusters' bins and writes them to the host.
 *
 * A message ends with its completion handler. With -DPACKETS payload handlers count the packets of the histogram
 * instead, which suits messages of few packets: for a completion handler the card copies a packet to L1 once more.
 * Because message queues take turns, hundreds of messages reach this point at once and keep cores waiting.
 *
 * Memory: a load and an atomic a word in the cluster's own L1. Two cores that count the same value meet in its bank,
 * which an atomic holds for 2 cycles. An atomic on cluster 0's L1 for each message; with -DPACKETS one for 16 packets,
 * and on the cluster's own for each. Scratchpad: 16 KiB and two words, zeros before the first packet.
 * Host memory: 1024 bins of 32 bits; 16 KiB are used.
 * Cost: 10.2 cycles a word; with -DUNROLLED, four words a turn, 6.5; with -DSPIN_XPULP 4.4. The last completion
 * handler: 17,000, the others 40; with -DPACKETS 17 a packet instead.
 *
 * Compile with -DMESSAGES=512 for 512 messages to a histogram, or with -DPACKETS=1024 for 1024 packets. The default is
 * one histogram per message. Run it with --message 'all count 2' --traffic
 * 'udp:size=1068,count=1024,payload=ints:1024' for 512 messages of 512 integers.
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

/* Two further counts of a cluster, behind the memory that the merge uses. */
static volatile int32_t *counts(const task_t *task, uint32_t cluster)
{
    return (volatile int32_t *)((uint8_t *)task->scratchpad[cluster] + SPIN_MERGE_BYTES(BINS));
}

#ifdef PACKETS
/*
 * Each cluster counts its packets in its first word, and hands them over to the second word of cluster 0 in batches.
 * Near the end, when so few packets are left that no batch may fill up, each is handed over at once.
 */
#define BATCH 16
#define NEAR_END (PACKETS - NB_CLUSTERS * (BATCH - 1))
#define AT_ONCE (1 << 30) /* in a cluster's count, which is then larger than any batch */

/* All packets that were handed over; 0 if the cluster had none to hand over. */
static int32_t hand_over(const task_t *task, uint32_t cluster)
{
    int32_t n = (int32_t)amo_and((volatile uint32_t *)counts(task, cluster), AT_ONCE) & ~AT_ONCE;
    return n == 0 ? 0 : amo_add(counts(task, 0) + 1, n) + n;
}

/* True in one handler: the one that hands over the last of all packets. */
static bool is_last(const handler_args_t *args)
{
    const task_t *task = args->task;
    int32_t counted = amo_add(counts(task, args->cluster_id), 1) + 1;
    if (counted < BATCH && NEAR_END > 0) {
        return false;
    }
    int32_t all = hand_over(task, args->cluster_id);
    bool is_last = all == PACKETS;
    if (all >= NEAR_END && counted < AT_ONCE) {
        for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
            amo_or((volatile uint32_t *)counts(task, cluster), AT_ONCE);
            is_last |= hand_over(task, cluster) == PACKETS;
        }
    }
    return is_last;
}
#else
/* True for the last message. All are counted in cluster 0. */
static bool is_last(const handler_args_t *args) { return amo_add(counts(args->task, 0) + 1, 1) + 1 == MESSAGES; }
#endif

/* Leaves all counts zero for the next histogram. */
static void end_if_last(const handler_args_t *args)
{
    const task_t *task = args->task;
    if (!is_last(args)) {
        return;
    }
    amo_store((volatile uint32_t *)counts(task, 0) + 1, 0);
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        amo_store((volatile uint32_t *)counts(task, cluster), 0);
    }
    spin_merge(args, BINS);
}

__handler__ void histogram_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_pkt_t data = spin_data(task);
    count((volatile int32_t *)task->scratchpad[args->cluster_id], (const uint32_t *)data.data, data.size / 4);
#ifdef PACKETS
    end_if_last(args);
#endif
}

#ifndef PACKETS
__handler__ void histogram_th(handler_args_t *args) { end_if_last(args); }
#endif
