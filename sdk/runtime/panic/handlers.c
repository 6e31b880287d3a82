/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of PsPIN in a PANIC unit: for each packet the header handler, if it is the first of its flow, then the payload handler.
 *
 * A message is a flow, as the RMT pipeline numbers them. Its flow_id is an index into a table of recent flows, so it is
 * small, as on PsPIN. A flow that returns after that many other flows starts again. The end of a flow is unknown here, so
 * completion handlers do not run, and are not linked. A packet that no handler sends is dropped.
 *
 * The only core counts as all clusters. host_mem_size is as large as it can be, so that handlers which pass packets to
   the host do.
 */
#include <handler.h>
#include <panic.h>

#ifndef PANIC_HANDLER_MEMORY_BYTES
#define PANIC_HANDLER_MEMORY_BYTES 1024
#endif
#define SCRATCHPAD_BYTES 1024
#define N_FLOWS 64u

/* The build defines a macro for the name of each handler that exists. */
#ifdef SPIN_HEADER
extern void SPIN_HEADER(handler_args_t *);
#endif
#ifdef SPIN_PAYLOAD
extern void SPIN_PAYLOAD(handler_args_t *);
#endif
extern __typeof__(init_handlers) init_handlers __attribute__((weak));

static uint8_t handler_memory[PANIC_HANDLER_MEMORY_BYTES] __attribute__((aligned(64)));
static uint8_t scratchpad[SCRATCHPAD_BYTES] __attribute__((aligned(64)));

static uint32_t flows[N_FLOWS];
static uint32_t n_flows; /* seen in all; the next takes the place of the oldest */

static const void *answer;
static uint32_t answer_bytes;

void spin_unit_answer(const void *data, uint32_t length)
{
    if (answer != NULL) {
        __builtin_trap(); /* one packet in, one packet out */
    }
    answer = data;
    answer_bytes = length;
}

/* The flow's index in the table; also returns if it is new. */
static bool find(uint32_t flow, uint32_t *place)
{
    uint32_t n = n_flows < N_FLOWS ? n_flows : N_FLOWS;
    for (uint32_t i = 0; i < n; i++) {
        if (flows[i] == flow) {
            *place = i;
            return false;
        }
    }
    *place = n_flows++ % N_FLOWS;
    flows[*place] = flow;
    return true;
}

void panic_start(void)
{
    if (init_handlers) {
        handler_fn header = NULL, payload = NULL, completion = NULL;
        void *handler_mem = NULL;
        init_handlers(&header, &payload, &completion, &handler_mem);
    }
}

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        task_t task = {
            .handler_mem = handler_memory,
            .handler_mem_size = sizeof handler_memory,
            .pkt_mem = packet.data,
            .pkt_mem_size = packet.size,
            .host_mem_size = UINT32_MAX,
            .l2_pkt_mem = packet.data,
        };
        for (uint32_t i = 0; i < NB_SCRATCHPADS; i++) {
            task.scratchpad[i] = scratchpad;
            task.scratchpad_size[i] = sizeof scratchpad;
        }
        handler_args_t args = {.task = &task};
        answer = NULL;
        bool is_new = find(panic_flow(), &task.flow_id);
#ifdef SPIN_HEADER
        if (is_new) {
            SPIN_HEADER(&args);
        }
#endif
#ifdef SPIN_PAYLOAD
        SPIN_PAYLOAD(&args);
#endif
        (void)is_new;
        panic_flush();
        if (answer != NULL) {
            panic_send(answer, answer_bytes);
        } else {
            panic_drop();
        }
    }
}
