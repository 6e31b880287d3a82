/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of OSMOSIS's tenants, on packets of PsPIN's drivers (packets.h).
 *
 * The kernels that work on every word use PULP's hardware loops and loads with post-increment, because PsPIN's examples
 * are compiled for them (rv32imacxpulpv2). The sources of the published kernels are not used, so the number of instructions
 * outside the loops differs.
 *
 * Transfers block: a handler waits for each before it starts the next. Their number and size are the first two words
 * behind the headers of the packet.
 */
#include <handler.h>
#include <packets.h>
#include <spin_xpulp.h>

#define TABLE_WORDS (262144u / 4) /* the published table of 1 MiB, divided by four tenants */

typedef struct {
    pkt_hdr_t headers;
    uint32_t words[];
} packet_t;

static uint32_t n_words(const task_t *task)
{
    const packet_t *packet = task->pkt_mem;
    return (packet->headers.ip_hdr.length - sizeof(pkt_hdr_t)) / sizeof(uint32_t);
}

static uint64_t host(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

/* The sum of a packet's words, added once to a word of the cluster's scratchpad. */
__handler__ void aggregate_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *at = ((const packet_t *)task->pkt_mem)->words;
    uint32_t sum = 0, word, n = n_words(task);
    if (n == 0) {
        return;
    }
    __asm__ volatile(SPIN_LOOP("%[n]", 2, SPIN_LW_POST("%[word]", "4", "%[at]") "add %[sum], %[sum], %[word]\n")
                     : [sum] "+r"(sum), [at] "+r"(at), [word] "=&r"(word)
                     : [n] "r"(n)
                     : "memory");
    amo_add((volatile int32_t *)task->scratchpad[args->cluster_id], (int32_t)sum);
}

/* Counts each word in a table in the cluster's scratchpad; words are below 1,024. */
__handler__ void histogram_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    volatile uint32_t *bins = (volatile uint32_t *)task->scratchpad[args->cluster_id];
    spin_xpulp_count_words(bins, ((const packet_t *)task->pkt_mem)->words, n_words(task));
}

/* Adds each word to the word with its position in the cluster's scratchpad. */
__handler__ void reduce_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *at = ((const packet_t *)task->pkt_mem)->words;
    uint8_t *to = task->scratchpad[args->cluster_id];
    uint32_t word, n = n_words(task);
    if (n == 0) {
        return;
    }
    __asm__ volatile(SPIN_LOOP("%[n]", 3,
                               SPIN_LW_POST("%[word]", "4", "%[at]")
                               "amoadd.w zero, %[word], (%[to])\n"
                               "addi %[to], %[to], 4\n")
                     : [at] "+r"(at), [to] "+r"(to), [word] "=&r"(word)
                     : [n] "r"(n)
                     : "memory");
}

/* The packet to host memory. */
__handler__ void copy_to_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const packet_t *packet = task->pkt_mem;
    spin_cmd_t copied;
    spin_dma_to_host(host(task), (uintptr_t)packet, packet->headers.ip_hdr.length, false, &copied);
    spin_cmd_wait(copied);
}

/* Reads the packet's length from host memory, and sends these bytes to the packet's sender. Only the first transfer is
/  awaited. */
__handler__ void copy_from_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    packet_t *packet = task->pkt_mem;
    uint32_t n_bytes = packet->headers.ip_hdr.length, source = packet->headers.ip_hdr.source_id;
    uint16_t port = packet->headers.udp_hdr.src_port;
    spin_cmd_t copied, sent;
    packet->headers.ip_hdr.source_id = packet->headers.ip_hdr.dest_id;
    packet->headers.ip_hdr.dest_id = source;
    packet->headers.udp_hdr.src_port = packet->headers.udp_hdr.dst_port;
    packet->headers.udp_hdr.dst_port = port;
    spin_dma_from_host(host(task), (uintptr_t)packet, n_bytes, false, &copied);
    spin_cmd_wait(copied);
    spin_send_packet(packet, n_bytes, &sent);
}

/* For each started KiB: reads the packet's length from the host, and sends a packet of these bytes. */
__handler__ void io_read_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    packet_t *packet = task->pkt_mem;
    uint32_t n_bytes = packet->headers.ip_hdr.length;
    for (uint32_t n = n_bytes / 1024 + 1; n > 0; n--) {
        spin_cmd_t copied, sent;
        spin_dma_from_host(host(task), (uintptr_t)packet, n_bytes, false, &copied);
        spin_cmd_wait(copied);
        spin_send_packet(packet, n_bytes, &sent);
        spin_cmd_wait(sent);
    }
}

/* The number of multiplications is the first word after the headers; each is one iteration of a loop. */
__handler__ void spinner_ph(handler_args_t *args)
{
    uint32_t product = 1;
    for (uint32_t n = ((const packet_t *)args->task->pkt_mem)->words[0]; n > 0; n--) {
        __asm__ volatile("mul %0, %0, %1" : "+r"(product) : "r"(n));
    }
}

/* One at a time (Bob Jenkins, Dr. Dobb's Journal, September 1997). */
static uint32_t hash(const uint8_t *bytes, uint32_t n)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        hash += bytes[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash;
}

/* Looks up the first 8 bytes in a table in L2, writes the result into the packet in L2, and writes that packet to the host. */
__handler__ void filtering_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *table = task->handler_mem;
    *(volatile uint32_t *)task->l2_pkt_mem = table[hash(task->pkt_mem, 8) % TABLE_WORDS];
    spin_cmd_t copied;
    spin_dma_to_host(host(task), (uintptr_t)task->l2_pkt_mem, task->pkt_mem_size, false, &copied);
}

/* The number of transfers and the bytes of each. */
static void transfers(const task_t *task, uint32_t *n, uint32_t *n_bytes)
{
    const packet_t *packet = task->pkt_mem;
    *n = packet->words[0];
    *n_bytes = packet->words[1];
}

__handler__ void to_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t n, n_bytes;
    transfers(task, &n, &n_bytes);
    for (; n > 0; n--) {
        spin_cmd_t copied;
        spin_dma_to_host(host(task), (uintptr_t)task->pkt_mem, n_bytes, false, &copied);
        spin_cmd_wait(copied);
    }
}

__handler__ void from_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t n, n_bytes;
    transfers(task, &n, &n_bytes);
    for (; n > 0; n--) {
        spin_cmd_t copied;
        spin_dma_from_host(host(task), (uintptr_t)task->pkt_mem, n_bytes, false, &copied);
        spin_cmd_wait(copied);
    }
}

__handler__ void send_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t n, n_bytes;
    transfers(task, &n, &n_bytes);
    for (; n > 0; n--) {
        spin_cmd_t sent;
        spin_send_packet(task->pkt_mem, n_bytes, &sent);
        spin_cmd_wait(sent);
    }
}

/* Copies the packet from L2 to its place in L1, by the cluster's DMA. */
__handler__ void l2_read_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t n, n_bytes;
    transfers(task, &n, &n_bytes);
    for (; n > 0; n--) {
        spin_dma_t copied;
        if (spin_dma(task->l2_pkt_mem, task->pkt_mem, n_bytes, SPIN_DMA_EXT2LOC, 0, &copied) == SPIN_OK) {
            spin_dma_wait(copied);
        }
    }
}
