/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least a handler can do: nothing. The packet is received, handed to a core, and released.
 *
 * What remains is the cost of the machine itself, so this is the baseline for every other handler.
 */
#include <handler.h>

__handler__ void empty_ph(handler_args_t *args) {}
