/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the counters in the scratchpads and those of the MAC into the block of statistics for the host.
 */
#include "state.h"

/* Words of the block. */
#define OCTETS_IN 36 /* 64 bits each: octets, unicast, multicast, broadcast; then the same out */
#define OCTETS_OUT 44
#define COMMANDS 56
#define EVENTS_BY_CODE 73
#define SEND_PRODUCER_UPDATES 79
#define SEND_CONSUMER_UPDATES 80
#define RETURN_PRODUCER_UPDATES 81
#define INTERRUPTS_RAISED 82
#define INTERRUPTS_AVOIDED 83
#define SEND_LIMIT_HITS 84
#define RETURN_LIMIT_HITS 85
#define SHORT_OF_WRITE_DESCRIPTORS 93
#define SHORT_OF_READ_DESCRIPTORS 94
#define SHORT_OF_TRANSMIT_DESCRIPTORS 97
#define SHORT_OF_TRANSMIT_BUFFER 98
#define SHORT_OF_RECEIVE_DESCRIPTORS 100
#define RECEIVE_ERRORS_SEEN 111
#define RECEIVE_DROPPED 116
#define RECEIVE_ATTENTIONS 121
#define TRANSMIT_ATTENTIONS 148
#define PROFILE 149

static void set_traffic(u32 word, const struct traffic *traffic)
{
    statistics[word] = traffic->octets_high;
    statistics[word + 1] = traffic->octets;
    statistics[word + 3] = traffic->unicast;
    statistics[word + 5] = traffic->multicast;
    statistics[word + 7] = traffic->broadcast;
}

static void set_profile(u32 first, u32 behind)
{
    for (u32 task = first; task < behind; task++)
        statistics[PROFILE + task] = here->profile[task];
}

/* Collects the counters of the sending CPU. */
void collect_send(void)
{
    set_traffic(OCTETS_OUT, &here->out.sent);
    for (u32 code = 1; code < COMMAND_CODES; code++)
        statistics[COMMANDS + code - 1] = here->out.commands[code];
    statistics[SEND_PRODUCER_UPDATES] = here->out.producer_updates;
    statistics[SEND_LIMIT_HITS] = here->out.limit_hits;
    statistics[SHORT_OF_READ_DESCRIPTORS] = here->out.short_of_read_descriptors;
    statistics[SHORT_OF_TRANSMIT_DESCRIPTORS] = here->out.short_of_transmit_descriptors;
    statistics[SHORT_OF_TRANSMIT_BUFFER] = here->out.short_of_transmit_buffer;
    statistics[TRANSMIT_ATTENTIONS] = here->out.attentions;
    set_profile(TASK_SEND_DESCRIPTORS, TASK_SEND_CONSUMER);
}

/* Collects the counters of the receiving CPU; if it is the only one, all counters. */
void collect_receive(void)
{
#ifndef SPLIT
    collect_send();
#endif
    set_traffic(OCTETS_IN, &here->in.received);
    for (u32 code = 4; code < EVENT_CODES; code++)
        statistics[EVENTS_BY_CODE + code - 4] = here->in.events[code];
    statistics[SEND_CONSUMER_UPDATES] = here->in.send_consumer_updates;
    statistics[RETURN_PRODUCER_UPDATES] = here->in.return_producer_updates;
    statistics[INTERRUPTS_RAISED] = here->interrupts.raised;
    statistics[INTERRUPTS_AVOIDED] = here->interrupts.avoided;
    statistics[RETURN_LIMIT_HITS] = here->in.limit_hits;
    statistics[SHORT_OF_WRITE_DESCRIPTORS] = here->in.short_of_write_descriptors;
    statistics[SHORT_OF_RECEIVE_DESCRIPTORS] = here->in.short_of_receive_descriptors;
    statistics[RECEIVE_ERRORS_SEEN] = here->in.errors;
    statistics[RECEIVE_DROPPED] = here->in.dropped;
    statistics[RECEIVE_ATTENTIONS] = here->in.attentions;
    set_profile(TASK_SEND_CONSUMER, TASKS);
}
