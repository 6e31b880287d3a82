/* Locks and memory order. */
#ifndef TENGIG_LOCK_H
#define TENGIG_LOCK_H

#include "config.h"
#include "regs.h"

/* Compiler barrier. The hardware needs none: other processors see writes to control memory and registers in program order
 * (thesis, 4.3.3: sequential consistency). */
static inline void keep_order(void) { __asm__ volatile("" ::: "memory"); }

/* Takes the lock if it is free; returns 1 if it did. */
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
    keep_order();
    REG(LOCK_WORDS + 4 * which) = 0;
}

#endif
