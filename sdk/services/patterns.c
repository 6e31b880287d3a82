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
 * A counter for each pattern in handler memory says at how many places it is the longest pattern that ends there.
 * Shorter patterns that end at the same places follow from these counters; `spinet.services.Patterns.counts` adds them
 * up. Occurrences may overlap. A packet with a match is copied to host memory (spin_data_to_host); other packets are
 * consumed. Each packet is searched alone, so a string that spans two packets is not found.
 *
 * A core counts the matches of a packet in L1 and adds them to the counters at its end, so a payload full of matches
 * does not make all cores wait for a counter at each byte.
 *
 * Memory: scratchpad of HOT_BYTES + 6,500 bytes; with a smaller one, all packets are consumed. For each byte of
 * payload: the byte and its class from L1, and a transition from L1 or L2. Cost: 140 cycles for a packet without
 * payload; 21 for a byte whose state is in L1, 42 for another byte. A place with a match adds 31, most of them a load
 * from L2; each pattern of a packet adds an AMO on L2. `spinet reproduce spin/patterns` measures the cycles of a byte.
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

/* At the start of the handler memory. Behind the rows: the longest pattern that ends in each state. */
typedef struct {
    uint16_t states, classes;
    uint32_t rows_bytes;
    uint32_t unused[2];
    uint8_t class_of[256];
    volatile int32_t counters[MAX_PATTERNS];
    uint16_t rows[];
} automaton_t;

_Static_assert(__builtin_offsetof(automaton_t, rows) == ROWS_AT, "as in the Python side");

/* The matches of a core's present packet. All zeros between packets, unless a watchdog has ended the handler. */
typedef struct {
    uint32_t n_seen;
    uint8_t seen[MAX_PATTERNS]; /* patterns in the packet */
    uint16_t matches[MAX_PATTERNS];
} tally_t;

typedef struct {
    volatile uint32_t is_ready;
    uint32_t hot; /* number of entries of `rows` in use */
    uint32_t unused[2];
    uint8_t class_of[256];
    uint32_t classes;
    const uint16_t *longest; /* behind the rows, in L2 */
    uint32_t rest[10];
    uint16_t rows[HOT_BYTES / 2 + 2];
    tally_t tallies[NB_CORES];
} local_t;

_Static_assert(NB_CORES > 8 || sizeof(local_t) <= HOT_BYTES + 6500, "as documented");

/* The part of the automaton in this cluster's L1; the first packet fetches it. */
static local_t *local_of(const handler_args_t *args, const automaton_t *automaton)
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
        local->longest = automaton->rows + automaton->rows_bytes / 2;
        local->hot = bytes / 2;
        local->is_ready = 1;
    }
    return local;
}

static void clear(tally_t *tally)
{
    for (uint32_t i = 0; i < tally->n_seen; i++) {
        tally->matches[tally->seen[i]] = 0;
    }
    tally->n_seen = 0;
}

static inline void note(tally_t *tally, uint32_t pattern)
{
    const uint32_t before = tally->matches[pattern];
    if (before == 0) {
        tally->seen[tally->n_seen++] = (uint8_t)pattern;
        SPIN_COMPILER_BARRIER(); /* `clear` must find the pattern if a watchdog ends the handler here */
    }
    tally->matches[pattern] = (uint16_t)(before + 1);
}

static void add(automaton_t *automaton, const tally_t *tally)
{
    for (uint32_t i = 0; i < tally->n_seen; i++) {
        const uint32_t pattern = tally->seen[i];
        amo_add(&automaton->counters[pattern], tally->matches[pattern]);
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
    local_t *local = local_of(args, automaton);
    tally_t *tally = &local->tallies[args->hpu_id];
    const uint16_t *longest = local->longest;
    const uint32_t classes = local->classes, hot = local->hot;
    uint32_t state = 0;
    clear(tally);
    for (const uint8_t *byte = payload.data, *end = byte + payload.size; byte < end; byte++) {
        const uint32_t at = state * classes + local->class_of[*byte];
        const uint32_t next = at < hot ? local->rows[at] : automaton->rows[at];
        state = next & ~ENDS;
        if ((next & ENDS) != 0) {
            note(tally, longest[state] % MAX_PATTERNS);
        }
    }
    if (tally->n_seen != 0) {
        spin_data_to_host(task);
        add(automaton, tally);
        clear(tally);
    }
}
