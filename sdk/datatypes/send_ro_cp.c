/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send any type, with read-only checkpoints.
 *
 * A handler copies the last checkpoint at or before its packet and walks forward from there, as for the receiver
 * (ro_cp.c). Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_send.h"

#include "spin_ddt_segment.h"

static void send(const handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_ordered(args, type, &part)) {
        return;
    }
    spin_ddt_segment_t *segment = spin_ddt_own_segment(args, type, 0);
    spin_ddt_restore(segment, spin_ddt_checkpoint(type, MIN(part.at / type->interval, type->n_checkpoints - 1)));
    spin_ddt_skip(type, segment, part.at - segment->at);
    spin_ddt_process(type, segment, &part);
    spin_ddt_send(args, type, &part);
}

__handler__ void send_ro_cp_hh(handler_args_t *args)
{
    spin_ddt_begin(args);
    if (spin_ddt_place(args->task) == SPIN_DDT_FIRST) {
        send(args);
    }
}

__handler__ void send_ro_cp_ph(handler_args_t *args)
{
    if (spin_ddt_place(args->task) == 0) {
        send(args);
    }
}

__handler__ void send_ro_cp_th(handler_args_t *args)
{
    send(args);
    spin_ddt_end(args);
}
