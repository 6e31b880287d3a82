/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that writes two files, adds the packets in them, and then repeats the simulation in the same process. Both runs
 * must be equal. Argument: the program.
 */
#include "log.h"

#define SIZE 96

int main(int argc, char **argv)
{
    spin_ec_t ec = make_ec(argv[1], NULL, "ping_pong_ph", NULL);
    FILE *tasks = fopen("tasks.csv", "w");
    FILE *data = fopen("data.bin", "wb");
    for (int i = 0; i < 3; i++) {
        uint8_t packet[SIZE];
        make_packet(packet, SIZE, (uint8_t)i);
        fwrite(packet, SIZE, 1, data);
        fprintf(tasks, "%d,0,0,%u,4096,0,0,%u,65536,%d,%d,1,50\n", i, ec.ph_addr, HANDLER_MEM, SIZE, SIZE);
    }
    fclose(tasks);
    fclose(data);

    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = argv[1];
    for (int round = 0; round < 2; round++) {
        CHECK(pspinsim_init(argc, argv, &conf));
        CHECK(pspinsim_cb_set_pkt_out(log_out));
        CHECK(pspinsim_packet_trace_read("tasks.csv", "data.bin"));
        CHECK(pspinsim_packet_eos());
        CHECK(pspinsim_run());
        CHECK(pspinsim_fini());
    }
    return 0;
}
