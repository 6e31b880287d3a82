/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builtins of PULP's GCC, __builtin_pulp_*, so that its sources compile here: the same operands in the same order,
 * each the instruction of its name. Operands that are constants there must be constants here. PULP's GCC does not need this file.
 *
 * Absent are builtins of cores that PsPIN does not have: Viterbi steps, complex numbers of bytes, special registers.
 */
#ifndef SPIN_XPULP_BUILTINS_H
#define SPIN_XPULP_BUILTINS_H

#include <spin_xpulp.h>

typedef signed short v2s __attribute__((vector_size(4)));
typedef unsigned short v2u __attribute__((vector_size(4)));
typedef signed char v4s __attribute__((vector_size(4)));
typedef unsigned char v4u __attribute__((vector_size(4)));

#define SPIN_X_U(x) ((uint32_t)(x))
#define SPIN_X_B1(type, name, x) ((type)spin_##name(SPIN_X_U(x)))
#define SPIN_X_B2(type, name, x, y) ((type)spin_##name(SPIN_X_U(x), SPIN_X_U(y)))
#define SPIN_X_B3(type, name, x, y, acc) ((type)spin_##name(SPIN_X_U(acc), SPIN_X_U(x), SPIN_X_U(y)))

/* Numbers. */
#define __builtin_pulp_minsi(x, y) SPIN_X_B2(int, p_min, x, y)
#define __builtin_pulp_maxsi(x, y) SPIN_X_B2(int, p_max, x, y)
#define __builtin_pulp_minusi(x, y) SPIN_X_B2(unsigned, p_minu, x, y)
#define __builtin_pulp_maxusi(x, y) SPIN_X_B2(unsigned, p_maxu, x, y)
#define __builtin_pulp_abs(x) SPIN_X_B1(int, p_abs, x)
#define __builtin_pulp_ff1(x) SPIN_X_B1(int, p_ff1, x)
#define __builtin_pulp_fl1(x) SPIN_X_B1(int, p_fl1, x)
#define __builtin_pulp_clb(x) SPIN_X_B1(int, p_clb, x)
#define __builtin_pulp_cnt(x) SPIN_X_B1(int, p_cnt, x)
#define __builtin_pulp_parity(x) ((int)(spin_p_cnt(SPIN_X_U(x)) & 1))
#define __builtin_pulp_rotr(x) ((int)spin_p_ror(SPIN_X_U(x), 1))
/* The bounds of a clip are powers of 2, less 1 above; those of clip_r are -bound - 1 and bound. */
#define SPIN_X_BITS(most) ((most) > 0 ? 33 - __builtin_clz((unsigned)(most) | 1) : 1)
#define __builtin_pulp_clip(x, least, most) ((int)spin_p_clip(x, SPIN_X_BITS(most)))
#define __builtin_pulp_clipu(x, least, most) ((int)spin_p_clipu(x, SPIN_X_BITS(most)))
#define __builtin_pulp_clip_r(x, bound) SPIN_X_B2(int, p_clipr, x, bound)
#define __builtin_pulp_clipu_r(x, bound) SPIN_X_B2(int, p_clipur, x, bound)

/* Fields: by mask, by size and offset, or by place, which is (size - 1) << 5 | offset. */
#define SPIN_X_SIZE(mask) __builtin_popcount((unsigned)(mask))
#define SPIN_X_OFFSET(mask) __builtin_ctz((unsigned)(mask))
#define __builtin_pulp_bset(x, mask) ((int)spin_p_bset(x, SPIN_X_SIZE(mask), SPIN_X_OFFSET(mask)))
#define __builtin_pulp_bclr(x, mask) ((int)spin_p_bclr(x, SPIN_X_SIZE(~(mask)), SPIN_X_OFFSET(~(mask))))
#define __builtin_pulp_bset_r(x, place) SPIN_X_B2(int, p_bsetr, x, place)
#define __builtin_pulp_bclr_r(x, place) SPIN_X_B2(int, p_bclrr, x, place)
#define __builtin_pulp_bextract(x, size, offset) ((int)spin_p_extract(x, size, offset))
#define __builtin_pulp_bextractu(x, size, offset) ((unsigned)spin_p_extractu(x, size, offset))
#define __builtin_pulp_bextract_r(x, place) SPIN_X_B2(int, p_extractr, x, place)
#define __builtin_pulp_bextractu_r(x, place) SPIN_X_B2(unsigned, p_extractur, x, place)
#define __builtin_pulp_binsert(into, not_mask, x, mask, offset)                                                        \
    ((int)spin_p_insert(into, x, SPIN_X_SIZE(mask), offset))
#define __builtin_pulp_binsert_r(into, x, place) ((int)spin_p_insertr(SPIN_X_U(into), SPIN_X_U(x), SPIN_X_U(place)))

/* Products, and sums with a shift; `round`, half of what is shifted out, follows from n. */
#define __builtin_pulp_mac(x, y, acc) SPIN_X_B3(int, p_mac, x, y, acc)
#define __builtin_pulp_msu(x, y, acc) SPIN_X_B3(int, p_msu, x, y, acc)
#define __builtin_pulp_muls(x, y) SPIN_X_B2(int, p_muls, x, y)
#define __builtin_pulp_mulhhs(x, y) SPIN_X_B2(int, p_mulhhs, x, y)
#define __builtin_pulp_mulu(x, y) SPIN_X_B2(unsigned, p_mulu, x, y)
#define __builtin_pulp_mulhhu(x, y) SPIN_X_B2(unsigned, p_mulhhu, x, y)
#define __builtin_pulp_macs(x, y, acc) SPIN_X_B3(int, p_macs, x, y, acc)
#define __builtin_pulp_machhs(x, y, acc) SPIN_X_B3(int, p_machhs, x, y, acc)
#define __builtin_pulp_macu(x, y, acc) SPIN_X_B3(unsigned, p_macu, x, y, acc)
#define __builtin_pulp_machhu(x, y, acc) SPIN_X_B3(unsigned, p_machhu, x, y, acc)
#define __builtin_pulp_mulsN(x, y, n) ((int)spin_p_mulsN(x, y, n))
#define __builtin_pulp_mulhhsN(x, y, n) ((int)spin_p_mulhhsN(x, y, n))
#define __builtin_pulp_muluN(x, y, n) ((unsigned)spin_p_muluN(x, y, n))
#define __builtin_pulp_mulhhuN(x, y, n) ((unsigned)spin_p_mulhhuN(x, y, n))
#define __builtin_pulp_mulsRN(x, y, n, round) ((int)spin_p_mulsRN(x, y, n))
#define __builtin_pulp_mulhhsRN(x, y, n, round) ((int)spin_p_mulhhsRN(x, y, n))
#define __builtin_pulp_muluRN(x, y, n, round) ((unsigned)spin_p_muluRN(x, y, n))
#define __builtin_pulp_mulhhuRN(x, y, n, round) ((unsigned)spin_p_mulhhuRN(x, y, n))
#define __builtin_pulp_macsN(x, y, acc, n) ((int)spin_p_macsN(acc, x, y, n))
#define __builtin_pulp_machhsN(x, y, acc, n) ((int)spin_p_machhsN(acc, x, y, n))
#define __builtin_pulp_macuN(x, y, acc, n) ((unsigned)spin_p_macuN(acc, x, y, n))
#define __builtin_pulp_machhuN(x, y, acc, n) ((unsigned)spin_p_machhuN(acc, x, y, n))
#define __builtin_pulp_macsRN(x, y, acc, n, round) ((int)spin_p_macsRN(acc, x, y, n))
#define __builtin_pulp_machhsRN(x, y, acc, n, round) ((int)spin_p_machhsRN(acc, x, y, n))
#define __builtin_pulp_macuRN(x, y, acc, n, round) ((unsigned)spin_p_macuRN(acc, x, y, n))
#define __builtin_pulp_machhuRN(x, y, acc, n, round) ((unsigned)spin_p_machhuRN(acc, x, y, n))
#define __builtin_pulp_addN(x, y, n) ((int)spin_p_addN(x, y, n))
#define __builtin_pulp_adduN(x, y, n) ((unsigned)spin_p_adduN(x, y, n))
#define __builtin_pulp_addRN(x, y, n, round) ((int)spin_p_addRN(x, y, n))
#define __builtin_pulp_adduRN(x, y, n, round) ((unsigned)spin_p_adduRN(x, y, n))
#define __builtin_pulp_subN(x, y, n) ((int)spin_p_subN(x, y, n))
#define __builtin_pulp_subuN(x, y, n) ((unsigned)spin_p_subuN(x, y, n))
#define __builtin_pulp_subRN(x, y, n, round) ((int)spin_p_subRN(x, y, n))
#define __builtin_pulp_subuRN(x, y, n, round) ((unsigned)spin_p_subuRN(x, y, n))
#define SPIN_X_NORM(type, name, x, y, n) ((type)spin_##name(SPIN_X_U(x), SPIN_X_U(y), SPIN_X_U(n)))
#define __builtin_pulp_addN_r(x, y, n) SPIN_X_NORM(int, p_addNr, x, y, n)
#define __builtin_pulp_adduN_r(x, y, n) SPIN_X_NORM(unsigned, p_adduNr, x, y, n)
#define __builtin_pulp_addRN_r(x, y, n) SPIN_X_NORM(int, p_addRNr, x, y, n)
#define __builtin_pulp_adduRN_r(x, y, n) SPIN_X_NORM(unsigned, p_adduRNr, x, y, n)
#define __builtin_pulp_subN_r(x, y, n) SPIN_X_NORM(int, p_subNr, x, y, n)
#define __builtin_pulp_subuN_r(x, y, n) SPIN_X_NORM(unsigned, p_subuNr, x, y, n)
#define __builtin_pulp_subRN_r(x, y, n) SPIN_X_NORM(int, p_subRNr, x, y, n)
#define __builtin_pulp_subuRN_r(x, y, n) SPIN_X_NORM(unsigned, p_subuRNr, x, y, n)

/* Vectors of two half words and of four bytes. */
#define __builtin_pulp_pack2(x, y) ((v2s)spin_pv_pack(SPIN_X_U(y), SPIN_X_U(x)))
#define __builtin_pulp_pack4(x, y, z, t)                                                                               \
    ((v4s)spin_pv_packhi_b(spin_pv_packlo_b(0, SPIN_X_U(y), SPIN_X_U(x)), SPIN_X_U(t), SPIN_X_U(z)))
#define __builtin_pulp_add2(x, y) SPIN_X_B2(v2s, pv_add_h, x, y)
#define __builtin_pulp_add4(x, y) SPIN_X_B2(v4s, pv_add_b, x, y)
#define __builtin_pulp_sub2(x, y) SPIN_X_B2(v2s, pv_sub_h, x, y)
#define __builtin_pulp_sub4(x, y) SPIN_X_B2(v4s, pv_sub_b, x, y)
#define __builtin_pulp_neg2(x) SPIN_X_B2(v2s, pv_sub_h, 0, x)
#define __builtin_pulp_neg4(x) SPIN_X_B2(v4s, pv_sub_b, 0, x)
#define __builtin_pulp_avg2(x, y) SPIN_X_B2(v2s, pv_avg_h, x, y)
#define __builtin_pulp_avg4(x, y) SPIN_X_B2(v4s, pv_avg_b, x, y)
#define __builtin_pulp_avgu2(x, y) SPIN_X_B2(v2u, pv_avgu_h, x, y)
#define __builtin_pulp_avgu4(x, y) SPIN_X_B2(v4u, pv_avgu_b, x, y)
#define __builtin_pulp_min2(x, y) SPIN_X_B2(v2s, pv_min_h, x, y)
#define __builtin_pulp_min4(x, y) SPIN_X_B2(v4s, pv_min_b, x, y)
#define __builtin_pulp_minu2(x, y) SPIN_X_B2(v2u, pv_minu_h, x, y)
#define __builtin_pulp_minu4(x, y) SPIN_X_B2(v4u, pv_minu_b, x, y)
#define __builtin_pulp_max2(x, y) SPIN_X_B2(v2s, pv_max_h, x, y)
#define __builtin_pulp_max4(x, y) SPIN_X_B2(v4s, pv_max_b, x, y)
#define __builtin_pulp_maxu2(x, y) SPIN_X_B2(v2u, pv_maxu_h, x, y)
#define __builtin_pulp_maxu4(x, y) SPIN_X_B2(v4u, pv_maxu_b, x, y)
#define __builtin_pulp_srl2(x, y) SPIN_X_B2(v2u, pv_srl_h, x, y)
#define __builtin_pulp_srl4(x, y) SPIN_X_B2(v4u, pv_srl_b, x, y)
#define __builtin_pulp_sra2(x, y) SPIN_X_B2(v2s, pv_sra_h, x, y)
#define __builtin_pulp_sra4(x, y) SPIN_X_B2(v4s, pv_sra_b, x, y)
#define __builtin_pulp_sll2(x, y) SPIN_X_B2(v2s, pv_sll_h, x, y)
#define __builtin_pulp_sll4(x, y) SPIN_X_B2(v4s, pv_sll_b, x, y)
#define __builtin_pulp_and2(x, y) SPIN_X_B2(v2s, pv_and_h, x, y)
#define __builtin_pulp_and4(x, y) SPIN_X_B2(v4s, pv_and_b, x, y)
#define __builtin_pulp_or2(x, y) SPIN_X_B2(v2s, pv_or_h, x, y)
#define __builtin_pulp_or4(x, y) SPIN_X_B2(v4s, pv_or_b, x, y)
#define __builtin_pulp_exor2(x, y) SPIN_X_B2(v2s, pv_xor_h, x, y)
#define __builtin_pulp_exor4(x, y) SPIN_X_B2(v4s, pv_xor_b, x, y)
#define __builtin_pulp_abs2(x) SPIN_X_B1(v2s, pv_abs_h, x)
#define __builtin_pulp_abs4(x) SPIN_X_B1(v4s, pv_abs_b, x)

/* Sums of products: 2 half words or 4 bytes; sc: of a vector and a scalar. */
#define __builtin_pulp_dotsp2(x, y) SPIN_X_B2(int, pv_dotsp_h, x, y)
#define __builtin_pulp_dotup2(x, y) SPIN_X_B2(unsigned, pv_dotup_h, x, y)
#define __builtin_pulp_dotusp2(x, y) SPIN_X_B2(int, pv_dotusp_h, x, y)
#define __builtin_pulp_dotspsc2(x, y) SPIN_X_B2(int, pv_dotsp_sc_h, x, y)
#define __builtin_pulp_dotupsc2(x, y) SPIN_X_B2(unsigned, pv_dotup_sc_h, x, y)
#define __builtin_pulp_dotuspsc2(x, y) SPIN_X_B2(int, pv_dotusp_sc_h, x, y)
#define __builtin_pulp_sdotsp2(x, y, acc) SPIN_X_B3(int, pv_sdotsp_h, x, y, acc)
#define __builtin_pulp_sdotup2(x, y, acc) SPIN_X_B3(unsigned, pv_sdotup_h, x, y, acc)
#define __builtin_pulp_sdotusp2(x, y, acc) SPIN_X_B3(int, pv_sdotusp_h, x, y, acc)
#define __builtin_pulp_sdotspsc2(x, y, acc) SPIN_X_B3(int, pv_sdotsp_sc_h, x, y, acc)
#define __builtin_pulp_sdotupsc2(x, y, acc) SPIN_X_B3(unsigned, pv_sdotup_sc_h, x, y, acc)
#define __builtin_pulp_sdotuspsc2(x, y, acc) SPIN_X_B3(int, pv_sdotusp_sc_h, x, y, acc)
#define __builtin_pulp_dotsp4(x, y) SPIN_X_B2(int, pv_dotsp_b, x, y)
#define __builtin_pulp_dotup4(x, y) SPIN_X_B2(unsigned, pv_dotup_b, x, y)
#define __builtin_pulp_dotusp4(x, y) SPIN_X_B2(int, pv_dotusp_b, x, y)
#define __builtin_pulp_dotspsc4(x, y) SPIN_X_B2(int, pv_dotsp_sc_b, x, y)
#define __builtin_pulp_dotupsc4(x, y) SPIN_X_B2(unsigned, pv_dotup_sc_b, x, y)
#define __builtin_pulp_dotuspsc4(x, y) SPIN_X_B2(int, pv_dotusp_sc_b, x, y)
#define __builtin_pulp_sdotsp4(x, y, acc) SPIN_X_B3(int, pv_sdotsp_b, x, y, acc)
#define __builtin_pulp_sdotup4(x, y, acc) SPIN_X_B3(unsigned, pv_sdotup_b, x, y, acc)
#define __builtin_pulp_sdotusp4(x, y, acc) SPIN_X_B3(int, pv_sdotusp_b, x, y, acc)
#define __builtin_pulp_sdotspsc4(x, y, acc) SPIN_X_B3(int, pv_sdotsp_sc_b, x, y, acc)
#define __builtin_pulp_sdotupsc4(x, y, acc) SPIN_X_B3(unsigned, pv_sdotup_sc_b, x, y, acc)
#define __builtin_pulp_sdotuspsc4(x, y, acc) SPIN_X_B3(int, pv_sdotusp_sc_b, x, y, acc)

/* Complex numbers in Q15. */
#define SPIN_X_CPLX(x, y, div)                                                                                         \
    ((v2s)spin_pv_cplxmul_h_i##div(spin_pv_cplxmul_h_r##div(0, SPIN_X_U(x), SPIN_X_U(y)), SPIN_X_U(x), SPIN_X_U(y)))
#define __builtin_pulp_cplxmuls(x, y) SPIN_X_CPLX(x, y, )
#define __builtin_pulp_cplxmulsdiv2(x, y) SPIN_X_CPLX(x, y, _div2)
#define __builtin_pulp_cplxmulsdiv4(x, y) SPIN_X_CPLX(x, y, _div4)
#define __builtin_pulp_cplx_conj(x) SPIN_X_B1(v2s, pv_cplxconj_h, x)
#define __builtin_pulp_sub2rotmj(x, y) SPIN_X_B2(v2s, pv_subrotmj_h, x, y)
#define __builtin_pulp_add2div2(x, y) SPIN_X_B2(v2s, pv_add_h_div2, x, y)
#define __builtin_pulp_add2div4(x, y) SPIN_X_B2(v2s, pv_add_h_div4, x, y)
#define __builtin_pulp_sub2div2(x, y) SPIN_X_B2(v2s, pv_sub_h_div2, x, y)
#define __builtin_pulp_sub2div4(x, y) SPIN_X_B2(v2s, pv_sub_h_div4, x, y)

/* Accesses at an offset in bytes. */
#define SPIN_X_AT(type, base, offset) (*(volatile type *)((char *)(base) + (offset)))
#define __builtin_pulp_OffsetedRead(base, offset) SPIN_X_AT(int, base, offset)
#define __builtin_pulp_OffsetedReadHalf(base, offset) SPIN_X_AT(short, base, offset)
#define __builtin_pulp_OffsetedReadByte(base, offset) SPIN_X_AT(signed char, base, offset)
#define __builtin_pulp_OffsetedWrite(x, base, offset) ((void)(SPIN_X_AT(int, base, offset) = (x)))
#define __builtin_pulp_OffsetedWriteHalf(x, base, offset) ((void)(SPIN_X_AT(short, base, offset) = (x)))
#define __builtin_pulp_OffsetedWriteByte(x, base, offset) ((void)(SPIN_X_AT(signed char, base, offset) = (x)))

#endif
