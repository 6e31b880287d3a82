/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that spin, in L1 or L2 handler memory. Included by handler.h. Each attempt is one atomic. */
#ifndef SPIN_LOCK_H
#define SPIN_LOCK_H

static inline int spin_lock_init(spin_lock_t *lock)
{
    futex_init(lock);
    return SPIN_OK;
}

/* True if this core now holds the lock. */
static inline int spin_lock_try_lock(spin_lock_t *lock) { return futex_try_lock(lock); }

/* Waits, with a pause of about 32 cycles between attempts. */
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

#endif
