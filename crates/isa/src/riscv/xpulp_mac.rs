//! PULP: multiply-accumulate, and sums and products with a shift. PsPIN RTL a49fec8, `riscv_decoder.sv`.
//!
//! In names, `N` shifts the result right, and `R` rounds: it adds half of the last bit that remains. `hh` uses the high
//! halves of both operands; other products use the low halves. A product without a shift is the instruction with a
//! shift of 0, under its own name.

macro_rules! xpulp_mac { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { Xpulpv2
    /// rd += rs1 * rs2.
    PMac "p.mac" Mul P_ACC "0100001 ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_add(h.x(i.rs1).wrapping_mul(h.x(i.rs2))));
    /// rd -= rs1 * rs2.
    PMsu "p.msu" Mul P_ACC "0100001 ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_sub(h.x(i.rs1).wrapping_mul(h.x(i.rs2))));

    /// rd = product of the low halves, signed.
    PMuls "p.muls" Mul R "1000000 ..... ..... 000 ..... 1011011" =>
        |h, i| h.set(i.rd, bits::mul_low(h.x(i.rs1), h.x(i.rs2)));
    /// rd = (product of the low halves, signed) >> imm, arithmetic.
    PMulsN "p.mulsN" Mul P_NORM "10..... ..... ..... 000 ..... 1011011"
        except "1000000 ..... ..... 000 ..... 1011011" => |h, i| {
        let value = bits::mul_low(h.x(i.rs1), h.x(i.rs2));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = (product of the low halves, signed) >> imm, rounded, arithmetic.
    PMulsRN "p.mulsRN" Mul P_NORM "10..... ..... ..... 100 ..... 1011011" => |h, i| {
        let value = bits::mul_low(h.x(i.rs1), h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = product of the high halves, signed.
    PMulHhs "p.mulhhs" Mul R "1100000 ..... ..... 000 ..... 1011011" =>
        |h, i| h.set(i.rd, bits::mul_high(h.x(i.rs1), h.x(i.rs2)));
    /// rd = (product of the high halves, signed) >> imm, arithmetic.
    PMulHhsN "p.mulhhsN" Mul P_NORM "11..... ..... ..... 000 ..... 1011011"
        except "1100000 ..... ..... 000 ..... 1011011" => |h, i| {
        let value = bits::mul_high(h.x(i.rs1), h.x(i.rs2));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = (product of the high halves, signed) >> imm, rounded, arithmetic.
    PMulHhsRN "p.mulhhsRN" Mul P_NORM "11..... ..... ..... 100 ..... 1011011" => |h, i| {
        let value = bits::mul_high(h.x(i.rs1), h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = product of the low halves, unsigned.
    PMulu "p.mulu" Mul R "0000000 ..... ..... 000 ..... 1011011" =>
        |h, i| h.set(i.rd, bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2)));
    /// rd = (product of the low halves, unsigned) >> imm, logical.
    PMuluN "p.muluN" Mul P_NORM "00..... ..... ..... 000 ..... 1011011"
        except "0000000 ..... ..... 000 ..... 1011011" => |h, i| {
        let value = bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2));
        h.set(i.rd, value >> i.imm);
    };
    /// rd = (product of the low halves, unsigned) >> imm, rounded, logical.
    PMuluRN "p.muluRN" Mul P_NORM "00..... ..... ..... 100 ..... 1011011" => |h, i| {
        let value = bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, value >> i.imm);
    };
    /// rd = product of the high halves, unsigned.
    PMulHhu "p.mulhhu" Mul R "0100000 ..... ..... 000 ..... 1011011" =>
        |h, i| h.set(i.rd, bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2)));
    /// rd = (product of the high halves, unsigned) >> imm, logical.
    PMulHhuN "p.mulhhuN" Mul P_NORM "01..... ..... ..... 000 ..... 1011011"
        except "0100000 ..... ..... 000 ..... 1011011" => |h, i| {
        let value = bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2));
        h.set(i.rd, value >> i.imm);
    };
    /// rd = (product of the high halves, unsigned) >> imm, rounded, logical.
    PMulHhuRN "p.mulhhuRN" Mul P_NORM "01..... ..... ..... 100 ..... 1011011" => |h, i| {
        let value = bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, value >> i.imm);
    };
    /// rd += product of the low halves, signed.
    PMacs "p.macs" Mul P_ACC "1000000 ..... ..... 001 ..... 1011011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_add(bits::mul_low(h.x(i.rs1), h.x(i.rs2))));
    /// rd = (rd + product of the low halves, signed) >> imm, arithmetic.
    PMacsN "p.macsN" Mul P_NORM_ACC "10..... ..... ..... 001 ..... 1011011"
        except "1000000 ..... ..... 001 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_low(h.x(i.rs1), h.x(i.rs2)));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = (rd + product of the low halves, signed) >> imm, rounded, arithmetic.
    PMacsRN "p.macsRN" Mul P_NORM_ACC "10..... ..... ..... 101 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_low(h.x(i.rs1), h.x(i.rs2))).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd += product of the high halves, signed.
    PMacHhs "p.machhs" Mul P_ACC "1100000 ..... ..... 001 ..... 1011011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_add(bits::mul_high(h.x(i.rs1), h.x(i.rs2))));
    /// rd = (rd + product of the high halves, signed) >> imm, arithmetic.
    PMacHhsN "p.machhsN" Mul P_NORM_ACC "11..... ..... ..... 001 ..... 1011011"
        except "1100000 ..... ..... 001 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_high(h.x(i.rs1), h.x(i.rs2)));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd = (rd + product of the high halves, signed) >> imm, rounded, arithmetic.
    PMacHhsRN "p.machhsRN" Mul P_NORM_ACC "11..... ..... ..... 101 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_high(h.x(i.rs1), h.x(i.rs2))).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(value, i.imm as u32));
    };
    /// rd += product of the low halves, unsigned.
    PMacu "p.macu" Mul P_ACC "0000000 ..... ..... 001 ..... 1011011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_add(bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2))));
    /// rd = (rd + product of the low halves, unsigned) >> imm, logical.
    PMacuN "p.macuN" Mul P_NORM_ACC "00..... ..... ..... 001 ..... 1011011"
        except "0000000 ..... ..... 001 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2)));
        h.set(i.rd, value >> i.imm);
    };
    /// rd = (rd + product of the low halves, unsigned) >> imm, rounded, logical.
    PMacuRN "p.macuRN" Mul P_NORM_ACC "00..... ..... ..... 101 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_low_unsigned(h.x(i.rs1), h.x(i.rs2))).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, value >> i.imm);
    };
    /// rd += product of the high halves, unsigned.
    PMacHhu "p.machhu" Mul P_ACC "0100000 ..... ..... 001 ..... 1011011" =>
        |h, i| h.set(i.rd, h.x(i.rs3).wrapping_add(bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2))));
    /// rd = (rd + product of the high halves, unsigned) >> imm, logical.
    PMacHhuN "p.machhuN" Mul P_NORM_ACC "01..... ..... ..... 001 ..... 1011011"
        except "0100000 ..... ..... 001 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2)));
        h.set(i.rd, value >> i.imm);
    };
    /// rd = (rd + product of the high halves, unsigned) >> imm, rounded, logical.
    PMacHhuRN "p.machhuRN" Mul P_NORM_ACC "01..... ..... ..... 101 ..... 1011011" => |h, i| {
        let value = h.x(i.rs3).wrapping_add(bits::mul_high_unsigned(h.x(i.rs1), h.x(i.rs2))).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, value >> i.imm);
    };

    /// rd = (rs1 + rs2) >> imm, arithmetic.
    PAddN "p.addN" Alu P_NORM "00..... ..... ..... 010 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_add(h.x(i.rs2));
        h.set(i.rd, bits::norm(sum, i.imm as u32));
    };
    /// rd = (rd + rs1) >> the low 5 bits of rs2, arithmetic.
    PAddNr "p.addNr" Alu P_ACC "0100000 ..... ..... 010 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_add(h.x(i.rs1));
        h.set(i.rd, bits::norm(sum, h.x(i.rs2)));
    };
    /// rd = (rs1 + rs2) >> imm, rounded, arithmetic.
    PAddRN "p.addRN" Alu P_NORM "00..... ..... ..... 110 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_add(h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(sum, i.imm as u32));
    };
    /// rd = (rd + rs1) >> the low 5 bits of rs2, rounded, arithmetic.
    PAddRNr "p.addRNr" Alu P_ACC "0100000 ..... ..... 110 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_add(h.x(i.rs1)).wrapping_add(bits::half(h.x(i.rs2)));
        h.set(i.rd, bits::norm(sum, h.x(i.rs2)));
    };
    /// rd = (rs1 + rs2) >> imm, logical.
    PAdduN "p.adduN" Alu P_NORM "10..... ..... ..... 010 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_add(h.x(i.rs2));
        h.set(i.rd, sum.wrapping_shr(i.imm as u32));
    };
    /// rd = (rd + rs1) >> the low 5 bits of rs2, logical.
    PAdduNr "p.adduNr" Alu P_ACC "1100000 ..... ..... 010 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_add(h.x(i.rs1));
        h.set(i.rd, sum.wrapping_shr(h.x(i.rs2)));
    };
    /// rd = (rs1 + rs2) >> imm, rounded, logical.
    PAdduRN "p.adduRN" Alu P_NORM "10..... ..... ..... 110 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_add(h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, sum.wrapping_shr(i.imm as u32));
    };
    /// rd = (rd + rs1) >> the low 5 bits of rs2, rounded, logical.
    PAdduRNr "p.adduRNr" Alu P_ACC "1100000 ..... ..... 110 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_add(h.x(i.rs1)).wrapping_add(bits::half(h.x(i.rs2)));
        h.set(i.rd, sum.wrapping_shr(h.x(i.rs2)));
    };
    /// rd = (rs1 - rs2) >> imm, arithmetic.
    PSubN "p.subN" Alu P_NORM "00..... ..... ..... 011 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_sub(h.x(i.rs2));
        h.set(i.rd, bits::norm(sum, i.imm as u32));
    };
    /// rd = (rd - rs1) >> the low 5 bits of rs2, arithmetic.
    PSubNr "p.subNr" Alu P_ACC "0100000 ..... ..... 011 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_sub(h.x(i.rs1));
        h.set(i.rd, bits::norm(sum, h.x(i.rs2)));
    };
    /// rd = (rs1 - rs2) >> imm, rounded, arithmetic.
    PSubRN "p.subRN" Alu P_NORM "00..... ..... ..... 111 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_sub(h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, bits::norm(sum, i.imm as u32));
    };
    /// rd = (rd - rs1) >> the low 5 bits of rs2, rounded, arithmetic.
    PSubRNr "p.subRNr" Alu P_ACC "0100000 ..... ..... 111 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_sub(h.x(i.rs1)).wrapping_add(bits::half(h.x(i.rs2)));
        h.set(i.rd, bits::norm(sum, h.x(i.rs2)));
    };
    /// rd = (rs1 - rs2) >> imm, logical.
    PSubuN "p.subuN" Alu P_NORM "10..... ..... ..... 011 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_sub(h.x(i.rs2));
        h.set(i.rd, sum.wrapping_shr(i.imm as u32));
    };
    /// rd = (rd - rs1) >> the low 5 bits of rs2, logical.
    PSubuNr "p.subuNr" Alu P_ACC "1100000 ..... ..... 011 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_sub(h.x(i.rs1));
        h.set(i.rd, sum.wrapping_shr(h.x(i.rs2)));
    };
    /// rd = (rs1 - rs2) >> imm, rounded, logical.
    PSubuRN "p.subuRN" Alu P_NORM "10..... ..... ..... 111 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs1).wrapping_sub(h.x(i.rs2)).wrapping_add(bits::half(i.imm as u32));
        h.set(i.rd, sum.wrapping_shr(i.imm as u32));
    };
    /// rd = (rd - rs1) >> the low 5 bits of rs2, rounded, logical.
    PSubuRNr "p.subuRNr" Alu P_ACC "1100000 ..... ..... 111 ..... 1011011" => |h, i| {
        let sum = h.x(i.rs3).wrapping_sub(h.x(i.rs1)).wrapping_add(bits::half(h.x(i.rs2)));
        h.set(i.rd, sum.wrapping_shr(h.x(i.rs2)));
    };
}}}}
