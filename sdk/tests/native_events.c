/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of the native runner on a simulated system that has them: instructions have their own counter,
 * cycles a counter for a quarter of the time, loads never get one, and misses are refused. Prints the summary's values.
 */
#define syscall system_call
#define ioctl system_control
#define read system_read
#define close system_close
#include "../native/events.c"
#undef read
#undef close

#include <stdarg.h>
#include <stdio.h>

static int enabled[16], closed;

long system_call(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    const struct perf_event_attr *asked = va_arg(arguments, const struct perf_event_attr *);
    int thread = va_arg(arguments, int);
    va_end(arguments);
    if (number != SYS_perf_event_open || thread != 0 || !asked->exclude_kernel || !asked->disabled)
        return -1;
    if (asked->type == PERF_TYPE_HARDWARE)
        return asked->config == PERF_COUNT_HW_INSTRUCTIONS ? 10 : 11;
    if (asked->config == CACHE(L1D, ACCESS))
        return 12;
    errno = ENOENT;
    return -1;
}

int system_control(int counter, unsigned long request, ...)
{
    enabled[counter] += request == PERF_EVENT_IOC_ENABLE ? 1 : -1;
    return 0;
}

ssize_t system_read(int counter, void *to, size_t room)
{
    static const uint64_t seen[3][3] = {{123456, 8000, 8000}, {1000, 8000, 2000}, {0, 8000, 0}};
    if (room != sizeof seen[0] || enabled[counter] != 0)
        return -1;
    memcpy(to, seen[counter - 10], room);
    return (ssize_t)room;
}

int system_close(int counter)
{
    closed += counter >= 10;
    return 0;
}

int main(void)
{
    events_t events = {0};
    native_events_open(&events);
    native_events_start(&events);
    native_events_stop(&events);
    native_events_print(&events, stdout);
    printf("\nclosed %d\n", closed);
    return 0;
}
