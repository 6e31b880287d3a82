/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The card of a service's client: it writes replies to host memory, where the client's program waits for them
 * (service.h has the format).
 *
 * Host memory has a flag of 8 bytes for each place, then the places, SERVICE_FRAME_BYTES each. Part p of the reply to
 * request n has the place (n modulo SERVICE_WINDOW) * PARTS + p. The handler writes the reply from its header on, and
 * then the flag: the number of the request, and the number of bytes. Only the first copy of a part is written, so
 * the program never sees a mixture of two replies.
 *
 * Memory: handler memory of 4 bytes for each place. Host memory: one DMA write and one word for each reply. Cost:
 * about 100 cycles, and the latency of the host.
 */
#include "service.h"

#ifndef PARTS
#define PARTS 1 /* most packets of a reply */
#endif

__handler__ void client_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const uint32_t places = SERVICE_WINDOW * PARTS;
    if (!service_has_head(task) || !service_is_whole(task) || task->handler_mem_size < 4 * places ||
        task->host_mem_size < places * (8 + SERVICE_FRAME_BYTES)) {
        return;
    }
    const service_head_t *head = service_head(task->pkt_mem);
    const uint32_t bytes = sizeof(service_head_t) + head->bytes;
    if (head->part >= PARTS || bytes > SERVICE_FRAME_BYTES) {
        return;
    }
    const uint32_t place = head->request % SERVICE_WINDOW * PARTS + head->part;
    volatile uint32_t *latest = (volatile uint32_t *)task->handler_mem + place;
    if (amo_maxu(latest, head->request) >= head->request) {
        return; /* a copy, or the reply to a request that the client has given up */
    }
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, places * 8 + place * SERVICE_FRAME_BYTES), (uintptr_t)head, bytes, false, &written);
    spin_cmd_wait(written);
    spin_write_to_host(spin_host_address(task, place * 8), (uint64_t)bytes << 32 | head->request, &written);
}
