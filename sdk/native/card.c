/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The card's memories as mappings of this process, at the card's own addresses, and commands as copies.
 *
 * So an address fits 32 bits, and offsets within a memory are those that handlers know. Packets are never freed: each
 * is behind the previous one, as in a packet memory without end, and has a second copy in place of L1.
 */
#define _GNU_SOURCE
#include "native.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv. */
#define L1_BASE 0x10000000u
#define L1_STRIDE 0x400000u
#define L2_HANDLER_BASE 0x1C000000u
#define L2_HANDLER_BYTES 0x400000u
#define L2_PACKET_BASE 0x1C400000u
#define ROW 64u
#define MAX_PACKET_MEMORY (512u << 20)
#define COPIES_BASE (L2_PACKET_BASE + MAX_PACKET_MEMORY)

/* Source: hw/verilator_model/src/NICOutbound.hpp. */
#define MAX_SENT_BYTES 2048u
#define RDMA_HEADER_BYTES 32u

/* The header of INPUT; then follow the content of handler memory, messages of 5 words, packets of 3 words, and their
/  bytes. */
typedef struct {
    char magic[8];
    uint64_t host_base;
    uint32_t host_bytes;
    uint32_t l1_bytes;
    uint32_t scratchpad_offset, scratchpad_bytes;
    uint32_t handler_mem, handler_mem_bytes;
    uint32_t handler_data_bytes;
    uint32_t n_messages, n_packets;
    uint32_t unused;
} input_t;

typedef struct sent {
    struct sent *next;
    uint32_t packet, size;
    uint8_t bytes[];
} sent_t;

packet_t *native_packets;
message_t *native_messages;
uint32_t native_n_packets;
uint32_t native_command_faults;
__thread uint32_t native_current_packet;

static const input_t *input;
static const uint8_t *handler_data, *packet_data;
static uint8_t *host;
static uint64_t host_used; /* bytes, up to the last that was written */
static uint32_t packet_memory_bytes;
static sent_t *sent; /* the newest first */

_Noreturn void native_fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(2);
}

static void *map(uintptr_t at, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_FIXED_NOREPLACE
    flags |= at != 0 ? MAP_FIXED_NOREPLACE : 0;
#endif
    void *memory = mmap((void *)at, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED || (at != 0 && memory != (void *)at)) {
        native_fail("this system has no room at the card's addresses");
    }
    return memory;
}

static uint32_t in_rows(uint32_t bytes) { return (bytes + ROW - 1) / ROW * ROW; }

static const uint8_t *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        native_fail("cannot read the input");
    }
    *size = (size_t)ftell(file);
    uint8_t *bytes = malloc(*size + 1);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        native_fail("cannot read the input");
    }
    fclose(file);
    return bytes;
}

void native_load(const char *path)
{
    size_t size;
    const uint8_t *at = read_all(path, &size), *end = at + size;
    input = (const input_t *)at;
    if (size < sizeof *input || memcmp(input->magic, "spinet\0\1", 8) != 0) {
        native_fail("this is not an input of this version");
    }
    at += sizeof *input;
    handler_data = at;
    at += input->handler_data_bytes;
    native_n_packets = input->n_packets;
    native_messages = calloc(input->n_messages + 1, sizeof *native_messages);
    native_packets = calloc(native_n_packets + 1, sizeof *native_packets);
    if (native_messages == NULL || native_packets == NULL) {
        native_fail("no memory for the packets");
    }
    for (uint32_t i = 0; i < input->n_messages; i++, at += 5 * sizeof(uint32_t)) {
        memcpy(&native_messages[i], at, 5 * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < native_n_packets; i++, at += 3 * sizeof(uint32_t)) {
        packet_t *packet = &native_packets[i];
        message_t *message;
        memcpy(packet, at, 3 * sizeof(uint32_t));
        message = &native_messages[packet->message];
        packet->is_first = message->left++ == 0;
        packet->offset = packet_memory_bytes;
        if (packet->size > MAX_PACKET_MEMORY - packet_memory_bytes) {
            native_fail("more than 512 MiB of packets");
        }
        packet_memory_bytes += in_rows(packet->size);
    }
    packet_data = at;
    if (at > end) {
        native_fail("the input is too short");
    }
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        map(L1_BASE + cluster * L1_STRIDE, input->l1_bytes);
    }
    map(L2_HANDLER_BASE, L2_HANDLER_BYTES);
    if (packet_memory_bytes > 0) {
        map(L2_PACKET_BASE, packet_memory_bytes);
        map(COPIES_BASE, packet_memory_bytes);
    }
    host = map(0, (size_t)input->host_bytes + 1);
}

static uint8_t *memory_at(uint32_t address) { return (uint8_t *)(uintptr_t)address; }

/* Every page is touched, so that no handler pays for its first access. */
void native_card_reset(void)
{
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        memset(memory_at(L1_BASE + cluster * L1_STRIDE), 0, input->l1_bytes);
    }
    memset(memory_at(input->handler_mem), 0, input->handler_mem_bytes);
    memcpy(memory_at(input->handler_mem), handler_data, input->handler_data_bytes);
    const uint8_t *from = packet_data;
    for (uint32_t i = 0; i < native_n_packets; i++) {
        memcpy(memory_at(L2_PACKET_BASE + native_packets[i].offset), from, native_packets[i].size);
        memcpy(memory_at(COPIES_BASE + native_packets[i].offset), from, native_packets[i].size);
        from += native_packets[i].size;
    }
    for (uint32_t i = 0; i < input->n_messages; i++) {
        native_messages[i].has_begun = native_messages[i].is_done = 0;
        native_messages[i].left = native_messages[i].n_packets;
    }
    memset(host, 0, host_used);
    host_used = 0;
    native_command_faults = 0;
    while (sent != NULL) {
        sent_t *next = sent->next;
        free(sent);
        sent = next;
    }
}

task_t native_card_task(const packet_t *packet, const message_t *message)
{
    task_t task = {
        .handler_mem = memory_at(input->handler_mem),
        .handler_mem_size = input->handler_mem_bytes,
        .pkt_mem = memory_at(COPIES_BASE + packet->offset),
        .pkt_mem_size = packet->l1_bytes,
        .host_mem_high = (uint32_t)(input->host_base >> 32),
        .host_mem_low = (uint32_t)input->host_base,
        .host_mem_size = input->host_bytes,
        .l2_pkt_mem = memory_at(L2_PACKET_BASE + packet->offset),
        .home_cluster_id = message->home_cluster,
        .flow_id = message->flow_id,
    };
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        task.scratchpad[cluster] = memory_at(L1_BASE + cluster * L1_STRIDE + input->scratchpad_offset);
        task.scratchpad_size[cluster] = input->scratchpad_bytes;
    }
    return task;
}

/* `size` bytes of the context's host memory; NULL, and counted, if they are not all there. */
static uint8_t *host_at(uint64_t address, uint32_t size)
{
    uint64_t offset = address - input->host_base;
    if (offset > input->host_bytes || size > input->host_bytes - offset) {
        __atomic_add_fetch(&native_command_faults, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    return host + offset;
}

static void write_host(uint64_t address, const void *data, uint32_t size)
{
    uint8_t *to = host_at(address, size);
    if (to == NULL) {
        return;
    }
    memcpy(to, data, size);
    uint64_t end = (uint64_t)(to - host) + size, used = __atomic_load_n(&host_used, __ATOMIC_RELAXED);
    while (end > used && !__atomic_compare_exchange_n(&host_used, &used, end, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

spin_cmd_t spin_cmd_issue_host(uint64_t address, uintptr_t word2, uint32_t word3, uint32_t word4, uint32_t info)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if ((info & ~1u) == HWSCHED_INFO_HOST_DIRECT) {
        const uint32_t data[] = {word3, word4};
        write_host(address, data, MIN((uint32_t)word2 >> 1, sizeof data));
    } else if (word4 != 0) {
        write_host(address, (const void *)word2, word3);
    } else {
        const uint8_t *from = host_at(address, word3);
        if (from != NULL) {
            memcpy((void *)word2, from, word3);
        }
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return 0;
}

/* A packet longer than the outbound engine's is sent in parts; an RDMA put has a header in front of each. */
spin_cmd_t spin_cmd_issue_nic(uint32_t dest, uint32_t fid, const void *data, uint32_t length)
{
    const uint32_t header = fid == 0 ? 0 : RDMA_HEADER_BYTES;
    const uint8_t *from = data;
    while (length > 0) {
        uint32_t payload = MIN(length, MAX_SENT_BYTES - header);
        sent_t *packet = calloc(1, sizeof *packet + header + payload);
        if (packet == NULL) {
            native_fail("no memory for the packets that handlers send");
        }
        packet->packet = native_current_packet;
        packet->size = header + payload;
        if (header != 0) {
            memcpy(packet->bytes, (const uint32_t[]){dest, fid}, 2 * sizeof(uint32_t));
        }
        memcpy(packet->bytes + header, from, payload);
        packet->next = __atomic_load_n(&sent, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&sent, &packet->next, packet, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        from += payload;
        length -= payload;
    }
    return 0;
}

FILE *native_open_file(const char *folder, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = n > 0 && (size_t)n < sizeof path ? fopen(path, "wb") : NULL;
    if (file == NULL) {
        native_fail("cannot write the results");
    }
    return file;
}

void native_close_file(FILE *file)
{
    if (ferror(file) != 0 || fclose(file) != 0) {
        native_fail("cannot write the results");
    }
}

void native_write_file(const char *folder, const char *name, const void *data, size_t size)
{
    FILE *file = native_open_file(folder, name);
    fwrite(data, 1, size, file);
    native_close_file(file);
}

/* Host memory up to the last byte written; packets, newest first: number of the packet that it answers, size, bytes. */
void native_card_write(const char *folder)
{
    native_write_file(folder, "host.bin", host, host_used);
    FILE *file = native_open_file(folder, "sent.bin");
    for (const sent_t *packet = sent; packet != NULL; packet = packet->next) {
        fwrite(&packet->packet, 1, 2 * sizeof(uint32_t), file);
        fwrite(packet->bytes, 1, packet->size, file);
    }
    native_close_file(file);
}
