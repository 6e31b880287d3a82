/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers on the processor of the host: worker threads process packets that are already in memory.
 *
 *     PROGRAM INPUT FOLDER THREADS
 *
 * Linked with a handler that was compiled against sdk/native/include and sdk/include. INPUT has the packets and
 * the card's configuration (card.c); FOLDER receives the results. Handlers print to stdout.
 *
 * Packet i goes to thread i modulo their number. The card's guarantees hold here too: the header handler of a message
 * ends before its payload handlers begin, and they end before its completion handler begins. Everything runs three times
 * from the same initial state: first for the results, which also brings every page into memory; then with a reading of
 * the clock around every handler; then without, for the time and the events of whole threads.
 */
#include "native.h"
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void SPIN_HEADER(handler_args_t *) __attribute__((weak));
extern void SPIN_PAYLOAD(handler_args_t *) __attribute__((weak));
extern void SPIN_COMPLETION(handler_args_t *) __attribute__((weak));
extern __typeof__(init_handlers) init_handlers __attribute__((weak));

#define NEVER UINT32_MAX /* the time of a handler that did not run */

/* Time of a handler for each packet, in ns. */
static uint32_t *times[3];
enum { HEADER, PAYLOAD, COMPLETION };

typedef struct {
    uint32_t id;
    bool is_timed;
    uint64_t ns; /* time for all its packets */
    events_t events;
} worker_t;

static pthread_barrier_t begin;
static uint32_t n_threads;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run(void (*handler)(handler_args_t *), handler_args_t *args, const worker_t *worker, uint32_t *cost)
{
    if (!worker->is_timed) {
        handler(args);
        return;
    }
    uint64_t start = now_ns();
    handler(args);
    uint64_t ns = now_ns() - start;
    *cost = ns < NEVER ? (uint32_t)ns : NEVER - 1;
}

static void wait_until(const volatile uint32_t *is_true)
{
    while (!__atomic_load_n(is_true, __ATOMIC_ACQUIRE)) {
        sched_yield(); /* there may be fewer processors than threads */
    }
}

static void process(const worker_t *worker, uint32_t index)
{
    packet_t *packet = &native_packets[index];
    message_t *message = &native_messages[packet->message];
    task_t task = native_card_task(packet, message);
    handler_args_t args = {&task, worker->id, worker->id % NB_CLUSTERS, worker->id / NB_CLUSTERS};

    native_current_packet = index;
    if (packet->is_first) {
        if (message->after != NO_MESSAGE) {
            wait_until(&native_messages[message->after].is_done);
        }
        if (SPIN_HEADER) {
            run(SPIN_HEADER, &args, worker, &times[HEADER][index]);
        }
        __atomic_store_n(&message->has_begun, 1, __ATOMIC_RELEASE);
    } else {
        wait_until(&message->has_begun);
    }
    if (SPIN_PAYLOAD) {
        run(SPIN_PAYLOAD, &args, worker, &times[PAYLOAD][index]);
    }
    if (__atomic_sub_fetch(&message->left, 1, __ATOMIC_ACQ_REL) == 0) {
        if (message->has_end && SPIN_COMPLETION) {
            run(SPIN_COMPLETION, &args, worker, &times[COMPLETION][index]);
        }
        __atomic_store_n(&message->is_done, 1, __ATOMIC_RELEASE);
    }
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    native_events_open(&worker->events);
    pthread_barrier_wait(&begin);
    native_events_start(&worker->events);
    uint64_t start = now_ns();
    for (uint32_t index = worker->id; index < native_n_packets; index += n_threads) {
        process(worker, index);
    }
    worker->ns = now_ns() - start;
    native_events_stop(&worker->events);
    return NULL;
}

static void run_all(worker_t *workers, bool is_timed)
{
    pthread_t threads[MAX_THREADS];
    native_card_reset();
    if (init_handlers) {
        handler_fn header = NULL, payload = NULL, completion = NULL;
        void *handler_mem = NULL;
        init_handlers(&header, &payload, &completion, &handler_mem);
    }
    pthread_barrier_init(&begin, NULL, n_threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        workers[i] = (worker_t){.id = i, .is_timed = is_timed};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            native_fail("cannot start a thread");
        }
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&begin);
}

/* Time of reading the clock: the median of many reads. */
static uint32_t clock_ns(void)
{
    uint32_t counts[1000] = {0}, seen = 0, ns = 0;
    for (uint32_t i = 0; i < 1001; i++) {
        uint64_t start = now_ns(), cost = now_ns() - start;
        counts[cost < 1000 ? cost : 999]++;
    }
    while ((seen += counts[ns]) <= 500) {
        ns++;
    }
    return ns;
}

static void write_times(const char *folder)
{
    static const char *const names[] = {"header.ns", "payload.ns", "completion.ns"};
    for (uint32_t stage = 0; stage < 3; stage++) {
        native_write_file(folder, names[stage], times[stage], native_n_packets * sizeof(uint32_t));
    }
}

static void write_summary(const char *folder, const worker_t *workers, uint32_t faults)
{
    FILE *file = native_open_file(folder, "summary.json");
    fprintf(file, "{\"clock_ns\": %" PRIu32 ", \"command_faults\": %" PRIu32 ", \"threads\": [", clock_ns(), faults);
    for (uint32_t i = 0; i < n_threads; i++) {
        fprintf(file, "%s{\"ns\": %" PRIu64 ", ", i > 0 ? ", " : "", workers[i].ns);
        native_events_print(&workers[i].events, file);
        fprintf(file, "}");
    }
    fprintf(file, "]}\n");
    native_close_file(file);
}

int main(int argc, char **argv)
{
    static worker_t workers[MAX_THREADS];
    if (argc != 4) {
        native_fail("usage: PROGRAM INPUT FOLDER THREADS");
    }
    n_threads = (uint32_t)strtoul(argv[3], NULL, 10);
    if (n_threads == 0 || n_threads > MAX_THREADS) {
        native_fail("1 to 32 threads");
    }
    native_load(argv[1]);
    for (uint32_t stage = 0; stage < 3; stage++) {
        times[stage] = malloc((native_n_packets + 1) * sizeof(uint32_t));
        if (times[stage] == NULL) {
            native_fail("no memory for the times");
        }
        memset(times[stage], 0xff, native_n_packets * sizeof(uint32_t));
    }
    run_all(workers, false);
    native_card_write(argv[2]);
    uint32_t faults = native_command_faults;
    fflush(stdout);
    if (freopen("/dev/null", "w", stdout) == NULL) {
        native_fail("no /dev/null for what handlers print again");
    }
    run_all(workers, true);
    write_times(argv[2]);
    run_all(workers, false);
    write_summary(argv[2], workers, faults);
    return 0;
}
