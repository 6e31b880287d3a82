/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function that the card installs on demand (dispatch.c): a payload handler that answers each request, in place.
 *
 * The context of a function matches packets with IPv4 of 20 bytes and UDP, to the function's port and with the access key of the
 * dispatcher, if that has one. So a function gets no other requests. Requests and replies have the format of service.h. Its static data are as in the ELF file each time that it is installed, and its handler memory is
 * zero: what it writes there is lost when the card needs the room for another function.
 */
#ifndef FUNCTION_H
#define FUNCTION_H

#include "service.h"

#define FUNCTION_PORT 9700 /* UDP port of the first function; the others follow */

#define FUNCTION_RESULT_BYTES 64

/* Status of a reply. A function may have others, from 16 on. */
#define FUNCTION_OK 0
#define FUNCTION_MALFORMED 1 /* the request contradicts itself, or the function does not accept its data */
#define FUNCTION_UNKNOWN 2   /* no function has this port */
#define FUNCTION_BUSY 3      /* too many requests wait for functions to be installed; repeat it later */

/* Send the packet back as the reply, with `bytes` of data from byte SERVICE_DATA_AT on. Waits until it is sent. */
static inline void function_reply(const task_t *task, uint32_t status, uint32_t bytes)
{
    spin_data_turn_round(task);
    service_remove_key((uint8_t *)task->pkt_mem);
    service_head(task->pkt_mem)->status = (uint8_t)status;
    service_send((uint8_t *)task->pkt_mem, bytes);
}

/*
 * Send a short result, up to FUNCTION_RESULT_BYTES. The reply is on the stack, because the packet may be shorter. Waits until it
 * is sent.
 */
static inline void function_result(const task_t *task, const void *result, uint32_t bytes)
{
    uint32_t frame[(SERVICE_DATA_AT + FUNCTION_RESULT_BYTES) / 4];
    service_turn(task, (uint8_t *)frame)->status = FUNCTION_OK;
    __builtin_memcpy((uint8_t *)frame + SERVICE_DATA_AT, result, bytes);
    service_send((uint8_t *)frame, bytes);
}

/* The data of a request, at a multiple of 4. NULL if the request is malformed; then it has been answered. */
static inline uint8_t *function_data(const task_t *task, uint32_t *bytes)
{
    if (!service_has_head(task)) {
        return NULL; /* cannot be answered */
    }
    if (!service_is_whole(task)) {
        function_reply(task, FUNCTION_MALFORMED, 0);
        return NULL;
    }
    *bytes = service_head(task->pkt_mem)->bytes;
    return (uint8_t *)task->pkt_mem + SERVICE_DATA_AT;
}

#endif
