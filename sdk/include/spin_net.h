/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real packets: Ethernet, IPv4, IPv6, UDP, TCP, ICMP and their checksums.
 *
 *     spin_headers_t headers = spin_parse(spin_pkt(task->pkt_mem, task->pkt_mem_size));
 *     if (headers.udp != NULL && headers.udp->dst_port == spin_htons(53)) { ... }
 *
 * A header that is missing or incomplete is NULL: no helper reads or returns a byte beyond the packet. No helper waits;
 * all access only the packet, so on its copy in L1 each access is 1 cycle, 2 if misaligned.
 */
#ifndef SPIN_NET_H
#define SPIN_NET_H

#include <spin_bytes.h>
#include <spin_checksum.h>
#include <spin_ip.h>
#include <spin_l4.h>
#include <spin_pkt.h>

#endif
