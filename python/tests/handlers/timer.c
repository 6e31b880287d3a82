/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a wait by its cluster's timer, and reports to the host the cycles, and if the timer stays constant when
/  stopped. */
#include <handler.h>

#define TIMER ((volatile uint32_t *)0x1B200400)
#define CONFIG 0
#define VALUE 2
#define START 6
#define RESET 8

__handler__ void timer_ph(handler_args_t *args)
{
    task_t *task = args->task;
    TIMER[RESET] = 1;
    TIMER[START] = 1;
    uint32_t first = TIMER[VALUE];
    rt_time_wait_cycles(1000);
    uint32_t counted = TIMER[VALUE] - first;
    TIMER[CONFIG] = 0;
    uint32_t stopped = TIMER[VALUE];
    rt_time_wait_cycles(100);
    uint32_t stands = TIMER[VALUE] == stopped;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t written;
    spin_write_to_host(host, (uint64_t)stands << 32 | counted, &written);
}
