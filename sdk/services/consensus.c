/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consensus on cards: replicas agree on an ordered log of commands (consensus.h has the messages). The cards propose, accept
 * and commit; the hosts read the log from their memory, and decide only when a replica takes over.
 *
 * Each slot of the log is one decision of Paxos (Lamport, "Paxos Made Simple", 2001), and a promise holds for all slots.
 * The leader puts a client's request into the next slot, accepts it itself, and sends it to the other replicas. They keep
 * it and answer, unless they promised to obey a higher ballot. When a majority has accepted an entry, it is chosen: the
 * leader tells the replicas and the client. Each card writes chosen entries to its host's log.
 *
 * A host that misses its leader's signs of life tells its card to lead. The card takes a higher ballot and asks a majority for
 * each slot, from its own chosen prefix on. It proposes again the entry with the highest ballot, or an entry without a
 * command if the slot is empty. After the last slot that a majority reports, no entry can be chosen, so new requests
   begin there.
 *
 * The network may lose, repeat and reorder packets. Clients repeat requests, and the host's ticks make a leader repeat proposals and
 * bring replicas up to date that have gaps. A repeated request can get a second slot after a change of leaders, so hosts must
 * execute each (client, number) once. All state is in the card's memory: a replica that loses it must not come back.
 * The log has CONSENSUS_SLOTS slots, which are not used again.
 *
 * A handler changes the state and the packet, and sends afterwards: the packet in L1 becomes the next message. Handlers of
 * requests, proposals, their answers and commits share the state, and work on different slots at the same time. Other messages
 * change ballots and roles; their handlers have exclusive access to the state.
 *
 * Memory: the state is in the scratchpad of cluster 0, CONSENSUS_MEMORY_BYTES. All packets should form one message, so that
 * the card runs most handlers on one cluster; if that is cluster 0, an access to the state takes 1 cycle instead of 20.
 * Cost: see docs/guides/services.md.
 *
 * Run it with `spinet.services.Consensus`.
 */
#include "consensus.h"


/* The actions that follow the change of the state. */
typedef struct {
    bool to_sender;
    bool to_others;    /* send the packet to all other replicas */
    bool is_stored;    /* write its entry to the host's log */
    bool is_answer;    /* the packet answers the client of the entry */
    bool has_news;     /* write the status to the host */
    bool has_question; /* then ask all replicas for the slot `question` */
    uint32_t question;
} plan_t;

static consensus_packet_t *message_of(const task_t *task)
{
    return (consensus_packet_t *)((uint8_t *)task->pkt_mem + CONSENSUS_MESSAGE_AT);
}

/* The replica's state, which is in the L1 of cluster 0. The first packets copy the configuration. */
static consensus_replica_t *replica_of(const task_t *task)
{
    consensus_replica_t *own = (consensus_replica_t *)task->scratchpad[0];
    if (own->size == 0) { /* several cores may copy at the same time: they write the same bytes */
        const consensus_configuration_t *configuration = (const consensus_configuration_t *)task->handler_mem;
        own->self = configuration->self;
        for (uint32_t i = 0; i < CONSENSUS_MAX_REPLICAS; i++) {
            own->replicas[i] = configuration->replicas[i];
        }
        *(volatile uint32_t *)&own->size = configuration->size;
    }
    return own;
}

static uint32_t others(const consensus_replica_t *own) { return ((1u << own->size) - 1) & ~(1u << own->self); }

static bool is_majority(const consensus_replica_t *own, uint32_t set)
{
    uint32_t count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return 2 * count > own->size;
}

/* Sends the packet to a set of replicas, one after the other, because the headers change. */
static void send_to(const task_t *task, const consensus_replica_t *own, spin_be32_t self, uint32_t set)
{
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    message_of(task)->from = (uint8_t)own->self;
    for (uint32_t i = 0; set != 0; i++, set >>= 1) {
        if (set & 1) {
            frame_address(frame, self, own->replicas[i], CONSENSUS_PORT);
            frame_send(frame, CONSENSUS_FRAME_BYTES);
        }
    }
}

#define WAIT_CYCLES 30 /* between looks at a lock */

static void share(consensus_replica_t *own)
{
    for (;;) {
        amo_add(&own->n_sharing, 1);
        if (!own->is_exclusive) {
            return;
        }
        amo_add(&own->n_sharing, -1);
        while (own->is_exclusive) {
            rt_time_wait_cycles(WAIT_CYCLES);
        }
    }
}

static void exclude(consensus_replica_t *own)
{
    while (amo_swap(&own->is_exclusive, 1) != 0) {
        rt_time_wait_cycles(WAIT_CYCLES);
    }
    while (own->n_sharing != 0) {
        rt_time_wait_cycles(WAIT_CYCLES);
    }
}

static void leave(consensus_replica_t *own, bool is_exclusive)
{
    if (is_exclusive) {
        amo_store(&own->is_exclusive, 0);
    } else {
        amo_add(&own->n_sharing, -1);
    }
}

/* Enters the state. Returns true if the handler has exclusive access. */
static bool enter(consensus_replica_t *own, const consensus_packet_t *message)
{
    const uint32_t kind = message->kind;
    if (kind == CONSENSUS_REQUEST || kind == CONSENSUS_ACCEPT || kind == CONSENSUS_ACCEPTED || kind == CONSENSUS_COMMIT) {
        share(own);
        if (kind != CONSENSUS_ACCEPT || message->ballot <= own->promised) {
            return false;
        }
        leave(own, false); /* a new leader */
    }
    exclude(own);
    return true;
}

/* Answers the sender of the packet. */
static void send_back(const task_t *task, uint32_t self)
{
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    message_of(task)->from = (uint8_t)self;
    frame_address(frame, frame_ip(frame)->dst, frame_ip(frame)->src, CONSENSUS_PORT);
    frame_send(frame, CONSENSUS_FRAME_BYTES);
}

/* The functions below change the state. */

static uint32_t *recent_of(consensus_replica_t *own, const consensus_entry_t *entry)
{
    const uint32_t host = entry->client >> 24; /* last byte of the address */
    return &own->recent[(entry->number + 61 * host) % CONSENSUS_RECENT];
}

/* Puts the packet's entry into its slot, unless an entry is chosen there. Returns true if this has changed `accepted`. */
static bool keep(consensus_replica_t *own, const consensus_packet_t *message, uint32_t ballot)
{
    consensus_slot_t *slot = &own->slots[message->slot];
    spin_lock_lock(&slot->lock);
    const bool is_free = slot->accepted != CONSENSUS_CHOSEN;
    if (is_free) {
        slot->entry = message->entry;
        slot->accepted = ballot;
    }
    spin_lock_unlock(&slot->lock);
    amo_maxu(&own->end, message->slot + 1);
    return is_free;
}

/* Marks the packet's entry as chosen. Returns true if it was not: the host does not have it yet. */
static bool choose(consensus_replica_t *own, const consensus_packet_t *message)
{
    if (!keep(own, message, CONSENSUS_CHOSEN)) {
        return false;
    }
    /* If two handlers choose two slots at the same time, the one that looks last sees both. */
    uint32_t prefix = own->prefix;
    while (prefix < CONSENSUS_SLOTS && own->slots[prefix].accepted == CONSENSUS_CHOSEN) {
        prefix++;
    }
    amo_maxu(&own->prefix, prefix);
    return true;
}

/* Obeys a ballot. Returns false if the replica has promised to obey a higher one. */
static bool obey(consensus_replica_t *own, uint32_t ballot)
{
    if (ballot <= own->promised) {
        return ballot == own->promised;
    }
    own->promised = ballot;
    if (own->role != CONSENSUS_FOLLOWER && ballot != own->ballot) {
        own->role = CONSENSUS_FOLLOWER; /* another leader is ahead of this one */
    }
    return true;
}

/* Turns the packet into a refusal. */
static plan_t refuse(const consensus_replica_t *own, consensus_packet_t *message)
{
    message->kind = CONSENSUS_REFUSED;
    message->ballot = own->promised;
    return (plan_t){.to_sender = true};
}

/* The leader accepts the packet's entry itself, and proposes it. */
static plan_t propose(consensus_replica_t *own, consensus_packet_t *message)
{
    consensus_slot_t *slot = &own->slots[message->slot];
    message->kind = CONSENSUS_ACCEPT;
    message->ballot = own->ballot;
    message->entry.mark = message->slot + 1;
    slot->vote_ballot = own->ballot;
    slot->votes = 1u << own->self;
    keep(own, message, own->ballot);
    *recent_of(own, &message->entry) = message->slot;
    return (plan_t){.to_others = true};
}

static plan_t on_request(consensus_replica_t *own, consensus_packet_t *message)
{
    const uint32_t known = *recent_of(own, &message->entry);
    const consensus_slot_t *slot = &own->slots[known];
    message->kind = CONSENSUS_REPLY;
    message->status = CONSENSUS_OK;
    if (own->role != CONSENSUS_LEADER) {
        message->status = own->prefix == CONSENSUS_SLOTS ? CONSENSUS_FULL : CONSENSUS_NOT_LEADER;
        message->from = (uint8_t)(own->promised % CONSENSUS_ROUND);
        return (plan_t){.is_answer = true};
    }
    if (known < own->next && slot->entry.client == message->entry.client && slot->entry.number == message->entry.number) {
        /* A repeated request: either the reply was lost, or the host's ticks repeat the proposal. */
        message->slot = known;
        return (plan_t){.is_answer = slot->accepted == CONSENSUS_CHOSEN};
    }
    message->slot = own->next < CONSENSUS_SLOTS ? (uint32_t)amo_add((volatile int32_t *)&own->next, 1) : CONSENSUS_SLOTS;
    if (message->slot >= CONSENSUS_SLOTS) {
        message->status = CONSENSUS_FULL;
        return (plan_t){.is_answer = true};
    }
    return propose(own, message);
}

static plan_t on_accept(consensus_replica_t *own, consensus_packet_t *message)
{
    if (!obey(own, message->ballot)) {
        return refuse(own, message);
    }
    keep(own, message, message->ballot);
    message->kind = CONSENSUS_ACCEPTED;
    return (plan_t){.to_sender = true};
}

static plan_t on_accepted(consensus_replica_t *own, consensus_packet_t *message)
{
    consensus_slot_t *slot = &own->slots[message->slot];
    if (own->role == CONSENSUS_FOLLOWER || message->ballot != own->ballot || slot->vote_ballot != own->ballot ||
        message->slot >= own->next) {
        return (plan_t){0};
    }
    const uint32_t from = 1u << message->from;
    if (!is_majority(own, amo_or(&slot->votes, from) | from) || !choose(own, message)) {
        return (plan_t){0};
    }
    message->kind = CONSENSUS_COMMIT;
    return (plan_t){.to_others = true, .is_stored = true, .is_answer = message->entry.client != 0};
}

static plan_t on_prepare(consensus_replica_t *own, consensus_packet_t *message)
{
    const consensus_slot_t *slot = &own->slots[message->slot];
    if (!obey(own, message->ballot)) {
        return refuse(own, message);
    }
    own->signs++;
    message->kind = CONSENSUS_PROMISE;
    message->accepted = slot->accepted;
    message->end = own->end;
    message->entry = slot->entry;
    return (plan_t){.to_sender = true, .has_news = true};
}

static plan_t on_promise(consensus_replica_t *own, consensus_packet_t *message)
{
    consensus_slot_t *slot = &own->slots[message->slot];
    plan_t plan = {0};
    if (own->role != CONSENSUS_RECOVERING || message->ballot != own->ballot || message->slot != own->next) {
        return plan;
    }
    if (slot->vote_ballot != own->ballot) {
        slot->vote_ballot = own->ballot;
        slot->promises = 1u << own->self;
    }
    slot->promises |= 1u << message->from;
    own->end = MAX(own->end, MIN(message->end, CONSENSUS_SLOTS));
    if (message->accepted == CONSENSUS_CHOSEN) {
        plan.is_stored = choose(own, message);
    } else if (message->accepted > slot->accepted) {
        keep(own, message, message->accepted); /* the proposal with the highest ballot counts */
    }
    if (!is_majority(own, slot->promises)) {
        return plan;
    }
    if (slot->accepted != CONSENSUS_CHOSEN && message->slot < own->end) {
        message->entry = slot->entry; /* zeros if the slot is empty: an entry without a command */
        plan.to_others = propose(own, message).to_others;
        own->next++;
    }
    while (own->next < own->end && own->slots[own->next].accepted == CONSENSUS_CHOSEN) {
        own->next++;
    }
    plan.has_question = own->next < own->end;
    plan.question = own->next;
    plan.has_news = true;
    own->role = plan.has_question ? CONSENSUS_RECOVERING : CONSENSUS_LEADER;
    return plan;
}

static plan_t on_refused(consensus_replica_t *own, const consensus_packet_t *message)
{
    if (message->ballot > own->promised) {
        obey(own, message->ballot);
    }
    return (plan_t){.has_news = true};
}

static plan_t on_commit(consensus_replica_t *own, const consensus_packet_t *message)
{
    return (plan_t){.is_stored = choose(own, message)};
}

static plan_t on_alive(consensus_replica_t *own, consensus_packet_t *message)
{
    if (!obey(own, message->ballot)) {
        return refuse(own, message);
    }
    own->signs++;
    const bool has_gap = message->slot > own->prefix;
    message->kind = CONSENSUS_MISSING;
    message->slot = own->prefix;
    return (plan_t){.to_sender = has_gap, .has_news = true};
}

static plan_t on_lead(consensus_replica_t *own, consensus_packet_t *message)
{
    if (own->role != CONSENSUS_FOLLOWER || own->prefix == CONSENSUS_SLOTS) {
        return (plan_t){0};
    }
    own->ballot = (own->promised / CONSENSUS_ROUND + 1) * CONSENSUS_ROUND + own->self;
    own->promised = own->ballot;
    own->role = CONSENSUS_RECOVERING;
    own->next = own->prefix;
    message->ballot = own->ballot;
    return (plan_t){.has_news = true, .has_question = true, .question = own->next};
}

static plan_t step(consensus_replica_t *own, consensus_packet_t *message)
{
    switch (message->kind) {
    case CONSENSUS_REQUEST:
        return on_request(own, message);
    case CONSENSUS_ACCEPT:
        return on_accept(own, message);
    case CONSENSUS_ACCEPTED:
        return on_accepted(own, message);
    case CONSENSUS_COMMIT:
        return on_commit(own, message);
    case CONSENSUS_PREPARE:
        return on_prepare(own, message);
    case CONSENSUS_PROMISE:
        return on_promise(own, message);
    case CONSENSUS_REFUSED:
        return on_refused(own, message);
    case CONSENSUS_ALIVE:
        return on_alive(own, message);
    case CONSENSUS_LEAD:
        return on_lead(own, message);
    case CONSENSUS_STOP:
        own->is_stopped = 1;
        return (plan_t){0};
    default:
        return (plan_t){0};
    }
}

/* The functions below run after the change of the state. */

static void write_status(const task_t *task, const consensus_replica_t *own)
{
    spin_cmd_t written;
    spin_write_to_host(frame_host(task, 0), (uint64_t)own->signs << 32 | own->promised, &written);
    spin_write_to_host(frame_host(task, 8), (uint64_t)own->prefix << 32 | own->role, &written);
}

/* Sends the slots of a range again: proposals without a majority to replicas that have not accepted, or chosen entries. */
static void send_again(const task_t *task, consensus_replica_t *own, spin_be32_t self, uint32_t first, uint32_t end, uint32_t to)
{
    consensus_packet_t *message = message_of(task);
    for (uint32_t i = first; i < MIN(end, first + CONSENSUS_BATCH); i++) {
        const consensus_slot_t *slot = &own->slots[i];
        share(own);
        const bool is_chosen = slot->accepted == CONSENSUS_CHOSEN;
        const bool is_proposal = !is_chosen && own->role != CONSENSUS_FOLLOWER && i < own->next;
        const uint32_t missing = others(own) & ~slot->votes;
        message->ballot = own->ballot;
        message->entry = slot->entry; /* a chosen entry, or this leader's proposal: it does not change meanwhile */
        leave(own, false);
        message->slot = i;
        if (is_proposal) {
            message->kind = CONSENSUS_ACCEPT;
            send_to(task, own, self, missing);
        } else if (is_chosen) {
            message->kind = CONSENSUS_COMMIT;
            send_to(task, own, self, to);
        }
    }
}

static void on_tick(const task_t *task, consensus_replica_t *own, spin_be32_t self)
{
    consensus_packet_t *message = message_of(task);
    share(own);
    const uint32_t role = own->role, next = own->next, prefix = own->prefix;
    message->ballot = own->ballot;
    leave(own, false);
    if (role != CONSENSUS_FOLLOWER) {
        message->slot = prefix;
        message->kind = CONSENSUS_ALIVE;
        send_to(task, own, self, others(own));
        if (role == CONSENSUS_RECOVERING) {
            message->slot = next;
            message->kind = CONSENSUS_PREPARE;
            send_to(task, own, self, others(own));
        }
        /* Requests that arrive together can each take a number behind the last slot. */
        send_again(task, own, self, prefix, MIN(next, CONSENSUS_SLOTS), 0);
    }
    write_status(task, own);
}

static bool is_well_formed(const task_t *task, const consensus_replica_t *own, const consensus_packet_t *message)
{
    if (task->pkt_mem_size < CONSENSUS_FRAME_BYTES || spin_data(task).size < sizeof(consensus_packet_t)) {
        return false;
    }
    if (message->kind == CONSENSUS_REQUEST) {
        return message->entry.client != 0;
    }
    const uint32_t slots = CONSENSUS_SLOTS + (message->kind == CONSENSUS_ALIVE); /* ALIVE: a number of slots */
    return message->slot < slots && message->from < own->size;
}

__handler__ void replica_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint8_t *frame = (uint8_t *)task->pkt_mem;
    consensus_replica_t *own = replica_of(task);
    consensus_packet_t *message = message_of(task);
    if (!is_well_formed(task, own, message) || own->is_stopped) {
        return;
    }
    const spin_be32_t self = frame_ip(frame)->dst;
    if (message->kind == CONSENSUS_TICK) {
        on_tick(task, own, self);
        return;
    }
    if (message->kind == CONSENSUS_MISSING) {
        send_again(task, own, self, message->slot, own->prefix, 1u << message->from);
        return;
    }
    if (message->kind == CONSENSUS_ACCEPTED && own->slots[message->slot].accepted == CONSENSUS_CHOSEN) {
        return; /* one more than a majority */
    }
    const bool is_exclusive = enter(own, message);
    const plan_t plan = step(own, message);
    leave(own, is_exclusive);
    spin_cmd_t stored;
    if (plan.is_stored) { /* 64 bytes that arrive together */
        const uint64_t place = frame_host(task, CONSENSUS_LOG_AT + message->slot * CONSENSUS_ENTRY_BYTES);
        spin_dma_to_host(place, (uintptr_t)&message->entry, CONSENSUS_ENTRY_BYTES, false, &stored);
    }
    if (plan.is_answer) {
        const uint8_t kind = message->kind;
        message->kind = CONSENSUS_REPLY;
        frame_address(frame, self, message->entry.client, CONSENSUS_CLIENT_PORT);
        frame_send(frame, CONSENSUS_FRAME_BYTES);
        message->kind = kind;
    }
    if (plan.to_sender) {
        send_back(task, own->self);
    }
    if (plan.to_others) {
        send_to(task, own, self, others(own));
    }
    if (plan.is_stored) {
        spin_cmd_wait(stored);
    }
    if (plan.has_question) {
        message->kind = CONSENSUS_PREPARE;
        message->slot = plan.question;
        send_to(task, own, self, others(own));
    }
    if (plan.has_news) {
        write_status(task, own);
    }
}

static void write_reply(const task_t *task, uint32_t number, uint32_t state, uint32_t slot)
{
    spin_cmd_t written;
    spin_write_to_host(frame_host(task, number % CONSENSUS_REPLIES * 8), (uint64_t)state << 32 | slot, &written);
    spin_cmd_wait(written);
}

/*
 * The card of a client writes replies to host memory. If the network repeats or delays a request that has its slot already, a
 * replica refuses it. Such a late refusal must not replace the answer, so handler memory has a
 * word for each answer, 0 if there is none.
 */
__handler__ void client_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    const consensus_packet_t *message = message_of(task);
    if (task->pkt_mem_size < CONSENSUS_FRAME_BYTES || message->kind != CONSENSUS_REPLY ||
        task->handler_mem_size < 4 * CONSENSUS_REPLIES) {
        return;
    }
    const uint32_t number = message->entry.number, state = 256u | (uint32_t)message->from << 24;
    volatile uint32_t *answer = (volatile uint32_t *)task->handler_mem + number % CONSENSUS_REPLIES;
    /* Low half: slot + 1. High half: the round of request numbers that this word belongs to. */
    const uint32_t turn = number / CONSENSUS_REPLIES << 16;
    if (message->status == CONSENSUS_OK) {
        amo_store(answer, turn | (message->slot + 1));
        write_reply(task, number, state | CONSENSUS_OK, message->slot);
        return;
    }
    uint32_t known = *answer;
    if (known == 0 || known >> 16 != turn >> 16) {
        write_reply(task, number, state | message->status, message->slot);
        known = *answer; /* another core may have written an answer meanwhile */
    }
    if (known != 0 && known >> 16 == turn >> 16) {
        write_reply(task, number, state | CONSENSUS_OK, (known & 0xffff) - 1);
    }
}
