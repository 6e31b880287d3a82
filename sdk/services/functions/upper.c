/* SPDX-License-Identifier: Apache-2.0 */
/* A function: the text of the request in upper case. Other bytes than a to z stay. 9 cycles a byte. */
#include "../function.h"

__handler__ void upper_ph(handler_args_t *args)
{
    uint32_t bytes;
    uint8_t *text = function_data(args->task, &bytes);
    if (text == NULL) {
        return;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        if (text[i] >= 'a' && text[i] <= 'z') {
            text[i] -= 'a' - 'A';
        }
    }
    function_reply(args->task, FUNCTION_OK, bytes);
}
