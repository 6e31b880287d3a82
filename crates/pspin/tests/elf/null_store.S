/* SPDX-License-Identifier: Apache-2.0 */
/* A store through a null pointer, which no handler may do and no memory answers. */
#include "place.h"
    HANDLER(null_store_ph)
    sw      zero, 0(zero)
    ret
    END(null_store_ph)
