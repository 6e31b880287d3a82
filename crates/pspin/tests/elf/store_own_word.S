/* SPDX-License-Identifier: Apache-2.0 */
/* Eight stores of each core to a word of its own in the context's L2 handler memory. */
#include "place.h"
    HANDLER(store_own_word_ph)
    lw      a5, ARGS_GLOBAL(a0)
    lw      a4, ARGS_TASK(a0)
    slli    a5, a5, 2
    lw      a4, TASK_HANDLER_MEM(a4)
    add     a4, a4, a5
    li      a5, 1
    .rept 8
    sw      a5, 0(a4)
    .endr
    ret
    END(store_own_word_ph)
