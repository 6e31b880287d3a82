/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-pattern matching: searches the payloads of UDP and TCP packets for many byte strings at once (Aho and Corasick,
 * 1975).
 *
 * The automaton is a table of transitions in L2 handler memory: a row for each state, and a column for each class of
 * bytes. Bytes are in one class if no pattern distinguishes them. `spinet.services.Patterns` makes the table. States
 * are numbered by depth, and matching stays near the root most of the time, so each cluster keeps the first rows, up to
 * HOT_BYTES, in its L1.
 *
 * Each occurrence increments the pattern's counter in handler memory, even if occurrences overlap. A packet with a
 * match is copied to host memory (spin_data_to_host); other packets are consumed. Each packet is searched alone, so a
 * string that spans two packets is not found.
 *
 * Memory: scratchpad of HOT_BYTES + 320 bytes. For each byte of payload: the byte and its class from L1, and a
 * transition from L1 or L2. Cost: 118 cycles for a packet without payload; 21 for a byte whose state is in L1, 42 for
 * another byte. Each match adds a load and an AMO on L2. `spinet reproduce spin/patterns` measures the cycles of a
 * byte.
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_net.h>

#ifndef HOT_BYTES
#define HOT_BYTES 65536
#endif

#define HEADER_BYTES 16
#define MAX_PATTERNS 256
#define ROWS_AT 1296 /* classes, then counters */
#define ENDS 0x8000u /* in a transition: a pattern ends in the next state */
#define NO_STATE 0xffff

/* At the start of the handler memory. Behind the rows: `first` and `link` of each state. */
typedef struct {
    uint16_t states, classes;
    uint32_t rows_bytes;
    uint32_t unused[2];
    uint8_t class_of[256];
    volatile int32_t counters[MAX_PATTERNS];
    uint16_t rows[];
} automaton_t;

_Static_assert(__builtin_offsetof(automaton_t, rows) == ROWS_AT, "as in the Python side");

/* A state's longest pattern, and the state of its longest suffix in which another pattern ends. */
typedef struct {
    uint16_t first, link;
} output_t;

typedef struct {
    volatile uint32_t is_ready;
    uint32_t hot; /* number of entries of `rows` in use */
    uint32_t unused[2];
    uint8_t class_of[256];
    uint32_t classes;
    uint32_t rest[11];
    uint16_t rows[HOT_BYTES / 2 + 2];
} local_t;

/* The part of the automaton in this cluster's L1; the first packet fetches it. */
static const local_t *local_of(const handler_args_t *args, const automaton_t *automaton)
{
    local_t *local = (local_t *)args->task->scratchpad[args->cluster_id];
    if (!local->is_ready) { /* several cores may copy at the same time: they write the same bytes */
        const uint32_t bytes = MIN(automaton->rows_bytes, HOT_BYTES);
        spin_dma_t copied;
        spin_dma((void *)automaton->class_of, local->class_of, 256, SPIN_DMA_EXT2LOC, 0, &copied);
        spin_dma_wait(copied);
        if (spin_dma((void *)automaton->rows, local->rows, bytes, SPIN_DMA_EXT2LOC, 0, &copied) == SPIN_OK) {
            spin_dma_wait(copied);
        }
        local->classes = automaton->classes;
        local->hot = bytes / 2;
        local->is_ready = 1;
    }
    return local;
}

/* Counts all patterns that end in a state. */
static void count(automaton_t *automaton, uint32_t state)
{
    const output_t *outputs = (const output_t *)((const uint8_t *)automaton->rows + automaton->rows_bytes);
    while (state != NO_STATE) {
        const output_t output = outputs[state];
        amo_add(&automaton->counters[output.first % MAX_PATTERNS], 1);
        state = output.link;
    }
}

__handler__ void patterns_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_headers_t headers = spin_parse(spin_pkt(task->pkt_mem, task->pkt_mem_size));
    automaton_t *automaton = (automaton_t *)task->handler_mem;
    if ((headers.udp == NULL && headers.tcp == NULL) || task->scratchpad_size[args->cluster_id] < sizeof(local_t)) {
        return;
    }
    const spin_pkt_t payload = headers.udp != NULL ? spin_udp_payload(headers.udp) : spin_tcp_payload(&headers);
    const local_t *local = local_of(args, automaton);
    const uint32_t classes = local->classes, hot = local->hot;
    uint32_t state = 0;
    bool has_match = false;
    for (const uint8_t *byte = payload.data, *end = byte + payload.size; byte < end; byte++) {
        const uint32_t at = state * classes + local->class_of[*byte];
        const uint32_t next = at < hot ? local->rows[at] : automaton->rows[at];
        state = next & ~ENDS;
        if ((next & ENDS) != 0) {
            has_match = true;
            count(automaton, state);
        }
    }
    if (has_match) {
        spin_data_to_host(task);
    }
}
