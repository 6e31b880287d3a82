/* SPDX-License-Identifier: Apache-2.0 */
/* A function for tests: depending on the first byte of the request, it counts its runs or causes a fault. */
#include <services/function.h>

static volatile int32_t static_runs = 100;

__handler__ void counts_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t bytes;
    const uint8_t *data = function_data(task, &bytes);
    if (data == NULL || bytes == 0) {
        return;
    }
    if (data[0] == 'w') {
        *(volatile uint32_t *)0x1c000000 = 0; /* the dispatcher's memory */
    }
    while (*(const volatile uint8_t *)data == 'e') {
    }
    const int32_t runs[2] = {amo_add(&static_runs, 1), amo_add((volatile int32_t *)task->handler_mem, 1)};
    function_result(task, runs, sizeof(runs));
}
