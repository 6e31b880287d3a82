/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters of a thread, in user mode only: Linux perf_event_open.
 *
 * Virtual machines and strict systems often allow no counters (kernel.perf_event_paranoid); then the summary gives the
   reason. If there are fewer counters than events, the system multiplexes them: a count is then scaled to the whole time.
 */
#define _GNU_SOURCE
#include "native.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define CACHE(level, result)                                                                                          \
    (PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} kinds[N_EVENTS] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"l1_loads", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS)},
    {"l1_misses", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS)},
    {"llc_misses", PERF_TYPE_HW_CACHE, CACHE(LL, MISS)},
};

void native_events_open(events_t *events)
{
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        struct perf_event_attr attributes = {
            .type = kinds[i].type,
            .size = sizeof attributes,
            .config = kinds[i].config,
            .disabled = 1,
            .exclude_kernel = 1,
            .exclude_hv = 1,
            .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        };
        events->counters[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
        if (events->counters[i] < 0 && events->why_not == 0) {
            events->why_not = errno;
        }
    }
}

static void all(const events_t *events, unsigned long request)
{
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        if (events->counters[i] >= 0) {
            ioctl(events->counters[i], request, 0);
        }
    }
}

void native_events_start(events_t *events) { all(events, PERF_EVENT_IOC_ENABLE); }

void native_events_stop(events_t *events)
{
    all(events, PERF_EVENT_IOC_DISABLE);
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        int counter = events->counters[i];
        if (counter >= 0) {
            struct {
                uint64_t count, enabled_ns, running_ns;
            } seen = {0};
            ssize_t n = read(counter, &seen, sizeof seen);
            close(counter);
            if (n != (ssize_t)sizeof seen || seen.running_ns == 0) {
                events->counters[i] = -1;
                events->is_unread = 1;
            } else {
                events->counts[i] = (uint64_t)((double)seen.count * (double)seen.enabled_ns / (double)seen.running_ns);
            }
        }
    }
}

void native_events_print(const events_t *events, FILE *file)
{
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        if (events->counters[i] >= 0) {
            fprintf(file, "\"%s\": %" PRIu64 ", ", kinds[i].name, events->counts[i]);
        } else {
            fprintf(file, "\"%s\": null, ", kinds[i].name);
        }
    }
    if (events->why_not != 0) {
        fprintf(file, "\"why_not\": \"perf_event_open: %s\"", strerror(events->why_not));
    } else if (events->is_unread) {
        fprintf(file, "\"why_not\": \"no counter of the processor was free for it\"");
    } else {
        fprintf(file, "\"why_not\": null");
    }
}
#else
void native_events_open(events_t *events)
{
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        events->counters[i] = -1;
    }
}
void native_events_start(events_t *events) { (void)events; }
void native_events_stop(events_t *events) { (void)events; }
void native_events_print(const events_t *events, FILE *file)
{
    (void)events;
    fprintf(file, "\"why_not\": \"perf_event_open: only Linux has it\"");
}
#endif
