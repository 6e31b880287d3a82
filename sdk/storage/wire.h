/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets of the storage example. `spinet.storage.wire` reads these definitions, so Python and C cannot differ.
 *
 * A request is a message of one or more UDP packets to port STORAGE_PORT. Each packet begins, behind two unused bytes,
 * with `storage_packet_t`. A request with up to STORAGE_UNIT bytes of data is one packet, with `storage_request_t` in
 * front of the data. A larger request begins with a packet that has only `storage_request_t`, and each later packet
 * except the last carries STORAGE_UNIT bytes of data. Nodes forward the first packet first and the last packet last;
 * packets between may overtake each other. Replies go to STORAGE_CLIENT_PORT of the client. Numbers are little-endian;
 * addresses of nodes are as in an IPv4 header. An address is an offset in the host memory of a node or, from STORAGE_CARD_AT
 * on, in memory of its card. An object has the same address on all nodes that store a part of it.
 *
 * Nodes find each other by a rule instead of ARP: the MAC address of a node is 02:00 and its IPv4 address, as in
 * networks of spinet.
 */
#ifndef STORAGE_WIRE_H
#define STORAGE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define STORAGE_PORT 9400
#define STORAGE_CLIENT_PORT 9401

#define STORAGE_CARD_AT 0x80000000 /* host memory of a node ends before it */

#define STORAGE_UNIT 1024       /* bytes of data in a packet */
#define STORAGE_MAX_UNITS 1024  /* packets with data of a message */
#define STORAGE_MAX_NODES 8     /* replicas, or parity nodes, that a request can name */
#define STORAGE_MAX_PARITY 4

/* Where the parts of a packet are, from its first byte. */
#define STORAGE_PACKET_AT 44
#define STORAGE_REQUEST_AT 64
#define STORAGE_ONLY_DATA_AT 144 /* in a request of one packet */
#define STORAGE_DATA_AT 64
#define STORAGE_REPLY_BYTES 64 /* a whole reply: no packet of a request is shorter */

/* storage_packet_t.kind */
#define STORAGE_WRITE 1
#define STORAGE_READ 2
#define STORAGE_REPLY 3 /* to the client: `place` is a status, `offset` the number of bytes in host memory */
#define STORAGE_DATA 4  /* data of a read, to the client */

/* storage_packet_t.place: flags */
#define STORAGE_FIRST 1
#define STORAGE_LAST 2

/* storage_request_t.policy */
#define STORAGE_PLAIN 0
#define STORAGE_CHAIN 1       /* forwards each packet to the next of `nodes` */
#define STORAGE_TREE 2        /* forwards each packet to the children in a binary tree of `nodes` */
#define STORAGE_CODE_DATA 3   /* a data block: products go to the `m` parity nodes */
#define STORAGE_CODE_PARITY 4 /* products of data block `rank`, to be added */
#define STORAGE_RAID_DATA 5   /* the difference to the old data goes to nodes[0] */
#define STORAGE_RAID_PARITY 6 /* a difference, to be added to the old parity */

/* storage_capability_t.rights */
#define STORAGE_MAY_READ 1
#define STORAGE_MAY_WRITE 2

/* storage_packet_t.place of a reply */
#define STORAGE_OK 0
#define STORAGE_MALFORMED 1    /* the request contradicts itself, or exceeds a limit */
#define STORAGE_FORGED 2       /* the capability's tag is wrong, or it belongs to another client */
#define STORAGE_EXPIRED 3      /* the capability is too old */
#define STORAGE_FORBIDDEN 4    /* the capability grants other rights */
#define STORAGE_OUT_OF_RANGE 5 /* outside the capability's object, or outside the node's memory */
#define STORAGE_TORN 6         /* packets of the message are missing */
#define STORAGE_BUSY 7         /* no accumulator is free; the client may try again */

/* Number of words that the tag of a capability covers: all fields before it. */
#define STORAGE_SIGNED_WORDS 6
/* Unit of `expires`: cycles, as a shift. 2^20 cycles are about a millisecond at 1 GHz. */
#define STORAGE_TICK_SHIFT 20

/* In each packet. Client, request, attempt and stream identify a message on a node. */
typedef struct {
    uint8_t kind;
    uint8_t place;
    uint16_t bytes; /* bytes of data in this packet */
    uint32_t client;
    uint32_t request;
    uint16_t attempt; /* counts repetitions by the client */
    uint16_t stream;  /* number of the data block whose products these are; otherwise 0 */
    uint32_t offset;  /* place of this packet's data in the message */
} storage_packet_t;

/* A capability. The metadata service issues it. Storage nodes check its tag with a key that they share with it. */
typedef struct {
    uint32_t client;
    uint32_t object; /* for the service's own use */
    uint32_t begin;  /* first address */
    uint32_t bytes;
    uint32_t rights;
    uint32_t expires; /* 2^STORAGE_TICK_SHIFT cycles since reset */
    uint32_t tag[2];  /* HalfSipHash-2-4 of the words above */
} storage_capability_t;

/* In the first packet of a message. */
typedef struct {
    uint32_t address;
    uint32_t bytes; /* bytes of data in the message; in a read, the requested bytes */
    storage_capability_t capability;
    uint8_t policy;
    uint8_t k;    /* number of replicas, or of data blocks */
    uint8_t m;    /* number of parity blocks */
    uint8_t rank; /* number of this node among the replicas, or of the data block */
    uint8_t coefficients[STORAGE_MAX_PARITY]; /* coefficients of this data block, one for each parity block */
    uint32_t nodes[STORAGE_MAX_NODES];        /* replicas by rank; parity nodes */
} storage_request_t;

_Static_assert(STORAGE_PACKET_AT + sizeof(storage_packet_t) == STORAGE_REQUEST_AT, "the request follows the packet's header");
_Static_assert(STORAGE_REQUEST_AT + sizeof(storage_request_t) == STORAGE_ONLY_DATA_AT, "data follow the request");
_Static_assert(STORAGE_REPLY_BYTES == STORAGE_REQUEST_AT, "a reply is headers only");
_Static_assert(offsetof(storage_capability_t, tag) == STORAGE_SIGNED_WORDS * 4, "the tag covers all words before it");

#endif
