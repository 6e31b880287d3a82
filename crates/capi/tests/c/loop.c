/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver whose callbacks call the library: it writes handler memory, adds each packet when the previous one is done, and
 * finally reads handler memory back. Argument: the program.
 */
#include "log.h"

static spin_ec_t ec;
static uint32_t words[32];
static uint32_t copy[32];
static uint64_t sent, last_done;

static void send_one(void)
{
    uint8_t packet[128];
    make_packet(packet, sizeof(packet), (uint8_t)sent);
    CHECK(pspinsim_packet_add(&ec, 5, packet, sizeof(packet), sizeof(packet), sent == 3, 0, sent));
    sent++;
}

static void written(void *user)
{
    printf("written for %s\n", (const char *)user);
    send_one();
}

static void read_back(void *user)
{
    printf("read for %s: %s\n", (const char *)user, memcmp(words, copy, sizeof(copy)) == 0 ? "the same" : "different");
    CHECK(pspinsim_packet_eos());
    /* Callbacks must not call these functions. */
    uint8_t done;
    if (pspinsim_run() == SPIN_SUCCESS || pspinsim_run_tick(&done) == SPIN_SUCCESS || pspinsim_fini() == SPIN_SUCCESS)
        puts("not refused");
}

static void feedback(uint64_t user, uint64_t nic, uint64_t her, uint64_t done)
{
    (void)her;
    printf("packet %" PRIu64 " done", user);
    if (user > 0)
        printf(", in L2 %" PRIu64 " ps after the previous one was done", nic - last_done);
    puts("");
    last_done = done;
    if (sent < 4)
        send_one();
    else
        CHECK(spin_nicmem_read(HANDLER_MEM, copy, sizeof(copy), "the end"));
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = argv[1];
    CHECK(pspinsim_init(argc, argv, &conf));
    CHECK(pspinsim_cb_set_pcie_mst_write_completion(written));
    CHECK(pspinsim_cb_set_pcie_mst_read_completion(read_back));
    CHECK(pspinsim_cb_set_pkt_feedback(feedback));
    CHECK(pspinsim_cb_set_pkt_out(log_out));
    ec = make_ec(argv[1], NULL, "show_ph", NULL);
    for (uint32_t i = 0; i < 32; i++)
        words[i] = 0x03020100 + 0x04040404 * i; /* bytes that count up */
    CHECK(spin_nicmem_write(HANDLER_MEM, words, sizeof(words), "the start"));
    CHECK(pspinsim_run());
    CHECK(pspinsim_fini());
    return 0;
}
