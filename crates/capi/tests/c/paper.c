/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of the PsPIN paper with a C host: sends packets to one of them, computes the expected results, and compares.
 * Arguments: the handler, whose program is build/NAME, and options of the generic driver. Prints the comparison.
 */
#include <stdio.h>
#include <string.h>

#include "gdriver.h"
#include "packets.h"
#include "pspinsim.h"

#define HOST 0xdeadbeefdeadbeefull /* host memory of the generic driver's first context */
#define HOST_SIZE (1 << 20)
#define MAX_PACKETS 64
#define MAX_SIZE 2048
#define HEADER sizeof(pkt_hdr_t)

static uint8_t host[HOST_SIZE], wanted[HOST_SIZE];
static uint8_t packets[MAX_PACKETS][MAX_SIZE], sent[MAX_PACKETS][MAX_SIZE];
static uint32_t n_packets, n_sent, n_outside;
static size_t packet_size;
static uint32_t seed = 1;

static uint32_t next_random(void)
{
    seed = seed * 1664525 + 1013904223; /* Numerical Recipes, 2nd edition, 7.1 */
    return seed >> 8;
}

static void host_write(uint64_t addr, uint8_t *data, size_t size)
{
    if (addr - HOST > HOST_SIZE - size)
        n_outside++;
    else
        memcpy(host + (addr - HOST), data, size);
}

static void host_read(uint64_t addr, uint8_t *data, size_t size)
{
    /* A line may begin before this memory and end after it. */
    for (size_t i = 0; i < size; i++)
        data[i] = addr + i - HOST < HOST_SIZE ? host[addr + i - HOST] : 0;
}

static void packet_out(uint8_t *data, size_t size)
{
    if (n_sent < MAX_PACKETS && size <= MAX_SIZE)
        memcpy(sent[n_sent], data, size);
    n_sent++;
}

static uint32_t *words_of(uint8_t *packet)
{
    return (uint32_t *)(packet + HEADER);
}

/* Expected results of the handlers. */

static uint32_t *wanted_words(void)
{
    return (uint32_t *)wanted;
}

static void fill_integers(uint8_t *packet, size_t size, uint32_t modulus)
{
    for (size_t i = 0; i < (size - HEADER) / 4; i++)
        words_of(packet)[i] = next_random() % modulus;
}

static void reduce(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1u << 24);
    for (size_t i = 0; i < (size - HEADER) / 4 && i < 512; i++)
        wanted_words()[i] += words_of(packet)[i];
}

static void aggregate(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1u << 24);
    for (size_t i = 0; i < (size - HEADER) / 4; i++)
        wanted_words()[0] += words_of(packet)[i];
}

static void histogram(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1024);
    for (size_t i = 0; i < (size - HEADER) / 4; i++)
        wanted_words()[words_of(packet)[i]]++;
}

static const uint32_t layout[4] = {256, 512, 0, 0}; /* block, stride, no planes */

static void strided_ddt(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1u << 24);
    size_t bytes = size - HEADER - 4, at = n_packets * bytes;
    words_of(packet)[0] = (uint32_t)at;
    for (size_t i = 0; i < bytes; i++) {
        size_t place = (at + i) / layout[0] * layout[1] + (at + i) % layout[0];
        wanted[place] = packet[HEADER + 4 + i];
    }
}

/* Packets are consecutive in L2, at multiples of 64 bytes. */
static void copy_to_host(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1u << 24);
    memcpy(wanted + n_packets * ((size + 63) / 64 * 64), packet, size);
}

static struct {
    uint32_t address, port;
} rules[65536];

static uint32_t jenkins(const uint8_t *bytes, size_t n)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < n; i++) {
        hash += bytes[i];
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash + (hash << 15);
}

static void filtering(uint8_t *packet, size_t size)
{
    pkt_hdr_t *header = (pkt_hdr_t *)packet;
    fill_integers(packet, size, 1u << 24);
    header->ip_hdr.source_id = next_random() + 1;
    header->ip_hdr.dest_id = next_random();
    if (n_packets % 2 == 0)
        return; /* no rule for this sender */
    uint32_t at = jenkins((uint8_t *)&header->ip_hdr.source_id, 8) % 65536;
    while (rules[at].address != 0)
        at = (at + 1) % 65536;
    rules[at].address = header->ip_hdr.source_id;
    rules[at].port = next_random() % 65536;
    uint8_t *copy = wanted + n_packets * ((size + 63) / 64 * 64);
    memcpy(copy, packet, size);
    ((pkt_hdr_t *)copy)->udp_hdr.dst_port = (uint16_t)rules[at].port;
}

/* Packets alternate: one writes a key, the next reads it. */
static void kvstore(uint8_t *packet, size_t size)
{
    static uint32_t key, value;
    int is_read = n_packets % 2;
    if (!is_read) {
        key = next_random();
        value = next_random();
        words_of(packet)[2] = value;
    }
    words_of(packet)[0] = is_read ? 0 : 1;
    words_of(packet)[1] = key;
    if (!is_read)
        memcpy(wanted + n_packets * ((size + 63) / 64 * 64), packet, size);
}

static void nothing(uint8_t *packet, size_t size)
{
    fill_integers(packet, size, 1u << 24);
}

static const struct bench {
    const char *name;
    void (*make)(uint8_t *, size_t);
    int has_completion;
    int answers;   /* packets per answer; 0: no answers */
    size_t result; /* bytes of host memory to compare; the rest belongs to the handlers */
} benches[] = {
    {"reduce", reduce, 1, 0, 512 * 4},
    {"aggregate", aggregate, 1, 0, HOST_SIZE},
    {"histogram", histogram, 1, 0, 1024 * 4},
    {"strided_ddt", strided_ddt, 0, 0, HOST_SIZE},
    {"filtering", filtering, 0, 0, HOST_SIZE},
    {"kvstore", kvstore, 0, 2, HOST_SIZE},
    {"udp_ping_pong", nothing, 0, 1, HOST_SIZE},
    {"copy_to_host", copy_to_host, 0, 0, HOST_SIZE},
    {"empty", nothing, 0, 0, HOST_SIZE},
};
static const struct bench *bench;

/* Packets are created before the run, because some tables depend on them. */
static void make_packets(uint32_t count, size_t size)
{
    packet_size = size;
    for (n_packets = 0; n_packets < count; n_packets++) {
        uint8_t *packet = packets[n_packets];
        pkt_hdr_t *header = (pkt_hdr_t *)packet;
        header->ip_hdr.ihl = 5;
        header->ip_hdr.length = (uint16_t)size;
        header->ip_hdr.protocol = 17;
        header->ip_hdr.source_id = n_packets;
        header->ip_hdr.dest_id = ~n_packets;
        header->udp_hdr.src_port = 1000;
        header->udp_hdr.dst_port = 2000;
        bench->make(packet, size);
    }
}

static uint32_t fill(uint32_t message, uint32_t packet, uint8_t *buffer, uint32_t size, uint32_t *l1_size)
{
    static uint32_t next;
    (void)message, (void)packet, (void)l1_size;
    if (size != packet_size)
        printf("the driver asks for %u bytes\n", (unsigned)size);
    memcpy(buffer, packets[next++], size);
    return size;
}

/* An answer is the packet with swapped addresses; an answer of the key-value store has the value that was written. */
static uint32_t wrong_answers(void)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < n_sent && i < MAX_PACKETS; i++) {
        pkt_hdr_t *back = (pkt_hdr_t *)sent[i];
        uint32_t index = back->ip_hdr.dest_id;
        uint8_t expected[MAX_SIZE];
        if (index >= n_packets) {
            wrong++;
            continue;
        }
        memcpy(expected, packets[index], packet_size);
        pkt_hdr_t *header = (pkt_hdr_t *)expected;
        header->ip_hdr.source_id = ~index;
        header->ip_hdr.dest_id = index;
        header->udp_hdr.src_port = 2000;
        header->udp_hdr.dst_port = 1000;
        if (bench->answers == 2)
            words_of(expected)[2] = words_of(packets[index - 1])[2];
        wrong += memcmp(expected, sent[i], packet_size) != 0;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    char file[64], ph[64], th[64];
    int contexts;
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (argc > 1 && strcmp(benches[i].name, argv[1]) == 0)
            bench = &benches[i];
    if (bench == NULL || gdriver_init(argc - 1, argv + 1, NULL, &contexts) != GDRIVER_OK)
        return 2;
    snprintf(file, sizeof(file), "build/%s", bench->name);
    snprintf(ph, sizeof(ph), "%s_ph", bench->name);
    snprintf(th, sizeof(th), "%s_th", bench->name);
    make_packets(32, 1024);
    void *image = bench->make == strided_ddt ? (void *)layout : bench->make == filtering ? (void *)rules : NULL;
    size_t image_size = bench->make == strided_ddt ? sizeof(layout) : sizeof(rules);
    pspinsim_cb_set_pcie_slv_write(host_write);
    pspinsim_cb_set_pcie_slv_read(host_read);
    pspinsim_cb_set_pkt_out(packet_out);
    if (gdriver_add_ectx(file, NULL, ph, bench->has_completion ? th : NULL, fill, image, image_size, NULL, 0) != GDRIVER_OK)
        return 1;
    if (gdriver_run() != GDRIVER_OK)
        return 1;

    uint32_t n_wanted = bench->answers ? n_packets / (uint32_t)bench->answers : 0, n_bytes = 0, n_wrong = 0;
    for (size_t i = 0; i < bench->result; i++) {
        n_bytes += wanted[i] != 0;
        n_wrong += host[i] != wanted[i];
    }
    uint32_t wrong = wrong_answers();
    printf("%s: %u answers of %u, %u wrong; %u bytes for the host, %u wrong, %u outside\n", bench->name, (unsigned)n_sent,
           (unsigned)n_wanted, (unsigned)wrong, (unsigned)n_bytes, (unsigned)n_wrong, (unsigned)n_outside);
    int ended = gdriver_fini();
    return ended != GDRIVER_OK || n_sent != n_wanted || wrong || n_wrong || n_outside;
}
