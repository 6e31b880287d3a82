/* SPDX-License-Identifier: Apache-2.0 */
/* A driver whose program and machine come from the environment. Sends one packet of message 1 and logs its feedback. */
#include "log.h"

int main(int argc, char **argv)
{
    CHECK(pspinsim_init(argc, argv, NULL));
    printf("images in %s\n", get_slm_path());
    CHECK(pspinsim_cb_set_pkt_feedback(log_feedback));
    spin_ec_t ec = make_ec("ping_pong", NULL, "ping_pong_ph", NULL);
    uint8_t packet[64];
    make_packet(packet, sizeof(packet), 0);
    CHECK(pspinsim_packet_add(&ec, 1, packet, sizeof(packet), sizeof(packet), 1, 0, 0));
    CHECK(pspinsim_packet_eos());
    CHECK(pspinsim_run());
    return 0;
}
