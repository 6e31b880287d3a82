/* Statistics: the counters of each processor and of the MAC; their sum goes to the host. */
#ifdef THESIS

#include "dma.h"
#include "state.h"

struct statistics statistics;

/* Word of the MAC's counters: frames dropped for lack of room. */
#define MAC_NO_ROOM (*(volatile uint32_t *)(MAC_STATISTICS_AT + 0x6C))

/* Number of words after the 64-bit counters. */
#define SIMPLE_COUNTS ((sizeof statistics - 4 * sizeof(uint32_t)) / sizeof(uint32_t))

/* Each processor's byte count at the last update; fewer than 2^32 bytes pass between two updates. */
static struct {
    uint32_t in, out;
} octets[MOST_CPUS];

static void add_octets(uint32_t *high, uint32_t *low, uint32_t octets) {
    uint32_t sum = *low + octets;
    *high += sum < octets;
    *low = sum;
}

static void add_counts(unsigned cpu, const volatile struct statistics *counts) {
    uint32_t in = counts->in_octets, out = counts->out_octets;
    add_octets(&statistics.in_octets_high, &statistics.in_octets, in - octets[cpu].in);
    add_octets(&statistics.out_octets_high, &statistics.out_octets, out - octets[cpu].out);
    octets[cpu].in = in;
    octets[cpu].out = out;
    uint32_t *sum = &statistics.in_frames;
    const volatile uint32_t *count = &counts->in_frames;
    for (uint32_t i = 0; i != SIMPLE_COUNTS; i++) sum[i] += count[i];
}

int refresh_statistics(void) {
    uint32_t slot;
    if (!take_writes(&slot, 1)) {
        COUNT(short_of_writes);
        return 0;
    }
    uint32_t *sum = &statistics.in_frames;
    for (uint32_t i = 0; i != SIMPLE_COUNTS; i++) sum[i] = 0;
    /* Each processor's stack is below that of the previous one; the first stack ends at the end of control memory. */
    for (uint32_t cpu = 0, cpus = REG(CPUS); cpu != cpus; cpu++)
        add_counts(cpu, (const volatile struct statistics *)(CONTROL_BYTES - STACK_BYTES * (cpu + 1)));
    statistics.in_dropped = MAC_NO_ROOM;
    fill_write(slot, host.statistics_high, host.statistics_low, (uint32_t)&statistics, sizeof statistics, KIND_STATISTICS, 0);
    writes_ready(slot, 1);
    return 1;
}

#endif
