/* SPDX-License-Identifier: Apache-2.0 */
/* A store through a null pointer. No handler may access address 0, and no memory answers there. */
#include "place.h"
    HANDLER(null_store_ph)
    sw      zero, 0(zero)
    ret
    END(null_store_ph)
