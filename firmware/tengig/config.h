/* Sizes and policies that the firmware chooses itself. BASE builds the first version, HARDWARE_QUEUE the optimised one for a card
 * that has an event queue, neither of them the optimised one of the thesis. */
#ifndef TENGIG_CONFIG_H
#define TENGIG_CONFIG_H

/* Transfers that may stand in the DMA read ring. Thesis 4.5.1: 32 by default, 256 when the ring is a reorder buffer; one
 * entry of the assist's ring stays empty. */
#ifdef BASE
#define READ_SLOTS 32
#else
#define READ_SLOTS (DMA_ENTRIES - 1)
#endif
#define WRITE_SLOTS (DMA_ENTRIES - 1) /* assumed: as the larger DMA read ring. */

/* Frames whose data is asked for and that have not left; one entry of the MAC's ring stays empty. */
#define TRANSMIT_SLOTS (MAC_TRANSMIT_ENTRIES - 1)
#define TRANSMIT_AREA FRAME_MEMORY
#define TRANSMIT_SLOT_BYTES 2048 /* assumed: a power of two that holds the largest frame. */

#define RECEIVE_AREA_AT (FRAME_MEMORY + 0x00100000u)
#define RECEIVE_AREA_SIZE 0x00100000u

/* Largest number of elements of one event; a longer range is split. assumed: the thesis gives no number. */
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
    LOCK_RECEIVE_LOOP, /* Base version only: the lock within the loop over arrived frames. */
    LOCK_WRITE_LOOP,   /* Base version only: the lock within the loop over done DMA writes. */
};

#endif
