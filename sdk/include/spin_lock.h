/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that spin, in L1 or L2 handler memory. Included by handler.h. */
#ifndef SPIN_LOCK_H
#define SPIN_LOCK_H

static inline int spin_lock_init(spin_lock_t *lock)
{
    futex_init(lock);
    return SPIN_OK;
}

/* True if this core now holds the lock. */
static inline int spin_lock_try_lock(spin_lock_t *lock) { return futex_try_lock(lock); }

/*
 * Waits, with a pause of about 32 cycles between attempts, as in PsPIN's runtime. If the lock is free, about 5 cycles on the core's
 * own L1, 32 on L2. Waiting cores have no order: one can wait as long as others ask again. spin_ticket_lock_t has an order.
 */
static inline int spin_lock_lock(spin_lock_t *lock)
{
    futex_lock_s(lock);
    return SPIN_OK;
}

static inline int spin_lock_unlock(spin_lock_t *lock)
{
    futex_unlock(lock);
    return SPIN_OK;
}

/*
 * Many readers or one writer, as in PsPIN's runtime: the first reader takes `glock` for all readers, the last one releases
 * it, and a writer holds it. So a second reader does not wait while the first one still waits for a writer. If a
 * program sets `num_readers` to another value than 0, its readers never take the lock; PsPIN's slp does this.
 */
static inline int spin_rw_lock_init(spin_rw_lock_t *lock)
{
    amo_store((volatile uint32_t *)&lock->num_readers, 0);
    return spin_lock_init(&lock->glock);
}

static inline int spin_rw_lock_r_lock(spin_rw_lock_t *lock)
{
    return amo_add(&lock->num_readers, 1) == 0 ? spin_lock_lock(&lock->glock) : SPIN_OK;
}

static inline int spin_rw_lock_r_unlock(spin_rw_lock_t *lock)
{
    return amo_add(&lock->num_readers, -1) == 1 ? spin_lock_unlock(&lock->glock) : SPIN_OK;
}

static inline int spin_rw_lock_w_lock(spin_rw_lock_t *lock) { return spin_lock_lock(&lock->glock); }

static inline int spin_rw_lock_w_unlock(spin_rw_lock_t *lock) { return spin_lock_unlock(&lock->glock); }

/*
 * A lock that serves cores in the order in which they ask, for locks that many cores want. PsPIN's runtime has none. Memory with
 * zeros is a free lock. It cannot be tried, because L1 has no atomic that compares and swaps.
 */
typedef struct spin_ticket_lock {
    volatile uint32_t next;    /* ticket of the next core that asks */
    volatile uint32_t serving; /* ticket of the core that holds the lock, or of the next one */
} spin_ticket_lock_t;

#define SPIN_TICKET_PAUSE_CYCLES 16

static inline int spin_ticket_lock_init(spin_ticket_lock_t *lock)
{
    amo_store(&lock->next, 0);
    amo_store(&lock->serving, 0);
    return SPIN_OK;
}

/*
 * Waits: 1 atomic, then a load after every pause, which is 16 cycles for each core in between. If the lock is free, about 4 cycles
 * on the core's own L1, 50 on L2.
 */
static inline int spin_ticket_lock_lock(spin_ticket_lock_t *lock)
{
    const uint32_t ticket = (uint32_t)amo_add((volatile int32_t *)&lock->next, 1);
    uint32_t ahead;
    while ((ahead = ticket - lock->serving) != 0) {
        rt_time_wait_cycles((ahead - 1) * SPIN_TICKET_PAUSE_CYCLES);
    }
    SPIN_COMPILER_BARRIER();
    return SPIN_OK;
}

/* 1 atomic: about 1 cycle on the core's own L1, 27 on L2. */
static inline int spin_ticket_lock_unlock(spin_ticket_lock_t *lock)
{
    amo_add((volatile int32_t *)&lock->serving, 1);
    return SPIN_OK;
}

#endif
