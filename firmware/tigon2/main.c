/* SPDX-License-Identifier: Apache-2.0
 *
 * Start-up: the host's information, the memory layout, and the card's rings.
 */
#include "dma.h"

#define LEAST_MEMORY 0x80000
#define LEAST_TRANSMIT 0x10000 /* smallest size of the transmit buffers */
#define LEAST_RECEIVE 0x20000
#define MAC_THRESHOLDS_DEFAULT 0x100b07e3
#define EVENT_CODE_RUNNING 1
#define EVENT_CODE_ERROR 7
#define ERROR_CONFIGURATION 3

volatile struct common common;
struct information information __attribute__((aligned(8)));
u32 statistics[256] __attribute__((aligned(8)));

/* Not cleared at start-up: every word is written before it is read. */
#define COPY __attribute__((section(".copies"), aligned(32)))
u32 events[EVENT_ENTRIES][2] COPY;
struct send_descriptor send_copy[SEND_ENTRIES] COPY;
struct receive_descriptor standard_copy[STANDARD_ENTRIES] COPY;
struct receive_descriptor jumbo_copy[JUMBO_ENTRIES] COPY;
struct receive_descriptor mini_copy[MINI_ENTRIES] COPY;

/* Defined by the linker script. */
extern u32 hot_a[], hot_a_end[], hot_a_image[], hot_b[], hot_b_end[], hot_b_image[], bss[], bss_end[], memory_used[];

void clear_words(void *from, u32 bytes)
{
    for (volatile u32 *word = from; bytes; bytes -= 4)
        *word++ = 0;
}

static void copy_words(volatile u32 *to, u32 *end, const volatile u32 *from)
{
    while (to != end)
        *to++ = *from++;
}

/* Size of memory in bytes: addresses wrap at its end. */
static u32 probe(void)
{
    volatile u32 *first = &common.memory_bytes;
    u32 bytes = LEAST_MEMORY;
    while (bytes < BUFFERS_END) {
        volatile u32 *alias = (volatile u32 *)((u32)first + bytes);
        *first = 0;
        *alias = bytes;
        if (*first == bytes)
            break;
        bytes *= 2;
    }
    *first = bytes;
    return bytes;
}

/* bytes * sixtyfourths / 64, because the CPU has no multiplier. */
static u32 share(u32 bytes, u32 sixtyfourths)
{
    u32 sum = 0;
    for (bytes /= 64; sixtyfourths; sixtyfourths /= 2, bytes *= 2)
        if (sixtyfourths & 1)
            sum += bytes;
    return sum;
}

/* Divides the memory after the firmware into the private area, transmit buffers and receive buffers. */
static void lay_out(void)
{
    u32 buffers = (probe() - (u32)memory_used - PRIVATE_BYTES) & ~0xfffu;
    u32 transmit = share(buffers, shared_words[TRANSMIT_BUFFER_RATIO] % 64) & ~0xfffu;
    if (transmit > buffers - LEAST_RECEIVE)
        transmit = buffers - LEAST_RECEIVE;
    if (transmit < LEAST_TRANSMIT)
        transmit = LEAST_TRANSMIT;
    common.transmit_base = BUFFERS_END - buffers;
    common.receive_base = common.transmit_base + transmit;
    common.private_base = common.transmit_base - PRIVATE_BYTES;
}

/* State words for a DMA assist: control data, and frames. */
static u32 control_state(u32 configuration)
{
    u32 keeps = shared_words[MODE] & MODE_SWAP_DESCRIPTOR_BYTES ? 0 : DMA_KEEPS_WORDS;
    return configuration | CHANNEL_ACTIVE | DMA_LAST | keeps;
}

static u32 data_state(u32 configuration)
{
    u32 keeps = shared_words[MODE] & MODE_SWAP_DATA_BYTES ? 0 : DMA_KEEPS_WORDS;
    return configuration | CHANNEL_ACTIVE | keeps;
}

/* Reads the general information block with a single transfer that needs no ring. */
static void fetch_information(void)
{
    REG(DMA_READ_HOST_HIGH) = shared_words[INFORMATION_BLOCK];
    REG(DMA_READ_HOST_LOW) = shared_words[INFORMATION_BLOCK + 1];
    REG(DMA_READ_LOCAL) = (u32)&information;
    REG(DMA_READ_LENGTH) = sizeof information;
    REG(DMA_READ_STATE) = control_state(shared_words[DMA_READ_CONFIGURATION]);
    while (REG(DMA_READ_STATE) & CHANNEL_ACTIVE)
        ;
}

/* Initializes the assists' rings and buffers as empty. */
static void set_up_assists(void)
{
    u32 base = common.private_base;
    struct frame *frame = (struct frame *)(base + RECEIVE_RING);
    for (u32 n = RECEIVE_RING_BYTES / sizeof *frame; n; n--, frame++) {
        frame->address = 0;
        frame->length = RECEIVE_EMPTY;
    }
    REG(TRANSMIT_BUFFER_BASE) = common.transmit_base; /* also sets the address of the rings */
    REG(TRANSMIT_BUFFER_PRODUCER) = common.transmit_base;
    REG(TRANSMIT_BUFFER_CONSUMER) = common.transmit_base;
    REG(RECEIVE_BUFFER_BASE) = common.receive_base;
    REG(RECEIVE_BUFFER_PRODUCER) = common.receive_base;
    REG(RECEIVE_BUFFER_CONSUMER) = common.receive_base;
    REG(RECEIVE_PRODUCER) = base + RECEIVE_RING;
    REG(RECEIVE_CONSUMER) = base + RECEIVE_RING;
    REG(RECEIVE_REFERENCE) = base + RECEIVE_RING;
    REG(RECEIVE_THRESHOLD) = 3;
    REG(TRANSMIT_PRODUCER) = base + TRANSMIT_RING;
    REG(TRANSMIT_CONSUMER) = base + TRANSMIT_RING;
    REG(TRANSMIT_REFERENCE) = base + TRANSMIT_RING;
    REG(DMA_READ_PRODUCER) = base + DMA_READ_RING;
    REG(DMA_READ_CONSUMER) = base + DMA_READ_RING;
    REG(DMA_READ_REFERENCE) = base + DMA_READ_RING;
    REG(DMA_READ_HIGH_PRODUCER) = 0;
    REG(DMA_READ_HIGH_CONSUMER) = 0;
    REG(DMA_READ_HIGH_REFERENCE) = 0;
    REG(DMA_WRITE_PRODUCER) = base + DMA_WRITE_RING;
    REG(DMA_WRITE_CONSUMER) = base + DMA_WRITE_RING;
    REG(DMA_WRITE_REFERENCE) = base + DMA_WRITE_RING;
    REG(DMA_WRITE_HIGH_PRODUCER) = 0;
    REG(DMA_WRITE_HIGH_CONSUMER) = 0;
    REG(DMA_WRITE_HIGH_REFERENCE) = 0;
    REG(ASSIST_STATE) = ASSIST_ENABLE | ASSIST_START_UP | (shared_words[MODE] & MODE_ONE_CHANNEL ? ASSIST_ONE_CHANNEL : 0);
}

static void set_up_mac(void)
{
    REG(MAC_STATISTICS_BASE) = 0;
    REG(MAC_THRESHOLDS) = MAC_THRESHOLDS_DEFAULT;
    REG(MAC_VLAN_TYPE) = 0x81000000;
    for (u32 word = 0; word < 4; word++)
        REG(MAC_MULTICAST + 4 * word) = 0;
}

static void set_up_fetching(struct receive_ring *ring, const struct ring_control *control, void *local)
{
    ring->host_high = control->host_high;
    ring->host_low = control->host_low;
    ring->local = control->length_flags & (RING_DISABLED | RING_EXTENDED) ? 0 : (u32)local;
}

static void set_up_copy(struct receive_copy *copy, const struct ring_control *control, void *local, u32 bytes, u32 flags)
{
    copy->local = (u32)local;
    copy->bytes = bytes;
    copy->longest = control->length_flags & (RING_DISABLED | RING_EXTENDED) ? 0 : control->length_flags >> 16;
    copy->flags = flags;
    copy->is_vlan = control->length_flags & RING_VLAN;
}

/* Initializes the send side's state. */
static void set_up_send(void)
{
    u32 length = information.send.length_flags >> 16;
    u32 read = shared_words[DMA_READ_CONFIGURATION];

    here->send_bytes = length * sizeof(struct send_descriptor);
    here->send_is_in_host = information.send.length_flags & RING_IN_HOST;
    here->send_host_high = information.send.host_high;
    here->send_host_low = information.send.host_low;
    here->send_local = here->send_is_in_host ? (u32)send_copy : 0x4000 - here->send_bytes;
    here->send_limit = shared_words[SEND_COALESCING_LIMIT];
    here->transmit_base = common.transmit_base;
    here->transmit_end = common.receive_base;
    here->transmit_put = common.transmit_base;
    here->read_control = control_state(read);
    here->read_data = data_state(read);
    here->command_next = shared_words[COMMAND_CONSUMER] % COMMAND_ENTRIES;
    set_up_fetching(&here->standard_ring, &information.standard, standard_copy);
    set_up_fetching(&here->jumbo_ring, &information.jumbo, jumbo_copy);
    set_up_fetching(&here->mini_ring, &information.mini, mini_copy);
    if ((length != 128 && length != 256 && length != 512) ||
        (information.jumbo.length_flags & (RING_EXTENDED | RING_DISABLED)) == RING_EXTENDED)
        post_event(EVENT_CODE_ERROR, ERROR_CONFIGURATION, 0);
}

/* Initializes the receive side's state. */
static void set_up_receive(void)
{
    u32 mode = shared_words[MODE];
    u32 write = shared_words[DMA_WRITE_CONFIGURATION];

    set_up_copy(&here->standard, &information.standard, standard_copy, sizeof standard_copy, 0);
    set_up_copy(&here->jumbo, &information.jumbo, jumbo_copy, sizeof jumbo_copy, FLAG_JUMBO);
    set_up_copy(&here->mini, &information.mini, mini_copy, sizeof mini_copy, FLAG_MINI);
    if (here->jumbo.longest == 0 && !(information.jumbo.length_flags & (RING_DISABLED | RING_EXTENDED)))
        here->jumbo.longest = 0xffff; /* the host sets no limit */
    here->receive_base = common.receive_base;
    here->receive_end = common.receive_base;
    here->return_host_high = information.returns.host_high;
    here->return_host_low = information.returns.host_low;
    here->return_bytes = (information.returns.length_flags >> 16) * sizeof(struct receive_descriptor);
    here->return_limit = shared_words[RECEIVE_COALESCING_LIMIT];
    here->crc_bytes = mode & MODE_KEEP_CRC ? 0 : CRC_BYTES;
    here->error_mask = mode & MODE_PASS_BAD_FRAMES ? 0 : RECEIVE_ERRORS;
    here->write_control = control_state(write);
    here->write_data = data_state(write) | DMA_LAST | DMA_FRAME_WRITE;
}

static void set_up_timer(void)
{
    u32 now = REG(TIMER);
    here->send_deadline = now;
    here->return_deadline = now;
    here->statistics_deadline = now + shared_words[STATISTICS_TIME];
    REG(TIMER_REFERENCE) = now;
}

/* Start-up of CPU A before its dispatch loop. */
void start_up(void)
{
    clear_words(bss, (u32)bss_end - (u32)bss);
    copy_words(hot_a, hot_a_end, hot_a_image);
    clear_words(here, STATE_BYTES);
    REG(EVENT_A) = 0;
    REG(EVENT_B) = 0;
    lay_out();
    fetch_information();
    set_up_assists();
    set_up_mac();
    set_up_send();
    REG(STACK_OFFSET_A) = STACK_WINDOW_A - common.private_base;
#ifndef SPLIT
    set_up_receive();
#endif
#ifndef TIMER_ON_B
    set_up_timer();
#endif
#if defined(SPLIT) || defined(TIMER_ON_B)
    extern void start_b(void);
    REG(STACK_OFFSET_B) = STACK_WINDOW_B - common.private_base;
    REG(PROGRAM_COUNTER_B) = (u32)start_b;
    REG(CPU_STATE_B) = REG(CPU_STATE_B) & ~CPU_HALT;
#endif
    post_event(EVENT_CODE_RUNNING, 0, 0);
}

#if defined(SPLIT) || defined(TIMER_ON_B)
/* Start-up of CPU B before its dispatch loop. */
void start_up_b(void)
{
    copy_words(hot_b, hot_b_end, hot_b_image);
    clear_words(here, STATE_BYTES);
#ifdef SPLIT
    set_up_receive();
#else
    set_up_timer();
#endif
}
#endif
