/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditional read: a client asks for the rows of a table in host memory that satisfy a predicate. The card reads the
 * table and sends only these rows; the host's processor does nothing.
 *
 * The table has TABLE_ROWS rows of ROW_BYTES bytes: columns of 32-bit signed numbers. Requests and replies have the header of service.h. The data of a request are select_request_t:
 * a range of rows, and up to SELECT_TERMS terms, which must all hold. A term demands that a column is within a range,
 * or outside of it. The reply has the rows that satisfy the predicate, in their order, in as many packets as needed.
 * `status` of a reply is SELECT_OK or SELECT_MALFORMED. A request has at most SELECT_PARTS packets' worth of rows, so a
 * client divides a large table into several requests, which different cores serve at the same time.
 *
 * The table must not change during a query, because a repeated request sends the rows again.
 *
 * Memory: host memory is the table. Handler memory: a counter of malformed requests. Scratchpad of
 * SELECT_SCRATCHPAD_BYTES: for each core two blocks of the table and two frames, so that it reads, filters and sends at
 * the same time. Cost: see docs/guides/services.md.
 */
#include "service.h"

#ifndef ROW_BYTES
#define ROW_BYTES 64 /* a multiple of 4, at most SELECT_ROWS_BYTES */
#endif

#ifndef TABLE_ROWS
#define TABLE_ROWS 1024
#endif

#define SELECT_PORT 9502
#define SELECT_TERMS 4
#define SELECT_PARTS 64          /* most packets of a reply */
#define SELECT_ROWS_BYTES 1408   /* most bytes of rows in a packet */
#define SELECT_BLOCK_BYTES 4096  /* most bytes that a core reads at once: DMA cuts longer reads at pages */
#define SELECT_SCRATCHPAD_BYTES 90112

/* service_head_t.kind and status */
#define SELECT_READ 1
#define SELECT_OK 1
#define SELECT_MALFORMED 4

#define BLOCK_ROWS (SELECT_BLOCK_BYTES / ROW_BYTES)
#define PACKET_ROWS (SELECT_ROWS_BYTES / ROW_BYTES)

/* low <= column <= high, or the opposite. */
typedef struct {
    uint16_t column;
    uint16_t is_outside; /* 0 or 1 */
    int32_t low, high;
} select_term_t;

typedef struct {
    uint32_t first; /* row */
    uint32_t rows;
    uint32_t terms;
    select_term_t term[];
} select_request_t;

/* A core's memory in L1. */
typedef struct {
    uint32_t blocks[2][SELECT_BLOCK_BYTES / 4];
    uint8_t frames[2][SERVICE_FRAME_BYTES];
} select_core_t;

_Static_assert(ROW_BYTES % 4 == 0 && ROW_BYTES >= 4 && ROW_BYTES <= SELECT_ROWS_BYTES, "a packet holds whole rows");
_Static_assert(NB_CORES * sizeof(select_core_t) <= SELECT_SCRATCHPAD_BYTES, "as Python allocates it");

/* The reply while it is made. */
typedef struct {
    const task_t *task;
    select_core_t *core;
    uint32_t rows;   /* in the present frame */
    uint32_t part;   /* number of the present frame */
    spin_cmd_t sent; /* the frame before */
} reply_t;

static uint8_t *frame_of(const reply_t *reply) { return reply->core->frames[reply->part % 2]; }

static bool is_well_formed(const task_t *task, const service_head_t *head, const select_request_t *request)
{
    if (!service_is_whole(task) || head->kind != SELECT_READ || head->bytes < sizeof *request ||
        request->terms > SELECT_TERMS || head->bytes != sizeof *request + request->terms * sizeof(select_term_t) ||
        request->rows == 0 || request->rows > SELECT_PARTS * PACKET_ROWS || request->first > TABLE_ROWS ||
        request->rows > TABLE_ROWS - request->first) {
        return false;
    }
    for (uint32_t i = 0; i < request->terms; i++) {
        const select_term_t *term = &request->term[i];
        if (term->column >= ROW_BYTES / 4 || term->is_outside > 1 || term->low > term->high) {
            return false;
        }
    }
    return true;
}

/* One comparison for both ends of the range: differences of values below `low` wrap round. */
static inline bool holds(const uint32_t *row, const select_term_t *term)
{
    const uint32_t low = (uint32_t)term->low, width = (uint32_t)term->high - low;
    return (row[term->column] - low <= width) != term->is_outside;
}

/* Most rows fail the first term, so the loop keeps that one in registers. */
static bool satisfies_others(const uint32_t *row, const select_request_t *request)
{
    for (uint32_t i = 1; i < request->terms; i++) {
        if (!holds(row, &request->term[i])) {
            return false;
        }
    }
    return true;
}

/* Send the present frame, and begin the next one in the other frame as soon as that has left. */
static void send(reply_t *reply, bool is_last)
{
    uint8_t *frame = frame_of(reply);
    service_head_t *head = service_head(frame);
    head->part = (uint8_t)reply->part;
    head->more = !is_last;
    const spin_cmd_t sent = service_start(frame, reply->rows * ROW_BYTES);
    if (reply->part != 0) {
        spin_cmd_wait(reply->sent);
    }
    reply->sent = sent;
    reply->part++;
    reply->rows = 0;
    if (is_last) {
        spin_cmd_wait(sent);
    } else {
        service_copy_headers(frame, frame_of(reply));
    }
}

static void append(reply_t *reply, const uint32_t *row)
{
    if (reply->rows == PACKET_ROWS) {
        send(reply, false);
    }
    uint32_t *to = (uint32_t *)(frame_of(reply) + SERVICE_DATA_AT) + reply->rows++ * (ROW_BYTES / 4);
    for (uint32_t i = 0; i < ROW_BYTES / 4; i++) {
        to[i] = row[i];
    }
}

static spin_cmd_t fetch(const reply_t *reply, uint32_t block, const select_request_t *request, uint32_t at)
{
    spin_cmd_t fetched;
    const uint32_t bytes = MIN(request->rows - at, BLOCK_ROWS) * ROW_BYTES;
    spin_dma_from_host(spin_host_address(reply->task, (request->first + at) * ROW_BYTES),
                       (uintptr_t)reply->core->blocks[block], bytes, false, &fetched);
    return fetched;
}

__handler__ void select_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    reply_t reply = {.task = task, .core = (select_core_t *)task->scratchpad[args->cluster_id] + args->hpu_id};
    const service_head_t *head = service_head(task->pkt_mem);
    const select_request_t *request = (const select_request_t *)(head + 1);
    if (!service_has_head(task) || task->host_mem_size < TABLE_ROWS * ROW_BYTES) {
        amo_add((volatile int32_t *)task->handler_mem, 1);
        return;
    }
    const bool is_denied = service_is_denied(task), is_valid = !is_denied && is_well_formed(task, head, request);
    service_turn(task, reply.core->frames[0])->status = is_denied ? SERVICE_DENIED : is_valid ? SELECT_OK : SELECT_MALFORMED;
    if (!is_valid) {
        amo_add((volatile int32_t *)task->handler_mem, 1);
        send(&reply, true);
        return;
    }
    const select_term_t any = {0, 0, INT32_MIN, INT32_MAX}, first = request->terms != 0 ? request->term[0] : any;
    const bool has_others = request->terms > 1;
    spin_cmd_t fetched = fetch(&reply, 0, request, 0);
    for (uint32_t at = 0, block = 0; at < request->rows; at += BLOCK_ROWS, block ^= 1) {
        const uint32_t n = MIN(request->rows - at, BLOCK_ROWS);
        spin_cmd_wait(fetched);
        if (at + n < request->rows) {
            fetched = fetch(&reply, block ^ 1, request, at + n);
        }
        const uint32_t *row = reply.core->blocks[block];
        for (uint32_t i = 0; i < n; i++, row += ROW_BYTES / 4) {
            if (holds(row, &first) && (!has_others || satisfies_others(row, request))) {
                append(&reply, row);
            }
        }
    }
    send(&reply, true);
}
