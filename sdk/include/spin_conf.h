/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's shape, as handlers may rely on it. Source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv. */
#ifndef SPIN_CONF_H
#define SPIN_CONF_H

/* `spinet run` defines both for a NIC of another shape: at most 16 clusters of 16 cores. */
#ifndef NB_CLUSTERS
#define NB_CLUSTERS 4
#endif
#ifndef NB_CORES
#define NB_CORES 8 /* per cluster */
#endif
#define CORE_COUNT (NB_CLUSTERS * NB_CORES)
#define NUM_CLUSTER_HPUS NB_CORES

/* Scratchpads that a task names: the driver has two layouts of the task, PsPIN's for 4 clusters and one for 16. */
#if NB_CLUSTERS > 4
#define NB_SCRATCHPADS 16
#else
#define NB_SCRATCHPADS 4
#endif

#ifndef PKT_SIZE
#define PKT_SIZE 1024 /* bytes; the size that PsPIN's examples assume */
#endif
#define PacketQueueLength (4 * 1024 * 1024 - 12)

#endif
