/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives files over SLMP into the context's host memory, behind the pages of the HPUs.
 *
 * The header handler prints a line if a message does not begin at its first byte or does not ask for an
 * acknowledgement. The payload handler copies the data without waiting, since the card keeps the packet until the copy
 * is done, and acknowledges packets that ask for it. Packets without all headers, and those that the host's buffer has
 * no room for, are ignored. The completion handler calls the host with the message's length.
 */
#include "slmp.h"
#include <stdio.h>

#define DATA (FPSPIN_HPUS * FPSPIN_PAGE)

__handler__ void slmp_receive_hh(handler_args_t *args)
{
    slmp_headers_t *headers = (slmp_headers_t *)args->task->pkt_mem;
    if (slmp_has_headers(args->task) &&
        (headers->slmp.offset != 0 || (headers->slmp.flags & spin_htons(SLMP_SYN)) == 0)) {
        printf("a message begins at byte %lu with flags %#x\n", (unsigned long)spin_ntohl(headers->slmp.offset),
               spin_ntohs(headers->slmp.flags));
    }
}

__handler__ void slmp_receive_ph(handler_args_t *args)
{
    slmp_headers_t *headers = (slmp_headers_t *)args->task->pkt_mem;
    uint32_t size = slmp_size(args->task), offset = spin_ntohl(headers->slmp.offset);
    if (!slmp_has_headers(args->task) || !slmp_fits(args->task, offset, size)) {
        return;
    }
    if (size > 0) {
        uint64_t to = fpspin_host(args) + DATA + offset;
        spin_cmd_t copy;
        spin_dma_to_host(to, (uintptr_t)(headers + 1), size, false, &copy);
    }
    if ((headers->slmp.flags & spin_htons(SLMP_SYN)) != 0) {
        slmp_acknowledge(headers);
    }
}

__handler__ void slmp_receive_th(handler_args_t *args)
{
    slmp_headers_t *headers = (slmp_headers_t *)args->task->pkt_mem;
    uint32_t size = slmp_size(args->task), offset = spin_ntohl(headers->slmp.offset);
    if (slmp_has_headers(args->task) && slmp_fits(args->task, offset, size)) {
        fpspin_call(args, offset + size);
    }
}
