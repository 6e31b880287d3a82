//! RV32I and Zifencei, the base. U chapters 2 and 3.

macro_rules! rv32i { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { I
    /// rd = imm. The low 12 bits of imm are 0.
    Lui "lui" Alu U ".................... ..... 0110111" => |h, i| h.set(i.rd, i.imm as u32);
    /// rd = pc + imm. The low 12 bits of imm are 0.
    Auipc "auipc" Alu U ".................... ..... 0010111" =>
        |h, i| h.set(i.rd, h.pc().wrapping_add(i.imm as u32));

    /// rd = pc of the next instruction; jumps to pc + imm.
    Jal "jal" Jump J ".................... ..... 1101111" => |h, i| {
        h.set(i.rd, h.pc().wrapping_add(i.bytes().into()));
        h.jump(h.pc().wrapping_add(i.imm as u32));
    };
    /// rd = pc of the next instruction; jumps to rs1 + imm with bit 0 cleared.
    Jalr "jalr" JumpReg LOAD "............ ..... 000 ..... 1100111" => |h, i| {
        let target = h.x(i.rs1).wrapping_add(i.imm as u32) & !1; // Before rd changes: it may be rs1.
        h.set(i.rd, h.pc().wrapping_add(i.bytes().into()));
        h.jump(target);
    };

    /// Jumps to pc + imm if rs1 = rs2.
    Beq "beq" Branch B "....... ..... ..... 000 ..... 1100011" =>
        |h, i| if h.x(i.rs1) == h.x(i.rs2) { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 and rs2 differ.
    Bne "bne" Branch B "....... ..... ..... 001 ..... 1100011" =>
        |h, i| if h.x(i.rs1) != h.x(i.rs2) { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 < rs2, signed.
    Blt "blt" Branch B "....... ..... ..... 100 ..... 1100011" =>
        |h, i| if (h.x(i.rs1) as i32) < h.x(i.rs2) as i32 { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 >= rs2, signed.
    Bge "bge" Branch B "....... ..... ..... 101 ..... 1100011" =>
        |h, i| if h.x(i.rs1) as i32 >= h.x(i.rs2) as i32 { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 < rs2, unsigned.
    Bltu "bltu" Branch B "....... ..... ..... 110 ..... 1100011" =>
        |h, i| if h.x(i.rs1) < h.x(i.rs2) { h.jump(h.pc().wrapping_add(i.imm as u32)) };
    /// Jumps to pc + imm if rs1 >= rs2, unsigned.
    Bgeu "bgeu" Branch B "....... ..... ..... 111 ..... 1100011" =>
        |h, i| if h.x(i.rs1) >= h.x(i.rs2) { h.jump(h.pc().wrapping_add(i.imm as u32)) };

    /// rd = byte at rs1 + imm, sign-extended.
    Lb "lb" Load LOAD "............ ..... 000 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::Byte);
    /// rd = halfword at rs1 + imm, sign-extended.
    Lh "lh" Load LOAD "............ ..... 001 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::Half);
    /// rd = word at rs1 + imm.
    Lw "lw" Load LOAD "............ ..... 010 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::Word);
    /// rd = byte at rs1 + imm, zero-extended.
    Lbu "lbu" Load LOAD "............ ..... 100 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::ByteU);
    /// rd = halfword at rs1 + imm, zero-extended.
    Lhu "lhu" Load LOAD "............ ..... 101 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::HalfU);
    /// Byte at rs1 + imm = rs2.
    Sb "sb" Store S "....... ..... ..... 000 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Byte);
    /// Halfword at rs1 + imm = rs2.
    Sh "sh" Store S "....... ..... ..... 001 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Half);
    /// Word at rs1 + imm = rs2.
    Sw "sw" Store S "....... ..... ..... 010 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Word);

    /// rd = rs1 + imm.
    Addi "addi" Alu I "............ ..... 000 ..... 0010011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32));
    /// rd = 1 if rs1 < imm, signed, else 0.
    Slti "slti" Alu I "............ ..... 010 ..... 0010011" =>
        |h, i| h.set(i.rd, u32::from((h.x(i.rs1) as i32) < i.imm));
    /// rd = 1 if rs1 < imm, both as unsigned, else 0.
    Sltiu "sltiu" Alu I "............ ..... 011 ..... 0010011" =>
        |h, i| h.set(i.rd, u32::from(h.x(i.rs1) < i.imm as u32));
    /// rd = rs1 xor imm.
    Xori "xori" Alu I "............ ..... 100 ..... 0010011" => |h, i| h.set(i.rd, h.x(i.rs1) ^ i.imm as u32);
    /// rd = rs1 or imm.
    Ori "ori" Alu I "............ ..... 110 ..... 0010011" => |h, i| h.set(i.rd, h.x(i.rs1) | i.imm as u32);
    /// rd = rs1 and imm.
    Andi "andi" Alu I "............ ..... 111 ..... 0010011" => |h, i| h.set(i.rd, h.x(i.rs1) & i.imm as u32);
    /// rd = rs1 shifted left by imm.
    Slli "slli" Alu SHIFT "0000000 ..... ..... 001 ..... 0010011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_shl(i.imm as u32));
    /// rd = rs1 shifted right by imm, logical.
    Srli "srli" Alu SHIFT "0000000 ..... ..... 101 ..... 0010011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_shr(i.imm as u32));
    /// rd = rs1 shifted right by imm, arithmetic.
    Srai "srai" Alu SHIFT "0100000 ..... ..... 101 ..... 0010011" =>
        |h, i| h.set(i.rd, (h.x(i.rs1) as i32).wrapping_shr(i.imm as u32) as u32);

    /// rd = rs1 + rs2.
    Add "add" Alu R "0000000 ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)));
    /// rd = rs1 - rs2.
    Sub "sub" Alu R "0100000 ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_sub(h.x(i.rs2)));
    /// rd = rs1 shifted left by the low 5 bits of rs2.
    Sll "sll" Alu R "0000000 ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_shl(h.x(i.rs2)));
    /// rd = 1 if rs1 < rs2, signed, else 0.
    Slt "slt" Alu R "0000000 ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, u32::from((h.x(i.rs1) as i32) < h.x(i.rs2) as i32));
    /// rd = 1 if rs1 < rs2, unsigned, else 0.
    Sltu "sltu" Alu R "0000000 ..... ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, u32::from(h.x(i.rs1) < h.x(i.rs2)));
    /// rd = rs1 xor rs2.
    Xor "xor" Alu R "0000000 ..... ..... 100 ..... 0110011" => |h, i| h.set(i.rd, h.x(i.rs1) ^ h.x(i.rs2));
    /// rd = rs1 shifted right by the low 5 bits of rs2, logical.
    Srl "srl" Alu R "0000000 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_shr(h.x(i.rs2)));
    /// rd = rs1 shifted right by the low 5 bits of rs2, arithmetic.
    Sra "sra" Alu R "0100000 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, (h.x(i.rs1) as i32).wrapping_shr(h.x(i.rs2)) as u32);
    /// rd = rs1 or rs2.
    Or "or" Alu R "0000000 ..... ..... 110 ..... 0110011" => |h, i| h.set(i.rd, h.x(i.rs1) | h.x(i.rs2));
    /// rd = rs1 and rs2.
    And "and" Alu R "0000000 ..... ..... 111 ..... 0110011" => |h, i| h.set(i.rd, h.x(i.rs1) & h.x(i.rs2));

    /// Memory barrier. Ignores register fields and unknown modes, as the standard requires. U 2.7.
    Fence "fence" Fence FENCE "............ ..... 000 ..... 0001111"
        except "1000 0011 0011 ..... 000 ..... 0001111" => |h, _i| h.system(System::Fence);
    /// Memory barrier that does not order a store before a later load.
    FenceTso "fence.tso" Fence NONE "1000 0011 0011 ..... 000 ..... 0001111" =>
        |h, _i| h.system(System::Fence);
} { Zifencei
    /// Makes stores visible to instruction fetch. U chapter 3.
    FenceI "fence.i" Fence NONE "............ ..... 001 ..... 0001111" =>
        |h, _i| h.system(System::FenceI);
}}}}
