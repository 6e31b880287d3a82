/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A participant of distributed transactions: two-phase commit, with locks of records on the card and a log in host
 * memory. The host's processor does nothing.
 *
 * A participant has TX_RECORDS records, numbers of 32 bits. A client is the coordinator of its transactions, one at a
 * time. Requests and replies have the header of service.h. The data of a request begin with the number of the
 * transaction, which must not be 0 and must be unique among all clients, and a count. Each request goes to all
 * participants of the transaction at the same time:
 *
 *     TX_LOCK     count records, u32 each: locks them all. The reply has their values. If another transaction has locked
 *                 one of them, the participant locks none and answers TX_CONFLICT.
 *     TX_PREPARE  count pairs of a locked record and its new value: writes them to the log, and waits until they are in
 *                 host memory. The reply is the vote: TX_OK, or TX_FULL if the log is full.
 *     TX_COMMIT   count 0: writes the values to the records, notes the outcome in the log, and unlocks.
 *     TX_ABORT    count 0: notes the outcome if the transaction was prepared, and unlocks.
 *
 * The client commits if all votes are TX_OK, and aborts otherwise. Nobody waits for a lock, so there is no deadlock. All
 * locks are held until the outcome is in the log, so transactions are serialisable, and the order of the log's entries
 * is an order of the participant's transactions. `spinet.services.transaction.recover` computes the records from the
 * log. If a client dies between its requests, its locks stay, as always with two-phase commit; the log names it.
 *
 * Each request is performed once, however often it arrives (service_latest_t). A request that comes behind a later one
 * of its client is not performed and has no reply: the client has given up on it. Otherwise a lock that arrives behind
 * the abort of its transaction would stay.
 *
 * Memory: handler memory as in tx_t; host memory: TX_LOG_ENTRIES entries of tx_entry_t; scratchpad of
 * TX_SCRATCHPAD_BYTES. Cost: see docs/guides/services.md.
 */
#include "service.h"

#ifndef TX_RECORDS
#define TX_RECORDS 1024
#endif
#ifndef TX_LOG_ENTRIES
#define TX_LOG_ENTRIES 4096
#endif
#ifndef TX_CLIENTS
#define TX_CLIENTS 16
#endif

#define TX_PORT 9504
#define TX_MOST 8 /* records of a transaction at a participant */
#define TX_ENTRY_BYTES 128
#define TX_SCRATCHPAD_BYTES 4096

/* service_head_t.kind */
#define TX_LOCK 1
#define TX_PREPARE 2
#define TX_COMMIT 3
#define TX_ABORT 4

/* service_head_t.status */
#define TX_OK 1
#define TX_CONFLICT 2
#define TX_FULL 3
#define TX_MALFORMED 4 /* the request contradicts itself, or is not allowed in the transaction's state */

/* State of a client's transaction, and of an entry of the log. */
#define TX_NONE 0
#define TX_LOCKED 1
#define TX_PREPARED 2
#define TX_COMMITTED 3
#define TX_ABORTED 4

/* Counters of events. */
#define TX_REFUSED 0    /* malformed requests */
#define TX_DUPLICATES 1 /* copies of requests */
#define TX_CONFLICTS 2
#define TX_EVENTS 3

typedef struct {
    uint32_t record, value;
} tx_write_t;

/* An entry of the log, in host memory. */
typedef struct {
    uint32_t transaction;
    uint32_t state; /* TX_PREPARED until the outcome is known */
    uint32_t client;
    uint32_t count;
    tx_write_t write[TX_MOST];
    uint32_t unused[12];
} tx_entry_t;

/* The transaction of a client. A core copies it to L1 for a request, because a word of L2 takes some 20 cycles. */
typedef struct {
    uint32_t transaction;
    uint32_t state;
    uint32_t n_locked;
    uint32_t locked[TX_MOST];
    uint32_t n_writes;
    uint32_t entry; /* number of the log entry */
    tx_write_t write[TX_MOST];
    uint32_t newest; /* number of the latest request */
    uint32_t unused[2];
} tx_client_t;

/* Handler memory. All zeros at first. */
typedef struct {
    volatile int32_t logged; /* entries of the log */
    volatile uint32_t events[TX_EVENTS];
    uint32_t unused[12];
    service_latest_t latest[TX_CLIENTS];
    tx_client_t clients[TX_CLIENTS];
    volatile uint32_t is_busy[TX_CLIENTS]; /* a core performs a request of the client */
    spin_lock_t locks[TX_RECORDS];
    volatile uint32_t value[TX_RECORDS];
} tx_t;

/* The data of a request. */
typedef struct {
    uint32_t transaction;
    uint32_t count;
    union {
        uint32_t record[TX_MOST];
        tx_write_t write[TX_MOST];
    };
} tx_request_t;

/* A core's memory in L1. */
typedef struct {
    tx_client_t client;
    tx_entry_t entry;
    uint8_t frame[192];
} tx_core_t;

#ifdef TX_MEMORY_BYTES
_Static_assert(sizeof(tx_t) == TX_MEMORY_BYTES, "as Python allocates it");
#endif
_Static_assert(sizeof(tx_entry_t) == TX_ENTRY_BYTES, "as Python reads it");
_Static_assert(sizeof(tx_client_t) == 128, "as Python allocates it");
_Static_assert(NB_CORES * sizeof(tx_core_t) <= TX_SCRATCHPAD_BYTES, "as Python allocates it");

static void unlock(tx_t *tx, tx_client_t *client)
{
    for (uint32_t i = 0; i < client->n_locked; i++) {
        spin_lock_unlock(&tx->locks[client->locked[i]]);
    }
    client->n_locked = 0;
    client->state = TX_NONE;
}

static bool has_locked(const tx_client_t *client, uint32_t record)
{
    for (uint32_t i = 0; i < client->n_locked; i++) {
        if (client->locked[i] == record) {
            return true;
        }
    }
    return false;
}

static uint32_t lock_all(tx_t *tx, tx_client_t *client, const tx_request_t *request)
{
    if (client->state != TX_NONE) {
        return TX_MALFORMED;
    }
    client->transaction = request->transaction;
    client->state = TX_LOCKED;
    for (uint32_t i = 0; i < request->count; i++) {
        const uint32_t record = request->record[i];
        if (record >= TX_RECORDS || has_locked(client, record)) {
            unlock(tx, client);
            return TX_MALFORMED;
        }
        if (!spin_lock_try_lock(&tx->locks[record])) {
            unlock(tx, client);
            amo_add((volatile int32_t *)&tx->events[TX_CONFLICTS], 1);
            return TX_CONFLICT;
        }
        client->locked[client->n_locked++] = record;
    }
    return TX_OK;
}

static uint32_t prepare(const task_t *task, tx_t *tx, tx_client_t *client, const service_head_t *head,
                        const tx_request_t *request, tx_entry_t *entry)
{
    for (uint32_t i = 0; i < request->count; i++) {
        if (!has_locked(client, request->write[i].record)) {
            return TX_MALFORMED;
        }
    }
    if (client->state != TX_LOCKED) {
        return TX_MALFORMED;
    }
    const uint32_t number = (uint32_t)amo_add(&tx->logged, 1);
    if (number >= TX_LOG_ENTRIES) {
        amo_add(&tx->logged, -1);
        return TX_FULL;
    }
    *entry = (tx_entry_t){.transaction = request->transaction, .state = TX_PREPARED, .client = head->client,
                          .count = request->count};
    for (uint32_t i = 0; i < request->count; i++) {
        client->write[i] = entry->write[i] = request->write[i];
    }
    client->n_writes = request->count;
    client->entry = number;
    client->state = TX_PREPARED;
    spin_cmd_t written;
    spin_dma_to_host(spin_host_address(task, number * TX_ENTRY_BYTES), (uintptr_t)entry, TX_ENTRY_BYTES, false, &written);
    spin_cmd_wait(written);
    return TX_OK;
}

/* Begin to note the outcome in the log. */
static spin_cmd_t note(const task_t *task, const tx_client_t *client, uint32_t state)
{
    spin_cmd_t written;
    spin_write_to_host(spin_host_address(task, client->entry * TX_ENTRY_BYTES), (uint64_t)state << 32 | client->transaction,
                       &written);
    return written;
}

static uint32_t commit(const task_t *task, tx_t *tx, tx_client_t *client)
{
    if (client->state != TX_PREPARED) {
        return TX_MALFORMED;
    }
    const spin_cmd_t noted = note(task, client, TX_COMMITTED);
    for (uint32_t i = 0; i < client->n_writes; i++) {
        amo_store(&tx->value[client->write[i].record], client->write[i].value);
    }
    spin_cmd_wait(noted);
    unlock(tx, client);
    return TX_OK;
}

static uint32_t abort_transaction(const task_t *task, tx_t *tx, tx_client_t *client)
{
    if (client->state == TX_PREPARED) {
        spin_cmd_wait(note(task, client, TX_ABORTED));
    }
    unlock(tx, client);
    return TX_OK;
}

/* The status, or 0 if the client has given up on the request. */
static uint32_t perform_on(const task_t *task, tx_t *tx, tx_client_t *client, const service_head_t *head,
                           const tx_request_t *request, tx_entry_t *entry)
{
    if (head->request < client->newest) {
        return 0;
    }
    client->newest = head->request;
    if (head->kind != TX_LOCK && client->transaction != request->transaction) {
        return TX_MALFORMED;
    }
    switch (head->kind) {
    case TX_LOCK:
        return lock_all(tx, client, request);
    case TX_PREPARE:
        return prepare(task, tx, client, head, request, entry);
    case TX_COMMIT:
        return commit(task, tx, client);
    default:
        return abort_transaction(task, tx, client);
    }
}

/* Perform a request with a copy of the client's transaction in L1. */
static uint32_t perform(const task_t *task, tx_t *tx, tx_core_t *core, const service_head_t *head,
                        const tx_request_t *request)
{
    tx_client_t *client = &tx->clients[head->client];
    volatile uint32_t *is_busy = &tx->is_busy[head->client];
    if (amo_swap(is_busy, 1) != 0) {
        return TX_MALFORMED; /* a client sends the next request when it has the reply */
    }
    spin_dma_t copied;
    spin_dma(client, &core->client, sizeof *client, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
    const uint32_t status = perform_on(task, tx, &core->client, head, request, &core->entry);
    spin_dma(&core->client, client, sizeof *client, SPIN_DMA_LOC2EXT, 0, &copied);
    spin_dma_wait(copied);
    amo_store(is_busy, 0);
    return status;
}

static bool is_well_formed(const task_t *task, const service_head_t *head, const tx_request_t *request)
{
    static const uint8_t each[] = {0, 4, 8, 0, 0}; /* bytes of data for each of `count`, by kind */
    if (!service_is_whole(task) || head->client >= TX_CLIENTS || !service_has_number(head) || head->kind < TX_LOCK ||
        head->kind > TX_ABORT || head->bytes < 8 || request->transaction == 0 || request->count > TX_MOST) {
        return false;
    }
    return head->bytes == 8 + request->count * each[head->kind] && (each[head->kind] != 0 || request->count == 0);
}

__handler__ void transaction_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    tx_t *tx = (tx_t *)task->handler_mem;
    tx_core_t *core = (tx_core_t *)task->scratchpad[args->cluster_id] + args->hpu_id;
    const service_head_t *head = service_head(task->pkt_mem);
    const tx_request_t *request = (const tx_request_t *)(head + 1);
    if (task->handler_mem_size < sizeof(tx_t) || task->host_mem_size < TX_LOG_ENTRIES * TX_ENTRY_BYTES) {
        return;
    }
    const bool has_head = service_has_head(task), is_denied = has_head && service_is_denied(task);
    const bool is_valid = has_head && !is_denied && is_well_formed(task, head, request);
    uint32_t status = is_denied ? SERVICE_DENIED : TX_MALFORMED;
    if (is_valid) {
        service_latest_t *latest = &tx->latest[head->client];
        if (!service_is_first(latest, head->request, &status)) {
            amo_add((volatile int32_t *)&tx->events[TX_DUPLICATES], 1);
        } else {
            status = perform(task, tx, core, head, request);
            service_keep_status(latest, head->request, status);
        }
    }
    if (is_denied || status == TX_MALFORMED) {
        amo_add((volatile int32_t *)&tx->events[TX_REFUSED], 1);
    }
    if (status == 0 || !has_head) {
        return;
    }
    uint32_t *values = (uint32_t *)(core->frame + SERVICE_DATA_AT), n_values = 0;
    if (is_valid && head->kind == TX_LOCK && status == TX_OK) {
        for (; n_values < request->count; n_values++) {
            values[n_values] = tx->value[request->record[n_values] % TX_RECORDS];
        }
    }
    service_turn(task, core->frame)->status = (uint8_t)status;
    service_send(core->frame, n_values * 4);
}
