/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that programs for PsPIN rely on; the test compiles this file. Source: PsPIN RTL a49fec8, handler.h, packets.h. */
#include <handler.h>
#include <packets.h>
#include <spin_net.h>

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)

SIZE(task_t, 72);
AT(task_t, handler_mem, 0);
AT(task_t, handler_mem_size, 4);
AT(task_t, pkt_mem, 8);
AT(task_t, pkt_mem_size, 12);
AT(task_t, scratchpad, 16);
AT(task_t, scratchpad_size, 32);
AT(task_t, host_mem_high, 48);
AT(task_t, host_mem_low, 52);
AT(task_t, host_mem_size, 56);
AT(task_t, l2_pkt_mem, 60);
AT(task_t, home_cluster_id, 64);
AT(task_t, flow_id, 68);

SIZE(handler_args_t, 16);
AT(handler_args_t, task, 0);
AT(handler_args_t, hpu_gid, 4);
AT(handler_args_t, cluster_id, 8);
AT(handler_args_t, hpu_id, 12);

AT(spin_rw_lock_t, glock, 0);
AT(spin_rw_lock_t, num_readers, 4);

AT(axidma__dma_conf_t, src_addr_high, 4);
AT(axidma__dma_conf_t, dst_addr_low, 8);
AT(axidma__dma_conf_t, num_bytes, 16);
AT(axidma__dma_conf_t, tf_id, 24);
AT(axidma__dma_conf_t, done_id, 32);
AT(axidma__dma_conf_t, config, 40);

SIZE(ip_hdr_t, 20);
AT(ip_hdr_t, length, 2);
AT(ip_hdr_t, protocol, 9);
AT(ip_hdr_t, dest_id, 16);
SIZE(udp_hdr_t, 8);
SIZE(pkt_hdr_t, 28);

SIZE(spin_eth_t, 14);
SIZE(spin_ipv4_t, 20);
SIZE(spin_ipv6_t, 40);
SIZE(spin_udp_t, 8);
SIZE(spin_tcp_t, 20);
SIZE(spin_icmp_t, 8);
AT(spin_ipv4_t, checksum, 10);
AT(spin_ipv6_t, dst, 24);
AT(spin_tcp_t, checksum, 16);

void layout_ph(handler_args_t *args) {}
