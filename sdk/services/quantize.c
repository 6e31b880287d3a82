/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantization of gradients: float32 from the network becomes int8 in host memory, with one scale for each block.
 *
 * Requests and replies have the header of service.h. The data of a request are
 *
 *     byte 56  block, u32: number of the first block in the vector
 *     byte 60  the elements, float32: one or more whole blocks, up to QUANTIZE_MAX_ELEMENTS
 *
 * The vector has VECTOR_BLOCKS blocks of BLOCK elements. Host memory has the int8 of the whole vector, and behind them,
 * at a multiple of 64, the scales in float32. The scale of a block is the greatest magnitude in it, and an element x
 * becomes 127 * x / scale, rounded to the nearest integer, ties to even. A block with infinities or NaN has the scale
 * NaN and only zeros, so that the receiver sees the overflow; a block of zeros has the scale 0.
 *
 * The reply, without data, follows when the results are in host memory: `status` is QUANTIZE_OK or QUANTIZE_MALFORMED.
 * A repeated request writes the same bytes again.
 *
 * The cores have no floating-point unit. A quotient of two float32 of similar exponents is a division of two integers,
 * and its remainder shows a tie, so the result is exact. Elements below a 512th of the scale's power of 2 are zero.
 *
 * Memory: handler memory: a counter of malformed requests. Scratchpad of QUANTIZE_SCRATCHPAD_BYTES. Host memory: two DMA
 * writes for each packet. Cost: see docs/guides/services.md.
 */
#include "service.h"

#ifndef BLOCK
#define BLOCK 64 /* elements: a multiple of 4 */
#endif
#ifndef VECTOR_BLOCKS
#define VECTOR_BLOCKS 1024
#endif

#define QUANTIZE_PORT 9503
#define QUANTIZE_DATA_AT 60
#define QUANTIZE_MAX_ELEMENTS 352
#define QUANTIZE_SCRATCHPAD_BYTES 14336 /* results and a reply for each core */

/* service_head_t.kind and status */
#define QUANTIZE_STORE 1
#define QUANTIZE_OK 1
#define QUANTIZE_MALFORMED 4

#define BLOCK_BYTES (BLOCK * 4)
#define SCALES_AT ((VECTOR_BLOCKS * BLOCK + 63) / 64 * 64)

#define INFINITY_BITS 0x7f800000u
#define NAN_BITS 0x7fc00000u

/* A core's memory in L1. */
typedef struct {
    int8_t values[QUANTIZE_MAX_ELEMENTS];
    uint32_t scales[QUANTIZE_MAX_ELEMENTS / 4];
    uint8_t frame[64];
} quantize_core_t;

_Static_assert(BLOCK % 4 == 0 && BLOCK >= 4 && BLOCK <= QUANTIZE_MAX_ELEMENTS, "a packet holds whole blocks");
_Static_assert(QUANTIZE_DATA_AT + QUANTIZE_MAX_ELEMENTS * 4 <= SERVICE_DATA_AT + SERVICE_MAX_DATA, "a request is a packet");
_Static_assert(NB_CORES * sizeof(quantize_core_t) <= QUANTIZE_SCRATCHPAD_BYTES, "as Python allocates it");

/* The greatest magnitude, as bits. Magnitudes of float32 have the order of their bits. */
static uint32_t magnitude_of(const uint32_t *element)
{
    uint32_t greatest = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        const uint32_t magnitude = element[i] << 1 >> 1;
        greatest = magnitude > greatest ? magnitude : greatest;
    }
    return greatest;
}

/* The significand as an integer. Subnormal numbers have the exponent of the smallest normal ones. */
static inline uint32_t significand(uint32_t bits)
{
    const uint32_t fraction = bits & 0x7fffff;
    return (bits & INFINITY_BITS) != 0 ? fraction | 0x800000 : fraction;
}

static inline uint32_t exponent(uint32_t bits)
{
    const uint32_t field = (bits & INFINITY_BITS) >> 23;
    return field != 0 ? field : 1;
}

/* 127 * x / scale for a finite scale that is not 0. */
static inline int32_t quotient(uint32_t bits, uint32_t scale_significand, uint32_t scale_exponent)
{
    const uint32_t shift = scale_exponent - exponent(bits);
    if (shift > 8) {
        return 0; /* 127 * x / scale is less than a half */
    }
    /* Divide twice the dividend: the lowest bit of the result stands for one half. Both operands are below 2^32. */
    const uint32_t twice = 254 * significand(bits), divisor = scale_significand << shift;
    const uint32_t halves = twice / divisor;
    uint32_t rounded = (halves + 1) >> 1;
    if (halves * divisor == twice) {
        rounded -= halves & rounded & 1; /* a tie: to even */
    }
    return (int32_t)bits < 0 ? -(int32_t)rounded : (int32_t)rounded;
}

static void quantize(const uint32_t *element, int8_t *value, uint32_t *scale)
{
    const uint32_t greatest = magnitude_of(element);
    const bool is_zero = greatest == 0 || greatest >= INFINITY_BITS;
    *scale = greatest >= INFINITY_BITS ? NAN_BITS : greatest;
    const uint32_t divisor = significand(greatest), of_scale = exponent(greatest);
    for (uint32_t i = 0; i < BLOCK; i++) {
        value[i] = (int8_t)(is_zero ? 0 : quotient(element[i], divisor, of_scale));
    }
}

__handler__ void quantize_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    quantize_core_t *core = (quantize_core_t *)task->scratchpad[args->cluster_id] + args->hpu_id;
    if (!service_has_head(task) || task->host_mem_size < SCALES_AT + VECTOR_BLOCKS * 4) {
        amo_add((volatile int32_t *)task->handler_mem, 1);
        return;
    }
    const service_head_t *head = service_head(task->pkt_mem);
    const uint32_t *data = (const uint32_t *)(head + 1);
    const uint32_t blocks = (head->bytes - 4u) / BLOCK_BYTES, block = data[0];
    const bool is_denied = service_is_denied(task);
    bool is_valid = !is_denied && service_is_whole(task) && head->kind == QUANTIZE_STORE && head->bytes > 4 && blocks != 0 &&
                    head->bytes == 4 + blocks * BLOCK_BYTES && blocks * BLOCK <= QUANTIZE_MAX_ELEMENTS &&
                    block < VECTOR_BLOCKS && blocks <= VECTOR_BLOCKS - block;
    if (is_valid) {
        spin_cmd_t stored[2];
        for (uint32_t i = 0; i < blocks; i++) {
            quantize(data + 1 + i * BLOCK, core->values + i * BLOCK, &core->scales[i]);
        }
        spin_dma_to_host(spin_host_address(task, block * BLOCK), (uintptr_t)core->values, blocks * BLOCK, false, &stored[0]);
        spin_dma_to_host(spin_host_address(task, SCALES_AT + block * 4), (uintptr_t)core->scales, blocks * 4, false, &stored[1]);
        spin_cmd_wait(stored[0]);
        spin_cmd_wait(stored[1]);
    } else {
        amo_add((volatile int32_t *)task->handler_mem, 1);
    }
    service_turn(task, core->frame)->status = is_denied ? SERVICE_DENIED : is_valid ? QUANTIZE_OK : QUANTIZE_MALFORMED;
    service_send(core->frame, 0);
}
