/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive any type, with one segment for each core and slot.
 *
 * A core continues where its last packet of the slot ended, and skips the packets that other cores got. If its next
 * packet lies before that place, the segment starts again from the beginning of the message.
 * Cost: docs/guides/datatypes.md.
 */
#include "spin_ddt_segment.h"

__handler__ void hpu_local_hh(handler_args_t *args) { spin_ddt_begin(args); }

__handler__ void hpu_local_ph(handler_args_t *args)
{
    const spin_ddt_t *type = spin_ddt_type(args);
    spin_ddt_part_t part;
    if (!spin_ddt_part(args, type, &part)) {
        return;
    }
    spin_ddt_segment_t *segment = spin_ddt_own_segment(args, type, part.slot);
    if (!segment->is_valid || segment->at > part.at) {
        spin_ddt_restore(segment, spin_ddt_checkpoint(type, 0));
    }
    spin_ddt_skip(type, segment, part.at - segment->at);
    spin_ddt_process(type, segment, &part);
}

__handler__ void hpu_local_th(handler_args_t *args) { spin_ddt_end(args); }
