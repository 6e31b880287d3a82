/* SPDX-License-Identifier: Apache-2.0 */
/* Writes no verdict to tohost. */
#include "machine.h"
BEGIN(0)
here:
    la a0, tohost
    sw zero, 0(a0)
    j here
DATA
END
