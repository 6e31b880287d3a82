//! Arithmetic and logic, multiplication and division.

macro_rules! compute { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// rt = rs + imm; an exception if the signed sum overflows. A ADDI.
    Addi "addi" Alu I "001000 ..... ..... ................" => |c, i| flow::add(c, i.rt, c.r(i.rs), i.imm as u32);
    /// rt = rs + imm. A ADDIU.
    Addiu "addiu" Alu I "001001 ..... ..... ................" =>
        |c, i| c.set(i.rt, c.r(i.rs).wrapping_add(i.imm as u32));
    /// rt = 1 if rs < imm, signed, else 0. A SLTI.
    Slti "slti" Alu I "001010 ..... ..... ................" =>
        |c, i| c.set(i.rt, u32::from((c.r(i.rs) as i32) < i.imm));
    /// rt = 1 if rs < imm, sign-extended and both as unsigned, else 0. A SLTIU.
    Sltiu "sltiu" Alu I "001011 ..... ..... ................" =>
        |c, i| c.set(i.rt, u32::from(c.r(i.rs) < i.imm as u32));
    /// rt = rs and imm, zero-extended. A ANDI.
    Andi "andi" Alu IU "001100 ..... ..... ................" => |c, i| c.set(i.rt, c.r(i.rs) & i.imm as u32);
    /// rt = rs or imm, zero-extended. A ORI.
    Ori "ori" Alu IU "001101 ..... ..... ................" => |c, i| c.set(i.rt, c.r(i.rs) | i.imm as u32);
    /// rt = rs xor imm, zero-extended. A XORI.
    Xori "xori" Alu IU "001110 ..... ..... ................" => |c, i| c.set(i.rt, c.r(i.rs) ^ i.imm as u32);
    /// rt = imm in the upper half, 0 in the lower. A LUI.
    Lui "lui" Alu LUI "001111 00000 ..... ................" => |c, i| c.set(i.rt, (i.imm as u32) << 16);

    /// rd = rs + rt; an exception if the signed sum overflows. A ADD.
    Add "add" Alu R "000000 ..... ..... ..... 00000 100000" => |c, i| flow::add(c, i.rd, c.r(i.rs), c.r(i.rt));
    /// rd = rs + rt. A ADDU.
    Addu "addu" Alu R "000000 ..... ..... ..... 00000 100001" =>
        |c, i| c.set(i.rd, c.r(i.rs).wrapping_add(c.r(i.rt)));
    /// rd = rs - rt; an exception if the signed difference overflows. A SUB.
    Sub "sub" Alu R "000000 ..... ..... ..... 00000 100010" => |c, i| flow::sub(c, i.rd, c.r(i.rs), c.r(i.rt));
    /// rd = rs - rt. A SUBU.
    Subu "subu" Alu R "000000 ..... ..... ..... 00000 100011" =>
        |c, i| c.set(i.rd, c.r(i.rs).wrapping_sub(c.r(i.rt)));
    /// rd = rs and rt. A AND.
    And "and" Alu R "000000 ..... ..... ..... 00000 100100" => |c, i| c.set(i.rd, c.r(i.rs) & c.r(i.rt));
    /// rd = rs or rt. A OR.
    Or "or" Alu R "000000 ..... ..... ..... 00000 100101" => |c, i| c.set(i.rd, c.r(i.rs) | c.r(i.rt));
    /// rd = rs xor rt. A XOR.
    Xor "xor" Alu R "000000 ..... ..... ..... 00000 100110" => |c, i| c.set(i.rd, c.r(i.rs) ^ c.r(i.rt));
    /// rd = not (rs or rt). A NOR.
    Nor "nor" Alu R "000000 ..... ..... ..... 00000 100111" => |c, i| c.set(i.rd, !(c.r(i.rs) | c.r(i.rt)));
    /// rd = 1 if rs < rt, signed, else 0. A SLT.
    Slt "slt" Alu R "000000 ..... ..... ..... 00000 101010" =>
        |c, i| c.set(i.rd, u32::from((c.r(i.rs) as i32) < c.r(i.rt) as i32));
    /// rd = 1 if rs < rt, unsigned, else 0. A SLTU.
    Sltu "sltu" Alu R "000000 ..... ..... ..... 00000 101011" =>
        |c, i| c.set(i.rd, u32::from(c.r(i.rs) < c.r(i.rt)));

    /// rd = rt shifted left by imm. A SLL.
    Sll "sll" Alu SHIFT "000000 00000 ..... ..... ..... 000000" =>
        |c, i| c.set(i.rd, c.r(i.rt).wrapping_shl(i.imm as u32));
    /// rd = rt shifted right by imm, logical. A SRL.
    Srl "srl" Alu SHIFT "000000 00000 ..... ..... ..... 000010" =>
        |c, i| c.set(i.rd, c.r(i.rt).wrapping_shr(i.imm as u32));
    /// rd = rt shifted right by imm, arithmetic. A SRA.
    Sra "sra" Alu SHIFT "000000 00000 ..... ..... ..... 000011" =>
        |c, i| c.set(i.rd, (c.r(i.rt) as i32).wrapping_shr(i.imm as u32) as u32);
    /// rd = rt shifted left by the low 5 bits of rs. A SLLV.
    Sllv "sllv" Alu SHIFTV "000000 ..... ..... ..... 00000 000100" =>
        |c, i| c.set(i.rd, c.r(i.rt).wrapping_shl(c.r(i.rs)));
    /// rd = rt shifted right by the low 5 bits of rs, logical. A SRLV.
    Srlv "srlv" Alu SHIFTV "000000 ..... ..... ..... 00000 000110" =>
        |c, i| c.set(i.rd, c.r(i.rt).wrapping_shr(c.r(i.rs)));
    /// rd = rt shifted right by the low 5 bits of rs, arithmetic. A SRAV.
    Srav "srav" Alu SHIFTV "000000 ..... ..... ..... 00000 000111" =>
        |c, i| c.set(i.rd, (c.r(i.rt) as i32).wrapping_shr(c.r(i.rs)) as u32);

    /// HI, LO = rs * rt, signed. A MULT.
    Mult "mult" Multiply MULDIV "000000 ..... ..... 00000 00000 011000" =>
        |c, i| { let (hi, lo) = flow::mult(c.r(i.rs), c.r(i.rt)); c.set_hi(hi); c.set_lo(lo); };
    /// HI, LO = rs * rt, unsigned. A MULTU.
    Multu "multu" Multiply MULDIV "000000 ..... ..... 00000 00000 011001" =>
        |c, i| { let (hi, lo) = flow::multu(c.r(i.rs), c.r(i.rt)); c.set_hi(hi); c.set_lo(lo); };
    /// LO = rs / rt, HI = remainder, signed. [`flow::div`] defines the undefined cases. A DIV.
    Div "div" Divide DIVIDE "000000 ..... ..... 00000 00000 011010" =>
        |c, i| { let (hi, lo) = flow::div(c.r(i.rs), c.r(i.rt)); c.set_hi(hi); c.set_lo(lo); };
    /// LO = rs / rt, HI = remainder, unsigned. [`flow::divu`] defines the undefined cases. A DIVU.
    Divu "divu" Divide DIVIDE "000000 ..... ..... 00000 00000 011011" =>
        |c, i| { let (hi, lo) = flow::divu(c.r(i.rs), c.r(i.rt)); c.set_hi(hi); c.set_lo(lo); };
    /// rd = HI. A MFHI.
    Mfhi "mfhi" HiLo RD "000000 00000 00000 ..... 00000 010000" => |c, i| c.set(i.rd, c.hi());
    /// HI = rs. A MTHI.
    Mthi "mthi" HiLo RS "000000 ..... 00000 00000 00000 010001" => |c, i| c.set_hi(c.r(i.rs));
    /// rd = LO. A MFLO.
    Mflo "mflo" HiLo RD "000000 00000 00000 ..... 00000 010010" => |c, i| c.set(i.rd, c.lo());
    /// LO = rs. A MTLO.
    Mtlo "mtlo" HiLo RS "000000 ..... 00000 00000 00000 010011" => |c, i| c.set_lo(c.r(i.rs));
}}}
