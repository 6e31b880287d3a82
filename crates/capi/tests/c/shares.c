/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights, priorities and limits of tenants. Two tenants send their packets back: the first those to port 7, the second those to port 9.
 * Arguments: the runtime, the handlers of each tenant.
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

#define SIZE 60
#define MOST 48
#define FIRST 16 /* packets: a handler of each tenant on half of the cores */

static const char *runtime, *handlers[2];

/* Boots a card with these settings. The first tenant has the rights of `spec`, the second one those of spinet_open. */
static int begin(const char *const *settings, size_t n, const spinet_tenant_spec_t *spec, spinet_machine_t **card)
{
    static const char *const scopes[2] = {"udp.dst_port == 7", "udp.dst_port == 9"};
    DO(spinet_boot_with("pspin", settings, n, runtime, 1, card));
    for (int i = 0; i < 2; i++) {
        spinet_tenant_t tenant;
        spinet_program_t program;
        spinet_context_spec_t context;
        spinet_context_t built;
        spinet_rule_t rule;
        if (i == 0)
            DO(spinet_open_with(*card, "first", scopes[i], spec, &tenant));
        else
            DO(spinet_open(*card, "second", scopes[i], &tenant));
        DO(spinet_load(*card, tenant, handlers[i], &program));
        DO(spinet_context_spec(program, &context));
        context.handler = "echo";
        DO(spinet_build(*card, tenant, &context, &built));
        DO(spinet_install(*card, tenant, built, NULL, NULL, 0, &rule));
    }
    return 0;
}

/* Adds `n` packets of each tenant, in turn, with this time between two packets of a tenant, and runs for 100 us. */
static int arrive(spinet_machine_t *card, int n, uint64_t gap_ps)
{
    static uint8_t frames[2][SIZE];
    spinet_packet_t packets[2 * MOST];
    for (int i = 0; i < 2 * n; i++) {
        uint8_t *frame = frames[i % 2];
        memset(frame, 0, SIZE);
        frame[12] = 8; /* IPv4 */
        frame[14] = 0x45;
        frame[17] = SIZE - 14;
        frame[22] = 64;
        frame[23] = 17; /* UDP */
        frame[37] = i % 2 == 0 ? 7 : 9;
        frame[39] = SIZE - 34;
        packets[i] = (spinet_packet_t){(uint64_t)(i / 2) * gap_ps, frame, SIZE};
    }
    DO(spinet_add_packets(card, packets, 2 * (size_t)n));
    DO(spinet_run_until(card, 100000000));
    return 0;
}

/* Prints the times between the packets that each tenant sends. */
static int gaps(const spinet_tenant_spec_t *spec)
{
    const char *const settings[] = {"sharing.io_schedule=round_robin"};
    spinet_machine_t *card;
    spinet_sent_t sent;
    uint64_t before[2] = {0, 0};
    if (begin(settings, 1, spec, &card) != 0 || arrive(card, 4, 1000000) != 0)
        return 1;
    while (spinet_take_sent(card, &sent) == SPINET_OK && sent.data != NULL) {
        int tenant = sent.data[37] == 9;
        if (before[tenant] != 0)
            printf("%s: %" PRIu64 " ns\n", tenant ? "second" : "first", (sent.time_ps - before[tenant]) / 1000);
        before[tenant] = sent.time_ps;
    }
    DO(spinet_shutdown(card));
    return 0;
}

/* 48 packets of each tenant arrive at once. Prints how many of the first 16 sent packets belong to the first tenant. */
static int shares(const char *what, const spinet_tenant_spec_t *spec)
{
    const char *const settings[] = {"sharing.io_schedule=weighted_fair", "commands.in_flight_per_unit=1"};
    spinet_machine_t *card;
    spinet_sent_t sent;
    int n = 0, first = 0;
    if (begin(settings, 2, spec, &card) != 0 || arrive(card, MOST, 0) != 0)
        return 1;
    while (spinet_take_sent(card, &sent) == SPINET_OK && sent.data != NULL)
        first += n++ < FIRST && sent.data[37] == 7;
    printf("%s: %d of the first %d, %d in all\n", what, first, FIRST, n);
    DO(spinet_shutdown(card));
    return 0;
}

int main(int argc, char **argv)
{
    spinet_tenant_spec_t spec;
    if (argc != 4)
        return 2;
    runtime = argv[1];
    handlers[0] = argv[2];
    handlers[1] = argv[3];

    DO(spinet_tenant_spec(&spec));
    if (shares("equal", &spec) != 0)
        return 1;
    spec.weight = 3;
    if (shares("weight 3", &spec) != 0)
        return 1;
    DO(spinet_tenant_spec(&spec));
    spec.priority = 1;
    if (shares("priority 1", &spec) != 0)
        return 1;
    DO(spinet_tenant_spec(&spec));
    spec.egress_rate = "60M"; /* 60 bytes in 8 us */
    if (gaps(&spec) != 0)
        return 1;

    const char *const settings[] = {"sharing.io_schedule=round_robin"};
    spinet_machine_t *card, *plain;
    spinet_tenant_t tenant;
    DO(spinet_boot_with("pspin", settings, 1, runtime, 1, &card));
    DO(spinet_boot("pspin", runtime, 1, &plain));
    REFUSED(spinet_tenant_spec(NULL));
    REFUSED(spinet_open_with(card, "t", NULL, NULL, &tenant));
    REFUSED(spinet_open_with(card, "t", NULL, &spec, NULL));
    spec.weight = 0;
    REFUSED(spinet_open_with(card, "t", NULL, &spec, &tenant));
    DO(spinet_tenant_spec(&spec));
    spec.priority = 8;
    REFUSED(spinet_open_with(card, "t", NULL, &spec, &tenant));
    DO(spinet_tenant_spec(&spec));
    spec.host_rate = "10";
    REFUSED(spinet_open_with(card, "t", NULL, &spec, &tenant));
    spec.host_rate = NULL;
    spec.cluster_rate = "\xff";
    REFUSED(spinet_open_with(card, "t", NULL, &spec, &tenant));
    spec.cluster_rate = "10G";
    REFUSED(spinet_open_with(plain, "t", NULL, &spec, &tenant));
    DO(spinet_open_with(card, "t", NULL, &spec, &tenant));
    DO(spinet_shutdown(card));
    DO(spinet_shutdown(plain));
    return 0;
}
