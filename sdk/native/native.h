/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the native runner; names begin with native_, so that they differ from handlers' names. */
#ifndef SPIN_NATIVE_H
#define SPIN_NATIVE_H

#include <handler.h>
#include <stdio.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "handlers expect a processor that keeps the low byte first, as the card's cores do"
#endif

#define MAX_THREADS CORE_COUNT
#define NO_MESSAGE UINT32_MAX

/* Says why on stderr and ends with code 2. */
_Noreturn void native_fail(const char *why);

/* card.c: memories, and commands upon them. */

typedef struct {
    uint32_t message;
    uint32_t size;     /* bytes */
    uint32_t l1_bytes; /* number of its bytes that a handler gets */
    uint32_t is_first; /* first of its message */
    uint32_t offset;   /* in both copies of packet memory */
} packet_t;

typedef struct {
    uint32_t flow_id;
    uint32_t home_cluster;
    uint32_t n_packets;
    uint32_t has_end; /* its last packet is among the given packets */
    uint32_t after;   /* the message before it with the same flow_id, which has to end first; or NO_MESSAGE */
    /* While it runs. */
    uint32_t has_begun, is_done;
    uint32_t left; /* packets */
} message_t;

extern packet_t *native_packets;
extern message_t *native_messages;
extern uint32_t native_n_packets;
extern uint32_t native_command_faults; /* commands with host addresses outside the context's memory */
extern __thread uint32_t native_current_packet; /* message whose handler this thread runs */

void native_load(const char *path);
void native_card_reset(void); /* all memories as they were before the first packet */
task_t native_card_task(const packet_t *packet, const message_t *message);
void native_card_write(const char *folder); /* host memory and sent packets */

FILE *native_open_file(const char *folder, const char *name);
void native_close_file(FILE *file);
void native_write_file(const char *folder, const char *name, const void *data, size_t size);

/* events.c: events that the processor counts while a thread works, if the system allows it. */

#define N_EVENTS 5

typedef struct {
    int counters[N_EVENTS]; /* file descriptors; -1: not available */
    int why_not;            /* errno of the first that is not */
    int is_unread;          /* one was available but never counted */
    uint64_t counts[N_EVENTS];
} events_t;

void native_events_open(events_t *events);
void native_events_start(events_t *events);
void native_events_stop(events_t *events);
void native_events_print(const events_t *events, FILE *file);

#endif
