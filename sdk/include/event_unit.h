/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event unit and the cluster's control registers, as far as start-up needs them.
 *
 * Also read by the assembler, so it contains only numbers.
 * Source: PsPIN RTL a49fec8, periph_demux.sv for the windows. Offsets marked "assumed" are those of the public
 * documentation of PULP's event_unit_flex, the block that the cluster instantiates; the RTL's boot code writes
 * the dispatch bit to the mask, the team and the value, and waits at 0x1B204080.
 */
#ifndef SPIN_EVENT_UNIT_H
#define SPIN_EVENT_UNIT_H

/* This core's own link to the event unit. */
#define EU_DEMUX_BASE 0x1B204000

/* Write: set these bits of the core's event mask. assumed: EVT_MASK_OR of event_unit_flex. */
#define EU_MASK_OR 0x08

/* Read with p.elw: sleep until a value is dispatched to this core. Write: dispatch a value to the team. */
#define EU_DISPATCH_FIFO 0x80

/* Write: bit i makes core i a member of the team. assumed: HW_DISPATCH_PUSH_TEAM_CONFIG of event_unit_flex. */
#define EU_DISPATCH_TEAM 0x84

/* The event "a value was dispatched". assumed: event 18, as in PULP clusters with event_unit_flex. */
#define EU_EVENT_DISPATCH 18

/* The cluster's control registers, over its slow peripheral port. */
#define CLUSTER_EOC 0x1B200000            /* write 1: this cluster has ended */
#define CLUSTER_ICACHE_ENABLE 0x1B201400  /* write -1: caches of all banks on */
#define CLUSTER_ICACHE_FLUSH 0x1B201404   /* write 1: forget all lines */
#define CLUSTER_ICACHE_GLOBAL 0x10201400  /* the enable register at its global address, + cluster * stride */

/* Each cluster's L1 and peripherals lie this far from the ones of the cluster before. */
#define CLUSTER_STRIDE 0x400000

#endif
