/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misuse of the library: ended or unknown machines, other threads, and simulations that end early.
 * Arguments: the test, a runtime or program.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "log.h"
#include "spinet_driver.h"

static void show_call(const char *call, int code)
{
    fflush(stdout);
    printf("%s: %d%s%s\n", call, code, code ? ", " : "", code ? spinet_last_error() : "");
}
#define SHOW(call) show_call(#call, call)

static spinet_machine_t *first, *second;

static void *elsewhere(void *unused)
{
    spinet_machine_t *third = NULL;
    uint64_t ps;
    SHOW(spinet_now(first, &ps));
    SHOW(spinet_shutdown(first));
    SHOW(spinet_boot("pspin", unused, 1, &third));
    return third;
}

/* Machines that have ended, do not exist, or belong to another thread. */
static void machines(char *runtime)
{
    spinet_tenant_t tenant = 77;
    spinet_machine_t *forged = (spinet_machine_t *)(uintptr_t)0x12345678;
    void *third;
    pthread_t thread;
    uint64_t ps = 5;

    SHOW(spinet_boot("pspin", runtime, 1, &first));
    SHOW(spinet_boot("pspin", runtime, 1, &second));
    SHOW(spinet_shutdown(NULL));
    SHOW(spinet_shutdown(first));
    SHOW(spinet_shutdown(first));
    SHOW(spinet_open(first, "late", NULL, &tenant));
    SHOW(spinet_now(forged, &ps));
    SHOW(spinet_shutdown(forged));
    first = second;
    pthread_create(&thread, NULL, elsewhere, runtime);
    pthread_join(thread, &third);
    SHOW(spinet_shutdown(third));
    SHOW(spinet_open(second, "still there", NULL, &tenant));
    SHOW(spinet_shutdown(second));
    printf("tenant %d, time %d\n", (int)tenant, (int)ps);
}

static void leave(uint8_t *data, size_t size)
{
    (void)data;
    printf("a packet of %zu bytes, and the program leaves\n", size);
    exit(3);
}

static void again(uint64_t user, uint64_t nic, uint64_t her, uint64_t done)
{
    (void)nic, (void)her, (void)done;
    printf("packet %d is done\n", (int)user);
    if (pspinsim_init(0, NULL, NULL) == SPIN_SUCCESS || pspinsim_fini() == SPIN_SUCCESS || pspinsim_run() == SPIN_SUCCESS)
        puts("not refused");
    CHECK(pspinsim_cb_set_pkt_feedback(NULL));
}

static void *run_elsewhere(void *unused)
{
    (void)unused;
    CHECK(pspinsim_run());
    return NULL;
}

/* Simulations that end in a callback, run on another thread, or end with packets and accesses in progress. */
static void simulations(char *program)
{
    static uint8_t packet[64], bytes[64];
    pspin_conf_t conf;
    pthread_t thread;
    uint8_t done;

    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = program;
    for (int turn = 0; turn < 3; turn++) {
        CHECK(pspinsim_init(0, NULL, &conf));
        spin_ec_t ec = make_ec(program, NULL, "show_ph", NULL);
        make_packet(packet, sizeof(packet), 1);
        CHECK(pspinsim_cb_set_pkt_feedback(again));
        if (turn == 2)
            CHECK(pspinsim_cb_set_pkt_out(leave));
        CHECK(pspinsim_packet_add(&ec, 1, packet, sizeof(packet), sizeof(packet), 1, 0, 1));
        CHECK(spin_nicmem_read(HANDLER_MEM, bytes, sizeof(bytes), NULL));
        CHECK(pspinsim_packet_eos());
        if (turn == 0) {
            CHECK(pspinsim_run_tick(&done));
        } else {
            pthread_create(&thread, NULL, run_elsewhere, NULL);
            pthread_join(thread, NULL);
        }
        CHECK(pspinsim_fini());
        puts("");
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    if (strcmp(argv[1], "machines") == 0)
        machines(argv[2]);
    else if (strcmp(argv[1], "simulations") == 0)
        simulations(argv[2]);
    /* stderr may be full. */
    else if (freopen("/dev/full", "w", stderr) != NULL)
        printf("init: %d\n", pspinsim_fini());
    return 0;
}
