/* SPDX-License-Identifier: Apache-2.0 */
/* Implements host memory: packets leave with the bytes that the NIC read. Argument: the program. */
#include "log.h"

static void host_read(uint64_t addr, uint8_t *data, size_t size)
{
    printf("host %" PRIx64 " read, %zu bytes\n", addr, size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(addr + i);
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    CHECK(pspinsim_default_conf(&conf));
    conf.slm_files_path = argv[1];
    conf.pcie_slv_conf.pcie_L = 500000;
    CHECK(pspinsim_init(argc, argv, &conf));
    CHECK(pspinsim_cb_set_pcie_slv_read(host_read));
    CHECK(pspinsim_cb_set_pkt_out(log_out));
    CHECK(pspinsim_cb_set_pkt_feedback(log_feedback));
    spin_ec_t ec = make_ec(argv[1], NULL, "fetch_ph", NULL);
    uint8_t packet[100];
    make_packet(packet, sizeof(packet), 1);
    CHECK(pspinsim_packet_add(&ec, 1, packet, sizeof(packet), sizeof(packet), 0, 1000, 1));
    ec.host_mem_addr = HOST + 20;
    CHECK(pspinsim_packet_add(&ec, 2, packet, sizeof(packet), sizeof(packet), 1, 1000, 2));
    make_packet(packet, sizeof(packet), 1);
    CHECK(pspinsim_packet_add(&ec, 1, packet, sizeof(packet), sizeof(packet), 1, 0, 3));
    CHECK(pspinsim_packet_eos());
    CHECK(pspinsim_run());
    CHECK(pspinsim_fini());
    return 0;
}
