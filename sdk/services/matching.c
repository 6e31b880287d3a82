/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message matching and rendezvous on the card, with the semantics of MPI (matching.h has the frames). The card keeps the posted
 * receives and the unexpected messages. A short message lands in the buffer of the first receive that matches it; without one,
 * it waits in the card's memory. A long message is only announced: when there is a receive, the two cards move
 * the data between the memories of their hosts, whose processors do nothing.
 *
 * A receive matches a message if the communicators are equal, the sender is the right one or MATCH_ANY, and the tags are equal
 * except for ignored bits. A message takes the first posted receive that matches it, and a receive the first unexpected message
 * that it matches. Messages of one sender take part in the order of their numbers, and receives in the order of theirs: a card
 * handles packets at the same time, and the network may lose, repeat and reorder them. So a message or receive that comes
 * before its predecessors keeps its place in a window until they have come.
 *
 * A probe looks for an unexpected message, and leaves it or takes it for a later receive. A posted receive can be cancelled.
 *
 * A message longer than the buffer is truncated, and the record of the receive says so. If there are MATCH_UNEXPECTED unexpected
 * messages, the card answers MATCH_BUSY, and the sender repeats the message. Messages behind a gap leave MATCH_PEERS entries free,
 * so that the missing ones find a place.
 *
 * One lock guards the lists; handlers hold it to search and to change them, and to copy an unexpected message. Data of long messages
 * need no lock. A handler takes part in a receive while it counts among `users`: an entry is not used for the next message before
 * all of them have left.
 *
 * Memory: handler memory as in match_memory_t. The state is in the scratchpad of cluster 0. Frames from MATCH_PORT should form one
 * message, so that most of their handlers run on one cluster; if that is cluster 0, a step in a list takes 1 cycle a word
 * instead of 20. Cost: see docs/guides/services.md.
 *
 * Run it with `spinet.services.Matching`.
 */
#include "matching_card.h"

/* The end of a receive: the data are in the buffer. The last user calls it. */
static void finish(const match_t *card, uint32_t entry)
{
    match_receive_t *receive = receive_of(card->state, entry);
    const bool is_long = receive->phase == MATCH_MOVING;
    lock(card);
    receive->phase = MATCH_BOUND; /* copies of data are of no use any more */
    unlock(card);
    while (receive->users != 1) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    const match_message_t message = receive->message;
    const uint32_t status = message.bytes > receive->capacity ? MATCH_TRUNCATED : MATCH_OK;
    const spin_cmd_t written = write_record(card, receive->number, status, &message, receive->stored, receive->turn);
    lock(card);
    receive->phase = MATCH_IDLE;
    amo_add(&receive->users, -1);
    free_receive(card->state, entry);
    unlock(card);
    if (is_long) {
        answer(card, &message, MATCH_DONE);
    }
    spin_cmd_wait(written);
}

/* A receive has its message, and no lock is held: write a short one from `data` to the buffer, or begin with a long one. */
static void deliver(const match_t *card, uint32_t entry, const uint8_t *data)
{
    match_receive_t *receive = receive_of(card->state, entry);
    if (receive->stored == 0) {
        finish(card, entry);
        return;
    }
    if (receive->message.kind == MATCH_RTS) {
        for (uint32_t i = 0; i < MATCH_CHUNKS; i++) {
            ask_next(card, entry);
        }
        leave(receive);
        return;
    }
    spin_cmd_t written;
    spin_dma_to_host(frame_host(card->task, receive->buffer), (uintptr_t)data, receive->stored, false, &written);
    spin_cmd_wait(written);
    finish(card, entry);
}

/* A receive has taken an unexpected message. */
static void deliver_unexpected(const match_t *card, uint32_t entry, uint32_t unexpected)
{
    count(card, MATCH_LATE);
    deliver(card, entry, data_of(card, unexpected));
    lock(card);
    free_unexpected(card->state, unexpected);
    unlock(card);
}

/* Messages. */

/* Keep the packet's message as unexpected. Returns its entry, or 0 if the list is full. The caller has the lock. */
static uint32_t keep(const match_t *card, const match_message_t *message, uint32_t reserved)
{
    const uint32_t entry = new_unexpected(card->state, reserved);
    if (entry == 0) {
        count(card, MATCH_FULLS);
        return 0;
    }
    unexpected_of(card->state, entry)->message = *message;
    if (message->kind == MATCH_EAGER && message->bytes > 0) {
        spin_dma_t copied;
        spin_dma(card->frame + MATCH_DATA_AT, data_of(card, entry), message->bytes, SPIN_DMA_LOC2EXT, 0, &copied);
        spin_dma_wait(copied);
    }
    return entry;
}

/* Queue the messages of this sender that waited for the one that was just queued. */
static void follow(const match_t *card, match_peer_t *peer)
{
    for (;;) {
        lock(card);
        uint32_t *place = &peer->early[(peer->expected + 1) % MATCH_WINDOW];
        const uint32_t unexpected = *place;
        if (unexpected == 0) {
            unlock(card);
            return;
        }
        *place = 0;
        peer->expected++;
        match_message_t *message = &unexpected_of(card->state, unexpected)->message;
        message->turn = ++card->state->turn;
        const uint32_t entry = take_posted(card->state, message);
        if (entry == 0) {
            append_unexpected(card->state, &card->state->unexpected, unexpected);
        } else {
            bind(receive_of(card->state, entry), message);
        }
        unlock(card);
        if (entry != 0) {
            deliver_unexpected(card, entry, unexpected);
        }
    }
}

/* A copy of a message that has its place. Its sender may miss an answer, or this card may miss data. */
static void on_copy(const match_t *card, const match_message_t *message)
{
    uint32_t kind = MATCH_ACCEPTED;
    count(card, MATCH_DUPLICATES);
    if (message->kind == MATCH_RTS) {
        match_state_t *state = card->state;
        lock(card);
        const uint32_t entry = find_bound(state, message);
        const bool is_moving = entry != 0 && receive_of(state, entry)->phase == MATCH_MOVING;
        if (is_moving) {
            amo_add(&receive_of(state, entry)->users, 1);
        } else if (entry == 0 && !is_unexpected(state, message)) {
            kind = MATCH_DONE;
        }
        unlock(card);
        if (is_moving) {
            ask_again(card, entry);
            leave(receive_of(state, entry));
        }
    }
    answer(card, message, kind);
}

static void on_message(const match_t *card)
{
    const match_head_t *head = card->head;
    match_state_t *state = card->state;
    match_message_t message = {
        .kind = head->kind,
        .from = head->from,
        .peer = head->peer,
        .number = head->number,
        .tag = head->tag,
        .comm = head->comm,
        .bytes = head->bytes,
        .address = head->address,
        .ip = card->sender,
    };
    match_peer_t *peer = &state->peers[message.from];
    uint32_t *place = &peer->early[message.number % MATCH_WINDOW];
    uint32_t receive = 0, unexpected = 0;
    bool has_next = false;
    lock(card);
    const uint32_t ahead = message.number - peer->expected - 1;
    if ((int32_t)ahead < 0) {
        unlock(card);
        on_copy(card, &message);
        return;
    }
    if (ahead < MATCH_WINDOW && *place != 0) { /* a copy of a message that waits for its predecessors */
        unlock(card);
        count(card, MATCH_DUPLICATES);
        answer(card, &message, MATCH_ACCEPTED);
        return;
    }
    if (ahead == 0) {
        message.turn = state->turn + 1;
        receive = take_posted(state, &message);
        if (receive != 0) {
            bind(receive_of(state, receive), &message);
        } else if ((unexpected = keep(card, &message, 0)) != 0) {
            append_unexpected(state, &state->unexpected, unexpected);
        }
        const bool is_taken = receive != 0 || unexpected != 0;
        peer->expected += is_taken;
        state->turn += is_taken;
        has_next = peer->early[(peer->expected + 1) % MATCH_WINDOW] != 0;
    } else if (ahead < MATCH_WINDOW) {
        unexpected = *place = keep(card, &message, MATCH_PEERS);
        count(card, MATCH_EARLY);
    }
    unlock(card);
    if (receive != 0) {
        deliver(card, receive, card->frame + MATCH_DATA_AT);
    }
    answer(card, &message, receive != 0 || unexpected != 0 ? MATCH_ACCEPTED : MATCH_BUSY);
    if (has_next) {
        follow(card, peer);
    }
}

/* Receives. */

static void report_taken(const match_t *card, uint32_t taken)
{
    spin_cmd_t written;
    spin_write_to_host(frame_host(card->task, 0), taken, &written);
    spin_cmd_wait(written);
}

/*
 * A probe has its turn: look for its message, and tell the host. The caller has the lock, which is free afterwards. The entry of a
 * probe is free at once: a message that it takes out of the list is in the list of held ones. It is not inlined, so that receives and
 * messages need fewer lines of the instruction cache; the same holds for `on_cancel`.
 */
static void __attribute__((noinline)) probe(const match_t *card, uint32_t entry)
{
    match_state_t *state = card->state;
    const match_receive_t *receive = receive_of(state, entry);
    const uint32_t number = receive->number, turn = receive->turn;
    const bool holds = receive->mode == MATCH_IMPROBE;
    const uint32_t found = holds ? take_unexpected(state, receive) : first_unexpected(state, receive);
    match_message_t message = {0};
    if (found != 0) {
        message = unexpected_of(state, found)->message;
        if (holds) {
            unexpected_of(state, found)->probe = number;
            append_unexpected(state, &state->held, found);
        }
    }
    free_receive(state, entry);
    unlock(card);
    spin_cmd_wait(write_record(card, number, found != 0 ? MATCH_FOUND : MATCH_NONE, &message, 0, turn));
}

/* Let a receive or probe take its place, and then those that waited for it. */
static void take_receives(const match_t *card)
{
    match_state_t *state = card->state;
    for (;;) {
        lock(card);
        uint32_t *place = &state->early[(state->taken + 1) % MATCH_WINDOW];
        const uint32_t entry = *place;
        if (entry == 0) {
            unlock(card);
            return;
        }
        *place = 0;
        const uint32_t taken = ++state->taken;
        match_receive_t *receive = receive_of(state, entry);
        receive->turn = ++state->turn;
        if (receive->mode == MATCH_IPROBE || receive->mode == MATCH_IMPROBE) {
            probe(card, entry);
            report_taken(card, taken);
            continue;
        }
        const bool names = receive->mode == MATCH_MRECV;
        const uint32_t unexpected = names ? take_held(state, receive->probe) : take_unexpected(state, receive);
        const uint32_t number = receive->number, turn = receive->turn;
        if (unexpected != 0) {
            bind(receive, &unexpected_of(card->state, unexpected)->message);
        } else if (names) {
            free_receive(state, entry);
        } else {
            append_receive(state, entry);
        }
        unlock(card);
        if (names && unexpected == 0) {
            spin_cmd_wait(write_record(card, number, MATCH_NONE, NULL, 0, turn));
        }
        report_taken(card, taken);
        if (unexpected != 0) {
            deliver_unexpected(card, entry, unexpected);
        }
    }
}

static void on_post(const match_t *card)
{
    const match_head_t *head = card->head;
    match_state_t *state = card->state;
    lock(card);
    const uint32_t ahead = head->number - state->taken - 1;
    uint32_t *place = &state->early[head->number % MATCH_WINDOW];
    if (ahead >= MATCH_WINDOW || *place != 0) {
        const uint32_t taken = state->taken;
        unlock(card);
        count(card, MATCH_DUPLICATES);
        report_taken(card, taken); /* the host may have seen reports in another order */
        return;
    }
    const uint32_t entry = new_receive(state);
    if (entry != 0) {
        match_receive_t *receive = receive_of(card->state, entry);
        receive->number = head->number;
        receive->mode = head->mode;
        receive->probe = head->receive;
        receive->peer = head->peer;
        receive->tag = head->tag;
        receive->ignore = head->ignore;
        receive->comm = head->comm;
        receive->capacity = head->bytes;
        receive->buffer = head->address;
        *place = entry;
    } else if (ahead == 0) {
        state->taken++;
    }
    unlock(card);
    if (ahead != 0) {
        count(card, MATCH_EARLY);
    }
    if (entry == 0) {
        count(card, MATCH_FULLS);
        if (ahead == 0) { /* behind a gap, it is as if the card had not seen it */
            spin_cmd_wait(write_record(card, head->number, MATCH_FULL, NULL, 0, 0));
            report_taken(card, head->number);
        }
    }
    take_receives(card);
}

/* End a posted receive without a message. */
static void __attribute__((noinline)) on_cancel(const match_t *card)
{
    match_state_t *state = card->state;
    lock(card);
    const uint32_t entry = take_numbered(state, card->head->number);
    if (entry == 0) {
        unlock(card);
        return;
    }
    const uint32_t posted = receive_of(state, entry)->turn;
    const match_message_t nothing = {.turn = ++state->turn};
    free_receive(state, entry);
    unlock(card);
    spin_cmd_wait(write_record(card, card->head->number, MATCH_CANCELLED, &nothing, 0, posted));
}

/* Data of long messages. */

/* Send data from host memory: the card reads all units at the same time, and sends each when it is there. */
static void on_get(const match_t *card)
{
    match_head_t *head = card->head;
    spin_cmd_t commands[MATCH_CHUNK_UNITS];
    const uint32_t first = head->at, asked = head->count, address = head->address + first;
    const uint32_t units = units_of(asked);
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t bytes = MIN(MATCH_UNIT, asked - i * MATCH_UNIT);
        uint8_t *to = card->own->frames[i] + MATCH_DATA_AT;
        spin_dma_from_host(frame_host(card->task, address + i * MATCH_UNIT), (uintptr_t)to, bytes, false, &commands[i]);
    }
    head->kind = MATCH_DATA;
    frame_address(card->frame, card->self, card->sender, MATCH_PORT);
    for (uint32_t i = 0; i < units; i++) {
        uint8_t *frame = card->own->frames[i];
        head->at = first + i * MATCH_UNIT;
        head->count = MIN(MATCH_UNIT, asked - i * MATCH_UNIT);
        for (uint32_t word = 0; word < MATCH_DATA_AT / 4; word++) {
            ((uint32_t *)frame)[word] = ((const uint32_t *)card->frame)[word];
        }
        const uint32_t port = MATCH_DATA_PORT + head->at / MATCH_UNIT % MATCH_DATA_PORTS;
        ((spin_udp_t *)(frame_ip(frame) + 1))->src_port = spin_htons((uint16_t)port);
        frame_resize(frame, MATCH_DATA_AT + head->count);
        const uint32_t bytes = MATCH_DATA_AT + head->count;
        spin_cmd_wait(commands[i]);
        spin_send_packet(frame, bytes, &commands[i]);
    }
    for (uint32_t i = 0; i < units; i++) {
        spin_cmd_wait(commands[i]);
    }
}

static void on_data(const match_t *card)
{
    const match_head_t *head = card->head;
    const uint32_t entry = head->receive, unit = head->at / MATCH_UNIT, bit = 1u << unit % 32;
    match_receive_t *receive = receive_of(card->state, entry);
    amo_add(&receive->users, 1);
    if (receive->phase != MATCH_MOVING || receive->message.from != head->from || receive->message.number != head->number ||
        head->at + head->count > receive->stored || (amo_or(&receive->arrived[unit / 32], bit) & bit) != 0) {
        leave(receive);
        count(card, MATCH_DUPLICATES);
        return;
    }
    spin_cmd_t written;
    const uint64_t to = frame_host(card->task, receive->buffer + head->at);
    spin_dma_to_host(to, (uintptr_t)(card->frame + MATCH_DATA_AT), head->count, false, &written);
    if (unit % MATCH_CHUNK_UNITS == MATCH_CHUNK_UNITS - 1) {
        ask_next(card, entry);
    }
    spin_cmd_wait(written);
    if (amo_add(&receive->remaining, -1) == 1) {
        finish(card, entry);
    } else {
        leave(receive);
    }
}

/* The sender's card tells its host. */
static void on_answer(const match_t *card)
{
    const match_head_t *head = card->head;
    const uint32_t pair = head->peer * MATCH_ANSWERS + head->number % MATCH_ANSWERS;
    const uint32_t at = MATCH_ANSWERS_AT + pair * 16 + (head->kind == MATCH_DONE ? 8 : 0);
    spin_cmd_t written;
    spin_write_to_host(frame_host(card->task, at), (uint64_t)head->kind << 32 | head->number, &written);
}

static bool is_within(uint32_t at, uint32_t bytes, uint32_t limit) { return at <= limit && bytes <= limit - at; }

static bool is_well_formed(const match_t *card)
{
    const match_head_t *head = card->head;
    const uint32_t size = spin_data(card->task).size, limit = (uint32_t)card->task->host_mem_size;
    const uint32_t data = head->kind == MATCH_EAGER || head->kind == MATCH_DATA ? head->count : 0;
    if (data > MATCH_UNIT || size != sizeof(match_head_t) + data || head->number == 0) {
        return false;
    }
    switch (head->kind) {
    case MATCH_EAGER:
        return head->from < MATCH_PEERS && head->peer < MATCH_PEERS && head->bytes == head->count;
    case MATCH_RTS:
        return head->from < MATCH_PEERS && head->peer < MATCH_PEERS && head->bytes <= MATCH_MAX_BYTES;
    case MATCH_DATA:
        return head->receive - 1 < MATCH_RECEIVES && head->at % MATCH_UNIT == 0 && head->at < MATCH_MAX_BYTES && data > 0;
    case MATCH_GET:
        return head->count - 1 < MATCH_CHUNK_UNITS * MATCH_UNIT && head->at < MATCH_MAX_BYTES &&
               head->address >= MATCH_AREA_AT && is_within(head->address, head->at + head->count, limit);
    case MATCH_ACCEPTED:
    case MATCH_DONE:
    case MATCH_BUSY:
        return head->peer < MATCH_PEERS;
    case MATCH_POST: /* from this card's host only */
        return card->self == card->sender && head->mode <= MATCH_MRECV && (head->peer < MATCH_PEERS || head->peer == MATCH_ANY) &&
               head->address >= MATCH_AREA_AT && is_within(head->address, head->bytes, limit);
    case MATCH_CANCEL:
        return card->self == card->sender;
    default:
        return false;
    }
}

__handler__ void matching_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    match_core_t *cores = (match_core_t *)((uint8_t *)task->scratchpad[args->cluster_id] + sizeof(match_state_t));
    const match_t card = {
        .task = task,
        .state = (match_state_t *)task->scratchpad[0],
        .memory = (match_memory_t *)task->handler_mem,
        .own = &cores[args->hpu_id],
        .frame = frame,
        .head = (match_head_t *)(frame + FRAME_MESSAGE_AT),
        .self = frame_ip(frame)->dst,
        .sender = frame_ip(frame)->src,
    };
    if (task->handler_mem_size < sizeof(match_memory_t) ||
        task->scratchpad_size[0] < sizeof(match_state_t) + NB_CORES * sizeof(match_core_t) ||
        task->host_mem_size < MATCH_AREA_AT) {
        return;
    }
    if (spin_data(task).size < sizeof(match_head_t) || !is_well_formed(&card)) {
        count(&card, MATCH_REFUSED);
        return;
    }
    switch (card.head->kind) {
    case MATCH_EAGER:
    case MATCH_RTS:
        on_message(&card);
        return;
    case MATCH_POST:
        on_post(&card);
        return;
    case MATCH_CANCEL:
        on_cancel(&card);
        return;
    case MATCH_GET:
        on_get(&card);
        return;
    case MATCH_DATA:
        on_data(&card);
        return;
    default:
        on_answer(&card);
    }
}
