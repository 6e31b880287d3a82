/* SPDX-License-Identifier: Apache-2.0
 *
 * Error reports of the hardware.
 */
#include "state.h"

/* Event 25: the MAC dropped a frame and continues by itself. Frequent under overload. */
SECTION_RECEIVE void receive_attention(void)
{
    REG(MAC_RECEIVE_STATE) = REG(MAC_RECEIVE_STATE) | MAC_RECEIVE_ATTENTIONS;
    here->in.attentions++;
}

/* Event 26: a frame was sent broken. */
void transmit_attention(void)
{
    REG(MAC_TRANSMIT_STATE) = REG(MAC_TRANSMIT_STATE) | MAC_TRANSMIT_ATTENTIONS;
    here->out.attentions++;
}

/* Events 19 and 20: a transfer failed, and its assist has stopped. No later transfer could be correct. */
void fatal(void)
{
    __asm__ volatile("break");
}
