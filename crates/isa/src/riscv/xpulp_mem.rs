//! PULP: loads and stores at the sum of two registers, and with post-increment. PsPIN RTL a49fec8, `riscv_decoder.sv`.
//!
//! A post-increment uses the write port of the ALU, so it costs no cycle. If a load's destination is its address
//! register, the loaded value is written last. A store reads its operand before the increment. "Buffered" stores are
//! for a store buffer that PsPIN's cores do not have: they are plain stores, without the post-increment of their
//! syntax.

macro_rules! xpulp_mem { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { Xpulpv2
    /// rd = word at rs1 + imm. The event unit answers when the event occurs.
    PElw "p.elw" Elw LOAD "............ ..... 110 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::Elw);

    /// rd = byte at rs1, sign-extended; then rs1 += imm.
    PLbPost "p.lb" Load P_LOAD_POST "............ ..... 000 ..... 0001011" => |h, i| {
        let addr = h.x(i.rs1);
        h.load(i.rd, addr, Load::Byte);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// rd = byte at rs1, sign-extended; then rs1 += rs2.
    PLbRegPost "p.lb" Load P_LOAD_REG_POST "0000000 ..... ..... 111 ..... 0001011" => |h, i| {
        let (addr, step) = (h.x(i.rs1), h.x(i.rs2));
        h.load(i.rd, addr, Load::Byte);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// rd = byte at rs1 + rs2, sign-extended.
    PLbReg "p.lb" Load P_LOAD_REG "0000000 ..... ..... 111 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)), Load::Byte);
    /// rd = byte at rs1, zero-extended; then rs1 += imm.
    PLbuPost "p.lbu" Load P_LOAD_POST "............ ..... 100 ..... 0001011" => |h, i| {
        let addr = h.x(i.rs1);
        h.load(i.rd, addr, Load::ByteU);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// rd = byte at rs1, zero-extended; then rs1 += rs2.
    PLbuRegPost "p.lbu" Load P_LOAD_REG_POST "0100000 ..... ..... 111 ..... 0001011" => |h, i| {
        let (addr, step) = (h.x(i.rs1), h.x(i.rs2));
        h.load(i.rd, addr, Load::ByteU);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// rd = byte at rs1 + rs2, zero-extended.
    PLbuReg "p.lbu" Load P_LOAD_REG "0100000 ..... ..... 111 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)), Load::ByteU);
    /// rd = halfword at rs1, sign-extended; then rs1 += imm.
    PLhPost "p.lh" Load P_LOAD_POST "............ ..... 001 ..... 0001011" => |h, i| {
        let addr = h.x(i.rs1);
        h.load(i.rd, addr, Load::Half);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// rd = halfword at rs1, sign-extended; then rs1 += rs2.
    PLhRegPost "p.lh" Load P_LOAD_REG_POST "0001000 ..... ..... 111 ..... 0001011" => |h, i| {
        let (addr, step) = (h.x(i.rs1), h.x(i.rs2));
        h.load(i.rd, addr, Load::Half);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// rd = halfword at rs1 + rs2, sign-extended.
    PLhReg "p.lh" Load P_LOAD_REG "0001000 ..... ..... 111 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)), Load::Half);
    /// rd = halfword at rs1, zero-extended; then rs1 += imm.
    PLhuPost "p.lhu" Load P_LOAD_POST "............ ..... 101 ..... 0001011" => |h, i| {
        let addr = h.x(i.rs1);
        h.load(i.rd, addr, Load::HalfU);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// rd = halfword at rs1, zero-extended; then rs1 += rs2.
    PLhuRegPost "p.lhu" Load P_LOAD_REG_POST "0101000 ..... ..... 111 ..... 0001011" => |h, i| {
        let (addr, step) = (h.x(i.rs1), h.x(i.rs2));
        h.load(i.rd, addr, Load::HalfU);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// rd = halfword at rs1 + rs2, zero-extended.
    PLhuReg "p.lhu" Load P_LOAD_REG "0101000 ..... ..... 111 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)), Load::HalfU);
    /// rd = word at rs1; then rs1 += imm.
    PLwPost "p.lw" Load P_LOAD_POST "............ ..... 010 ..... 0001011" => |h, i| {
        let addr = h.x(i.rs1);
        h.load(i.rd, addr, Load::Word);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// rd = word at rs1; then rs1 += rs2.
    PLwRegPost "p.lw" Load P_LOAD_REG_POST "0010000 ..... ..... 111 ..... 0001011" => |h, i| {
        let (addr, step) = (h.x(i.rs1), h.x(i.rs2));
        h.load(i.rd, addr, Load::Word);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// rd = word at rs1 + rs2.
    PLwReg "p.lw" Load P_LOAD_REG "0010000 ..... ..... 111 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(h.x(i.rs2)), Load::Word);

    /// Byte at rs1 = rs2; then rs1 += imm.
    PSbPost "p.sb" Store P_STORE_POST "....... ..... ..... 000 ..... 0101011" => |h, i| {
        let (addr, value) = (h.x(i.rs1), h.x(i.rs2));
        h.store(addr, value, Width::Byte);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// Byte at rs1 = rs2; then rs1 += rs3.
    PSbRegPost "p.sb" Store P_STORE_REG_POST "0000000 ..... ..... 100 ..... 0101011" => |h, i| {
        let (addr, value, step) = (h.x(i.rs1), h.x(i.rs2), h.x(i.rs3));
        h.store(addr, value, Width::Byte);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// Byte at rs1 + rs3 = rs2.
    PSbReg "p.sb" Store P_STORE_REG "0000000 ..... ..... 100 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Byte);
    /// Halfword at rs1 = rs2; then rs1 += imm.
    PShPost "p.sh" Store P_STORE_POST "....... ..... ..... 001 ..... 0101011" => |h, i| {
        let (addr, value) = (h.x(i.rs1), h.x(i.rs2));
        h.store(addr, value, Width::Half);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// Halfword at rs1 = rs2; then rs1 += rs3.
    PShRegPost "p.sh" Store P_STORE_REG_POST "0000000 ..... ..... 101 ..... 0101011" => |h, i| {
        let (addr, value, step) = (h.x(i.rs1), h.x(i.rs2), h.x(i.rs3));
        h.store(addr, value, Width::Half);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// Halfword at rs1 + rs3 = rs2.
    PShReg "p.sh" Store P_STORE_REG "0000000 ..... ..... 101 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Half);
    /// Word at rs1 = rs2; then rs1 += imm.
    PSwPost "p.sw" Store P_STORE_POST "....... ..... ..... 010 ..... 0101011" => |h, i| {
        let (addr, value) = (h.x(i.rs1), h.x(i.rs2));
        h.store(addr, value, Width::Word);
        h.advance(i.rs1, addr.wrapping_add(i.imm as u32));
    };
    /// Word at rs1 = rs2; then rs1 += rs3.
    PSwRegPost "p.sw" Store P_STORE_REG_POST "0000000 ..... ..... 110 ..... 0101011" => |h, i| {
        let (addr, value, step) = (h.x(i.rs1), h.x(i.rs2), h.x(i.rs3));
        h.store(addr, value, Width::Word);
        h.advance(i.rs1, addr.wrapping_add(step));
    };
    /// Word at rs1 + rs3 = rs2.
    PSwReg "p.sw" Store P_STORE_REG "0000000 ..... ..... 110 ..... 0100011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Word);

    /// Byte at rs1 + imm = rs2.
    PBSb "p.bsb" Store S "....... ..... ..... 000 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Byte);
    /// Byte at rs1 + rs3 = rs2.
    PBSbReg "p.bsb" Store P_STORE_REG "0000000 ..... ..... 100 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Byte);
    /// Byte at rs1 + imm = rs2; rs1 stays.
    PBSbPost "p.bsb" Store P_STORE_POST "....... ..... ..... 000 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Byte);
    /// Byte at rs1 + rs3 = rs2; rs1 stays.
    PBSbRegPost "p.bsb" Store P_STORE_REG_POST "0000000 ..... ..... 100 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Byte);
    /// Halfword at rs1 + imm = rs2.
    PBSh "p.bsh" Store S "....... ..... ..... 001 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Half);
    /// Halfword at rs1 + rs3 = rs2.
    PBShReg "p.bsh" Store P_STORE_REG "0000000 ..... ..... 101 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Half);
    /// Halfword at rs1 + imm = rs2; rs1 stays.
    PBShPost "p.bsh" Store P_STORE_POST "....... ..... ..... 001 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Half);
    /// Halfword at rs1 + rs3 = rs2; rs1 stays.
    PBShRegPost "p.bsh" Store P_STORE_REG_POST "0000000 ..... ..... 101 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Half);
    /// Word at rs1 + imm = rs2.
    PBSw "p.bsw" Store S "....... ..... ..... 010 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Word);
    /// Word at rs1 + rs3 = rs2.
    PBSwReg "p.bsw" Store P_STORE_REG "0000000 ..... ..... 110 ..... 1101011" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Word);
    /// Word at rs1 + imm = rs2; rs1 stays.
    PBSwPost "p.bsw" Store P_STORE_POST "....... ..... ..... 010 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(i.imm as u32), h.x(i.rs2), Width::Word);
    /// Word at rs1 + rs3 = rs2; rs1 stays.
    PBSwRegPost "p.bsw" Store P_STORE_REG_POST "0000000 ..... ..... 110 ..... 1110111" =>
        |h, i| h.store(h.x(i.rs1).wrapping_add(h.x(i.rs3)), h.x(i.rs2), Width::Word);
}}}}
