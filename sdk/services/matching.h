/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and memory of matching.c. `spinet.services.matching` reads these numbers.
 *
 * A frame is Ethernet, IPv4, UDP, two unused bytes, match_head_t, and data from byte MATCH_DATA_AT on. Numbers are little-endian.
 * All frames go to MATCH_PORT. Frames that need a search of the lists come from MATCH_PORT too. Others come from
 * one of the MATCH_DATA_PORTS ports from MATCH_DATA_PORT on, so that all clusters handle them.
 *
 * A message has the rank of its sender and a number, from 1, which counts the sender's messages to this receiver. MATCH_EAGER
 * carries up to MATCH_UNIT bytes. A longer message is announced by MATCH_RTS; the receiver's card then asks for its data with
 * MATCH_GET, up to MATCH_CHUNK_UNITS units at once, and the sender's card answers with MATCH_DATA. MATCH_ACCEPTED says that the
 * message has its place in the order, MATCH_DONE that all data of a long message have arrived, MATCH_BUSY that the receiver's
 * list of unexpected messages is full. The sender's host repeats a message without MATCH_ACCEPTED, and an announcement without
 * MATCH_DONE. At most MATCH_WINDOW messages to a receiver may be without MATCH_ACCEPTED.
 *
 * The host posts a receive with a frame to its own address, MATCH_POST, with a number from 1 that counts its posts. At most
 * MATCH_WINDOW of them may be behind the number that the card reports as taken. A post has a mode: MATCH_RECEIVE is a receive, and the
 * others ask for an unexpected message. They never wait, and end at once with a record, MATCH_FOUND or MATCH_NONE. MATCH_IPROBE leaves
 * the message in the list. MATCH_IMPROBE takes it out, so that it is for MATCH_MRECV only, a receive that names the number of the
 * MATCH_IMPROBE. Posts take part in the order of their numbers, so a probe sees what earlier receives have left.
 *
 * MATCH_CANCEL, also from the host to itself, ends a posted receive without a message, by its number: its record is MATCH_CANCELLED.
 * If the receive has its message already, or is not taken yet, nothing happens; the host repeats the frame until it sees a record.
 *
 * Host memory of a card:
 *
 *     byte 0                  receives that the card has taken, u32; zero
 *     MATCH_RECORDS_AT        match_record_t of receive n at n modulo MATCH_RECORDS
 *     MATCH_ANSWERS_AT        for each receiver, MATCH_ANSWERS pairs: message n has the pair n modulo MATCH_ANSWERS. A pair is number
 *                             and kind (MATCH_ACCEPTED or MATCH_BUSY), number and MATCH_DONE
 *     MATCH_AREA_AT           buffers
 */
#ifndef MATCHING_H
#define MATCHING_H

#include "frames.h"

#ifndef MATCH_RECEIVES
#define MATCH_RECEIVES 128 /* receives that are posted, or whose message arrives */
#endif
#ifndef MATCH_UNEXPECTED
#define MATCH_UNEXPECTED 128 /* messages that wait for a receive */
#endif

#define MATCH_PEERS 16
#define MATCH_PORT 9530
#define MATCH_DATA_PORT 9531
#define MATCH_DATA_PORTS 32
#define MATCH_DATA_AT 84
#define MATCH_UNIT 1024
#define MATCH_CHUNK_UNITS 4
#define MATCH_CHUNKS 8          /* chunks that a card asks for at the same time, for each message */
#define MATCH_MAX_BYTES 1048576 /* longest message */
#define MATCH_WINDOW 16
#define MATCH_ANY 65535 /* a receive takes messages of all senders */
#define MATCH_RECORDS_AT 64
#define MATCH_RECORDS 256
#define MATCH_ANSWERS_AT 8256
#define MATCH_ANSWERS 64
#define MATCH_AREA_AT 24640

/* match_head_t.kind: to the receiver, */
#define MATCH_EAGER 1
#define MATCH_RTS 2
#define MATCH_DATA 3
/* to the sender, */
#define MATCH_GET 4
#define MATCH_ACCEPTED 5
#define MATCH_DONE 6
#define MATCH_BUSY 7
/* and from the host to its card. */
#define MATCH_POST 8
#define MATCH_CANCEL 9

/* match_head_t.mode of MATCH_POST, with the names of MPI */
#define MATCH_RECEIVE 0
#define MATCH_IPROBE 1
#define MATCH_IMPROBE 2
#define MATCH_MRECV 3 /* `receive` is the number of the MATCH_IMPROBE */

/* match_record_t.status */
#define MATCH_OK 1
#define MATCH_TRUNCATED 2 /* the message was longer than the buffer; its beginning is there */
#define MATCH_FULL 3      /* refused: the card has MATCH_RECEIVES receives */
#define MATCH_NONE 4      /* a probe found no message, or MATCH_MRECV names none */
#define MATCH_FOUND 5     /* a probe found the message that the record describes */
#define MATCH_CANCELLED 6

/* Counters of events. */
#define MATCH_REFUSED 0    /* malformed frames, and kinds that do not exist */
#define MATCH_DUPLICATES 1 /* copies of messages, receives and units */
#define MATCH_EARLY 2      /* messages and receives that came before their predecessors */
#define MATCH_FULLS 3      /* messages and receives without a place in a list */
#define MATCH_LATE 4       /* messages that waited for their receive */
#define MATCH_EVENTS 5

/* From byte 44 of a frame on. */
typedef struct {
    uint8_t kind, mode;
    uint16_t from;    /* rank of the message's sender */
    uint32_t number;  /* number of the message, or of the receive */
    uint32_t tag;
    uint32_t ignore;  /* MATCH_POST: bits of the tag that may differ */
    uint16_t comm;    /* communicator */
    uint16_t peer;    /* rank of the receiver; MATCH_POST: rank of the sender, or MATCH_ANY */
    uint32_t bytes;   /* size of the message, or of the buffer */
    uint32_t address; /* in the host memory of the message's sender; MATCH_POST: of the buffer */
    uint32_t at;      /* MATCH_GET, MATCH_DATA: position of the data in the message */
    uint32_t count;   /* bytes of data in this frame; MATCH_GET: bytes asked for */
    uint32_t receive; /* MATCH_GET, MATCH_DATA: the receiver's entry; MATCH_MRECV: a number */
} match_head_t;

/* A receive or probe that has ended. 32 bytes that arrive together. */
typedef struct {
    uint32_t number;
    uint16_t status, comm;
    uint32_t from, tag;
    uint32_t bytes;   /* size of the message */
    uint32_t stored;  /* bytes in the buffer */
    uint32_t posted;  /* place of the post among all events, in the order in which they changed the lists, from 1 */
    uint32_t arrived; /* place of the message, or of the cancel, among the same events */
} match_record_t;

/* A message as the lists know it. */
typedef struct {
    uint32_t kind, from, peer, number, tag, comm, bytes, address;
    uint32_t turn;  /* place among all messages, posts and cancels that the card has taken */
    spin_be32_t ip; /* address of the sender */
} match_message_t;

/* Entries of both lists have numbers from 1; `next` is 0 at the end. */
typedef struct {
    uint32_t next;
    uint32_t probe;          /* number of the MATCH_IMPROBE that took it out of the list */
    match_message_t message; /* the data of an eager one are in handler memory */
} match_unexpected_t;

/* match_receive_t.phase */
#define MATCH_IDLE 0   /* free, or posted */
#define MATCH_BOUND 1  /* it has a message */
#define MATCH_MOVING 2 /* it has a message, whose data arrive with MATCH_DATA */

#define MATCH_WORDS (MATCH_MAX_BYTES / MATCH_UNIT / 32)

typedef struct {
    uint32_t next;
    uint32_t number, mode, probe, peer, tag, ignore, comm, capacity, buffer, turn;
    match_message_t message;      /* valid once the receive has a message */
    volatile uint32_t phase;
    volatile int32_t users;       /* handlers that use the entry for `message` */
    volatile int32_t remaining;   /* units that are not in host memory yet */
    volatile int32_t asked;       /* chunks for which the card has sent MATCH_GET */
    uint32_t stored;              /* bytes that the buffer gets */
    volatile uint32_t arrived[MATCH_WORDS]; /* a bit for each unit */
} match_receive_t;

typedef struct {
    uint32_t first, last;
} match_list_t;

/* Free entries: a list of used ones, then those that were never used. */
typedef struct {
    uint32_t first, fresh, used;
} match_free_t;

typedef struct {
    uint32_t expected;            /* messages that have their place in the order */
    uint32_t early[MATCH_WINDOW]; /* entries of messages behind a gap, by number */
} match_peer_t;

/* The scratchpad of cluster 0 begins with it. All zeros at first. */
typedef struct {
    spin_lock_t lock; /* protects all members below, except volatile ones */
    match_list_t posted, unexpected, held; /* held: messages that MATCH_IMPROBE has taken */
    match_free_t free_receives, free_unexpected;
    uint32_t turn;                     /* messages and receives that have their place */
    uint32_t taken;                    /* receives that have their place in the order */
    uint32_t early[MATCH_WINDOW];      /* entries of receives behind a gap */
    match_peer_t peers[MATCH_PEERS];
    match_unexpected_t entries[MATCH_UNEXPECTED];
    match_receive_t receives[MATCH_RECEIVES];
} __attribute__((aligned(64))) match_state_t;

#define MATCH_FRAME_BYTES 1152

/* A core's memory in the scratchpad of its cluster, behind the place of match_state_t. */
typedef struct {
    uint8_t frames[MATCH_CHUNK_UNITS][MATCH_FRAME_BYTES];
    match_record_t record;
    uint32_t unused[8];
} match_core_t;

/* Handler memory. All zeros at first. */
typedef struct {
    volatile int32_t events[MATCH_EVENTS];
    uint32_t unused[11];
    uint8_t data[MATCH_UNEXPECTED][MATCH_UNIT];
} match_memory_t;

_Static_assert(FRAME_MESSAGE_AT + sizeof(match_head_t) == MATCH_DATA_AT, "data follow the header");
_Static_assert(MATCH_DATA_AT + MATCH_UNIT <= MATCH_FRAME_BYTES, "a frame holds a unit");
_Static_assert(sizeof(match_record_t) == 32, "as Python reads it");
_Static_assert(MATCH_RECORDS_AT + MATCH_RECORDS * 32 == MATCH_ANSWERS_AT, "records, then answers");
_Static_assert(MATCH_ANSWERS_AT + MATCH_PEERS * MATCH_ANSWERS * 16 == MATCH_AREA_AT, "answers, then buffers");
_Static_assert(32 % MATCH_CHUNK_UNITS == 0, "a word has the bits of whole chunks");
#ifdef MATCH_SCRATCHPAD_BYTES
_Static_assert(sizeof(match_state_t) + NB_CORES * sizeof(match_core_t) <= MATCH_SCRATCHPAD_BYTES, "as Python allocates it");
#endif

#endif
