/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the drivers of these tests: a context for handlers of one file, and a line for each callback. */
#ifndef LOG_H
#define LOG_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pspinsim.h"

#define HOST 0x1000000000000000ull
#define HANDLER_MEM 0x1c300000

/* End the program with the line of the failed call. */
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

/* A packet with the header of PsPIN's examples: header length (5 words), packet length. All other bytes count up. */
static inline void make_packet(uint8_t *packet, size_t size, uint8_t first)
{
    for (size_t i = 0; i < size; i++)
        packet[i] = (uint8_t)(first + i);
    packet[0] = 0x50 | first;
    packet[2] = (uint8_t)size;
    packet[3] = (uint8_t)(size >> 8);
}

/* Length of the run at `data` whose bytes each exceed the one before by `step`. */
static inline size_t run_of(const uint8_t *data, size_t size, uint8_t step)
{
    size_t n = 1;
    while (n < size && data[n] == (uint8_t)(data[n - 1] + step))
        n++;
    return n;
}

/* All bytes: text in quotes, `40+64` for 64 bytes that count up from 0x40, `00*8` for 8 bytes of 0, others one by one. */
static inline void show(const char *what, const uint8_t *data, size_t size)
{
    size_t n_text = 0;
    while (run_of(data, size, 1) < 3 && n_text < size && data[n_text] >= ' ' && data[n_text] <= '~')
        n_text++;
    printf("%s %zu bytes:", what, size);
    if (n_text > 8)
        printf(" \"%.*s\"", (int)n_text, (const char *)data);
    for (size_t i = n_text > 8 ? n_text : 0; i < size;) {
        size_t counting = run_of(data + i, size - i, 1), equal = run_of(data + i, size - i, 0);
        if (counting > 2)
            printf(" %02x+%zu", data[i], counting);
        else if (equal > 2)
            printf(" %02x*%zu", data[i], equal);
        else
            printf(" %02x", data[i]);
        i += counting > 2 ? counting : equal > 2 ? equal : 1;
    }
    printf("\n");
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
