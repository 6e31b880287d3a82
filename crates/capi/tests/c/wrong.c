/* SPDX-License-Identifier: Apache-2.0 */
/* A driver with wrong calls of every function. Argument: the program. */
#include "log.h"

#define SHOW(call) (fflush(stdout), printf("%s: %d\n", #call, call), fflush(stdout))

int main(int argc, char **argv)
{
    uint8_t done = 7, byte = 0;
    spin_nic_addr_t addr = 1;
    size_t size = 2;
    spin_ec_t ec;
    memset(&ec, 0, sizeof(ec));

    /* Without a simulation. */
    SHOW(pspinsim_run());
    SHOW(pspinsim_run_tick(&done));
    SHOW(pspinsim_packet_eos());
    SHOW(pspinsim_fini());
    SHOW(pspinsim_cb_set_pkt_out(NULL));
    SHOW(pspinsim_default_conf(NULL));

    /* Invalid programs. */
    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    SHOW(pspinsim_init(argc, argv, NULL));
    conf.slm_files_path = "nowhere";
    SHOW(pspinsim_init(argc, argv, &conf));
    conf.slm_files_path = "empty";
    SHOW(pspinsim_init(argc, argv, &conf));
    conf.slm_files_path = argv[1];
    conf.no_conf.network_G = -1;
    SHOW(pspinsim_init(argc, argv, &conf));
    conf.no_conf.network_G = 0;
    SHOW(pspinsim_init(argc, argv, &conf));
    SHOW(pspinsim_init(argc, argv, &conf));

    /* Invalid packets and accesses. */
    SHOW(pspinsim_packet_add(NULL, 0, &byte, 1, 1, 1, 0, 0));
    SHOW(pspinsim_packet_add(&ec, 0, NULL, 1, 1, 1, 0, 0));
    SHOW(pspinsim_packet_add(&ec, 0, &byte, 0, 0, 1, 0, 0));
    SHOW(pspinsim_packet_add(&ec, 0, &byte, 1, 16385, 1, 0, 0));
    SHOW(pspinsim_packet_add(&ec, 0, &byte, SIZE_MAX, 1, 1, 0, 0));
    SHOW(pspinsim_packet_add(&ec, 0, &byte, 1, SIZE_MAX, 1, 0, 0));
    SHOW(spin_nicmem_write(0x1c000000, &byte, SIZE_MAX, NULL));
    SHOW(spin_nicmem_read(0x1c000000, &byte, SIZE_MAX, NULL));
    SHOW(pspinsim_packet_trace_read("nowhere", "nowhere"));
    SHOW(spin_nicmem_write(0x1c400000, &byte, 1, NULL));
    SHOW(spin_nicmem_write(0x1c000000, &byte, 0, NULL));
    SHOW(spin_nicmem_read(0x1d007fff, &byte, 2, NULL));
    SHOW(spin_nicmem_read(0x1d007fff, NULL, 1, NULL));
    SHOW(spin_find_handler_by_name("nowhere", "x_ph", &addr, &size));
    SHOW(spin_find_handler_by_name(argv[1], NULL, &addr, &size));
    SHOW(spin_find_handler_by_name(argv[1], "no_such_ph", &addr, &size));
    printf("untouched: %" PRIu32 " %zu %d\n", addr, size, done);

    /* Runs that cannot end. */
    SHOW(pspinsim_run());
    ec = make_ec(argv[1], NULL, "note_ph", NULL);
    CHECK(pspinsim_packet_add(&ec, 77, &byte, 1, 1, 0, 0, 0));
    CHECK(pspinsim_packet_eos());
    SHOW(pspinsim_run());
    ec = make_ec(argv[1], NULL, "wait_ph", NULL);
    CHECK(pspinsim_packet_add(&ec, 77, &byte, 1, 1, 1, 0, 0));
    CHECK(pspinsim_packet_add(&ec, 78, &byte, 1, 1, 1, 0, 0));
    SHOW(pspinsim_run());

    /* Cycle by cycle, the program could still add packets, so this succeeds. */
    SHOW(pspinsim_run_tick(&done));
    printf("done: %d\n", done);
    CHECK(pspinsim_fini());
    return 0;
}
