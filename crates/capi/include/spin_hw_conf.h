/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of the published PsPIN machine for host programs.
 *
 * Names and values are those of PsPIN a49fec8. Two values differ from its hardware and stay for compatibility: the
 * hardware's L1 packet buffer has 64 KiB, so scratchpads begin at 0x14400 of a cluster's L1.
 */
#ifndef SPINET_SPIN_HW_CONF_H
#define SPINET_SPIN_HW_CONF_H

#define NUM_CLUSTERS 4
#define NUM_CORES 8
#define C_MSGID_WIDTH 10 /* bits of a message identity */

/* Host memory of packets that pspinsim_packet_trace_read adds. */
#define PCIE_START_ADDR 0x1000000000000000

/* L1 of a cluster: offsets and sizes in bytes. */
#define L1_CLUSTER_ACTUAL_MEM_SIZE 0x00100000
#define L1_RUNTIME_OFFSET 0x00000400
#define L1_RUNTIME_SIZE 0x00004000
#define L1_PKT_BUFF_OFFSET (L1_RUNTIME_OFFSET + L1_RUNTIME_SIZE)
#define L1_PKT_BUFF_SIZE 0x00008000
#define L1_SCRATCHPAD_OFFSET (L1_PKT_BUFF_OFFSET + L1_PKT_BUFF_SIZE)
#define L1_SCRATCHPAD_SIZE (L1_CLUSTER_ACTUAL_MEM_SIZE - L1_SCRATCHPAD_OFFSET)

/* L2 packet memory. */
#define L2_PKT_BUFF_START 0x1c400000
#define L2_PKT_BUFF_SIZE (4 * 1024 * 1024)

#endif
