/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and replies of services. `spinet.services.wire` reads these numbers.
 *
 * A request is one UDP packet; a reply is one or more. A frame is Ethernet, IPv4 of 20 bytes, UDP, two unused bytes
 * (spin_data.h gives the reason), service_head_t, and data. Numbers are little-endian.
 *
 * A reply goes to the address and port that the request came from, with the same number. The network may lose, repeat
 * and reorder frames: a client repeats a request that has no reply after some time, with the same number. A client must
 * not send request n + SERVICE_WINDOW before it has the reply to request n, or has given up on it. The numbers of a
 * client are below 2^28.
 *
 * With -DSERVICE_ACCESS_KEY=n, requests need this key of 32 bits, as an access to remote memory by RDMA needs an rkey. Its
 * low half is in the two unused bytes of a request, its high half in `part` and `more`, which only replies use.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include <handler.h>
#include <spin_data.h>

#define SERVICE_CLIENT_PORT 9500

#define SERVICE_HEAD_AT 44
#define SERVICE_DATA_AT 56
#define SERVICE_FRAME_BYTES 1536 /* a place for a frame, in whole lines of 64 bytes */
#define SERVICE_MAX_DATA 1456    /* bytes of data in a frame */
#define SERVICE_WINDOW 16        /* requests of a client in flight */
#ifndef SERVICE_ACCESS_KEY
#define SERVICE_ACCESS_KEY 0 /* 0: requests need no key */
#endif
#define SERVICE_DENIED 15 /* status of a reply: the request has another key, and was not performed */

/* From byte 44 of a frame on; the data begin at byte 56. */
typedef struct {
    uint32_t request; /* number of the request: from 1, unique for the client */
    uint16_t client;  /* number of the client */
    uint8_t kind;     /* operation */
    uint8_t status;   /* status of a reply */
    uint16_t bytes;   /* bytes of data */
    uint8_t part;     /* number of this packet in the reply, from 0 */
    uint8_t more;     /* 1 if the reply has further packets */
} service_head_t;

_Static_assert(SERVICE_HEAD_AT == SPIN_DATA_OFFSET, "the header follows UDP and two bytes");
_Static_assert(SERVICE_HEAD_AT + sizeof(service_head_t) == SERVICE_DATA_AT, "data follow the header");
_Static_assert(SERVICE_DATA_AT + SERVICE_MAX_DATA <= SERVICE_FRAME_BYTES, "a frame holds the data");

static inline service_head_t *service_head(const void *frame)
{
    return (service_head_t *)((uint8_t *)frame + SERVICE_HEAD_AT);
}

/* True if the packet has a header, so that it can be answered. */
static inline bool service_has_head(const task_t *task) { return spin_data(task).size >= sizeof(service_head_t); }

/* True if a packet with a header has another key than the service. */
static inline bool service_is_denied(const task_t *task)
{
    const uint16_t *low = (const uint16_t *)((const uint8_t *)task->pkt_mem + SERVICE_HEAD_AT - 2);
    const uint16_t *high = (const uint16_t *)&service_head(task->pkt_mem)->part;
    return SERVICE_ACCESS_KEY != 0 && (*low | (uint32_t)*high << 16) != SERVICE_ACCESS_KEY;
}

/* True if the packet has all data that its header announces, and no more. */
static inline bool service_is_whole(const task_t *task)
{
    return spin_data(task).size == sizeof(service_head_t) + service_head(task->pkt_mem)->bytes;
}

/*
 * The latest requests of a client, for services that must perform each of them once, however often it arrives. All
 * zeros at first. A word has the number of a request and, in the low bits, its status: 1 to 15, or 0 until the request
 * has been performed.
 */
#define SERVICE_STATUS_BITS 4

typedef struct {
    volatile uint32_t word[SERVICE_WINDOW];
} service_latest_t;

/*
 * True if this core has to perform the request. Otherwise it is a copy, and `status` is that of the first one: 0 if
 * that is in progress, or if the client has gone SERVICE_WINDOW requests further, so that a reply is of no use. One
 * atomic.
 */
static inline bool service_is_first(service_latest_t *latest, uint32_t request, uint32_t *status)
{
    const uint32_t own = request << SERVICE_STATUS_BITS;
    const uint32_t before = amo_maxu(&latest->word[request % SERVICE_WINDOW], own);
    *status = before >> SERVICE_STATUS_BITS == request ? before - own : 0;
    return before < own;
}

/* Keep the status of a request that has been performed, unless the client has given up on it. */
static inline void service_keep_status(service_latest_t *latest, uint32_t request, uint32_t status)
{
    amo_maxu(&latest->word[request % SERVICE_WINDOW], request << SERVICE_STATUS_BITS | status);
}

/* True if the number of the request fits into service_latest_t. */
static inline bool service_has_number(const service_head_t *head) { return head->request - 1 < 0x0fffffff; }

static inline void service_copy_headers(const uint8_t *from, uint8_t *to)
{
    for (uint32_t i = 0; i < SERVICE_DATA_AT / 4; i++) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

/* Remove the access key from a frame that becomes a reply. */
static inline void service_remove_key(uint8_t *frame)
{
    if (SERVICE_ACCESS_KEY != 0) {
        *(uint16_t *)(frame + SERVICE_HEAD_AT - 2) = 0;
        service_head(frame)->part = service_head(frame)->more = 0;
    }
}

/*
 * Begin a reply: the headers of the packet, with sender and receiver swapped, in another frame in L1, without the
 * access key. The packet keeps its data, and must not be used for a second call. About 60 cycles.
 */
static inline service_head_t *service_turn(const task_t *task, uint8_t *frame)
{
    spin_data_turn_round(task);
    service_copy_headers((const uint8_t *)task->pkt_mem, frame);
    service_remove_key(frame);
    return service_head(frame);
}

/*
 * Set the number of bytes of data, with all lengths and checksums that depend on it, and begin to send the frame. Its
 * place can be used again when the command has ended.
 */
static inline spin_cmd_t service_start(uint8_t *frame, uint32_t bytes)
{
    spin_ipv4_t *ip = (spin_ipv4_t *)(frame + SPIN_IP_OFFSET);
    spin_udp_t *udp = (spin_udp_t *)(ip + 1);
    const uint32_t size = SERVICE_DATA_AT + bytes;
    const spin_be16_t length = spin_htons((uint16_t)(size - SPIN_IP_OFFSET));
    ip->checksum = spin_checksum_update16(ip->checksum, ip->total_length, length);
    ip->total_length = length;
    udp->length = spin_htons((uint16_t)(size - SPIN_IP_OFFSET - sizeof(spin_ipv4_t)));
    udp->checksum = 0; /* IPv4 allows UDP without one */
    service_head(frame)->bytes = (uint16_t)bytes;
    spin_cmd_t sent;
    spin_send_packet(frame, size, &sent);
    return sent;
}

/* The same; waits until the card has read the frame, because the core's next packet uses the same place. */
static inline void service_send(uint8_t *frame, uint32_t bytes) { spin_cmd_wait(service_start(frame, bytes)); }

#endif
