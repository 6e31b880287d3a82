/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic from descriptions and captures, networks with faults, and delivery options of contexts.
 * Arguments: the test (full, early, lost, capture or refused), the runtime, the handlers.
 */
#include <inttypes.h>
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

/* A card with one tenant that has a program. */
typedef struct scene {
    spinet_machine_t *card;
    spinet_tenant_t tenant;
    spinet_program_t program;
    spinet_context_spec_t spec;
} scene_t;

static const char *runtime, *handlers;

static int begin(scene_t *scene, const char *setting, const char *handler)
{
    const char *settings[1] = {setting};
    DO(spinet_boot_with("pspin", settings, setting != NULL, runtime, 1, &scene->card));
    DO(spinet_open(scene->card, "tenant", NULL, &scene->tenant));
    DO(spinet_load(scene->card, scene->tenant, handlers, &scene->program));
    DO(spinet_context_spec(scene->program, &scene->spec));
    scene->spec.handler = handler;
    DO(spinet_register(scene->card, scene->tenant, 4096, &scene->spec.host));
    DO(spinet_keep_done(scene->card, 1));
    return 0;
}

/* ECN-capable IPv4 packets, one every 20 ns. */
#define N_MARKABLE 200
static spinet_packet_t markable[N_MARKABLE];

static void make_markable(void)
{
    static uint8_t frame[1000];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[15] = 2; /* ECT(0) */
    frame[16] = 986 >> 8;
    frame[17] = 986 & 0xff;
    frame[23] = 17;
    for (size_t i = 0; i < N_MARKABLE; i++)
        markable[i] = (spinet_packet_t){.after_ps = 20000 * i, .data = frame, .size = sizeof(frame)};
}

/* Builds and installs the context, adds the traffic (markable packets if it is NULL), and runs until the card is idle. */
static int play(scene_t *scene, const char *message, const char *source)
{
    spinet_context_t context;
    spinet_rule_t rule;
    uint8_t idle;
    uint64_t now;
    DO(spinet_build(scene->card, scene->tenant, &scene->spec, &context));
    DO(spinet_install(scene->card, scene->tenant, context, NULL, message, 0, &rule));
    if (source != NULL) {
        spinet_traffic_t traffic = {.source = source, .seed = 1};
        DO(spinet_add_traffic(scene->card, &traffic));
    } else {
        DO(spinet_add_packets(scene->card, markable, N_MARKABLE));
    }
    do {
        DO(spinet_now(scene->card, &now));
        DO(spinet_run_until(scene->card, now + 1000000));
        DO(spinet_is_idle(scene->card, &idle));
    } while (!idle);
    return 0;
}

/* Prints counts of packet fates, drop reasons, and events. */
static int report(const char *what, scene_t *scene)
{
    unsigned fates[8] = {0}, reasons[7] = {0}, events[6] = {0}, marked = 0;
    spinet_done_t done[7];
    spinet_event_t event;
    spinet_sent_t sent;
    size_t n;
    for (;;) {
        DO(spinet_take_done(scene->card, done, 7, &n));
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            fates[done[i].fate]++;
            if (done[i].fate == SPINET_DROPPED)
                reasons[done[i].reason]++;
        }
    }
    for (;;) {
        DO(spinet_take_events(scene->card, scene->tenant, &event, 1, &n));
        if (n == 0)
            break;
        events[event.what]++;
    }
    for (;;) {
        DO(spinet_take_sent(scene->card, &sent));
        if (sent.data == NULL)
            break;
        marked += (sent.data[15] & 3) == 3;
    }
    printf("%s:", what);
    static const char *const names[3][8] = {
        {"", "dropped", "", "trapped", "sent", "to host", "both", "consumed"},
        {"empty", "too large", "copy too large", "full", "killed", "before header", "timeout"},
        {"", "done", "error", "timeout", "killed", "fault"},
    };
    const unsigned *const counts[3] = {fates, reasons, events};
    static const size_t lengths[3] = {8, 7, 6};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < lengths[kind]; i++)
            if (counts[kind][i] != 0)
                printf(" %u %s", counts[kind][i], names[kind][i]);
        printf(kind == 2 ? "" : ";");
    }
    printf("; %u marked\n", marked);
    DO(spinet_shutdown(scene->card));
    return 0;
}

#define SMALL "l2.packet_bytes=4096"
#define FAST "udp:size=1000,count=200,rate=400G"

static int full(void)
{
    scene_t scene;
    for (uint32_t policy = SPINET_FULL_STALL; policy <= SPINET_FULL_KILL; policy++) {
        static const char *const names[] = {"stall", "drop", "mark", "kill"};
        if (begin(&scene, SMALL, "echo") != 0)
            return 1;
        scene.spec.when_full = policy;
        if (play(&scene, policy == SPINET_FULL_KILL ? "all count 10" : "each", FAST) != 0 ||
            report(names[policy], &scene) != 0)
            return 1;
    }
    if (begin(&scene, SMALL, "echo") != 0)
        return 1;
    scene.spec.when_full = SPINET_FULL_MARK_ECN;
    scene.spec.ecn_threshold_percent = 50;
    return play(&scene, "each", NULL) != 0 || report("mark what can be", &scene) != 0;
}

/* Each of 8 flows has a counter as payload, which starts at 0. */
static int early(void)
{
    for (uint32_t policy = SPINET_EARLY_BUFFER; policy <= SPINET_EARLY_DROP; policy++) {
        scene_t scene;
        spinet_capabilities_t can;
        if (begin(&scene, NULL, "store") != 0)
            return 1;
        scene.spec.early_payload = policy;
        scene.spec.early_packets = 64;
        scene.spec.timeout_cycles = 200000;
        DO(spinet_network(scene.card, "reorder=0.5:40", 3));
        DO(spinet_capabilities(scene.card, &can));
        printf("reliable %u, in order %u\n", can.reliable, can.in_order);
        if (play(&scene, "by udp.src_port from bytes[42:4] == 0 count 20",
                 "udp:size=64,count=160,flows=8,payload=counter,rate=10G") != 0 ||
            report(policy == SPINET_EARLY_BUFFER ? "buffer" : "drop", &scene) != 0)
            return 1;
    }
    return 0;
}

static int lost(void)
{
    scene_t scene;
    uint64_t now;
    char digest[2][65];
    for (int again = 0; again < 2; again++) {
        if (begin(&scene, NULL, "tally") != 0)
            return 1;
        scene.spec.timeout_cycles = 5000;
        DO(spinet_network(scene.card, "loss=0.1,duplicate=1/50", 7));
        if (play(&scene, "all count 50", "udp:size=64,count=50,rate=100G") != 0)
            return 1;
        DO(spinet_now(scene.card, &now));
        DO(spinet_run_until(scene.card, now + 10000000));
        REFUSED(spinet_digest(scene.card, digest[again], 8));
        DO(spinet_digest(scene.card, digest[again], sizeof(digest[again])));
        if (report("lost", &scene) != 0)
            return 1;
    }
    puts(strcmp(digest[0], digest[1]) == 0 ? "twice the same" : "different");
    return 0;
}

static void put(FILE *file, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        fputc((int)(value >> 8 * i & 0xff), file);
}

/* A capture of three packets of 100 bytes, truncated to 60, one every 10 us. */
static int capture(void)
{
    FILE *file = fopen("three.pcap", "wb");
    if (file == NULL)
        return 1;
    const uint32_t header[6] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1};
    for (int i = 0; i < 6; i++)
        put(file, header[i]);
    for (uint32_t packet = 0; packet < 3; packet++) {
        put(file, 0), put(file, 10 * packet), put(file, 60), put(file, 100);
        for (int i = 0; i < 60; i++)
            fputc(i == 59 ? (int)packet + 1 : 0, file);
    }
    if (fclose(file) != 0)
        return 1;
    scene_t scene;
    spinet_context_t context;
    spinet_rule_t rule;
    spinet_sent_t sent;
    spinet_done_t done;
    uint8_t idle;
    size_t n;
    if (begin(&scene, NULL, "echo") != 0)
        return 1;
    DO(spinet_build(scene.card, scene.tenant, &scene.spec, &context));
    DO(spinet_install(scene.card, scene.tenant, context, NULL, NULL, 0, &rule));
    spinet_traffic_t traffic = {.source = "three.pcap"};
    DO(spinet_add_traffic(scene.card, &traffic));
    traffic = (spinet_traffic_t){.source = "three.pcap", .pacing = "times:0.5", .count = 2, .snapped = SPINET_SNAPPED_KEEP};
    DO(spinet_add_traffic(scene.card, &traffic));
    DO(spinet_is_idle(scene.card, &idle));
    printf("idle %u, ", idle);
    DO(spinet_run_until(scene.card, 40000000));
    DO(spinet_is_idle(scene.card, &idle));
    printf("idle %u\n", idle);
    while (spinet_take_sent(scene.card, &sent) == SPINET_OK && sent.data != NULL)
        printf("sent %zu bytes, number %u\n", sent.size, sent.data[59]);
    while (spinet_take_done(scene.card, &done, 1, &n) == SPINET_OK && n == 1) {
        const spinet_handler_run_t *run = &done.handlers[1];
        int is_ordered = done.arrival_ps <= done.stored_ps && done.stored_ps < run->start_ps &&
                         run->start_ps < done.sent_ps && done.sent_ps < done.done_ps && run->end_ps <= done.done_ps;
        printf("packet %" PRIu64 ", message %" PRIu64 " (id %u, last %u): %u bytes, arrived at %" PRIu64 " ps, then times %s\n",
               done.number, done.message, done.msgid, done.last, done.bytes, done.arrival_ps,
               is_ordered ? "in order" : "out of order");
        printf("  context %" PRIu64 ", %u sent with %" PRIu64 " bytes, %u writes, %u faults, fate %u, reason %#x\n",
               done.context, done.sent_packets, done.sent_bytes, done.host_writes, done.faults, done.fate, done.reason);
        printf("  header %u, completion %u; payload %u on cluster %u, core %u: %" PRIu64 " instructions, cause %#x\n",
               done.handlers[0].ran, done.handlers[2].ran, run->ran, run->cluster, run->core, run->instructions,
               run->cause);
    }
    DO(spinet_shutdown(scene.card));
    return 0;
}

static int refused(void)
{
    scene_t scene;
    spinet_machine_t *card;
    spinet_context_t context;
    spinet_done_t done;
    spinet_ticket_t ticket;
    spinet_memory_t memory;
    uint8_t over;
    size_t n;
    static const char *const wrong[] = {"n_clusters=0"}, *const unknown[] = {"n_cluster=2"}, *const none[] = {NULL};
    REFUSED(spinet_boot_with("pspin", wrong, 1, runtime, 1, &card));
    REFUSED(spinet_boot_with("pspin", unknown, 1, runtime, 1, &card));
    REFUSED(spinet_boot_with("pspin", none, 1, runtime, 1, &card));
    REFUSED(spinet_boot_with("pspin", NULL, 1, runtime, 1, &card));
    if (begin(&scene, NULL, "echo") != 0)
        return 1;
    scene.spec.when_full = 4;
    REFUSED(spinet_build(scene.card, scene.tenant, &scene.spec, &context));
    scene.spec.when_full = SPINET_FULL_DROP;
    scene.spec.early_payload = 2;
    REFUSED(spinet_build(scene.card, scene.tenant, &scene.spec, &context));
    scene.spec.early_payload = SPINET_DEFAULT;
    scene.spec.early_packets = 0;
    REFUSED(spinet_build(scene.card, scene.tenant, &scene.spec, &context));
    scene.spec.early_packets = SPINET_DEFAULT;
    scene.spec.timeout_cycles = UINT64_C(18000000000001);
    REFUSED(spinet_build(scene.card, scene.tenant, &scene.spec, &context));
    spinet_traffic_t traffic = {0};
    REFUSED(spinet_add_traffic(scene.card, NULL));
    REFUSED(spinet_add_traffic(scene.card, &traffic));
    traffic.source = "nowhere.pcap";
    REFUSED(spinet_add_traffic(scene.card, &traffic));
    traffic.source = "udp:sice=64";
    REFUSED(spinet_add_traffic(scene.card, &traffic));
    traffic.source = "udp:size=64";
    traffic.pacing = "soon";
    REFUSED(spinet_add_traffic(scene.card, &traffic));
    traffic.pacing = NULL;
    traffic.snapped = 9;
    REFUSED(spinet_add_traffic(scene.card, &traffic));
    REFUSED(spinet_network(scene.card, "loss=2", 1));
    DO(spinet_keep_done(scene.card, 0));
    REFUSED(spinet_take_done(scene.card, &done, 1, &n));
    DO(spinet_allocate(scene.card, scene.tenant, SPINET_HANDLER_MEMORY, 4096, &memory));
    DO(spinet_read(scene.card, scene.tenant, memory, 0, 4096, &ticket));
    DO(spinet_is_over(scene.card, scene.tenant, ticket, &over));
    printf("over %u, ", over);
    DO(spinet_wait(scene.card, scene.tenant, ticket));
    DO(spinet_is_over(scene.card, scene.tenant, ticket, &over));
    printf("over %u\n", over);
    REFUSED(spinet_is_over(scene.card, scene.tenant, 99, &over));
    DO(spinet_shutdown(scene.card));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } tests[] = {{"full", full}, {"early", early}, {"lost", lost}, {"capture", capture}, {"refused", refused}};
    if (argc != 4)
        return 2;
    runtime = argv[2];
    handlers = argv[3];
    make_markable();
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        if (strcmp(argv[1], tests[i].name) == 0)
            return tests[i].run();
    return 2;
}
