/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that takes about CYCLES cycles: a loop of 4 cycles per iteration, because long straight code does not fit the cache. */
#include <handler.h>

__handler__ void spin_ph(handler_args_t *args) { rt_time_wait_cycles(CYCLES); }
