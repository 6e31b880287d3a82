//! PULP's own instructions. PsPIN RTL a49fec8, `riscv_decoder.sv`.
//!
//! Of them only the event load is here, by which the boot code sleeps. The rest stands in parts of the opcode space
//! that no row above occupies: register-offset and post-increment accesses (0x03, 0x0b, 0x23, 0x2b, 0x6b, 0x77), branches
//! on constants (0x63), bit manipulation and multiply-accumulate (0x33, 0x5b), SIMD (0x57) and hardware loops (0x7b).

macro_rules! xpulp { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// rd = word at rs1 + imm; the event unit answers when the event is there.
    PElw "p.elw" Elw LOAD "............ ..... 110 ..... 0000011" =>
        |h, i| h.load(i.rd, h.x(i.rs1).wrapping_add(i.imm as u32), Load::Elw);
}}}
