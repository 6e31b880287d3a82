/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of OSMOSIS's tenants, on packets of PsPIN's drivers (packets.h). They do the work of PsPIN's examples
 * (aggregate_global, histogram_l1, reduce_l1, copy_to_host, copy_from_host, filtering), in code of our own.
 *
 * The kernels that work on every word use PULP's hardware loops and loads with post-increment, because PsPIN's examples
 * are compiled for them (rv32imacxpulpv2). PULP's compiler was not available, so the number of instructions outside the
 * loops differs.
 *
 * Transfers block: a handler waits for each before it starts the next. Their number and size are the first two words
 * behind the headers of the packet.
 */
#include <handler.h>
#include <packets.h>
#include <spin_xpulp.h>

#include "osmosis_place.h"

#define TABLE_WORDS (262144u / 4) /* the published table of 1 MiB, divided by four tenants */
#define KEY_BYTES 8

typedef struct {
    pkt_hdr_t headers;
    uint32_t words[];
} packet_t;

static uint32_t n_words(const task_t *task)
{
    const packet_t *packet = task->pkt_mem;
    return (packet->headers.ip_hdr.length - sizeof(pkt_hdr_t)) / sizeof(uint32_t);
}

/* The words behind the headers, whose length the IP header has. */
static const uint32_t *words(const task_t *task)
{
    const uint8_t *packet = task->pkt_mem;
    return (const uint32_t *)(packet + ((const packet_t *)packet)->headers.ip_hdr.ihl * 4 + sizeof(udp_hdr_t));
}

static uint64_t host(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

/*
 * The sum of a packet's words, then an atomic on the word of the task that has the address of the cluster's scratchpad.
 * The published kernel takes these addresses, which are registers of the HPU driver, for its memory: the driver ignores
 * the sum.
 */
__handler__ void aggregate_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *at = words(task);
    uint32_t sum = 0, word, n = n_words(task);
    if (n != 0) {
        __asm__ volatile(SPIN_LOOP("%[n]", 2, SPIN_LW_POST("%[word]", "4", "%[at]") "add %[sum], %[sum], %[word]\n")
                         : [sum] "+r"(sum), [at] "+r"(at), [word] "=&r"(word)
                         : [n] "r"(n)
                         : "memory");
    }
    amo_add((volatile int32_t *)&task->scratchpad[args->cluster_id], (int32_t)sum);
}

/*
 * Counts each word in a table in the cluster's scratchpad; words are below 1,024. The published kernel does not count
 * the last word.
 */
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
    const uint32_t *at = words(task);
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
PLACE(copy_to_host_ph, 0x1d00038e)
__handler__ void copy_to_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const packet_t *packet = task->pkt_mem;
    spin_cmd_t copied;
    spin_dma_to_host(host(task), (uintptr_t)packet, packet->headers.ip_hdr.length, true, &copied);
    spin_cmd_wait(copied);
}

/* Reads the packet's length from host memory, and sends these bytes to the packet's sender. Only the first transfer is
/  awaited. */
PLACE(copy_from_host_ph, 0x1d00038e)
__handler__ void copy_from_host_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    packet_t *packet = task->pkt_mem;
    udp_hdr_t *udp = (udp_hdr_t *)((uint8_t *)packet + packet->headers.ip_hdr.ihl * 4);
    uint32_t n_bytes = packet->headers.ip_hdr.length, source = packet->headers.ip_hdr.source_id;
    uint16_t port = udp->src_port;
    spin_cmd_t copied, sent;
    packet->headers.ip_hdr.source_id = packet->headers.ip_hdr.dest_id;
    packet->headers.ip_hdr.dest_id = source;
    udp->src_port = udp->dst_port;
    udp->dst_port = port;
    spin_dma_from_host(host(task), (uintptr_t)packet, n_bytes, true, &copied);
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

/*
 * Bob Jenkins's hash of 1996 for a key of 8 bytes (Dr. Dobb's Journal, September 1997); the seed is the published one.
 * The key is read byte by byte, as gcc compiles such sums; our compiler would make two words of it.
 */
static uint32_t hash(const volatile uint8_t *key)
{
    uint32_t a = 0x9e3779b9, b = a, c = 0xfeedbeef + KEY_BYTES;
    a += key[0] + ((uint32_t)key[1] << 8) + ((uint32_t)key[2] << 16) + ((uint32_t)key[3] << 24);
    b += key[4] + ((uint32_t)key[5] << 8) + ((uint32_t)key[6] << 16) + ((uint32_t)key[7] << 24);
    static const uint8_t shifts[3][3] = {{13, 8, 13}, {12, 16, 5}, {3, 10, 15}};
    for (uint32_t i = 0; i < 3; i++) {
        a = (a - b - c) ^ c >> shifts[i][0];
        b = (b - c - a) ^ a << shifts[i][1];
        c = (c - a - b) ^ b >> shifts[i][2];
    }
    return c;
}

/* Looks up the first 8 bytes in a table in L2, writes the result into the packet in L2, and writes that packet to the host. */
PLACE(filtering_ph, 0x1d000390)
__handler__ void filtering_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t *table = task->handler_mem;
    *(volatile uint32_t *)task->l2_pkt_mem = table[hash(task->pkt_mem) % TABLE_WORDS];
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
