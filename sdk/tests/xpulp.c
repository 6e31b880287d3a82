/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PULP's instructions from C, by name, as macros with constants, and as PULP's builtins; loops and their bodies. A bare
 * program: `spinet exec --isa rv32imac_xpulpv2`. A failure is reported as the line number.
 */
#include <spin_xpulp_builtins.h>

__attribute__((section(".tohost"), aligned(64))) volatile uint32_t tohost[2];

static uint32_t stack[256] __attribute__((aligned(16)));

__attribute__((section(".text.start"), naked, used)) void _start(void)
{
    __asm__ volatile("la sp, %0\n addi sp, sp, 1024\n call run\n 1: j 1b\n" : : "i"(stack));
}

static void end(uint32_t verdict)
{
    *tohost = verdict;
    for (;;) {
    }
}

/* A value that the compiler must not compute in advance. */
static uint32_t some(uint32_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

#define EXPECT(is, want)                                                                                               \
    do {                                                                                                               \
        if ((uint32_t)(is) != (uint32_t)(want)) {                                                                      \
            end((uint32_t)__LINE__ << 1 | 1);                                                                          \
        }                                                                                                              \
    } while (0)

static uint32_t words[12] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
static uint32_t others[12] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5};
static uint32_t out[12];

static void numbers(void)
{
    uint32_t a = some(0xfffffff9), b = some(3);
    EXPECT(spin_p_abs(a), 7);
    EXPECT(spin_p_slet(a, b), 1);
    EXPECT(spin_p_sletu(a, b), 0);
    EXPECT(spin_p_min(a, b), -7);
    EXPECT(spin_p_minu(a, b), 3);
    EXPECT(spin_p_max(a, b), 3);
    EXPECT(spin_p_maxu(a, b), -7);
    EXPECT(spin_p_ror(b, 1), 0x80000001);
    EXPECT(spin_p_ff1(some(0x50)), 4);
    EXPECT(spin_p_fl1(some(0x50)), 6);
    EXPECT(spin_p_clb(some(0x50)), 24);
    EXPECT(spin_p_cnt(a), 30);
    EXPECT(spin_p_exths(some(0x18001)), 0xffff8001);
    EXPECT(spin_p_exthz(some(0x18001)), 0x8001);
    EXPECT(spin_p_extbs(some(0x181)), 0xffffff81);
    EXPECT(spin_p_extbz(some(0x181)), 0x81);
    EXPECT(spin_p_clip(some(200), 8), 127);
    EXPECT(spin_p_clipu(a, 8), 0);
    EXPECT(spin_p_clipr(a, 4), -5);
    EXPECT(spin_p_clipur(some(9), 4), 4);
    EXPECT(spin_p_extract(some(0xf00), 4, 8), -1);
    EXPECT(spin_p_extractu(some(0xf00), 4, 8), 15);
    EXPECT(spin_p_extractu(some(0x12345678), 32, 0), 0x12345678);
    EXPECT(spin_p_extractur(some(0xf00), some(3 << 5 | 8)), 15);
    EXPECT(spin_p_insert(some(0xffffffff), 5, 8, 4), 0xfffff05f);
    EXPECT(spin_p_bclr(a, 8, 4), 0xfffff009);
    EXPECT(spin_p_bset(b, 8, 4), 0xff3);
    EXPECT(spin_p_bitrev(some(6), 0, 29), 3);
    EXPECT(spin_p_mac(10, a, b), -11);
    EXPECT(spin_p_msu(10, a, b), 31);
    EXPECT(spin_p_muls(a, b), -21);
    EXPECT(spin_p_mulsN(a, b, 2), -6);
    EXPECT(spin_p_mulsRN(a, b, 2), -5);
    EXPECT(spin_p_mulhhu(a, some(0x30000)), 3 * 0xffff);
    EXPECT(spin_p_macsRN(1, a, b, 2), -5);
    EXPECT(spin_p_addN(a, b, 1), -2);
    EXPECT(spin_p_adduRN(b, b, 2), 2);
    EXPECT(spin_p_subNr(a, b, 1), -5);
}

static void vectors(void)
{
    uint32_t a = some(0x80ff0102), b = some(0x01020304);
    EXPECT(spin_pv_add_b(a, b), 0x81010406);
    EXPECT(spin_pv_add_sc_h(a, b), 0x84030406);
    EXPECT(spin_pv_max_b(a, b), 0x01020304);
    EXPECT(spin_pv_cmpgtu_b(a, b), 0xffff0000);
    EXPECT(spin_pv_abs_b(a), 0x80010102);
    EXPECT(spin_pv_dotup_b(a, b), 0x80 + 0x1fe + 3 + 8);
    EXPECT(spin_pv_sdotsp_b(100, a, b), 100 - 128 - 2 + 3 + 8);
    EXPECT(spin_pv_extract_b(a, 3), -128);
    EXPECT(spin_pv_extractu_h(a, 1), 0x80ff);
    EXPECT(spin_pv_insert_b(a, 0x55, 2), 0x80550102);
    EXPECT(spin_pv_shuffle_b(a, some(0x00010203)), 0x0201ff80);
    EXPECT(spin_pv_shuffle2_h(a, b, some(0x00020001)), 0x030480ff);
    EXPECT(spin_pv_pack(a, b), 0x01020304);
    EXPECT(spin_pv_pack_h(a, b), 0x80ff0102);
    EXPECT(spin_pv_subrotmj_h(some(0x00050003), some(0x00010001)), 0xfffe0004);

    EXPECT(__builtin_pulp_add4((v4s)a, (v4s)b), 0x81010406);
    EXPECT(__builtin_pulp_pack4(1, 2, 3, 4), 0x04030201);
    EXPECT(__builtin_pulp_pack2(1, 2), 0x00020001);
    EXPECT(__builtin_pulp_neg2((v2s)some(0x00010002)), 0xfffffffe);
    EXPECT(__builtin_pulp_sdotsp4((v4s)a, (v4s)b, 100), 100 - 128 - 2 + 3 + 8);
    EXPECT(__builtin_pulp_clip(some(200), -128, 127), 127);
    EXPECT(__builtin_pulp_clipu(some(200), 0, 63), 63);
    EXPECT(__builtin_pulp_clip_r(some(200), 127), 127);
    EXPECT(__builtin_pulp_bset(some(3), 0xff0), 0xff3);
    EXPECT(__builtin_pulp_bclr(some(0xffffffff), ~0xff0), 0xfffff00f);
    EXPECT(__builtin_pulp_bextract(some(0xf00), 4, 8), -1);
    EXPECT(__builtin_pulp_binsert(some(0xffffffff), ~0xff0, some(5), 0xff0, 4), 0xfffff05f);
    EXPECT(__builtin_pulp_mac(2, 3, some(4)), 10);
    EXPECT(__builtin_pulp_macsRN(some(-7), 3, 1, 2, 2), -5);
    EXPECT(__builtin_pulp_cplxmuls((v2s)some(0x00004000), (v2s)some(0x20004000)), 0x10002000);
    EXPECT(__builtin_pulp_parity(some(7)), 1);
}

static void loops(void)
{
    const uint32_t *from = words;
    uint32_t *to = out;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t value = SPIN_P_LW(from, 8);
        SPIN_P_SH(to, value, 2);
    }
    EXPECT(from - words, 6);
    EXPECT(out[0], 0x00040003);
    EXPECT(out[1], 5);

    EXPECT(spin_xpulp_sum_words(words, 0), 0);
    EXPECT(spin_xpulp_sum_words(words, 1), 3);
    EXPECT(spin_xpulp_sum_words(words, 2), 4);
    EXPECT(spin_xpulp_sum_words(words, 11), 44);
    EXPECT(spin_xpulp_sum_words(words, 12), 52);
    EXPECT(spin_xpulp_dot_words(1, words, others, 0), 1);
    EXPECT(spin_xpulp_dot_words(1, words, others, 3), 1 + 6 + 7 + 4);
    spin_xpulp_add_bytes(out, words, others, 12);
    EXPECT(out[5], 17);
    EXPECT(out[11], 13);
    spin_xpulp_copy_words(out, others, 11);
    EXPECT(out[10], 4);
    EXPECT(out[11], 13);
    spin_xpulp_amoadd_words(out, words, 12);
    EXPECT(out[0], 5);
    EXPECT(out[11], 21);
    for (uint32_t i = 0; i < 12; i++) {
        out[i] = 0;
    }
    spin_xpulp_count_words(out, words, 12);
    EXPECT(out[5], 3);
    EXPECT(out[9], 1);

    uint32_t inner = 0, outer = 0;
    __asm__ volatile(SPIN_LOOP_OUTER("%[n]", 5, "addi %[outer], %[outer], 1\n"
                                     SPIN_LOOP("%[m]", 2, "addi %[inner], %[inner], 1\n addi %[inner], %[inner], 1\n")
                                     "addi %[outer], %[outer], 1\n")
                     : [inner] "+r"(inner), [outer] "+r"(outer)
                     : [n] "r"(3), [m] "r"(4));
    EXPECT(inner, 24);
    EXPECT(outer, 6);
}

__attribute__((used)) void run(void)
{
    numbers();
    vectors();
    loops();
    end(1);
}
