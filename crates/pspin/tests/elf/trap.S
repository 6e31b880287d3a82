/* SPDX-License-Identifier: Apache-2.0 */
/* A load from program memory, which no handler may read. */
#include "place.h"
    HANDLER(trap_ph)
    lui     a5, 0x1D000
    lw      a5, 0(a5)
    ret
    END(trap_ph)
