/* Locks, and the order in which others see what a processor writes. */
#ifndef TENGIG_LOCK_H
#define TENGIG_LOCK_H

#include "config.h"
#include "regs.h"

/* What was written before is seen by others before what is written behind: registers answer sooner than control memory. */
static inline void publish(void) { __asm__ volatile("sync" ::: "memory"); }

/* What was read or written before stays before, in the compiler's eyes: control memory keeps a processor's order. */
static inline void keep_order(void) { __asm__ volatile("" ::: "memory"); }

/* Takes the lock if it is free; 1 if it was. */
static inline int try_lock(unsigned which) {
    int taken = REG(LOCK_WORDS + 4 * which) == 0;
    keep_order();
    return taken;
}

/* Waits for the lock and takes it. */
static inline void lock(unsigned which) {
    while (!try_lock(which)) {
    }
}

static inline void unlock(unsigned which) {
    publish();
    REG(LOCK_WORDS + 4 * which) = 0;
}

#endif
