/* SPDX-License-Identifier: Apache-2.0 */
/* A payload handler that only returns. */
#include "place.h"
    HANDLER(empty_ph)
    ret
    END(empty_ph)
