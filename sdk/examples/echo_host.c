/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that only answers: ARP, ping, and UDP echo (port 7, RFC 862). For `spinet attach`, where real programs ask.
 *
 * It answers for all IPv4 addresses except the sender's, with one Ethernet address. Questions of a host about its own
 * address (RFC 5227) get no answer, because an answer would say that the address is taken. Other packets are released.
 *
 * Memory: only the packet, in L1.
 * Cost: about 150 cycles.
 */
#include <handler.h>
#include <spin_net.h>
#include <string.h>

typedef struct __attribute__((__packed__)) {
    spin_be16_t hardware, protocol;
    uint8_t hardware_size, protocol_size;
    spin_be16_t operation;
    uint8_t sender[6];
    spin_be32_t sender_ip;
    uint8_t target[6];
    spin_be32_t target_ip;
} arp_t;

#define ARP_REQUEST 1
#define ARP_REPLY 2
#define ECHO_PORT 7

static const uint8_t own[6] = {0x02, 's', 'p', 'i', 'n', 0x01}; /* locally administered */

static void send_back(const task_t *task)
{
    spin_cmd_t sent;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}

/* True if the packet was a request; it is then turned into the answer. */
static bool answer_arp(spin_pkt_t pkt)
{
    spin_eth_t *eth = spin_eth(pkt);
    arp_t *arp = (arp_t *)spin_pkt_at(pkt, sizeof(spin_eth_t), sizeof(arp_t));
    if (arp == NULL || eth->type != spin_htons(SPIN_ETH_ARP) || arp->operation != spin_htons(ARP_REQUEST) ||
        arp->hardware != spin_htons(1) || arp->protocol != spin_htons(SPIN_ETH_IPV4)) {
        return false;
    }
    if (arp->sender_ip == 0 || arp->sender_ip == arp->target_ip) {
        return false;
    }
    arp->operation = spin_htons(ARP_REPLY);
    memcpy(arp->target, arp->sender, sizeof own);
    memcpy(arp->sender, own, sizeof own);
    spin_swap32(&arp->sender_ip, &arp->target_ip);
    memcpy(eth->dst, arp->target, sizeof own);
    memcpy(eth->src, own, sizeof own);
    return true;
}

/* Addresses change places, which changes no checksum. */
static void turn_round(const spin_headers_t *headers)
{
    spin_eth_swap(headers->eth);
    spin_ipv4_swap(headers->ipv4);
}

static bool answer_ping(const spin_headers_t *headers)
{
    spin_icmp_t *icmp = headers->icmp;
    if (icmp == NULL || icmp->type != SPIN_ICMP_ECHO_REQUEST || icmp->code != 0) {
        return false;
    }
    icmp->type = SPIN_ICMP_ECHO_REPLY;
    icmp->checksum = spin_checksum_update16(icmp->checksum, SPIN_ICMP_ECHO_REQUEST, SPIN_ICMP_ECHO_REPLY);
    turn_round(headers);
    return true;
}

static bool answer_echo(const spin_headers_t *headers)
{
    spin_udp_t *udp = headers->udp;
    if (udp == NULL || udp->dst_port != spin_htons(ECHO_PORT) || udp->src_port == spin_htons(ECHO_PORT)) {
        return false; /* two echo hosts would never stop */
    }
    spin_udp_swap(udp);
    turn_round(headers);
    return true;
}

/* Packets to groups and broadcasts get no answer. */
static bool is_for_one(const spin_headers_t *headers)
{
    return headers->ipv4 != NULL && (headers->eth->dst[0] & 1) == 0;
}

__handler__ void echo_host_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    if (answer_arp(pkt)) {
        send_back(task);
        return;
    }
    spin_headers_t headers = spin_parse(pkt);
    if (is_for_one(&headers) && (answer_ping(&headers) || answer_echo(&headers))) {
        send_back(task);
    }
}
