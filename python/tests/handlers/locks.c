/* SPDX-License-Identifier: Apache-2.0 */
/* Every core takes one lock ROUNDS times. With TICKET, it is a ticket lock. `times` measures locks without contention. */
#include <handler.h>
#include <spin_time.h>

#ifdef TICKET
typedef spin_ticket_lock_t a_lock_t;
#define take spin_ticket_lock_lock
#define give spin_ticket_lock_unlock
#else
typedef spin_lock_t a_lock_t;
#define take spin_lock_lock
#define give spin_lock_unlock
#endif

typedef struct {
    a_lock_t lock;
    volatile int32_t arrived;
    volatile uint32_t count;
    volatile uint8_t owner[4096]; /* cores in the order in which they took the lock */
} shared_t;

__handler__ void all_ph(handler_args_t *args)
{
    shared_t *shared = (shared_t *)args->task->handler_mem;
    amo_add(&shared->arrived, 1);
    while (shared->arrived < NB_CLUSTERS * NB_CORES) {
    }
    for (int i = 0; i < ROUNDS; i++) {
        take(&shared->lock);
        const uint32_t count = shared->count;
        shared->owner[count] = (uint8_t)args->hpu_gid;
        shared->count = count + 1;
        give(&shared->lock);
    }
}

/* Cycles to take and to give a lock; a read of the time takes 1 itself. */
#define MEASURE(lock, found)                                                                                              \
    {                                                                                                                     \
        const uint32_t before = spin_now32();                                                                             \
        take(lock);                                                                                                       \
        const uint32_t between = spin_now32();                                                                            \
        give(lock);                                                                                                       \
        const uint32_t after = spin_now32();                                                                              \
        (found)[0] = between - before - 1;                                                                                \
        (found)[1] = after - between - 1;                                                                                 \
    }

/* In L1, then in L2. The first turns fetch the code. */
__handler__ void times_ph(handler_args_t *args)
{
    volatile uint32_t *found = (volatile uint32_t *)args->task->handler_mem;
    a_lock_t *near = (a_lock_t *)args->task->scratchpad[args->cluster_id];
    a_lock_t *far = (a_lock_t *)(args->task->handler_mem + 64);
    for (int i = 0; i < 3; i++) {
        MEASURE(near, found)
        MEASURE(far, found + 2)
    }
}
