/* Sizes and policies of the firmware. BASE builds the first version, HARDWARE_QUEUE the optimized one for a card with an event
 * queue; without either it is the optimized version of the thesis. THESIS, with or without BASE, adds the services of the
 * Tigon-2's released firmware, on which the thesis's is based (4.3.3): mini, standard and jumbo buffers, checksums, VLAN tags
 * of sent frames, statistics. */
#ifndef TENGIG_CONFIG_H
#define TENGIG_CONFIG_H

#if defined(THESIS) && defined(HARDWARE_QUEUE)
#error "THESIS has its event queue in software: leave out HARDWARE_QUEUE"
#endif

/* Most transfers in the DMA read ring. Thesis 4.5.1: 32 by default, 256 when the ring is a reorder buffer; one entry of the
 * assist's ring stays empty. */
#ifdef BASE
#define READ_SLOTS 32
#else
#define READ_SLOTS (DMA_ENTRIES - 1)
#endif
#define WRITE_SLOTS (DMA_ENTRIES - 1) /* assumed: the same as the larger DMA read ring. */

/* Most frames whose data was requested and that have not left; one entry of the MAC's ring stays empty. */
#define TRANSMIT_SLOTS (MAC_TRANSMIT_ENTRIES - 1)
#define TRANSMIT_AREA FRAME_MEMORY
#ifdef THESIS
#define TRANSMIT_SLOT_BYTES 10240 /* assumed: holds a jumbo frame, and consecutive slots begin in different banks. */
#else
#define TRANSMIT_SLOT_BYTES 2048 /* assumed: a power of two that holds the longest frame. */
#endif

#define RECEIVE_AREA_AT (FRAME_MEMORY + 0x00400000u)
#define RECEIVE_AREA_SIZE 0x00100000u

/* Address of the MAC's drop counters (THESIS): between the two areas, because the MAC reaches frame memory only. */
#define MAC_STATISTICS_AT (FRAME_MEMORY + 0x00300000u)

/* Return descriptors held on the card until the host has them (THESIS). */
#define RETURN_COPY 512

/* Maximum number of elements of an event; a longer range is split. assumed: the thesis gives no number. */
#define DESCRIPTORS_AN_EVENT 32
#define TRANSFERS_AN_EVENT 16
#define FRAMES_AN_EVENT 8

#define QUEUE_EVENTS 1024

/* Locks, by number. */
enum {
    LOCK_MAILBOX_SEND,
    LOCK_MAILBOX_RECEIVE,
    LOCK_READ_DONE,
    LOCK_WRITE_DONE,
    LOCK_ARRIVED,
    LOCK_TIMER,
    LOCK_QUEUE,
    LOCK_READ_SLOTS,
    LOCK_WRITE_SLOTS,
    LOCK_READ_COMMIT,
    LOCK_WRITE_COMMIT,
    LOCK_SEND_COMMIT,
    LOCK_RECEIVE_COMMIT,
    LOCK_BUFFERS,
    LOCK_RECEIVE_LOOP, /* Base version only: the lock inside the loop over arrived frames. */
    LOCK_WRITE_LOOP,   /* Base version only: the lock inside the loop over finished DMA writes. */
    LOCK_MAILBOX_MINI, /* THESIS only, like the next one. */
    LOCK_MAILBOX_JUMBO,
};

#endif
