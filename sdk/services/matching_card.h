/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the handlers of matching.c: their view of the card, the frames that they send, and the records for the host. */
#ifndef MATCHING_CARD_H
#define MATCHING_CARD_H

#include "matching_lists.h"

/* A handler's view of the card. */
typedef struct {
    const task_t *task;
    match_state_t *state;
    match_memory_t *memory;
    match_core_t *own;
    uint8_t *frame; /* the packet, which becomes the next frame to send */
    match_head_t *head;
    spin_be32_t self, sender; /* addresses */
} match_t;

static void count(const match_t *card, uint32_t event) { amo_add(&card->memory->events[event], 1); }

static void lock(const match_t *card) { spin_lock_lock(&card->state->lock); }

static void unlock(const match_t *card) { spin_lock_unlock(&card->state->lock); }

static uint8_t *data_of(const match_t *card, uint32_t entry) { return card->memory->data[entry - 1]; }

static uint32_t units_of(uint32_t bytes) { return (bytes + MATCH_UNIT - 1) / MATCH_UNIT; }

/* A receive gets its message. The handler counts among its users until `finish` or `leave`. */
static void bind(match_receive_t *receive, const match_message_t *message)
{
    receive->message = *message;
    receive->stored = MIN(message->bytes, receive->capacity);
    if (message->kind == MATCH_RTS) {
        const uint32_t units = units_of(receive->stored);
        for (uint32_t i = 0; i < (units + 31) / 32; i++) {
            receive->arrived[i] = 0;
        }
        receive->remaining = (int32_t)units;
        receive->asked = 0;
    }
    amo_add(&receive->users, 1);
    receive->phase = message->kind == MATCH_RTS ? MATCH_MOVING : MATCH_BOUND;
}

/* Frames. Each is made of the packet, whose data are not needed any more. */

static void send(const match_t *card, spin_be32_t to, uint32_t port)
{
    ((spin_udp_t *)(frame_ip(card->frame) + 1))->src_port = spin_htons((uint16_t)port);
    frame_address(card->frame, card->self, to, MATCH_PORT);
    frame_resize(card->frame, MATCH_DATA_AT);
    frame_send(card->frame, MATCH_DATA_AT);
}

/* Send an answer of this kind to the sender of the message. */
static void answer(const match_t *card, const match_message_t *message, uint32_t kind)
{
    match_head_t *head = card->head;
    head->kind = (uint8_t)kind;
    head->from = (uint16_t)message->from;
    head->peer = (uint16_t)message->peer;
    head->number = message->number;
    send(card, message->ip, MATCH_DATA_PORT + message->number % MATCH_DATA_PORTS);
}

static void ask(const match_t *card, uint32_t entry, uint32_t chunk)
{
    const match_receive_t *receive = receive_of(card->state, entry);
    match_head_t *head = card->head;
    head->kind = MATCH_GET;
    head->from = (uint16_t)receive->message.from;
    head->number = receive->message.number;
    head->address = receive->message.address;
    head->at = chunk * MATCH_CHUNK_UNITS * MATCH_UNIT;
    head->count = MIN(MATCH_CHUNK_UNITS * MATCH_UNIT, receive->stored - head->at);
    head->receive = entry;
    send(card, receive->message.ip, MATCH_DATA_PORT + chunk % MATCH_DATA_PORTS);
}

/* Ask for the next chunk, if there is one. */
static void ask_next(const match_t *card, uint32_t entry)
{
    match_receive_t *receive = receive_of(card->state, entry);
    const uint32_t chunks = (units_of(receive->stored) + MATCH_CHUNK_UNITS - 1) / MATCH_CHUNK_UNITS;
    if ((uint32_t)receive->asked < chunks) {
        const uint32_t chunk = (uint32_t)amo_add(&receive->asked, 1);
        if (chunk < chunks) {
            ask(card, entry, chunk);
        }
    }
}

/* Ask again for chunks of which units are missing. */
static void ask_again(const match_t *card, uint32_t entry)
{
    match_receive_t *receive = receive_of(card->state, entry);
    const uint32_t units = units_of(receive->stored);
    uint32_t sent = 0;
    for (uint32_t first = 0; first < MIN(units, (uint32_t)receive->asked * MATCH_CHUNK_UNITS); first += MATCH_CHUNK_UNITS) {
        const uint32_t all = (1u << MIN(MATCH_CHUNK_UNITS, units - first)) - 1;
        if ((receive->arrived[first / 32] >> first % 32 & all) != all) {
            ask(card, entry, first / MATCH_CHUNK_UNITS);
            if (++sent == MATCH_CHUNKS) {
                break;
            }
        }
    }
}

static void leave(match_receive_t *receive) { amo_add(&receive->users, -1); }

/* Tell the host about the end of a receive or probe. `message` is NULL if it has none. */
static spin_cmd_t write_record(const match_t *card, uint32_t number, uint32_t status, const match_message_t *message, uint32_t stored,
                               uint32_t posted)
{
    match_record_t *record = &card->own->record;
    *record = (match_record_t){.number = number, .status = (uint16_t)status, .stored = stored, .posted = posted};
    if (message != NULL) {
        record->comm = (uint16_t)message->comm;
        record->from = message->from;
        record->tag = message->tag;
        record->bytes = message->bytes;
        record->arrived = message->turn;
    }
    spin_cmd_t written;
    const uint32_t at = MATCH_RECORDS_AT + number % MATCH_RECORDS * sizeof(match_record_t);
    spin_dma_to_host(frame_host(card->task, at), (uintptr_t)record, sizeof(match_record_t), false, &written);
    return written;
}

#endif
