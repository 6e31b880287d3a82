//! PULP: branches on constants, bit manipulation, and single-cycle arithmetic. PsPIN RTL a49fec8, `riscv_decoder.sv`.
//!
//! A bit field has a size minus 1 and an offset: constants, or bits 9 to 5 and 4 to 0 of rs2. Register fields that
//! PULP's assembler leaves 0 must be 0; the RTL ignores them.

macro_rules! xpulp_alu { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { Xpulpv2
    /// Jumps to pc + imm if rs1 is the constant, -16 to 15.
    PBeqimm "p.beqimm" Branch P_BRANCH "....... ..... ..... 010 ..... 1100011" =>
        |h, i| if h.x(i.rs1) as i32 == i.constant() { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 is not the constant.
    PBneimm "p.bneimm" Branch P_BRANCH "....... ..... ..... 011 ..... 1100011" =>
        |h, i| if h.x(i.rs1) as i32 != i.constant() { h.jump(h.pc().wrapping_add(i.imm as u32)) };

    /// rd = a field of rs1, sign-extended.
    PExtract "p.extract" Alu P_FIELD "11..... ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::extract(h.x(i.rs1), i.imm as u32));
    /// rd = a field of rs1, zero-extended.
    PExtractu "p.extractu" Alu P_FIELD "11..... ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::extract_unsigned(h.x(i.rs1), i.imm as u32));
    /// A field of rd = the low bits of rs1.
    PInsert "p.insert" Alu P_FIELD_ACC "11..... ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::insert(h.x(i.rs3), h.x(i.rs1), i.imm as u32));
    /// rd = rs1 with a field of zeros.
    PBclr "p.bclr" Alu P_FIELD "11..... ..... ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) & !bits::field(i.imm as u32 >> 5, i.imm as u32));
    /// rd = rs1 with a field of ones.
    PBset "p.bset" Alu P_FIELD "11..... ..... ..... 100 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) | bits::field(i.imm as u32 >> 5, i.imm as u32));
    /// rd = rs1 shifted left by the offset, with groups of bits in reverse order. The size selects groups of 1, 2 or 3
    /// bits.
    PBitrev "p.bitrev" Alu P_FIELD "11..... ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::reverse(h.x(i.rs1), i.imm as u32));
    /// rd = the field of rs1 that rs2 names, sign-extended.
    PExtractr "p.extractr" Alu R "1000000 ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::extract(h.x(i.rs1), h.x(i.rs2)));
    /// rd = the field of rs1 that rs2 names, zero-extended.
    PExtractur "p.extractur" Alu R "1000000 ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::extract_unsigned(h.x(i.rs1), h.x(i.rs2)));
    /// The field of rd that rs2 names = the low bits of rs1.
    PInsertr "p.insertr" Alu P_ACC "1000000 ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::insert(h.x(i.rs3), h.x(i.rs1), h.x(i.rs2)));
    /// rd = rs1 with zeros in the field that rs2 names.
    PBclrr "p.bclrr" Alu R "1000000 ..... ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) & !bits::field(h.x(i.rs2) >> 5, h.x(i.rs2)));
    /// rd = rs1 with ones in the field that rs2 names.
    PBsetr "p.bsetr" Alu R "1000000 ..... ..... 100 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) | bits::field(h.x(i.rs2) >> 5, h.x(i.rs2)));

    /// rd = absolute value of rs1; -2^31 stays.
    PAbs "p.abs" Alu P_ONE "0000010 00000 ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, (h.x(i.rs1) as i32).wrapping_abs() as u32);
    /// rd = 1 if rs1 <= rs2, signed, else 0.
    PSlet "p.slet" Alu R "0000010 ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, u32::from(h.x(i.rs1) as i32 <= h.x(i.rs2) as i32));
    /// rd = 1 if rs1 <= rs2, unsigned, else 0.
    PSletu "p.sletu" Alu R "0000010 ..... ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, u32::from(h.x(i.rs1) <= h.x(i.rs2)));
    /// rd = minimum of rs1 and rs2, signed.
    PMin "p.min" Alu R "0000010 ..... ..... 100 ..... 0110011" =>
        |h, i| h.set(i.rd, (h.x(i.rs1) as i32).min(h.x(i.rs2) as i32) as u32);
    /// rd = minimum of rs1 and rs2, unsigned.
    PMinu "p.minu" Alu R "0000010 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).min(h.x(i.rs2)));
    /// rd = maximum of rs1 and rs2, signed.
    PMax "p.max" Alu R "0000010 ..... ..... 110 ..... 0110011" =>
        |h, i| h.set(i.rd, (h.x(i.rs1) as i32).max(h.x(i.rs2) as i32) as u32);
    /// rd = maximum of rs1 and rs2, unsigned.
    PMaxu "p.maxu" Alu R "0000010 ..... ..... 111 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).max(h.x(i.rs2)));
    /// rd = rs1 rotated right by the low 5 bits of rs2.
    PRor "p.ror" Alu R "0000100 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).rotate_right(h.x(i.rs2) & 31));

    /// rd = position of the lowest 1 of rs1, or 32 if there is none.
    PFf1 "p.ff1" Alu P_ONE "0001000 00000 ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::first_one(h.x(i.rs1)));
    /// rd = position of the highest 1 of rs1, or 32 if there is none.
    PFl1 "p.fl1" Alu P_ONE "0001000 00000 ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::last_one(h.x(i.rs1)));
    /// rd = number of leading bits below the sign bit of rs1 that equal it; 0 for 0.
    PClb "p.clb" Alu P_ONE "0001000 00000 ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::leading(h.x(i.rs1)));
    /// rd = number of ones in rs1.
    PCnt "p.cnt" Alu P_ONE "0001000 00000 ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).count_ones());
    /// rd = low half of rs1, sign-extended.
    PExths "p.exths" Alu P_ONE "0001000 00000 ..... 100 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) as i16 as u32);
    /// rd = low half of rs1, zero-extended.
    PExthz "p.exthz" Alu P_ONE "0001000 00000 ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) as u16 as u32);
    /// rd = low byte of rs1, sign-extended.
    PExtbs "p.extbs" Alu P_ONE "0001000 00000 ..... 110 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) as i8 as u32);
    /// rd = low byte of rs1, zero-extended.
    PExtbz "p.extbz" Alu P_ONE "0001000 00000 ..... 111 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1) as u8 as u32);

    /// rd = rs1 clipped to -2^(imm-1) to 2^(imm-1) - 1, or to -1 to 0 if imm is 0.
    PClip "p.clip" Alu SHIFT "0001010 ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::clip(h.x(i.rs1), bits::bound(i.imm as u32)));
    /// rd = rs1 clipped to 0 to 2^(imm-1) - 1, or 0 if imm is 0.
    PClipu "p.clipu" Alu SHIFT "0001010 ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::clip_unsigned(h.x(i.rs1), bits::bound(i.imm as u32)));
    /// rd = rs1 clipped to -rs2 - 1 to rs2.
    PClipr "p.clipr" Alu R "0001010 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::clip(h.x(i.rs1), h.x(i.rs2)));
    /// rd = rs1 clipped to 0 to rs2.
    PClipur "p.clipur" Alu R "0001010 ..... ..... 110 ..... 0110011" =>
        |h, i| h.set(i.rd, bits::clip_unsigned(h.x(i.rs1), h.x(i.rs2)));
}}}}
