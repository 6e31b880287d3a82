/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AES-256 in counter mode (FIPS 197, SP 800-38A) over every packet behind its UDP header (PANIC, Table 1, "Cryptography").
 *
 * A byte at a time, with the S-box in local memory: what fits a cache of 2 KB.
 */
#include <panic.h>

#define ROUNDS 14
#define HEADERS 42 /* Ethernet, IPv4, UDP */

static uint8_t sbox[256];
static uint8_t keys[ROUNDS + 1][16];

static inline uint32_t twice(uint32_t byte) { return (byte << 1 ^ (byte >> 7) * 0x1B) & 0xFF; }

static uint8_t affine(uint32_t byte)
{
    uint32_t doubled = byte | byte << 8;
    return (uint8_t)(doubled ^ doubled >> 7 ^ doubled >> 6 ^ doubled >> 5 ^ doubled >> 4 ^ 0x63);
}

/* FIPS 197, 5.1.1: the inverse in the field, then the affine transformation. Powers of 3 are all that have an inverse. */
static void make_sbox(void)
{
    uint8_t powers[255];
    uint32_t power = 1;
    for (uint32_t i = 0; i < 255; i++) {
        powers[i] = (uint8_t)power;
        power ^= twice(power);
    }
    sbox[0] = affine(0);
    for (uint32_t i = 0; i < 255; i++) {
        sbox[powers[i]] = affine(powers[i == 0 ? 0 : 255 - i]);
    }
}

/* FIPS 197, 5.2, of the key 00 01 .. 1f. */
static void expand(void)
{
    uint8_t *bytes = keys[0];
    uint8_t constant = 1;
    for (uint32_t i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    for (uint32_t word = 8; word < 4 * (ROUNDS + 1); word++) {
        uint8_t last[4];
        for (uint32_t i = 0; i < 4; i++) {
            last[i] = bytes[4 * word - 4 + i];
        }
        if (word % 8 == 0) {
            uint8_t first = last[0];
            last[0] = sbox[last[1]] ^ constant, last[1] = sbox[last[2]], last[2] = sbox[last[3]], last[3] = sbox[first];
            constant = (uint8_t)twice(constant);
        } else if (word % 8 == 4) {
            for (uint32_t i = 0; i < 4; i++) {
                last[i] = sbox[last[i]];
            }
        }
        for (uint32_t i = 0; i < 4; i++) {
            bytes[4 * word + i] = bytes[4 * word - 32 + i] ^ last[i];
        }
    }
}

static void __attribute__((noinline)) encrypt(uint8_t *out, const uint8_t *in)
{
    uint8_t state[16], moved[16];
    for (uint32_t i = 0; i < 16; i++) {
        state[i] = in[i] ^ keys[0][i];
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const uint8_t *key = keys[round];
        for (uint32_t i = 0; i < 16; i++) {
            moved[i] = sbox[state[(i * 5) & 15]]; /* SubBytes and ShiftRows */
        }
        for (uint32_t i = 0; i < 16; i += 4) {
            uint32_t a = moved[i], b = moved[i + 1], c = moved[i + 2], d = moved[i + 3];
            if (round == ROUNDS) {
                state[i] = (uint8_t)a ^ key[i], state[i + 1] = (uint8_t)b ^ key[i + 1];
                state[i + 2] = (uint8_t)c ^ key[i + 2], state[i + 3] = (uint8_t)d ^ key[i + 3];
                continue;
            }
            uint32_t all = a ^ b ^ c ^ d; /* MixColumns */
            state[i] = (uint8_t)(a ^ all ^ twice(a ^ b)) ^ key[i];
            state[i + 1] = (uint8_t)(b ^ all ^ twice(b ^ c)) ^ key[i + 1];
            state[i + 2] = (uint8_t)(c ^ all ^ twice(c ^ d)) ^ key[i + 2];
            state[i + 3] = (uint8_t)(d ^ all ^ twice(d ^ a)) ^ key[i + 3];
        }
    }
    for (uint32_t i = 0; i < 16; i++) {
        out[i] = state[i];
    }
}

void panic_main(void)
{
    make_sbox();
    expand();
    for (;;) {
        panic_packet_t packet = panic_take();
        uint8_t *data = (uint8_t *)packet.data;
        uint8_t counter[16] = {0}, stream[16];
        for (uint32_t at = HEADERS; at < packet.size; at += 16) {
            encrypt(stream, counter);
            for (uint32_t i = 0; i < 16 && at + i < packet.size; i++) {
                data[at + i] ^= stream[i];
            }
            counter[15]++;
            counter[14] = (uint8_t)(counter[14] + (counter[15] == 0));
        }
        panic_flush();
        panic_send(packet.data, packet.size);
    }
}
