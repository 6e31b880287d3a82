//! PULP: packed SIMD, one operation on two halfwords or four bytes. PsPIN RTL a49fec8, `riscv_decoder.sv`.
//!
//! Most operations have six forms: halfwords (`.h`) or bytes (`.b`), and as second operand a vector in rs2, the lowest
//! lane of rs2 in all lanes (`.sc`), or a constant in all lanes (`.sci`). A line of the first tables defines all six.
//! Bits that PULP's assembler leaves 0 must be 0; the RTL ignores them.

// A line has: the effect on a lane, the function in `lanes`, the name, the upper six bits of the word, the formats with
// registers and with a constant, the six `Op`s, and the value written to rd.
macro_rules! simd_lines {
    (($next:ident $($more:ident)*) [$($rows:tt)*] { $($single:tt)* } $($each:literal $lanes:ident $name:literal $op:literal
        $reg:ident $imm:ident [$h:ident $sch:ident $scih:ident $b:ident $scb:ident $scib:ident]
        |$hart:ident, $inst:ident, $result:ident| $value:expr;)*) => { $next! { ($($more)*) $($rows)* { Xpulpv2 $(
        #[doc = concat!("`", $name, ".h`: ", $each, ", for halfwords.")]
        $h (concat!($name, ".h")) Alu $reg (concat!($op, "0 ..... ..... 000 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<16>($hart.x($inst.rs1), $hart.x($inst.rs2));
            $hart.set($inst.rd, $value);
        };
        #[doc = concat!("`", $name, ".sc.h`: ", $each, ", for halfwords; the operand is the lowest of rs2.")]
        $sch (concat!($name, ".sc.h")) Alu $reg (concat!($op, "0 ..... ..... 100 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<16>($hart.x($inst.rs1), lanes::replicate::<16>($hart.x($inst.rs2)));
            $hart.set($inst.rd, $value);
        };
        #[doc = concat!("`", $name, ".sci.h`: ", $each, ", for halfwords; the operand is imm.")]
        $scih (concat!($name, ".sci.h")) Alu $imm (concat!($op, ". ..... ..... 110 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<16>($hart.x($inst.rs1), lanes::replicate::<16>($inst.imm as u32));
            $hart.set($inst.rd, $value);
        };
        #[doc = concat!("`", $name, ".b`: ", $each, ", for bytes.")]
        $b (concat!($name, ".b")) Alu $reg (concat!($op, "0 ..... ..... 001 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<8>($hart.x($inst.rs1), $hart.x($inst.rs2));
            $hart.set($inst.rd, $value);
        };
        #[doc = concat!("`", $name, ".sc.b`: ", $each, ", for bytes; the operand is the lowest of rs2.")]
        $scb (concat!($name, ".sc.b")) Alu $reg (concat!($op, "0 ..... ..... 101 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<8>($hart.x($inst.rs1), lanes::replicate::<8>($hart.x($inst.rs2)));
            $hart.set($inst.rd, $value);
        };
        #[doc = concat!("`", $name, ".sci.b`: ", $each, ", for bytes; the operand is imm.")]
        $scib (concat!($name, ".sci.b")) Alu $imm (concat!($op, ". ..... ..... 111 ..... 1010111")) => |$hart, $inst| {
            let $result = lanes::$lanes::<8>($hart.x($inst.rs1), lanes::replicate::<8>($inst.imm as u32));
            $hart.set($inst.rd, $value);
        };
    )* $($single)* } } };
}

macro_rules! xpulp_simd { (($next:ident $($more:ident)*) $($rows:tt)*) => { simd_lines! { ($next $($more)*) [$($rows)*] {
    /// rd = rs1 with each lane replaced by its absolute value, for halfwords; -2^15 stays.
    PvAbsH "pv.abs.h" Alu P_ONE "01110 0 0 00000 ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::abs::<16>(h.x(i.rs1)));
    /// rd = rs1 with each lane replaced by its absolute value, for bytes; -2^7 stays.
    PvAbsB "pv.abs.b" Alu P_ONE "01110 0 0 00000 ..... 001 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::abs::<8>(h.x(i.rs1)));

    /// rd = halfword imm modulo 2 of rs1, sign-extended.
    PvExtractH "pv.extract.h" Alu P_VU "01111 0 . ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::lane::<16>(h.x(i.rs1), i.imm as u32 & 1) as u32);
    /// rd = halfword imm modulo 2 of rs1, zero-extended.
    PvExtractuH "pv.extractu.h" Alu P_VU "10010 0 . ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::lane_unsigned::<16>(h.x(i.rs1), i.imm as u32 & 1) as u32);
    /// Halfword imm modulo 2 of rd = the lowest of rs1.
    PvInsertH "pv.insert.h" Alu P_VU_ACC "10110 0 . ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::insert::<16>(h.x(i.rs3), i.imm as u32 & 1, h.x(i.rs1)));
    /// rd = byte imm modulo 4 of rs1, sign-extended.
    PvExtractB "pv.extract.b" Alu P_VU "01111 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::lane::<8>(h.x(i.rs1), i.imm as u32 & 3) as u32);
    /// rd = byte imm modulo 4 of rs1, zero-extended.
    PvExtractuB "pv.extractu.b" Alu P_VU "10010 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::lane_unsigned::<8>(h.x(i.rs1), i.imm as u32 & 3) as u32);
    /// Byte imm modulo 4 of rd = the lowest of rs1.
    PvInsertB "pv.insert.b" Alu P_VU_ACC "10110 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::insert::<8>(h.x(i.rs3), i.imm as u32 & 3, h.x(i.rs1)));

    /// rd = halfwords of rs1, selected by the low bits of each of rs2.
    PvShuffleH "pv.shuffle.h" Alu R "11000 0 0 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<16>(h.x(i.rs1), h.x(i.rs2)));
    /// rd = bytes of rs1, selected by the low bits of each of rs2.
    PvShuffleB "pv.shuffle.b" Alu R "11000 0 0 ..... ..... 001 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<8>(h.x(i.rs1), h.x(i.rs2)));
    /// rd = halfwords of rs1, selected by bits 1 and 0 of imm.
    PvShuffleSciH "pv.shuffle.sci.h" Alu P_VU "11000 0 . ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<16>(h.x(i.rs1), lanes::selectors::<16>(i.imm as u32)));
    /// rd = byte 0 of rs1 in the highest byte; pairs of bits of imm select the other three.
    PvShufflei0SciB "pv.shufflei0.sci.b" Alu P_VU "11000 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<8>(h.x(i.rs1), lanes::selectors::<8>(i.imm as u32)));
    /// rd = byte 1 of rs1 in the highest byte; pairs of bits of imm select the other three.
    PvShufflei1SciB "pv.shufflei1.sci.b" Alu P_VU "11101 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<8>(h.x(i.rs1), lanes::selectors::<8>(i.imm as u32 | 0x40)));
    /// rd = byte 2 of rs1 in the highest byte; pairs of bits of imm select the other three.
    PvShufflei2SciB "pv.shufflei2.sci.b" Alu P_VU "11110 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<8>(h.x(i.rs1), lanes::selectors::<8>(i.imm as u32 | 0x80)));
    /// rd = byte 3 of rs1 in the highest byte; pairs of bits of imm select the other three.
    PvShufflei3SciB "pv.shufflei3.sci.b" Alu P_VU "11111 0 . ..... ..... 111 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle::<8>(h.x(i.rs1), lanes::selectors::<8>(i.imm as u32 | 0xc0)));
    /// rd = halfwords of rs1 where bit 1 of the selector in rs2 is set, else of rd.
    PvShuffle2H "pv.shuffle2.h" Alu P_ACC "11001 0 0 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle_two::<16>(h.x(i.rs3), h.x(i.rs1), h.x(i.rs2)));
    /// rd = bytes of rs1 where bit 2 of the selector in rs2 is set, else of rd.
    PvShuffle2B "pv.shuffle2.b" Alu P_ACC "11001 0 0 ..... ..... 001 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::shuffle_two::<8>(h.x(i.rs3), h.x(i.rs1), h.x(i.rs2)));
    /// rd = low halves of rs1 and rs2.
    PvPack "pv.pack" Alu R "11010 0 0 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs1), h.x(i.rs2)));
    /// rd = high halves of rs1 and rs2.
    PvPackH "pv.pack.h" Alu R "11010 0 1 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs1) >> 16, h.x(i.rs2) >> 16));
    /// High half of rd = low bytes of rs1 and rs2.
    PvPackhiB "pv.packhi.b" Alu P_ACC "11011 0 0 ..... ..... 001 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs1) << 8 | h.x(i.rs2) & 0xff, h.x(i.rs3)));
    /// Low half of rd = low bytes of rs1 and rs2.
    PvPackloB "pv.packlo.b" Alu P_ACC "11100 0 0 ..... ..... 001 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs3) >> 16, h.x(i.rs1) << 8 & 0xff00 | h.x(i.rs2) & 0xff));

    /// Low half of rd = real part of rs1 * rs2 in Q15.
    PvCplxmulHR "pv.cplxmul.h.r" Alu P_ACC "01010 1 0 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs3) >> 16, lanes::complex_real(h.x(i.rs1), h.x(i.rs2), 0)));
    /// High half of rd = imaginary part of rs1 * rs2 in Q15.
    PvCplxmulHI "pv.cplxmul.h.i" Alu P_ACC "01010 1 1 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(lanes::complex_imaginary(h.x(i.rs1), h.x(i.rs2), 0), h.x(i.rs3)));
    /// Low half of rd = real part of rs1 * rs2 in Q15, divided by 2.
    PvCplxmulHRDiv2 "pv.cplxmul.h.r.div2" Alu P_ACC "01010 1 0 ..... ..... 010 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs3) >> 16, lanes::complex_real(h.x(i.rs1), h.x(i.rs2), 1)));
    /// High half of rd = imaginary part of rs1 * rs2 in Q15, divided by 2.
    PvCplxmulHIDiv2 "pv.cplxmul.h.i.div2" Alu P_ACC "01010 1 1 ..... ..... 010 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(lanes::complex_imaginary(h.x(i.rs1), h.x(i.rs2), 1), h.x(i.rs3)));
    /// Low half of rd = real part of rs1 * rs2 in Q15, divided by 4.
    PvCplxmulHRDiv4 "pv.cplxmul.h.r.div4" Alu P_ACC "01010 1 0 ..... ..... 100 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs3) >> 16, lanes::complex_real(h.x(i.rs1), h.x(i.rs2), 2)));
    /// High half of rd = imaginary part of rs1 * rs2 in Q15, divided by 4.
    PvCplxmulHIDiv4 "pv.cplxmul.h.i.div4" Alu P_ACC "01010 1 1 ..... ..... 100 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(lanes::complex_imaginary(h.x(i.rs1), h.x(i.rs2), 2), h.x(i.rs3)));
    /// Low half of rd = real part of rs1 * rs2 in Q15, divided by 8.
    PvCplxmulHRDiv8 "pv.cplxmul.h.r.div8" Alu P_ACC "01010 1 0 ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(h.x(i.rs3) >> 16, lanes::complex_real(h.x(i.rs1), h.x(i.rs2), 3)));
    /// High half of rd = imaginary part of rs1 * rs2 in Q15, divided by 8.
    PvCplxmulHIDiv8 "pv.cplxmul.h.i.div8" Alu P_ACC "01010 1 1 ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack(lanes::complex_imaginary(h.x(i.rs1), h.x(i.rs2), 3), h.x(i.rs3)));
    /// rd = rs1 with its high half negated.
    PvCplxconjH "pv.cplxconj.h" Alu P_ONE "01011 1 0 00000 ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::pack((h.x(i.rs1) >> 16).wrapping_neg(), h.x(i.rs1)));
    /// rd = (rs1 - rs2) * -i.
    PvSubrotmjH "pv.subrotmj.h" Alu R "01101 1 0 ..... ..... 000 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_rotate(h.x(i.rs1), h.x(i.rs2), 0));
    /// rd = (rs1 - rs2) * -i, divided by 2.
    PvSubrotmjHDiv2 "pv.subrotmj.h.div2" Alu R "01101 1 0 ..... ..... 010 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_rotate(h.x(i.rs1), h.x(i.rs2), 1));
    /// rd = (rs1 - rs2) * -i, divided by 4.
    PvSubrotmjHDiv4 "pv.subrotmj.h.div4" Alu R "01101 1 0 ..... ..... 100 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_rotate(h.x(i.rs1), h.x(i.rs2), 2));
    /// rd = (rs1 - rs2) * -i, divided by 8.
    PvSubrotmjHDiv8 "pv.subrotmj.h.div8" Alu R "01101 1 0 ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_rotate(h.x(i.rs1), h.x(i.rs2), 3));
    /// rd = rs1 + rs2 per halfword, truncated, divided by 2.
    PvAddHDiv2 "pv.add.h.div2" Alu R "01110 1 0 ..... ..... 010 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::add_shift(h.x(i.rs1), h.x(i.rs2), 1));
    /// rd = rs1 - rs2 per halfword, truncated, divided by 2.
    PvSubHDiv2 "pv.sub.h.div2" Alu R "01100 1 0 ..... ..... 010 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_shift(h.x(i.rs1), h.x(i.rs2), 1));
    /// rd = rs1 + rs2 per halfword, truncated, divided by 4.
    PvAddHDiv4 "pv.add.h.div4" Alu R "01110 1 0 ..... ..... 100 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::add_shift(h.x(i.rs1), h.x(i.rs2), 2));
    /// rd = rs1 - rs2 per halfword, truncated, divided by 4.
    PvSubHDiv4 "pv.sub.h.div4" Alu R "01100 1 0 ..... ..... 100 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_shift(h.x(i.rs1), h.x(i.rs2), 2));
    /// rd = rs1 + rs2 per halfword, truncated, divided by 8.
    PvAddHDiv8 "pv.add.h.div8" Alu R "01110 1 0 ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::add_shift(h.x(i.rs1), h.x(i.rs2), 3));
    /// rd = rs1 - rs2 per halfword, truncated, divided by 8.
    PvSubHDiv8 "pv.sub.h.div8" Alu R "01100 1 0 ..... ..... 110 ..... 1010111" =>
        |h, i| h.set(i.rd, lanes::sub_shift(h.x(i.rs1), h.x(i.rs2), 3));
    }
    "rd = rs1 + operand" add "pv.add" "00000 0" R P_VS [PvAddH PvAddScH PvAddSciH PvAddB PvAddScB PvAddSciB]
        |h, i, all| all;
    "rd = rs1 - operand" sub "pv.sub" "00001 0" R P_VS [PvSubH PvSubScH PvSubSciH PvSubB PvSubScB PvSubSciB]
        |h, i, all| all;
    "rd = rs1 + operand, truncated to the lane, then shifted right by 1, arithmetic" avg "pv.avg" "00010 0" R P_VS [PvAvgH PvAvgScH PvAvgSciH PvAvgB PvAvgScB PvAvgSciB]
        |h, i, all| all;
    "rd = rs1 + operand, truncated to the lane, then shifted right by 1, logical" avgu "pv.avgu" "00011 0" R P_VU [PvAvguH PvAvguScH PvAvguSciH PvAvguB PvAvguScB PvAvguSciB]
        |h, i, all| all;
    "rd = minimum of rs1 and operand, signed" min "pv.min" "00100 0" R P_VS [PvMinH PvMinScH PvMinSciH PvMinB PvMinScB PvMinSciB]
        |h, i, all| all;
    "rd = minimum of rs1 and operand, unsigned" minu "pv.minu" "00101 0" R P_VU [PvMinuH PvMinuScH PvMinuSciH PvMinuB PvMinuScB PvMinuSciB]
        |h, i, all| all;
    "rd = maximum of rs1 and operand, signed" max "pv.max" "00110 0" R P_VS [PvMaxH PvMaxScH PvMaxSciH PvMaxB PvMaxScB PvMaxSciB]
        |h, i, all| all;
    "rd = maximum of rs1 and operand, unsigned" maxu "pv.maxu" "00111 0" R P_VU [PvMaxuH PvMaxuScH PvMaxuSciH PvMaxuB PvMaxuScB PvMaxuSciB]
        |h, i, all| all;
    "rd = rs1 shifted right by operand modulo the lane, logical" srl "pv.srl" "01000 0" R P_VS [PvSrlH PvSrlScH PvSrlSciH PvSrlB PvSrlScB PvSrlSciB]
        |h, i, all| all;
    "rd = rs1 shifted right by operand modulo the lane, arithmetic" sra "pv.sra" "01001 0" R P_VS [PvSraH PvSraScH PvSraSciH PvSraB PvSraScB PvSraSciB]
        |h, i, all| all;
    "rd = rs1 shifted left by operand modulo the lane" sll "pv.sll" "01010 0" R P_VS [PvSllH PvSllScH PvSllSciH PvSllB PvSllScB PvSllSciB]
        |h, i, all| all;
    "rd = rs1 or operand" or "pv.or" "01011 0" R P_VS [PvOrH PvOrScH PvOrSciH PvOrB PvOrScB PvOrSciB]
        |h, i, all| all;
    "rd = rs1 xor operand" xor "pv.xor" "01100 0" R P_VS [PvXorH PvXorScH PvXorSciH PvXorB PvXorScB PvXorSciB]
        |h, i, all| all;
    "rd = rs1 and operand" and "pv.and" "01101 0" R P_VS [PvAndH PvAndScH PvAndSciH PvAndB PvAndScB PvAndSciB]
        |h, i, all| all;
    "rd = ones if equal, else 0" cmpeq "pv.cmpeq" "00000 1" R P_VS [PvCmpeqH PvCmpeqScH PvCmpeqSciH PvCmpeqB PvCmpeqScB PvCmpeqSciB]
        |h, i, all| all;
    "rd = ones if different, else 0" cmpne "pv.cmpne" "00001 1" R P_VS [PvCmpneH PvCmpneScH PvCmpneSciH PvCmpneB PvCmpneScB PvCmpneSciB]
        |h, i, all| all;
    "rd = ones if rs1 > operand, signed, else 0" cmpgt "pv.cmpgt" "00010 1" R P_VS [PvCmpgtH PvCmpgtScH PvCmpgtSciH PvCmpgtB PvCmpgtScB PvCmpgtSciB]
        |h, i, all| all;
    "rd = ones if rs1 >= operand, signed, else 0" cmpge "pv.cmpge" "00011 1" R P_VS [PvCmpgeH PvCmpgeScH PvCmpgeSciH PvCmpgeB PvCmpgeScB PvCmpgeSciB]
        |h, i, all| all;
    "rd = ones if rs1 < operand, signed, else 0" cmplt "pv.cmplt" "00100 1" R P_VS [PvCmpltH PvCmpltScH PvCmpltSciH PvCmpltB PvCmpltScB PvCmpltSciB]
        |h, i, all| all;
    "rd = ones if rs1 <= operand, signed, else 0" cmple "pv.cmple" "00101 1" R P_VS [PvCmpleH PvCmpleScH PvCmpleSciH PvCmpleB PvCmpleScB PvCmpleSciB]
        |h, i, all| all;
    "rd = ones if rs1 > operand, unsigned, else 0" cmpgtu "pv.cmpgtu" "00110 1" R P_VU [PvCmpgtuH PvCmpgtuScH PvCmpgtuSciH PvCmpgtuB PvCmpgtuScB PvCmpgtuSciB]
        |h, i, all| all;
    "rd = ones if rs1 >= operand, unsigned, else 0" cmpgeu "pv.cmpgeu" "00111 1" R P_VU [PvCmpgeuH PvCmpgeuScH PvCmpgeuSciH PvCmpgeuB PvCmpgeuScB PvCmpgeuSciB]
        |h, i, all| all;
    "rd = ones if rs1 < operand, unsigned, else 0" cmpltu "pv.cmpltu" "01000 1" R P_VU [PvCmpltuH PvCmpltuScH PvCmpltuSciH PvCmpltuB PvCmpltuScB PvCmpltuSciB]
        |h, i, all| all;
    "rd = ones if rs1 <= operand, unsigned, else 0" cmpleu "pv.cmpleu" "01001 1" R P_VU [PvCmpleuH PvCmpleuScH PvCmpleuSciH PvCmpleuB PvCmpleuScB PvCmpleuSciB]
        |h, i, all| all;
    "rd = sum of the products, unsigned" dotup "pv.dotup" "10000 0" R P_VU [PvDotupH PvDotupScH PvDotupSciH PvDotupB PvDotupScB PvDotupSciB]
        |h, i, sum| sum;
    "rd = sum of the products, rs1 unsigned and operand signed" dotusp "pv.dotusp" "10001 0" R P_VS [PvDotuspH PvDotuspScH PvDotuspSciH PvDotuspB PvDotuspScB PvDotuspSciB]
        |h, i, sum| sum;
    "rd = sum of the products, signed" dotsp "pv.dotsp" "10011 0" R P_VS [PvDotspH PvDotspScH PvDotspSciH PvDotspB PvDotspScB PvDotspSciB]
        |h, i, sum| sum;
    "rd += sum of the products, unsigned" dotup "pv.sdotup" "10100 0" P_ACC P_VU_ACC [PvSdotupH PvSdotupScH PvSdotupSciH PvSdotupB PvSdotupScB PvSdotupSciB]
        |h, i, sum| h.x(i.rs3).wrapping_add(sum);
    "rd += sum of the products, rs1 unsigned and operand signed" dotusp "pv.sdotusp" "10101 0" P_ACC P_VS_ACC [PvSdotuspH PvSdotuspScH PvSdotuspSciH PvSdotuspB PvSdotuspScB PvSdotuspSciB]
        |h, i, sum| h.x(i.rs3).wrapping_add(sum);
    "rd += sum of the products, signed" dotsp "pv.sdotsp" "10111 0" P_ACC P_VS_ACC [PvSdotspH PvSdotspScH PvSdotspSciH PvSdotspB PvSdotspScB PvSdotspSciB]
        |h, i, sum| h.x(i.rs3).wrapping_add(sum);
}}}
