/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that spin, in L1 or L2 handler memory. Included by handler.h. Each attempt is one atomic. */
#ifndef SPIN_LOCK_H
#define SPIN_LOCK_H

#define SPIN_LOCK_BACKOFF_CYCLES 32

static inline int spin_lock_init(spin_lock_t *lock)
{
    amo_store(lock, 0);
    return SPIN_OK;
}

/* True if the lock is now ours. */
static inline bool spin_lock_try_lock(spin_lock_t *lock) { return amo_or(lock, 1) == 0; }

/* Waits, with a pause of about 32 cycles between attempts. */
static inline int spin_lock_lock(spin_lock_t *lock)
{
    while (!spin_lock_try_lock(lock)) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    return SPIN_OK;
}

static inline int spin_lock_unlock(spin_lock_t *lock)
{
    amo_store(lock, 0);
    return SPIN_OK;
}

/*
 * Many readers or one writer. A reader holds `glock` only while it counts itself in; a writer holds it throughout and
 * waits for the readers to leave. (In PsPIN's runtime the first reader keeps `glock` for all of them, so a second
 * reader that arrives while the first still waits for a writer gets in beside the writer.)
 */
static inline int spin_rw_lock_init(spin_rw_lock_t *lock)
{
    amo_store((volatile uint32_t *)&lock->num_readers, 0);
    return spin_lock_init(&lock->glock);
}

static inline int spin_rw_lock_r_lock(spin_rw_lock_t *lock)
{
    spin_lock_lock(&lock->glock);
    amo_add(&lock->num_readers, 1);
    return spin_lock_unlock(&lock->glock);
}

static inline int spin_rw_lock_r_unlock(spin_rw_lock_t *lock)
{
    amo_add(&lock->num_readers, -1);
    return SPIN_OK;
}

static inline int spin_rw_lock_w_lock(spin_rw_lock_t *lock)
{
    spin_lock_lock(&lock->glock);
    while (amo_add(&lock->num_readers, 0) != 0) {
        rt_time_wait_cycles(SPIN_LOCK_BACKOFF_CYCLES);
    }
    return SPIN_OK;
}

static inline int spin_rw_lock_w_unlock(spin_rw_lock_t *lock) { return spin_lock_unlock(&lock->glock); }

#endif
