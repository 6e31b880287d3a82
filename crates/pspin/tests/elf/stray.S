/* SPDX-License-Identifier: Apache-2.0 */
/* A jump out of program memory. */
#include "place.h"
    HANDLER(stray_ph)
    lui     a5, 0x1E000
    jr      a5
    END(stray_ph)
