/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive any type, with read-only checkpoints.
 *
 * The host computes a checkpoint, a segment, for each `interval` bytes of the message. A handler copies the last
 * checkpoint at or before its packet, and walks forward from there. So any core can take any packet, and skips less
 * than an interval. Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_segment.h"

__handler__ void ro_cp_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void ro_cp_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    spin_ddt_segment_t *segment = spin_ddt_own_segment(args, type, 0);
    spin_ddt_restore(segment, spin_ddt_checkpoint(type, MIN(part.at / type->interval, type->n_checkpoints - 1)));
    spin_ddt_skip(type, segment, part.at - segment->at);
    spin_ddt_process(type, segment, &part);
}

__handler__ void ro_cp_th(handler_args_t *args) { spin_ddt_end(args); }
