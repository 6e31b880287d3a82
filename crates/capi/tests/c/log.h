/* SPDX-License-Identifier: Apache-2.0 */
/* What the drivers of these tests share: a context for handlers of one file, and a line for each callback. */
#ifndef LOG_H
#define LOG_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pspinsim.h"

#define HOST 0x1000000000000000ull
#define HANDLER_MEM 0x1c300000

/* End the program with the line of what failed. */
#define CHECK(call)                                          \
    do {                                                     \
        if ((call) != SPIN_SUCCESS) {                        \
            printf("line %d: %s failed\n", __LINE__, #call); \
            exit(1);                                         \
        }                                                    \
    } while (0)

static inline spin_nic_addr_t find(const char *file, const char *name)
{
    spin_nic_addr_t addr = 0;
    size_t size = 0;
    if (name != NULL)
        CHECK(spin_find_handler_by_name(file, name, &addr, &size));
    return addr;
}

static inline spin_ec_t make_ec(const char *file, const char *hh, const char *ph, const char *th)
{
    spin_ec_t ec;
    memset(&ec, 0, sizeof(ec));
    ec.handler_mem_addr = HANDLER_MEM;
    ec.handler_mem_size = 0x10000;
    ec.host_mem_addr = HOST;
    ec.host_mem_size = 0x10000;
    ec.hh_addr = find(file, hh);
    ec.ph_addr = find(file, ph);
    ec.th_addr = find(file, th);
    ec.hh_size = ec.ph_size = ec.th_size = 4096;
    for (int i = 0; i < NUM_CLUSTERS; i++)
        ec.scratchpad_size[i] = 0x1000;
    return ec;
}

/* A packet as the examples of PsPIN begin: length of the header in words, length of the packet. */
static inline void make_packet(uint8_t *packet, size_t size, uint8_t first)
{
    for (size_t i = 0; i < size; i++)
        packet[i] = (uint8_t)(first + i);
    packet[0] = 0x50 | first;
    packet[2] = (uint8_t)size;
    packet[3] = (uint8_t)(size >> 8);
}

/* Bytes with their sum, so that the log shows if any is wrong. */
static inline void show(const char *what, const uint8_t *data, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    printf("%s %zu bytes, %02x%02x%02x%02x..., sum %08" PRIx32 "\n", what, size, data[0], data[1], data[2], data[3], sum);
}

static inline void log_feedback(uint64_t user, uint64_t nic, uint64_t her, uint64_t done)
{
    printf("%" PRIu64 " ps: packet %" PRIu64 " done, in L2 for %" PRIu64 ", scheduled after %" PRIu64 "\n", done, user,
           done - nic, her - nic);
}

static inline void log_out(uint8_t *data, size_t size)
{
    show("out:", data, size);
}

static inline void log_write(uint64_t addr, uint8_t *data, size_t size)
{
    printf("host %" PRIx64, addr);
    show(" written:", data, size);
}

#endif
