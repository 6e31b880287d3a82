/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that runs cycle by cycle and adds packets between cycles. Callbacks and the time must belong to the cycle that the
 * call ran, and added packets must enter with the next cycle. Argument: the program.
 */
#include "log.h"

static uint64_t tick;
static uint32_t n_done, n_out, other_cycle;

static void feedback(uint64_t user, uint64_t nic, uint64_t her, uint64_t done)
{
    (void)her;
    n_done++;
    other_cycle += done != tick * 1000 || pspinsim_time() != done;
    /* Packet 0 waits until the NIC is ready. The others were added in cycle `user`. */
    if (user != 0 && nic != (user + 1) * 1000)
        printf("added in cycle %" PRIu64 ", in L2 at %" PRIu64 " ps\n", user, nic);
}

static void out(uint8_t *data, size_t size)
{
    (void)data;
    n_out += size == 128;
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    uint8_t packet[128], done = 0;
    uint32_t n_added = 0;
    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = argv[1];
    CHECK(pspinsim_init(argc, argv, &conf));
    CHECK(pspinsim_cb_set_pkt_feedback(feedback));
    CHECK(pspinsim_cb_set_pkt_out(out));
    spin_ec_t ec = make_ec(argv[1], NULL, "show_ph", NULL);
    make_packet(packet, sizeof(packet), 1);
    while (!done && tick < 100000) {
        if (n_added == 0 || (n_done > 0 && n_added < 50 && tick % 7 == 0)) {
            CHECK(pspinsim_packet_add(&ec, n_added % 16, packet, sizeof(packet), sizeof(packet), 1, 0,
                                      n_added == 0 ? 0 : tick));
            if (++n_added == 50)
                CHECK(pspinsim_packet_eos());
        }
        other_cycle += pspinsim_time() != tick * 1000;
        tick++;
        CHECK(pspinsim_run_tick(&done));
    }
    printf("%u added, %u sent, %u done, %u of them reported in another cycle\n", n_added, n_out, n_done, other_cycle);
    CHECK(pspinsim_fini());
    return 0;
}
