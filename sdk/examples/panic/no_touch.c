/* SPDX-License-Identifier: Apache-2.0 */
/* Sends every packet on as it is, without looking: what packets cost a core at the least (PANIC, 7.4, "No-Touch"). */
#include <panic.h>

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        panic_send(packet.data, packet.size);
    }
}
