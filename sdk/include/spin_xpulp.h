/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PULP's instructions (XpulpV2), which PsPIN's cores have and no compiler here knows.
 *
 * Each function below is one instruction of 1 cycle on registers; a load or store with post-increment is 1 cycle in L1, as
 * any other. Names are PULP's: p.min is spin_p_min, pv.add.sc.b is spin_pv_add_sc_b. Where PULP has a constant, so has
 * the macro; other operands may be variables. Vectors are words: two half words or four bytes, the lowest first.
 *
 * Below are hardware loops for inline assembly, and whole loops: sums, products, additions of arrays.
 * `spin_xpulp_builtins.h` has what PULP's GCC calls __builtin_pulp_*.
 */
#ifndef SPIN_XPULP_H
#define SPIN_XPULP_H

#include <stdint.h>

#define SPIN_X_TEXT_(x) #x
#define SPIN_X_TEXT(x) SPIN_X_TEXT_(x)

/* rd from rs1. */
#define SPIN_X_1(name, opcode, funct3, funct7)                                                                         \
    static inline uint32_t spin_##name(uint32_t a)                                                                     \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        __asm__(".insn r " #opcode ", " #funct3 ", " #funct7 ", %0, %1, x0" : "=r"(d) : "r"(a));                       \
        return d;                                                                                                      \
    }
/* rd from rs1 and rs2. */
#define SPIN_X_2(name, opcode, funct3, funct7)                                                                         \
    static inline uint32_t spin_##name(uint32_t a, uint32_t b)                                                         \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        __asm__(".insn r " #opcode ", " #funct3 ", " #funct7 ", %0, %1, %2" : "=r"(d) : "r"(a), "r"(b));               \
        return d;                                                                                                      \
    }
/* rd from rd, rs1 and rs2; `d` is the old rd. */
#define SPIN_X_3(name, opcode, funct3, funct7)                                                                         \
    static inline uint32_t spin_##name(uint32_t d, uint32_t a, uint32_t b)                                             \
    {                                                                                                                  \
        __asm__(".insn r " #opcode ", " #funct3 ", " #funct7 ", %0, %1, %2" : "+r"(d) : "r"(a), "r"(b));               \
        return d;                                                                                                      \
    }
/* The same with constants: `upper` in the place of funct7, `lower` in that of rs2. */
#define SPIN_X_1_CONST(opcode, funct3, upper, lower, a)                                                                \
    __extension__({                                                                                                    \
        uint32_t spin_x_d_;                                                                                            \
        __asm__(".insn r " #opcode ", " #funct3 ", %2, %0, %1, x%3"                                                    \
                : "=r"(spin_x_d_)                                                                                      \
                : "r"((uint32_t)(a)), "i"(upper), "i"(lower));                                                         \
        spin_x_d_;                                                                                                     \
    })
#define SPIN_X_1_ACC_CONST(opcode, funct3, upper, lower, d, a)                                                         \
    __extension__({                                                                                                    \
        uint32_t spin_x_d_ = (uint32_t)(d);                                                                            \
        __asm__(".insn r " #opcode ", " #funct3 ", %2, %0, %1, x%3"                                                    \
                : "+r"(spin_x_d_)                                                                                      \
                : "r"((uint32_t)(a)), "i"(upper), "i"(lower));                                                         \
        spin_x_d_;                                                                                                     \
    })
#define SPIN_X_2_CONST(opcode, funct3, upper, a, b)                                                                    \
    __extension__({                                                                                                    \
        uint32_t spin_x_d_;                                                                                            \
        __asm__(".insn r " #opcode ", " #funct3 ", %3, %0, %1, %2"                                                     \
                : "=r"(spin_x_d_)                                                                                      \
                : "r"((uint32_t)(a)), "r"((uint32_t)(b)), "i"(upper));                                                 \
        spin_x_d_;                                                                                                     \
    })
#define SPIN_X_2_ACC_CONST(opcode, funct3, upper, d, a, b)                                                             \
    __extension__({                                                                                                    \
        uint32_t spin_x_d_ = (uint32_t)(d);                                                                            \
        __asm__(".insn r " #opcode ", " #funct3 ", %3, %0, %1, %2"                                                     \
                : "+r"(spin_x_d_)                                                                                      \
                : "r"((uint32_t)(a)), "r"((uint32_t)(b)), "i"(upper));                                                 \
        spin_x_d_;                                                                                                     \
    })

/* Arithmetic and bits. A rotation, a comparison (0 or 1), places of the lowest and highest 1 (32 if there is none). */
SPIN_X_1(p_abs, 0x33, 0, 0x02)
SPIN_X_2(p_slet, 0x33, 2, 0x02)
SPIN_X_2(p_sletu, 0x33, 3, 0x02)
SPIN_X_2(p_min, 0x33, 4, 0x02)
SPIN_X_2(p_minu, 0x33, 5, 0x02)
SPIN_X_2(p_max, 0x33, 6, 0x02)
SPIN_X_2(p_maxu, 0x33, 7, 0x02)
SPIN_X_2(p_ror, 0x33, 5, 0x04)
SPIN_X_1(p_ff1, 0x33, 0, 0x08)
SPIN_X_1(p_fl1, 0x33, 1, 0x08)
SPIN_X_1(p_clb, 0x33, 2, 0x08)
SPIN_X_1(p_cnt, 0x33, 3, 0x08)
SPIN_X_1(p_exths, 0x33, 4, 0x08)
SPIN_X_1(p_exthz, 0x33, 5, 0x08)
SPIN_X_1(p_extbs, 0x33, 6, 0x08)
SPIN_X_1(p_extbz, 0x33, 7, 0x08)
/* Within -2^(n-1) and 2^(n-1) - 1, within 0 and 2^(n-1) - 1; within -b - 1 and b, within 0 and b. */
#define spin_p_clip(a, n) SPIN_X_1_CONST(0x33, 1, 0x0a, n, a)
#define spin_p_clipu(a, n) SPIN_X_1_CONST(0x33, 2, 0x0a, n, a)
SPIN_X_2(p_clipr, 0x33, 5, 0x0a)
SPIN_X_2(p_clipur, 0x33, 6, 0x0a)

/* Fields of `size` bits from bit `offset` up, both constant; or `place`, which is (size - 1) << 5 | offset. */
#define spin_p_extract(a, size, offset) SPIN_X_1_CONST(0x33, 0, 0x5f + (size), offset, a)
#define spin_p_extractu(a, size, offset) SPIN_X_1_CONST(0x33, 1, 0x5f + (size), offset, a)
#define spin_p_insert(into, a, size, offset) SPIN_X_1_ACC_CONST(0x33, 2, 0x5f + (size), offset, into, a)
#define spin_p_bclr(a, size, offset) SPIN_X_1_CONST(0x33, 3, 0x5f + (size), offset, a)
#define spin_p_bset(a, size, offset) SPIN_X_1_CONST(0x33, 4, 0x5f + (size), offset, a)
/* `a` shifted left by `shift` and turned round in groups of 1, 2 or 3 bits for `radix` 0, 1 and 2. */
#define spin_p_bitrev(a, radix, shift) SPIN_X_1_CONST(0x33, 5, 0x60 + (radix), shift, a)
SPIN_X_2(p_extractr, 0x33, 0, 0x40)
SPIN_X_2(p_extractur, 0x33, 1, 0x40)
SPIN_X_3(p_insertr, 0x33, 2, 0x40)
SPIN_X_2(p_bclrr, 0x33, 3, 0x40)
SPIN_X_2(p_bsetr, 0x33, 4, 0x40)

/* d + a * b, d - a * b. */
SPIN_X_3(p_mac, 0x33, 0, 0x21)
SPIN_X_3(p_msu, 0x33, 1, 0x21)
/* Products of low halves, or of high halves (hh), signed or unsigned; with N shifted right by a constant, with RN rounded. */
SPIN_X_2(p_muls, 0x5b, 0, 0x40)
SPIN_X_2(p_mulhhs, 0x5b, 0, 0x60)
SPIN_X_2(p_mulu, 0x5b, 0, 0x00)
SPIN_X_2(p_mulhhu, 0x5b, 0, 0x20)
SPIN_X_3(p_macs, 0x5b, 1, 0x40)
SPIN_X_3(p_machhs, 0x5b, 1, 0x60)
SPIN_X_3(p_macu, 0x5b, 1, 0x00)
SPIN_X_3(p_machhu, 0x5b, 1, 0x20)
#define spin_p_mulsN(a, b, n) SPIN_X_2_CONST(0x5b, 0, 0x40 + (n), a, b)
#define spin_p_mulhhsN(a, b, n) SPIN_X_2_CONST(0x5b, 0, 0x60 + (n), a, b)
#define spin_p_muluN(a, b, n) SPIN_X_2_CONST(0x5b, 0, 0x00 + (n), a, b)
#define spin_p_mulhhuN(a, b, n) SPIN_X_2_CONST(0x5b, 0, 0x20 + (n), a, b)
#define spin_p_mulsRN(a, b, n) SPIN_X_2_CONST(0x5b, 4, 0x40 + (n), a, b)
#define spin_p_mulhhsRN(a, b, n) SPIN_X_2_CONST(0x5b, 4, 0x60 + (n), a, b)
#define spin_p_muluRN(a, b, n) SPIN_X_2_CONST(0x5b, 4, 0x00 + (n), a, b)
#define spin_p_mulhhuRN(a, b, n) SPIN_X_2_CONST(0x5b, 4, 0x20 + (n), a, b)
#define spin_p_macsN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 1, 0x40 + (n), d, a, b)
#define spin_p_machhsN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 1, 0x60 + (n), d, a, b)
#define spin_p_macuN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 1, 0x00 + (n), d, a, b)
#define spin_p_machhuN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 1, 0x20 + (n), d, a, b)
#define spin_p_macsRN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 5, 0x40 + (n), d, a, b)
#define spin_p_machhsRN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 5, 0x60 + (n), d, a, b)
#define spin_p_macuRN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 5, 0x00 + (n), d, a, b)
#define spin_p_machhuRN(d, a, b, n) SPIN_X_2_ACC_CONST(0x5b, 5, 0x20 + (n), d, a, b)
/* (a + b) >> n and (a - b) >> n, n constant; (d + a) >> n and (d - a) >> n, n a variable. u: zeros in; R: rounded. */
#define spin_p_addN(a, b, n) SPIN_X_2_CONST(0x5b, 2, 0x00 + (n), a, b)
#define spin_p_adduN(a, b, n) SPIN_X_2_CONST(0x5b, 2, 0x40 + (n), a, b)
#define spin_p_addRN(a, b, n) SPIN_X_2_CONST(0x5b, 6, 0x00 + (n), a, b)
#define spin_p_adduRN(a, b, n) SPIN_X_2_CONST(0x5b, 6, 0x40 + (n), a, b)
#define spin_p_subN(a, b, n) SPIN_X_2_CONST(0x5b, 3, 0x00 + (n), a, b)
#define spin_p_subuN(a, b, n) SPIN_X_2_CONST(0x5b, 3, 0x40 + (n), a, b)
#define spin_p_subRN(a, b, n) SPIN_X_2_CONST(0x5b, 7, 0x00 + (n), a, b)
#define spin_p_subuRN(a, b, n) SPIN_X_2_CONST(0x5b, 7, 0x40 + (n), a, b)
SPIN_X_3(p_addNr, 0x5b, 2, 0x20)
SPIN_X_3(p_adduNr, 0x5b, 2, 0x60)
SPIN_X_3(p_addRNr, 0x5b, 6, 0x20)
SPIN_X_3(p_adduRNr, 0x5b, 6, 0x60)
SPIN_X_3(p_subNr, 0x5b, 3, 0x20)
SPIN_X_3(p_subuNr, 0x5b, 3, 0x60)
SPIN_X_3(p_subRNr, 0x5b, 7, 0x20)
SPIN_X_3(p_subuRNr, 0x5b, 7, 0x60)

/* Vectors: with a vector, and with the lowest lane of b in all lanes (sc). Comparisons leave ones or zeros in a lane. */
#define SPIN_X_VECTOR(name, funct7)                                                                                    \
    SPIN_X_2(pv_##name##_h, 0x57, 0, funct7)                                                                           \
    SPIN_X_2(pv_##name##_b, 0x57, 1, funct7)                                                                           \
    SPIN_X_2(pv_##name##_sc_h, 0x57, 4, funct7)                                                                        \
    SPIN_X_2(pv_##name##_sc_b, 0x57, 5, funct7)
#define SPIN_X_VECTOR_ACC(name, funct7)                                                                                \
    SPIN_X_3(pv_##name##_h, 0x57, 0, funct7)                                                                           \
    SPIN_X_3(pv_##name##_b, 0x57, 1, funct7)                                                                           \
    SPIN_X_3(pv_##name##_sc_h, 0x57, 4, funct7)                                                                        \
    SPIN_X_3(pv_##name##_sc_b, 0x57, 5, funct7)
SPIN_X_VECTOR(add, 0x00)
SPIN_X_VECTOR(sub, 0x04)
SPIN_X_VECTOR(avg, 0x08)
SPIN_X_VECTOR(avgu, 0x0c)
SPIN_X_VECTOR(min, 0x10)
SPIN_X_VECTOR(minu, 0x14)
SPIN_X_VECTOR(max, 0x18)
SPIN_X_VECTOR(maxu, 0x1c)
SPIN_X_VECTOR(srl, 0x20)
SPIN_X_VECTOR(sra, 0x24)
SPIN_X_VECTOR(sll, 0x28)
SPIN_X_VECTOR(or, 0x2c)
SPIN_X_VECTOR(xor, 0x30)
SPIN_X_VECTOR(and, 0x34)
SPIN_X_VECTOR(cmpeq, 0x02)
SPIN_X_VECTOR(cmpne, 0x06)
SPIN_X_VECTOR(cmpgt, 0x0a)
SPIN_X_VECTOR(cmpge, 0x0e)
SPIN_X_VECTOR(cmplt, 0x12)
SPIN_X_VECTOR(cmple, 0x16)
SPIN_X_VECTOR(cmpgtu, 0x1a)
SPIN_X_VECTOR(cmpgeu, 0x1e)
SPIN_X_VECTOR(cmpltu, 0x22)
SPIN_X_VECTOR(cmpleu, 0x26)
SPIN_X_1(pv_abs_h, 0x57, 0, 0x38)
SPIN_X_1(pv_abs_b, 0x57, 1, 0x38)
/* Sums of the products, and d added to them; up: unsigned, sp: signed, usp: a unsigned and b signed. */
SPIN_X_VECTOR(dotup, 0x40)
SPIN_X_VECTOR(dotusp, 0x44)
SPIN_X_VECTOR(dotsp, 0x4c)
SPIN_X_VECTOR_ACC(sdotup, 0x50)
SPIN_X_VECTOR_ACC(sdotusp, 0x54)
SPIN_X_VECTOR_ACC(sdotsp, 0x5c)
/* Lane n of a, which is a constant; d with lane n replaced. */
#define spin_pv_extract_h(a, n) SPIN_X_1_CONST(0x57, 6, 0x3c + ((n) & 1), 0, a)
#define spin_pv_extract_b(a, n) SPIN_X_1_CONST(0x57, 7, 0x3c + ((n) & 1), (n) >> 1, a)
#define spin_pv_extractu_h(a, n) SPIN_X_1_CONST(0x57, 6, 0x48 + ((n) & 1), 0, a)
#define spin_pv_extractu_b(a, n) SPIN_X_1_CONST(0x57, 7, 0x48 + ((n) & 1), (n) >> 1, a)
#define spin_pv_insert_h(d, a, n) SPIN_X_1_ACC_CONST(0x57, 6, 0x58 + ((n) & 1), 0, d, a)
#define spin_pv_insert_b(d, a, n) SPIN_X_1_ACC_CONST(0x57, 7, 0x58 + ((n) & 1), (n) >> 1, d, a)
/* Lanes of a in the order that b says; of d, or of a where the bit above is set. Halves of a (high) and b (low). */
SPIN_X_2(pv_shuffle_h, 0x57, 0, 0x60)
SPIN_X_2(pv_shuffle_b, 0x57, 1, 0x60)
SPIN_X_3(pv_shuffle2_h, 0x57, 0, 0x64)
SPIN_X_3(pv_shuffle2_b, 0x57, 1, 0x64)
SPIN_X_2(pv_pack, 0x57, 0, 0x68)
SPIN_X_2(pv_pack_h, 0x57, 0, 0x69)
SPIN_X_3(pv_packhi_b, 0x57, 1, 0x6c)
SPIN_X_3(pv_packlo_b, 0x57, 1, 0x70)
/* Complex numbers of half words in Q15, the real part low. */
SPIN_X_3(pv_cplxmul_h_r, 0x57, 0, 0x2a)
SPIN_X_3(pv_cplxmul_h_i, 0x57, 0, 0x2b)
SPIN_X_3(pv_cplxmul_h_r_div2, 0x57, 2, 0x2a)
SPIN_X_3(pv_cplxmul_h_i_div2, 0x57, 2, 0x2b)
SPIN_X_3(pv_cplxmul_h_r_div4, 0x57, 4, 0x2a)
SPIN_X_3(pv_cplxmul_h_i_div4, 0x57, 4, 0x2b)
SPIN_X_3(pv_cplxmul_h_r_div8, 0x57, 6, 0x2a)
SPIN_X_3(pv_cplxmul_h_i_div8, 0x57, 6, 0x2b)
SPIN_X_1(pv_cplxconj_h, 0x57, 0, 0x2e)
SPIN_X_2(pv_subrotmj_h, 0x57, 0, 0x36)
SPIN_X_2(pv_subrotmj_h_div2, 0x57, 2, 0x36)
SPIN_X_2(pv_subrotmj_h_div4, 0x57, 4, 0x36)
SPIN_X_2(pv_subrotmj_h_div8, 0x57, 6, 0x36)
SPIN_X_2(pv_add_h_div2, 0x57, 2, 0x3a)
SPIN_X_2(pv_add_h_div4, 0x57, 4, 0x3a)
SPIN_X_2(pv_add_h_div8, 0x57, 6, 0x3a)
SPIN_X_2(pv_sub_h_div2, 0x57, 2, 0x32)
SPIN_X_2(pv_sub_h_div4, 0x57, 4, 0x32)
SPIN_X_2(pv_sub_h_div8, 0x57, 6, 0x32)

/*
 * Loads and stores with post-increment: they access the address in the variable `at`, and then add `step` to it, a constant
 * of -2048 to 2047 bytes. SPIN_P_SW(at, value, step) and the like store.
 */
#define SPIN_X_LOAD_(funct3, at, step)                                                                                 \
    __extension__({                                                                                                    \
        uint32_t spin_x_d_;                                                                                            \
        __asm__ volatile(".insn i 0x0b, " #funct3 ", %0, %1, %2" : "=r"(spin_x_d_), "+r"(at) : "i"(step) : "memory");  \
        spin_x_d_;                                                                                                     \
    })
#define SPIN_X_STORE_(funct3, at, value, step)                                                                         \
    __asm__ volatile(".insn s 0x2b, " #funct3 ", %1, %2(%0)" : "+r"(at) : "r"((uint32_t)(value)), "i"(step) : "memory")
#define SPIN_P_LB(at, step) SPIN_X_LOAD_(0, at, step)
#define SPIN_P_LBU(at, step) SPIN_X_LOAD_(4, at, step)
#define SPIN_P_LH(at, step) SPIN_X_LOAD_(1, at, step)
#define SPIN_P_LHU(at, step) SPIN_X_LOAD_(5, at, step)
#define SPIN_P_LW(at, step) SPIN_X_LOAD_(2, at, step)
#define SPIN_P_SB(at, value, step) SPIN_X_STORE_(0, at, value, step)
#define SPIN_P_SH(at, value, step) SPIN_X_STORE_(1, at, value, step)
#define SPIN_P_SW(at, value, step) SPIN_X_STORE_(2, at, value, step)

#include <spin_xpulp_loops.h>

#endif
