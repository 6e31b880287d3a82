/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet helpers on real packets, on the machine that runs the tests: native_net CAPTURE...
 *
 * For every packet of the captures: all checksums in it are the ones the helpers compute; after a change of address and
 * port the updated checksums are the ones computed afresh; cut off anywhere, the packet still parses without a
 * read beyond its end (build with the address sanitizer); with VLAN tags it gives the same headers. Prints what it saw.
 */
#include <assert.h>
#include <spin_net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *malloc(size_t);
void free(void *);
typedef struct file file_t;
file_t *fopen(const char *, const char *);
size_t fread(void *, size_t, size_t, file_t *);
int fclose(file_t *);

static unsigned packets, ipv4s, ipv6s, udps, tcps, icmps;

static void checksums_hold(const spin_headers_t *headers)
{
    if (headers->ipv4 != NULL) {
        assert(headers->ipv4->checksum == spin_ipv4_checksum(headers->ipv4));
    }
    if (headers->udp != NULL) {
        assert(headers->udp->checksum == spin_udp_checksum(headers));
    }
    if (headers->tcp != NULL) {
        assert(headers->tcp->checksum == spin_tcp_checksum(headers));
    }
    if (headers->icmp != NULL) {
        assert(headers->icmp->checksum == spin_icmp_checksum(headers));
    }
}

static void updates_hold(const spin_headers_t *headers)
{
    spin_ipv4_t *ip = headers->ipv4;
    if (ip == NULL || headers->udp == NULL) {
        return;
    }
    for (uint32_t i = 0; i < 200; i++) {
        spin_be32_t address = i * 2654435769u;
        spin_be16_t port = (spin_be16_t)(i * 40503u);
        ip->checksum = spin_checksum_update32(ip->checksum, ip->dst, address);
        spin_udp_checksum_update32(headers->udp, ip->dst, address);
        spin_udp_checksum_update16(headers->udp, headers->udp->dst_port, port);
        ip->dst = address;
        headers->udp->dst_port = port;
        checksums_hold(headers);
    }
}

static void swaps_hold(const spin_headers_t *headers)
{
    spin_eth_swap(headers->eth);
    if (headers->ipv4 != NULL) {
        spin_ipv4_swap(headers->ipv4);
    }
    if (headers->ipv6 != NULL) {
        spin_ipv6_swap(headers->ipv6);
    }
    if (headers->udp != NULL) {
        spin_udp_swap(headers->udp);
    }
    if (headers->tcp != NULL) {
        spin_tcp_swap(headers->tcp);
    }
    checksums_hold(headers);
}

/* Each cut is a separate heap block of its exact size, at 2 bytes past a multiple of 4, like a header behind Ethernet. */
static void cuts_stay_inside(const uint8_t *bytes, uint32_t size)
{
    for (uint32_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 2);
        memcpy(copy + 2, bytes, cut);
        spin_headers_t headers = spin_parse(spin_pkt(copy + 2, cut));
        assert((headers.eth != NULL) == (cut >= 14));
        assert(headers.ip_payload.data == NULL || headers.ip_payload.data + headers.ip_payload.size <= copy + 2 + cut);
        checksums_hold(&headers);
        free(copy);
    }
}

static void check(uint8_t *bytes, uint32_t size)
{
    spin_headers_t headers = spin_parse(spin_pkt(bytes, size));
    packets++;
    ipv4s += headers.ipv4 != NULL;
    ipv6s += headers.ipv6 != NULL;
    udps += headers.udp != NULL;
    tcps += headers.tcp != NULL;
    icmps += headers.icmp != NULL;
    assert(headers.eth != NULL);
    checksums_hold(&headers);
    swaps_hold(&headers);
    cuts_stay_inside(bytes, size);
    updates_hold(&headers);
}

static void corner_cases(void)
{
    assert(spin_htons(0x1234) == 0x3412 && spin_ntohl(0x12345678) == 0x78563412);
    assert(spin_pkt_at(spin_pkt(&packets, 4), 0xffffffff, 2) == NULL); /* the sum of the two wraps */
    assert(spin_pkt_at(spin_pkt(&packets, 4), 4, 0) == (uint8_t *)&packets + 4);
    /* RFC 1624, section 4: a header checksum of 0xDD2F, a field that changes from 0x5555 to 0x3285. */
    assert(spin_checksum_update16(0xDD2F, 0x5555, 0x3285) == 0x0000);
    spin_udp_t none = {.checksum = 0};
    spin_udp_checksum_update16(&none, 1, 2);
    assert(none.checksum == 0);
    const uint8_t odd[] = {1, 2, 3};
    assert(spin_sum(0, odd, 3) == 0x0201 + 3);
}

/* Copies a packet of `size` bytes and inserts a tag of each of these types before its content. */
static uint32_t tagged(uint8_t *to, const uint8_t *bytes, uint32_t size, const uint16_t *types, uint32_t tags)
{
    memcpy(to, bytes, 12);
    for (uint32_t tag = 0; tag < tags; tag++) {
        const uint8_t one[4] = {(uint8_t)(types[tag] >> 8), (uint8_t)types[tag], 0, (uint8_t)(100 + tag)};
        memcpy(to + 12 + 4 * tag, one, 4);
    }
    memcpy(to + 12 + 4 * tags, bytes + 12, size - 12);
    return size + 4 * tags;
}

/* Up to the number of VLAN tags that helpers skip, tags of any kinds do not change the headers that are found. */
static void tags_are_seen_through(const uint8_t *bytes, uint32_t size)
{
    const uint16_t kinds[] = {SPIN_ETH_VLAN, SPIN_ETH_QINQ, SPIN_ETH_QINQ_OLD};
    static uint8_t plain[2048], longer[2048 + 12];
    memcpy(plain, bytes, size);
    spin_headers_t without = spin_parse(spin_pkt(plain, size));
    for (uint32_t i = 0; i < 27; i++) {
        const uint16_t types[] = {kinds[i / 9], kinds[i / 3 % 3], kinds[i % 3]};
        for (uint32_t tags = 1; tags <= 3; tags++) {
            spin_pkt_t pkt = spin_pkt(longer, tagged(longer, plain, size, types, tags));
            spin_headers_t headers = spin_parse(pkt);
            assert(headers.eth == (spin_eth_t *)longer && spin_ipv4(pkt) == headers.ipv4);
            _Bool seen = tags <= SPIN_VLAN_TAGS;
            assert((headers.ipv4 != NULL) == (seen && without.ipv4 != NULL));
            assert((headers.ipv6 != NULL) == (seen && without.ipv6 != NULL));
            assert((headers.udp != NULL) == (seen && without.udp != NULL));
            assert((headers.tcp != NULL) == (seen && without.tcp != NULL));
            assert((headers.icmp != NULL) == (seen && without.icmp != NULL));
            if (headers.ip_payload.data != NULL) {
                assert(headers.ip_payload.data - longer == without.ip_payload.data - plain + 4 * tags);
                assert(headers.ip_payload.size == without.ip_payload.size);
            }
            checksums_hold(&headers);
            if (i == 3) {
                cuts_stay_inside(longer, pkt.size);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static uint8_t bytes[2048];
    corner_cases();
    for (int i = 1; i < argc; i++) {
        file_t *file = fopen(argv[i], "rb");
        assert(file != NULL && fread(bytes, 24, 1, file) == 1);
        uint32_t record[4]; /* seconds, fraction, bytes captured, bytes on the wire */
        while (fread(record, sizeof record, 1, file) == 1) {
            assert(record[2] <= sizeof bytes && fread(bytes, 1, record[2], file) == record[2]);
            tags_are_seen_through(bytes, record[2]);
            check(bytes, record[2]);
        }
        fclose(file);
    }
    printf("%u packets: %u ipv4, %u ipv6, %u udp, %u tcp, %u icmp\n", packets, ipv4s, ipv6s, udps, tcps, icmps);
    return 0;
}
