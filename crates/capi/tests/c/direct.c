/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver without the generic driver: sends messages of two packets to the handlers of a file and logs every callback.
 * Arguments: file, header, payload and completion handler (- for none), packets, bytes, and `tick` to run cycle by cycle.
 */
#include "log.h"

static const char *name(const char *argument)
{
    return strcmp(argument, "-") == 0 ? NULL : argument;
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = argv[1];
    CHECK(pspinsim_init(argc, argv, &conf));
    CHECK(pspinsim_cb_set_pkt_feedback(log_feedback));
    CHECK(pspinsim_cb_set_pkt_out(log_out));
    CHECK(pspinsim_cb_set_pcie_slv_write(log_write));

    spin_ec_t ec = make_ec(argv[1], name(argv[2]), name(argv[3]), name(argv[4]));
    int packets = atoi(argv[5]);
    size_t size = (size_t)atoi(argv[6]);
    uint8_t packet[2048];
    for (int i = 0; i < packets; i++) {
        make_packet(packet, size, (uint8_t)i);
        CHECK(pspinsim_packet_add(&ec, (uint32_t)i / 2, packet, size, size, i % 2 == 1, 100, 100 + (uint64_t)i));
    }
    /* The library has copied both. */
    memset(packet, 0xff, sizeof(packet));
    memset(&ec, 0xff, sizeof(ec));
    CHECK(pspinsim_packet_eos());

    if (argc > 7) {
        uint8_t done = 0;
        for (uint32_t ticks = 0; !done; ticks++)
            CHECK(pspinsim_run_tick(&done));
    } else {
        CHECK(pspinsim_run());
    }
    CHECK(pspinsim_fini());
    return 0;
}
