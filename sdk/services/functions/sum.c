/* SPDX-License-Identifier: Apache-2.0 */
/* A function: the sum of signed 32-bit numbers, as a signed 64-bit number. 11 cycles for each. */
#include "../function.h"

__handler__ void sum_ph(handler_args_t *args)
{
    uint32_t bytes;
    const uint8_t *data = function_data(args->task, &bytes);
    if (data == NULL) {
        return;
    }
    if (bytes % sizeof(int32_t) != 0) {
        function_reply(args->task, FUNCTION_MALFORMED, 0);
        return;
    }
    int64_t sum = 0;
    for (uint32_t i = 0; i < bytes / sizeof(int32_t); i++) {
        sum += ((const int32_t *)data)[i];
    }
    function_result(args->task, &sum, sizeof(sum));
}
