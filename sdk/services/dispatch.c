/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher of functions that are installed on demand (`spinet.services.Functions` is its host side).
 *
 * Its rule has the lowest priority, so it gets the requests to functions that are not in the card. It copies each
 * request to a ring in host memory and raises the flag of its place. The host frees the place, installs the function, and
 * returns the request to the card. Requests without the access key, those to unknown functions, and those for which the
 * ring has no place, are answered at once. Requests have the format of service.h; a function is a UDP port. The rule of an
 * installed function matches the access key too, so requests without it come here.
 *
 * Places of the ring are taken and freed in order. Host memory has a flag of 8 bytes for each place, then the places,
 * SERVICE_FRAME_BYTES each. A flag has the number of the request in the ring, from 1, and the number of bytes.
 *
 * Memory: dispatch_t in handler memory. Host memory: one DMA write and one word for each request. Cost: 210 to 240 cycles
 * on preset pspin, 320 more for each page that the IOMMU has to look up; 180 for a refusal.
 */
#include "function.h"

#ifndef DISPATCH_KEPT
#define DISPATCH_KEPT 64 /* places of the ring, a power of 2 */
#endif

#define DISPATCH_PORTS 256
#define DISPATCH_EVENTS_AT 8
#define DISPATCH_TABLE_AT 32

enum { DISPATCH_UNKNOWN, DISPATCH_BUSY, DISPATCH_MALFORMED, DISPATCH_DENIED };

typedef struct {
    volatile uint32_t taken; /* places taken so far */
    volatile uint32_t freed; /* places freed so far; only the host writes it */
    volatile int32_t events[6];
    uint8_t is_deployed[DISPATCH_PORTS]; /* functions that the host has, by port from FUNCTION_PORT on */
} dispatch_t;

_Static_assert(__builtin_offsetof(dispatch_t, events) == DISPATCH_EVENTS_AT, "as in the Python side");
_Static_assert(__builtin_offsetof(dispatch_t, is_deployed) == DISPATCH_TABLE_AT, "as in the Python side");
_Static_assert((DISPATCH_KEPT & (DISPATCH_KEPT - 1)) == 0, "numbers of requests wrap");

/* Take the next place of the ring: its number since the start. False if the ring is full. */
static bool take_place(dispatch_t *dispatch, uint32_t *number)
{
    uint32_t taken;
    do {
        const uint32_t freed = dispatch->freed; /* read first: the number of used places is then too high at most */
        taken = load_reserved(&dispatch->taken);
        if (taken - freed >= DISPATCH_KEPT) {
            return false;
        }
    } while (store_conditional(&dispatch->taken, taken + 1) != 0);
    *number = taken;
    return true;
}

static void refuse(const task_t *task, dispatch_t *dispatch, uint32_t event, uint32_t status)
{
    amo_add(&dispatch->events[event], 1);
    function_reply(task, status, 0);
}

__handler__ void dispatch_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    dispatch_t *dispatch = (dispatch_t *)task->handler_mem;
    if (task->handler_mem_size < sizeof(dispatch_t) || task->host_mem_size < DISPATCH_KEPT * (8 + SERVICE_FRAME_BYTES)) {
        return;
    }
    if (!service_has_head(task)) {
        amo_add(&dispatch->events[DISPATCH_MALFORMED], 1); /* no header, no answer */
        return;
    }
    if (service_is_denied(task)) {
        refuse(task, dispatch, DISPATCH_DENIED, SERVICE_DENIED);
        return;
    }
    if (!service_is_whole(task) || task->pkt_mem_size > SERVICE_FRAME_BYTES) {
        refuse(task, dispatch, DISPATCH_MALFORMED, FUNCTION_MALFORMED);
        return;
    }
    const uint32_t port = spin_ntohs(spin_data_udp(task)->dst_port) - FUNCTION_PORT;
    if (port >= DISPATCH_PORTS || !dispatch->is_deployed[port]) {
        refuse(task, dispatch, DISPATCH_UNKNOWN, FUNCTION_UNKNOWN);
        return;
    }
    uint32_t number;
    if (!take_place(dispatch, &number)) {
        refuse(task, dispatch, DISPATCH_BUSY, FUNCTION_BUSY);
        return;
    }
    const uint32_t place = number % DISPATCH_KEPT, bytes = task->pkt_mem_size;
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, DISPATCH_KEPT * 8 + place * SERVICE_FRAME_BYTES), (uintptr_t)task->pkt_mem, bytes,
                     false, &written);
    spin_cmd_wait(written); /* the flag must not overtake the request */
    spin_write_to_host(spin_host_address(task, place * 8), (uint64_t)bytes << 32 | (number + 1), &written);
}
