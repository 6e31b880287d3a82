/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and memory of consensus.c. `spinet.services.consensus` reads these numbers.
 *
 * All frames have CONSENSUS_FRAME_BYTES: Ethernet, IPv4, UDP, two unused bytes, then
 *
 *     byte 44  kind, u8      CONSENSUS_REQUEST and so on.
 *     byte 45  from, u8      number of the sending replica. In a reply: number of the leader.
 *     byte 46  status, u8    of a reply
 *     byte 47  unused
 *     byte 48  ballot, u32   CONSENSUS_ROUND * round + number of the replica that leads with this ballot
 *     byte 52  slot, u32     of the log
 *     byte 56  accepted, u32 in a promise: ballot of the entry; 0: no entry; CONSENSUS_CHOSEN: the entry is chosen
 *     byte 60  end, u32      in a promise: number of slots up to the last one with an entry
 *     byte 64  entry         64 bytes: client (IPv4 address; 0: no command), request number, bytes of the value,
 *                            slot + 1, and the value of up to 48 bytes
 *
 * Numbers are little-endian, except addresses. Host memory of a replica: a line of 64 bytes with the status (promised ballot, signs of
 * life from leaders, role, length of the chosen prefix of the log), then the log, an entry for each slot. An entry of slot s is there
 * if its fourth number is s + 1. Host memory of a client: 8 bytes for each request number, modulo CONSENSUS_REPLIES: the slot,
 * 256 + status, and in the highest byte the replica to ask if the status is CONSENSUS_NOT_LEADER.
 */
#ifndef CONSENSUS_H
#define CONSENSUS_H

#include "frames.h"

#define CONSENSUS_PORT 9520        /* UDP port of replicas */
#define CONSENSUS_CLIENT_PORT 9521 /* UDP port of clients */

/* Kinds of messages: to replicas from clients, between replicas, and from the host of a replica to its card. */
#define CONSENSUS_REQUEST 1  /* from a client: append this entry */
#define CONSENSUS_REPLY 2    /* to a client */
#define CONSENSUS_PREPARE 3  /* a replica wants to lead: promise to obey no lower ballot; what do you have in this slot? */
#define CONSENSUS_PROMISE 4  /* the answer */
#define CONSENSUS_ACCEPT 5   /* the leader proposes the entry for the slot */
#define CONSENSUS_ACCEPTED 6 /* the answer, with the entry */
#define CONSENSUS_REFUSED 7  /* the answer if the replica has promised to obey a higher ballot, which the answer names */
#define CONSENSUS_COMMIT 8   /* the entry is chosen */
#define CONSENSUS_ALIVE 9    /* a sign of life of the leader, with the length of its chosen prefix in `slot` */
#define CONSENSUS_MISSING 10 /* the answer of a replica that has a shorter prefix, of the length `slot` */
#define CONSENSUS_TICK 11    /* from the host: repeat what has no answer, and show that this leader lives */
#define CONSENSUS_LEAD 12    /* from the host: become the leader */
#define CONSENSUS_STOP 13    /* from the host: ignore all packets from now on, like a dead node */

/* Status of a reply. */
#define CONSENSUS_OK 0
#define CONSENSUS_NOT_LEADER 1
#define CONSENSUS_FULL 2

/* Roles. */
#define CONSENSUS_FOLLOWER 0
#define CONSENSUS_RECOVERING 1 /* asks what earlier leaders proposed */
#define CONSENSUS_LEADER 2

#define CONSENSUS_MAX_REPLICAS 7
#define CONSENSUS_ROUND 8
#define CONSENSUS_CHOSEN 0xffffffffu
#define CONSENSUS_SLOTS 4096
#define CONSENSUS_VALUE_BYTES 48
#define CONSENSUS_ENTRY_BYTES 64
#define CONSENSUS_LOG_AT 64 /* in host memory */
#define CONSENSUS_REPLIES 4096
#define CONSENSUS_RECENT 1024
#define CONSENSUS_BATCH 16 /* most slots that one message makes a replica send again */
#define CONSENSUS_MESSAGE_AT 44
#define CONSENSUS_FRAME_BYTES 128
#define CONSENSUS_MEMORY_BYTES 397440   /* size of the scratchpad in each L1; only that of cluster 0 is used */
#define CONSENSUS_CONFIGURATION_BYTES 36 /* size of handler memory */

typedef struct {
    spin_be32_t client;
    uint32_t number, bytes, mark;
    uint8_t value[CONSENSUS_VALUE_BYTES];
} consensus_entry_t;

typedef struct {
    uint8_t kind, from, status, unused;
    uint32_t ballot, slot, accepted, end;
    consensus_entry_t entry;
} consensus_packet_t;

_Static_assert(CONSENSUS_MESSAGE_AT == FRAME_MESSAGE_AT, "as in frames.h");
_Static_assert(CONSENSUS_MESSAGE_AT + sizeof(consensus_packet_t) == CONSENSUS_FRAME_BYTES, "a message fills a frame");

/* A slot of the log. `votes` and `promises` are sets of replicas, used by the leader with ballot `vote_ballot`. */
typedef struct {
    volatile uint32_t accepted; /* ballot of the entry; 0: no entry; CONSENSUS_CHOSEN */
    uint32_t vote_ballot;
    volatile uint32_t votes;
    uint32_t promises;
    consensus_entry_t entry;
    spin_lock_t lock; /* protects the entry and `accepted` from handlers that share the state */
    uint32_t unused[3];
} consensus_slot_t;

/* The host writes it to handler memory. */
typedef struct {
    uint32_t self, size;
    spin_be32_t replicas[CONSENSUS_MAX_REPLICAS];
} consensus_configuration_t;

/* The state of a replica, zero at first. */
typedef struct {
    uint32_t self, size; /* the configuration, which the first packet copies */
    spin_be32_t replicas[CONSENSUS_MAX_REPLICAS];
    volatile uint32_t is_exclusive; /* a handler has exclusive access to the state, or waits for it */
    volatile int32_t n_sharing;     /* handlers that share it */
    uint32_t is_stopped;
    uint32_t role;
    uint32_t promised; /* highest ballot that this replica obeys */
    uint32_t ballot;   /* its own last ballot */
    volatile uint32_t next; /* leader: first slot without a proposal of this ballot */
    volatile uint32_t end;  /* number of slots up to the last one with an entry, here or as promises tell */
    volatile uint32_t prefix; /* number of slots without a gap whose entries are chosen */
    uint32_t signs;    /* signs of life from leaders */
    uint32_t unused[13];
    uint32_t recent[CONSENSUS_RECENT]; /* slots of recent requests, by client and number */
    consensus_slot_t slots[CONSENSUS_SLOTS];
} consensus_replica_t;

_Static_assert(sizeof(consensus_configuration_t) == CONSENSUS_CONFIGURATION_BYTES, "as in the Python side");
_Static_assert(sizeof(consensus_replica_t) == CONSENSUS_MEMORY_BYTES, "as in the Python side");

#endif
