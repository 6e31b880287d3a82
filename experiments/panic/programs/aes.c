/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AES-256 in counter mode (FIPS 197, SP 800-38A) over every packet behind its UDP header (PANIC, Table 1, "Cryptography").
 *
 * A column at a time, with one table of 1 KB for SubBytes and MixColumns: what fits a cache of 2 KB.
 */
#include <panic.h>

#define ROUNDS 14
#define HEADERS 42 /* Ethernet, IPv4, UDP */

static uint32_t columns[256]; /* contribution of a byte in the first row to its column; byte 1 is the S-box */
static uint32_t keys[4 * (ROUNDS + 1)];

static inline uint32_t substitute(uint32_t byte) { return columns[byte & 0xFF] >> 8 & 0xFF; }
static inline uint32_t rotate(uint32_t value, uint32_t by) { return value << by | value >> (32 - by); }

static inline uint32_t twice(uint32_t byte) { return (byte << 1 ^ (byte >> 7) * 0x1B) & 0xFF; }

/* The affine transformation, then MixColumns' 2, 1, 1, 3 from the lowest byte on. */
static uint32_t column(uint32_t byte)
{
    uint32_t doubled = byte | byte << 8;
    uint32_t to = (doubled ^ doubled >> 7 ^ doubled >> 6 ^ doubled >> 5 ^ doubled >> 4 ^ 0x63) & 0xFF;
    return twice(to) | to << 8 | to << 16 | (twice(to) ^ to) << 24;
}

/* FIPS 197, 5.1.1: the inverse in the field, then the affine transformation. Exactly the powers of 3 have an inverse. */
static void make_table(void)
{
    uint8_t powers[255];
    uint32_t power = 1;
    for (uint32_t i = 0; i < 255; i++) {
        powers[i] = (uint8_t)power;
        power ^= twice(power);
    }
    columns[0] = column(0);
    for (uint32_t i = 0; i < 255; i++) {
        columns[powers[i]] = column(powers[i == 0 ? 0 : 255 - i]);
    }
}

static uint32_t substitute_word(uint32_t word)
{
    return substitute(word) | substitute(word >> 8) << 8 | substitute(word >> 16) << 16 | substitute(word >> 24) << 24;
}

/* FIPS 197, 5.2, of the key 00 01 .. 1f. Words have their first byte lowest. */
static void expand(void)
{
    uint32_t constant = 1;
    for (uint32_t i = 0; i < 8; i++) {
        keys[i] = 0x03020100 + i * 0x04040404;
    }
    for (uint32_t i = 8; i < 4 * (ROUNDS + 1); i++) {
        uint32_t word = keys[i - 1];
        if (i % 8 == 0) {
            word = substitute_word(rotate(word, 24)) ^ constant;
            constant = twice(constant);
        } else if (i % 8 == 4) {
            word = substitute_word(word);
        }
        keys[i] = keys[i - 8] ^ word;
    }
}

/* SubBytes, ShiftRows and MixColumns of the column that takes its rows from these. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return columns[a & 0xFF] ^ rotate(columns[b >> 8 & 0xFF], 8) ^ rotate(columns[c >> 16 & 0xFF], 16) ^
           rotate(columns[d >> 24], 24);
}

/* The same without MixColumns. */
static inline uint32_t last(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return substitute(a) | substitute(b >> 8) << 8 | substitute(c >> 16) << 16 | substitute(d >> 24) << 24;
}

static void __attribute__((noinline)) encrypt(uint32_t *out, const uint32_t *in)
{
    const uint32_t *key = keys;
    uint32_t a = in[0] ^ key[0], b = in[1] ^ key[1], c = in[2] ^ key[2], d = in[3] ^ key[3];
    for (uint32_t round = 1; round < ROUNDS; round++) {
        key += 4;
        uint32_t w = mix(a, b, c, d) ^ key[0], x = mix(b, c, d, a) ^ key[1];
        uint32_t y = mix(c, d, a, b) ^ key[2], z = mix(d, a, b, c) ^ key[3];
        a = w, b = x, c = y, d = z;
    }
    key += 4;
    out[0] = last(a, b, c, d) ^ key[0], out[1] = last(b, c, d, a) ^ key[1];
    out[2] = last(c, d, a, b) ^ key[2], out[3] = last(d, a, b, c) ^ key[3];
}

void panic_main(void)
{
    make_table();
    expand();
    for (;;) {
        panic_packet_t packet = panic_take();
        uint8_t *data = packet.data;
        uint32_t counter[4] = {0}, stream[4];
        for (uint32_t at = HEADERS; at < packet.size; at += 16) {
            encrypt(stream, counter);
            for (uint32_t i = 0; i < 16 && at + i < packet.size; i++) {
                data[at + i] ^= (uint8_t)(stream[i / 4] >> i % 4 * 8);
            }
            counter[3] += 1u << 24; /* the last byte; a packet has fewer than 256 blocks */
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
