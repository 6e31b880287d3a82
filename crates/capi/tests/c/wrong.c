/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that does everything wrong. Argument: the program. */
#include "log.h"

#define TELL(call) (fflush(stdout), printf("%s: %d\n", #call, call), fflush(stdout))

int main(int argc, char **argv)
{
    uint8_t done = 7, byte = 0;
    spin_nic_addr_t addr = 1;
    size_t size = 2;
    spin_ec_t ec;
    memset(&ec, 0, sizeof(ec));

    /* Before there is a simulation. */
    TELL(pspinsim_run());
    TELL(pspinsim_run_tick(&done));
    TELL(pspinsim_packet_eos());
    TELL(pspinsim_fini());
    TELL(pspinsim_cb_set_pkt_out(NULL));
    TELL(pspinsim_default_conf(NULL));

    /* Programs that are none. */
    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    TELL(pspinsim_init(argc, argv, NULL));
    conf.slm_files_path = "nowhere";
    TELL(pspinsim_init(argc, argv, &conf));
    conf.slm_files_path = "empty";
    TELL(pspinsim_init(argc, argv, &conf));
    conf.slm_files_path = argv[1];
    conf.no_conf.network_G = -1;
    TELL(pspinsim_init(argc, argv, &conf));
    conf.no_conf.network_G = 0;
    TELL(pspinsim_init(argc, argv, &conf));
    TELL(pspinsim_init(argc, argv, &conf));

    /* Packets and accesses that cannot be. */
    TELL(pspinsim_packet_add(NULL, 0, &byte, 1, 1, 1, 0, 0));
    TELL(pspinsim_packet_add(&ec, 0, NULL, 1, 1, 1, 0, 0));
    TELL(pspinsim_packet_add(&ec, 0, &byte, 0, 0, 1, 0, 0));
    TELL(pspinsim_packet_add(&ec, 0, &byte, 1, 16385, 1, 0, 0));
    TELL(pspinsim_packet_add(&ec, 0, &byte, SIZE_MAX, 1, 1, 0, 0));
    TELL(pspinsim_packet_add(&ec, 0, &byte, 1, SIZE_MAX, 1, 0, 0));
    TELL(spin_nicmem_write(0x1c000000, &byte, SIZE_MAX, NULL));
    TELL(spin_nicmem_read(0x1c000000, &byte, SIZE_MAX, NULL));
    TELL(pspinsim_packet_trace_read("nowhere", "nowhere"));
    TELL(spin_nicmem_write(0x1c400000, &byte, 1, NULL));
    TELL(spin_nicmem_write(0x1c000000, &byte, 0, NULL));
    TELL(spin_nicmem_read(0x1d007fff, &byte, 2, NULL));
    TELL(spin_nicmem_read(0x1d007fff, NULL, 1, NULL));
    TELL(spin_find_handler_by_name("nowhere", "x_ph", &addr, &size));
    TELL(spin_find_handler_by_name(argv[1], NULL, &addr, &size));
    TELL(spin_find_handler_by_name(argv[1], "no_such_ph", &addr, &size));
    printf("untouched: %" PRIu32 " %zu %d\n", addr, size, done);

    /* Runs that cannot end. */
    TELL(pspinsim_run());
    ec = make_ec(argv[1], NULL, "note_ph", NULL);
    CHECK(pspinsim_packet_add(&ec, 77, &byte, 1, 1, 0, 0, 0));
    CHECK(pspinsim_packet_eos());
    TELL(pspinsim_run());
    ec = make_ec(argv[1], NULL, "wait_ph", NULL);
    CHECK(pspinsim_packet_add(&ec, 77, &byte, 1, 1, 1, 0, 0));
    CHECK(pspinsim_packet_add(&ec, 78, &byte, 1, 1, 1, 0, 0));
    TELL(pspinsim_run());

    /* Cycle by cycle, the program may still do something about it. */
    TELL(pspinsim_run_tick(&done));
    printf("done: %d\n", done);
    CHECK(pspinsim_fini());
    return 0;
}
