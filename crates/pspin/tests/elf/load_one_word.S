/* SPDX-License-Identifier: Apache-2.0 */
/* Eight loads of the first word of the context's L2 handler memory. */
#include "place.h"
    HANDLER(load_one_word_ph)
    lw      a4, ARGS_TASK(a0)
    lw      a4, TASK_HANDLER_MEM(a4)
    .rept 8
    lw      a5, 0(a4)
    .endr
    ret
    END(load_one_word_ph)
