/* SPDX-License-Identifier: Apache-2.0 */
/* Header, payload and completion handlers that only return. The last two are in one fetch line, because a cold payload
 * handler and a warm completion handler were measured. */
#include "place.h"
    HANDLER(chain_hh)
    ret
    END(chain_hh)

    HANDLER(chain_ph)
    ret
    .globl chain_th
    .type chain_th, @function
chain_th:
    ret
    END(chain_ph)
