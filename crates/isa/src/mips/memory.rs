//! Loads and stores.

macro_rules! memory { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// rt = byte at rs + imm, sign-extended. A LB.
    Lb "lb" Load LOAD "100000 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Byte);
    /// rt = halfword at rs + imm, sign-extended. A LH.
    Lh "lh" Load LOAD "100001 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Half);
    /// Upper bytes of rt = bytes from rs + imm to the end of their word. A LWL.
    Lwl "lwl" Load MERGE "100010 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Left);
    /// rt = word at rs + imm. A LW.
    Lw "lw" Load LOAD "100011 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Word);
    /// rt = byte at rs + imm, zero-extended. A LBU.
    Lbu "lbu" Load LOAD "100100 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::ByteU);
    /// rt = halfword at rs + imm, zero-extended. A LHU.
    Lhu "lhu" Load LOAD "100101 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::HalfU);
    /// Lower bytes of rt = bytes from the start of their word to rs + imm. A LWR.
    Lwr "lwr" Load MERGE "100110 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Right);
    /// rt = word at rs + imm, and reserves it. A LL.
    Ll "ll" Load LOAD "110000 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Linked);

    /// Byte at rs + imm = rt. A SB.
    Sb "sb" Store STORE "101000 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Byte);
    /// Halfword at rs + imm = rt. A SH.
    Sh "sh" Store STORE "101001 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Half);
    /// Bytes from rs + imm to the end of their word = upper bytes of rt. A SWL.
    Swl "swl" Store STORE "101010 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Left);
    /// Word at rs + imm = rt. A SW.
    Sw "sw" Store STORE "101011 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Word);
    /// Bytes from the start of their word to rs + imm = lower bytes of rt. A SWR.
    Swr "swr" Store STORE "101110 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Right);
    /// Word at rs + imm = rt if the reservation holds; then rt = 1, else 0. A SC.
    Sc "sc" Store MERGE "111000 ..... ..... ................" =>
        |c, i| c.store_conditional(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt));
}}}
