/* SPDX-License-Identifier: Apache-2.0
 *
 * Mailboxes, and commands from the host through the command ring.
 */
#include "soft.h"

/* Event 22: the host has written mailboxes. */
SECTION_SEND void mailbox(void)
{
    u32 written = REG(MAILBOX_EVENT_A);
    u32 wanted = 0;

    count(TASK_MAILBOX);
    REG(MAILBOX_EVENT_A) = written;
    if (written & 1 << MAILBOX_SEND) {
        here->out.producer_updates++;
        wanted |= 1 << EVENT_SEND_DESCRIPTORS;
    }
    if (written & 1 << MAILBOX_STANDARD)
        wanted |= 1 << EVENT_STANDARD_DESCRIPTORS;
    if (written & 1 << MAILBOX_MINI)
        wanted |= 1 << EVENT_MINI_DESCRIPTORS;
    if (written & 1 << MAILBOX_JUMBO)
        wanted |= 1 << EVENT_JUMBO_DESCRIPTORS;
    if (wanted)
        raise_under(SEMAPHORE_A, SEND_SIDE_IS_SHARED, EVENT_SEND_SIDE, wanted);
    if (written & 1 << MAILBOX_COMMAND)
        commands();
    if (written & 1 << MAILBOX_INTERRUPT && mailboxes[MAILBOX_INTERRUPT].low == 0 && common.interrupt_waits) {
        common.interrupt_waits = 0;
        interrupt(0);
    }
}

/* Commands. */
#define COMMAND_HOST_STATE 0x01
#define COMMAND_FILTERING 0x02
#define COMMAND_STANDARD_PRODUCER 0x03
#define COMMAND_UPDATE_STATISTICS 0x04
#define COMMAND_RESET_JUMBO 0x05
#define COMMAND_ADD_MULTICAST 0x08
#define COMMAND_DELETE_MULTICAST 0x09
#define COMMAND_PROMISCUOUS 0x0a
#define COMMAND_NEGOTIATE 0x0b
#define COMMAND_SET_ADDRESS 0x0c
#define COMMAND_CLEAR_PROFILE 0x0d
#define COMMAND_ALL_MULTICAST 0x0e
#define COMMAND_CLEAR_STATISTICS 0x0f
#define COMMAND_JUMBO_PRODUCER 0x10
#define COMMAND_REFRESH_STATISTICS 0x11
#define COMMAND_ADD_EXTENDED 0x12
#define COMMAND_DELETE_EXTENDED 0x13

#define EVENT_CODE_LINK 6
#define EVENT_CODE_ERROR 7
#define EVENT_CODE_MULTICAST 8
#define EVENT_CODE_JUMBO_RESET 9
#define LINK_IS_UP 1
#define LINK_IS_DOWN 2
#define ERROR_INVALID 1
#define ERROR_UNIMPLEMENTED 2
#define MULTICAST_ADDED 1
#define MULTICAST_DELETED 2

#define SWITCHED_ON 1
#define STACK_UP 1
#define STACK_DOWN 2

/* Reports the link state that the host requested: the card has no PHY with a state of its own. */
static void report_link(int is_up)
{
    shared_words[GIGABIT_LINK_STATE] = is_up ? shared_words[GIGABIT_LINK] | LINK_UP : 0;
    shared_words[FAST_LINK_STATE] = 0;
    post_event(EVENT_CODE_LINK, is_up ? LINK_IS_UP : LINK_IS_DOWN, 0);
}

static void set_address(void)
{
    REG(MAC_ADDRESS_HIGH) = shared_words[MAC_ADDRESS];
    REG(MAC_ADDRESS_LOW) = shared_words[MAC_ADDRESS + 1];
    REG(MAC_FLOW_CONTROL_SOURCE) = shared_words[MAC_ADDRESS + 1];
}

/* Accepts frames for all groups or for none; the host filters the groups itself. */
static void take_groups(int are_taken)
{
    for (u32 word = 0; word < 4; word++)
        REG(MAC_MULTICAST + 4 * word) = are_taken ? ~0u : 0;
}

static void host_state(u32 subcode)
{
    if (subcode == STACK_UP) {
        set_address();
        REG(MAC_TRANSMIT_STATE) = MAC_ENABLE;
        REG(MAC_RECEIVE_STATE) = (REG(MAC_RECEIVE_STATE) & MAC_PROMISCUOUS) | MAC_ENABLE;
        report_link(1);
    } else if (subcode == STACK_DOWN) {
        REG(MAC_RECEIVE_STATE) = (REG(MAC_RECEIVE_STATE) & MAC_PROMISCUOUS) | MAC_STOP;
    } else {
        post_event(EVENT_CODE_ERROR, ERROR_INVALID, COMMAND_HOST_STATE);
    }
}

static void obey(u32 code, u32 subcode)
{
    here->out.commands[code < COMMAND_CODES ? code : 0]++;
    switch (code) {
    case COMMAND_HOST_STATE:
        host_state(subcode);
        break;
    case COMMAND_STANDARD_PRODUCER: /* now done by mailboxes 3 and 4 */
    case COMMAND_JUMBO_PRODUCER:
        send_raise(code == COMMAND_JUMBO_PRODUCER ? EVENT_JUMBO_DESCRIPTORS : EVENT_STANDARD_DESCRIPTORS);
        break;
    case COMMAND_UPDATE_STATISTICS:
    case COMMAND_REFRESH_STATISTICS:
#ifdef SPLIT
        collect_send();
#endif
        common.statistics_wanted++;
        send_tells_receive(EVENT_HOUSEKEEPING);
        break;
    case COMMAND_RESET_JUMBO:
        post_event(EVENT_CODE_JUMBO_RESET, 0, 0);
        break;
    case COMMAND_ADD_MULTICAST:
    case COMMAND_ADD_EXTENDED:
        take_groups(1);
        post_event(EVENT_CODE_MULTICAST, MULTICAST_ADDED, 0);
        break;
    case COMMAND_DELETE_MULTICAST:
    case COMMAND_DELETE_EXTENDED:
        post_event(EVENT_CODE_MULTICAST, MULTICAST_DELETED, 0);
        break;
    case COMMAND_FILTERING: /* only for an older chip */
        break;
    case COMMAND_PROMISCUOUS:
        REG(MAC_RECEIVE_STATE) = (REG(MAC_RECEIVE_STATE) & ~(MAC_PROMISCUOUS | MAC_RECEIVE_ATTENTIONS)) |
                                 (subcode == SWITCHED_ON ? MAC_PROMISCUOUS : 0);
        break;
    case COMMAND_ALL_MULTICAST:
        take_groups(subcode == SWITCHED_ON);
        break;
    case COMMAND_NEGOTIATE:
        report_link(1);
        break;
    case COMMAND_SET_ADDRESS:
        set_address();
        break;
    case COMMAND_CLEAR_PROFILE:
        clear_words(here->profile, sizeof here->profile);
        break;
    case COMMAND_CLEAR_STATISTICS:
        clear_words(&here->out, sizeof here->out);
        clear_words(&here->interrupts, sizeof here->interrupts);
        common.clears_wanted++;
        send_tells_receive(EVENT_HOUSEKEEPING);
        break;
    default:
        post_event(EVENT_CODE_ERROR, ERROR_INVALID, code & 0xfff);
    }
}

/* Processes all commands in the ring. */
void commands(void)
{
    u32 next = here->command_next;
    u32 producer = mailboxes[MAILBOX_COMMAND].low % COMMAND_ENTRIES;

    count(TASK_COMMAND);
    while (next != producer) {
        u32 word = command_ring[next];
        u32 code = word >> 24;
        next = (next + 1) % COMMAND_ENTRIES;
        obey(code, word >> 12 & 0xfff);
        if (code == COMMAND_ADD_EXTENDED || code == COMMAND_DELETE_EXTENDED) /* the address follows in two words */
            next = (next + 2) % COMMAND_ENTRIES;
    }
    here->command_next = next;
    shared_words[COMMAND_CONSUMER] = next;
}
