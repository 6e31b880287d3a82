/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1 (FIPS 180-4) over every packet; its digest takes the place of the last 20 bytes (PANIC, Table 1, "Authentication").
 *
 * It hashes whole blocks of 64 bytes, with zeros after the packet. It measures a rate and is not the standard's padding.
 */
#include <panic.h>

static uint32_t rotate(uint32_t value, uint32_t by) { return value << by | value >> (32 - by); }

static uint32_t big_endian(uint32_t word)
{
    return word << 24 | (word & 0xFF00) << 8 | (word >> 8 & 0xFF00) | word >> 24;
}

static void __attribute__((noinline)) block(uint32_t *state, const uint32_t *data)
{
    uint32_t w[80];
    for (uint32_t i = 0; i < 16; i++) {
        w[i] = big_endian(data[i]);
    }
    for (uint32_t i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (uint32_t i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) {
            f = (b & c) | (~b & d), k = 0x5A827999;
        } else if (i < 40) {
            f = b ^ c ^ d, k = 0x6ED9EBA1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
        } else {
            f = b ^ c ^ d, k = 0xCA62C1D6;
        }
        uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void panic_main(void)
{
    for (;;) {
        panic_packet_t packet = panic_take();
        uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
        uint32_t *words = (uint32_t *)packet.data;
        for (uint32_t at = 0; at < packet.size; at += 64) {
            block(state, words + at / 4);
        }
        for (uint32_t i = 0; i < 5; i++) {
            words[packet.size / 4 - 5 + i] = big_endian(state[i]);
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
