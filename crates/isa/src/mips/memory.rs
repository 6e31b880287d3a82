//! Loads and stores.

macro_rules! memory { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// rt = byte at rs + imm, sign-extended. A LB.
    Lb "lb" Load LOAD "100000 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Byte);
    /// rt = half word at rs + imm, sign-extended. A LH.
    Lh "lh" Load LOAD "100001 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Half);
    /// The bytes of the word around rs + imm from there to its end become the upper bytes of rt. A LWL.
    Lwl "lwl" Load MERGE "100010 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Left);
    /// rt = word at rs + imm. A LW.
    Lw "lw" Load LOAD "100011 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Word);
    /// rt = byte at rs + imm, zero-extended. A LBU.
    Lbu "lbu" Load LOAD "100100 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::ByteU);
    /// rt = half word at rs + imm, zero-extended. A LHU.
    Lhu "lhu" Load LOAD "100101 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::HalfU);
    /// The bytes of the word around rs + imm from its start to there become the lower bytes of rt. A LWR.
    Lwr "lwr" Load MERGE "100110 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Right);
    /// rt = word at rs + imm, which becomes linked. A LL.
    Ll "ll" Load LOAD "110000 ..... ..... ................" =>
        |c, i| c.load(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), Load::Linked);

    /// Byte at rs + imm = rt. A SB.
    Sb "sb" Store STORE "101000 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Byte);
    /// Half word at rs + imm = rt. A SH.
    Sh "sh" Store STORE "101001 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Half);
    /// The upper bytes of rt go to the bytes of the word around rs + imm from there to its end. A SWL.
    Swl "swl" Store STORE "101010 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Left);
    /// Word at rs + imm = rt. A SW.
    Sw "sw" Store STORE "101011 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Word);
    /// The lower bytes of rt go to the bytes of the word around rs + imm from its start to there. A SWR.
    Swr "swr" Store STORE "101110 ..... ..... ................" =>
        |c, i| c.store(c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt), Store::Right);
    /// Word at rs + imm = rt if it is still linked; rt = 1 if so, else 0. A SC.
    Sc "sc" Store MERGE "111000 ..... ..... ................" =>
        |c, i| c.store_conditional(i.rt, c.r(i.rs).wrapping_add(i.imm as u32), c.r(i.rt));
}}}
