/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tenants on one card: the first counts packets, the second answers them. Then calls that the driver refuses, and a
 * tenant on another card whose handler never ends. Arguments: the runtime, the handlers of each tenant, a runtime that
 * reports errors.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "spinet_driver.h"

/* A call that must succeed. */
#define DO(call)                                                              \
    do {                                                                      \
        if ((call) != SPINET_OK) {                                            \
            printf("line %d: %s: %s\n", __LINE__, #call, spinet_last_error()); \
            return 1;                                                         \
        }                                                                     \
    } while (0)

/* A call that must fail. */
#define REFUSED(call)                                              \
    do {                                                           \
        int code = (call);                                         \
        printf("%s\n  %d: %s\n", #call, code, spinet_last_error()); \
    } while (0)

#define SIZE 60

static uint8_t frames[8][SIZE];

/* Four UDP packets to a port, one per us, the last from port 3 and the others from port 1. */
static int arrive(spinet_machine_t *card, int first, uint8_t port)
{
    spinet_packet_t packets[4];
    for (int i = 0; i < 4; i++) {
        uint8_t *frame = frames[first + i];
        memset(frame, 0, SIZE);
        frame[12] = 8; /* IPv4 */
        frame[14] = 0x45;
        frame[17] = SIZE - 14;
        frame[22] = 64;
        frame[23] = 17; /* UDP */
        frame[35] = i == 3 ? 3 : 1;
        frame[37] = port;
        frame[39] = SIZE - 34;
        frame[42] = (uint8_t)(0xa0 + first + i);
        packets[i].after_ps = (uint64_t)i * 1000000;
        packets[i].data = frame;
        packets[i].size = SIZE;
    }
    return spinet_add_packets(card, packets, 4);
}

static void show(const char *name, const spinet_event_t *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const spinet_event_t *event = &events[i];
        if (i > 0 && event->time_ps < events[i - 1].time_ps)
            printf("time decreases: ");
        printf("%s, context %" PRIu64 ": ", name, event->context);
        if (event->what == SPINET_MESSAGE_DONE)
            printf("message %u done\n", event->msgid);
        else if (event->what == SPINET_HANDLER_ERROR)
            printf("stage %u of message %u, cause %u, handler %#x, HPU %u.%u\n", event->stage, event->msgid, event->cause,
                   event->handler, event->cluster, event->core);
        else
            printf("%u\n", event->what);
    }
}

/* Calls from a thread that did not boot the card. */
static void *intrude(void *card)
{
    uint64_t ps;
    REFUSED(spinet_now(card, &ps));
    REFUSED(spinet_shutdown(card));
    return NULL;
}

/* A handler that never ends, and the resulting events. */
static int hang(const char *runtime, const char *handlers)
{
    spinet_machine_t *card;
    spinet_tenant_t tenant;
    spinet_program_t program;
    spinet_context_spec_t spec;
    spinet_context_t context;
    spinet_rule_t rule;
    spinet_error_record_t record;
    spinet_event_t events[8];
    size_t n;
    DO(spinet_boot("pspin", runtime, 1, &card));
    DO(spinet_open(card, "c", NULL, &tenant));
    DO(spinet_load(card, tenant, handlers, &program));
    DO(spinet_context_spec(program, &spec));
    spec.handler = "loop";
    spec.watchdog_cycles = 500;
    DO(spinet_build(card, tenant, &spec, &context));
    DO(spinet_install(card, tenant, context, "udp.src_port == 3", NULL, 0, &rule));
    DO(spinet_error_record(card, tenant, context, &record));
    printf("record: error %u\n", record.count);
    DO(arrive(card, 0, 7));
    DO(spinet_run_until(card, 50000000));
    DO(spinet_take_events(card, tenant, events, 8, &n));
    show("c", events, n);
    DO(spinet_error_record(card, tenant, context, &record));
    printf("record: error %u, cause %u, handler %#x, pc %#x, stage %u, HPU %u\n", record.count, record.cause,
           record.handler, record.pc, record.stage, record.hpu);
    spinet_line_t line;
    while (spinet_take_line(card, &line) == SPINET_OK && line.text != NULL)
        printf("%" PRIu64 " ps, HPU %u.%u: %s\n", line.time_ps, line.cluster, line.core, line.text);
    DO(spinet_shutdown(card));
    return 0;
}

int main(int argc, char **argv)
{
    spinet_machine_t *card = NULL;
    if (argc != 5)
        return 2;
    REFUSED(spinet_boot("pspn", argv[1], 1, &card));
    REFUSED(spinet_boot("pspin", "nowhere.elf", 1, &card));
    REFUSED(spinet_boot("pspin", argv[1], 1, NULL));
    DO(spinet_boot("pspin", argv[1], 1, &card));
    spinet_capabilities_t can;
    DO(spinet_capabilities(card, &can));
    printf("%u clusters of %u, %u queues, copies %u, watchdog %u, reliable %u, in order %u, isolated %u, reports %u\n",
           can.n_clusters, can.n_cores, can.n_message_queues, can.max_copy_bytes, can.watchdog_cycles, can.reliable,
           can.in_order, can.isolated, can.reports_errors);
    printf("program memory: %" PRIu64 " of %" PRIu64 " free at %#" PRIx64 "; handler memory %" PRIu64
           "; scratchpads %" PRIu64 "\n",
           can.program_memory.largest, can.program_memory.bytes, can.program_memory.at, can.handler_memory.free,
           can.scratchpad_memory.bytes);

    puts("-- two tenants");
    spinet_tenant_t a, b;
    DO(spinet_open(card, "a", "udp.dst_port == 7", &a));
    DO(spinet_open(card, "b", "udp.dst_port == 9", &b));
    spinet_program_t tally, echo;
    DO(spinet_load(card, a, argv[2], &tally));
    REFUSED(spinet_load(card, b, argv[2], &echo));
    DO(spinet_load(card, b, argv[3], &echo));

    spinet_memory_t counter, pad;
    spinet_ticket_t written, read;
    uint32_t count = 100, place;
    DO(spinet_allocate(card, a, SPINET_HANDLER_MEMORY, 64, &counter));
    DO(spinet_allocate(card, a, SPINET_SCRATCHPAD, 256, &pad));
    DO(spinet_address(card, a, counter, &place));
    DO(spinet_write(card, a, counter, 0, &count, sizeof(count), &written));
    DO(spinet_wait(card, a, written));
    spinet_host_t inbox;
    uint64_t host_place;
    DO(spinet_register(card, a, 4096, &inbox));
    DO(spinet_host_address(card, a, inbox, &host_place));
    printf("counter at %#x, inbox at %#" PRIx64 "\n", place, host_place);

    spinet_context_spec_t spec;
    spinet_context_t counts, answers, others;
    DO(spinet_context_spec(tally, &spec));
    spec.handler = "tally";
    spec.handler_memory = counter;
    spec.scratchpad = pad;
    spec.host = inbox;
    DO(spinet_build(card, a, &spec, &counts));
    DO(spinet_context_spec(tally, &spec));
    spec.symbols[0] = spec.symbols[2] = "";
    spec.symbols[1] = "echo_ph";
    DO(spinet_build(card, a, &spec, &answers));
    DO(spinet_context_spec(echo, &spec));
    spec.handler = "echo";
    DO(spinet_build(card, b, &spec, &others));

    spinet_rule_t to_counts, to_answers, to_others;
    DO(spinet_install(card, a, counts, "udp.len == 26", "by flow count 2", 0, &to_counts));
    DO(spinet_install(card, a, answers, "udp.src_port == 3", NULL, 1, &to_answers));
    DO(spinet_install(card, b, others, NULL, NULL, 5, &to_others));
    DO(arrive(card, 0, 7));
    DO(arrive(card, 4, 9));
    DO(spinet_run_until(card, 50000000));

    spinet_event_t events[8];
    size_t n;
    DO(spinet_take_events(card, a, events, 1, &n));
    show("a", events, n);
    DO(spinet_take_events(card, a, events, 8, &n));
    show("a", events, n);
    DO(spinet_take_events(card, b, events, 2, &n));
    show("b", events, n);
    spinet_sent_t sent;
    uint64_t last_ps = 0;
    while (spinet_take_sent(card, &sent) == SPINET_OK && sent.data != NULL) {
        printf("sent %zu bytes, number %#x%s\n", sent.size, sent.data[42], sent.time_ps < last_ps ? ", time decreases" : "");
        last_ps = sent.time_ps;
    }

    DO(spinet_read(card, a, counter, 0, sizeof(count), &read));
    REFUSED(spinet_take(card, a, read, &count, sizeof(count)));
    DO(spinet_wait(card, a, read));
    REFUSED(spinet_take(card, a, read, &count, 1));
    REFUSED(spinet_take(card, b, read, &count, sizeof(count)));
    DO(spinet_take(card, a, read, &count, sizeof(count)));
    REFUSED(spinet_take(card, a, read, &count, sizeof(count)));
    printf("counted in the card: %" PRIu32 "\n", count);
    DO(spinet_host_read(card, a, inbox, 0, &count, sizeof(count)));
    printf("written to the host: %" PRIu32 "\n", count);

    puts("-- refused calls");
    spinet_memory_t more;
    spinet_rule_t again;
    REFUSED(spinet_install(card, a, answers, "udp.src_port == 3", NULL, 1, &again));
    REFUSED(spinet_install(card, a, answers, "udp.prot == 7", NULL, 1, &again));
    REFUSED(spinet_install(card, b, counts, NULL, NULL, 0, &again));
    REFUSED(spinet_allocate(card, a, SPINET_HANDLER_MEMORY, 1u << 30, &more));
    REFUSED(spinet_allocate(card, a, SPINET_HANDLER_MEMORY, 64, NULL));
    REFUSED(spinet_allocate(card, a, 4, 64, &more));
    REFUSED(spinet_free(card, a, counter));
    REFUSED(spinet_free(card, b, counter));
    REFUSED(spinet_free(card, a, 77));
    REFUSED(spinet_write(card, a, counter, 62, "far", 3, NULL));
    REFUSED(spinet_write(card, a, counter, 0, "", 0, NULL));
    REFUSED(spinet_write(card, a, pad, 0, "L1", 2, NULL));
    REFUSED(spinet_host_read(card, a, inbox, 4095, &count, 4));
    REFUSED(spinet_destroy(card, a, counts));
    REFUSED(spinet_close(card, a));
    spec.handler = "ecko";
    REFUSED(spinet_build(card, b, &spec, &others));
    spinet_packet_t late = {2, "x", 1}, nothing = {0, "", 0}, long_one = {0, "", 16385}, pair[2] = {late, {1, "y", 1}};
    REFUSED(spinet_add_packets(card, &nothing, 1));
    REFUSED(spinet_add_packets(card, &long_one, 1));
    REFUSED(spinet_add_packets(card, pair, 2));
    REFUSED(spinet_run_until(card, UINT64_MAX));
    REFUSED(spinet_remove(card, a, to_counts, 2));

    pthread_t thread;
    if (pthread_create(&thread, NULL, intrude, card) != 0 || pthread_join(thread, NULL) != 0)
        return 1;

    puts("-- cleanup");
    DO(spinet_remove(card, a, to_counts, SPINET_END));
    REFUSED(spinet_remove(card, a, to_counts, SPINET_END));
    DO(spinet_remove(card, a, to_answers, SPINET_KILL));
    REFUSED(spinet_destroy(card, a, counts)); /* One message waits for its second packet. */
    DO(arrive(card, 0, 7));
    DO(spinet_run_until(card, 60000000));
    DO(spinet_take_events(card, a, events, 8, &n));
    show("a", events, n);
    DO(spinet_destroy(card, a, counts));
    DO(spinet_free(card, a, counter));
    REFUSED(spinet_free(card, a, counter));
    REFUSED(spinet_write(card, a, counter, 0, &count, sizeof(count), NULL));
    DO(spinet_unregister(card, a, inbox));
    DO(spinet_close(card, a));
    REFUSED(spinet_take_events(card, a, events, 8, &n));
    DO(spinet_take_events(card, b, events, 8, &n));
    show("b", events, n);
    REFUSED(spinet_now(NULL, &host_place));
    DO(spinet_now(card, &host_place));
    printf("%" PRIu64 " ps\n", host_place);
    DO(spinet_shutdown(card));
    DO(spinet_shutdown(NULL));
    puts("-- another card");
    return hang(argv[4], argv[3]);
}
