/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swaps IP identities and UDP ports of a PsPIN packet (pkt_hdr_t) and sends it from L1.
 *
 * 25 instructions, with 9 loads and 10 stores; with the two telemetry nops, the argument and the call: 29, as measured.
 */
#include "place.h"
    HANDLER(ping_pong_ph)
    lw      a5, ARGS_TASK(a0)
    lw      a4, TASK_PKT_MEM(a5)
    lbu     a5, 0(a4)               /* version and header length */
    lw      a1, 12(a4)
    lw      a0, 16(a4)
    srli    a5, a5, 4
    slli    a5, a5, 2
    add     a5, a5, a4              /* UDP header */
    lhu     a3, 0(a5)
    lhu     a2, 2(a5)
    sw      a0, 12(a4)
    sw      a1, 16(a4)
    sh      a2, 0(a5)
    sh      a3, 2(a5)
    li      a2, 2                   /* to the NIC outbound engine */
    lhu     a3, 2(a4)               /* IP length */
    lui     a5, DRIVER
    li      a1, 0
    sw      a1, CMD_WORD0(a5)
    sw      a1, CMD_WORD1(a5)
    sw      a4, CMD_WORD2(a5)
    sw      a1, CMD_WORD3(a5)
    sw      a3, CMD_WORD4(a5)
    sw      a2, CMD_INFO(a5)
    lw      a5, CMD_ISSUE(a5)
    ret
    END(ping_pong_ph)
