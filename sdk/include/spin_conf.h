/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's shape, as handlers may rely on it. Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv. */
#ifndef SPIN_CONF_H
#define SPIN_CONF_H

#define NB_CLUSTERS 4
#define NB_CORES 8 /* per cluster */
#define CORE_COUNT (NB_CLUSTERS * NB_CORES)
#define NUM_CLUSTER_HPUS NB_CORES

#define PKT_SIZE 1024 /* bytes; the size that PsPIN's examples assume */
#define PacketQueueLength (4 * 1024 * 1024 - 12)

#endif
