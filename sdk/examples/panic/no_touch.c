/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards every packet without reading it: the least cost of a packet on a core (PANIC, 7.4, "No-Touch"). */
#include <panic.h>

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        panic_send(packet.data, packet.size);
    }
}
