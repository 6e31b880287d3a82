//! The two instructions that the Tigon-2 adds for its dispatch loop. They use the encodings of `movn` and `movz` in
//! later MIPS versions.
//!
//! Source: the machine code of the released firmware 12.4.11, executed, and P. Willmann's thesis (Rice University,
//! 2004), section 2.1.2.

macro_rules! tigon { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// rd = 1 + number of the highest bit that is set in both rs and rt, or 0 if there is none.
    Pri "pri" Alu R "000000 ..... ..... ..... 00000 001011" =>
        |c, i| c.set(i.rd, u32::BITS - (c.r(i.rs) & c.r(i.rt)).leading_zeros());
    /// Jumps to rs + 8 * rt: to entry rt of a table of two instructions each.
    Joff "joff" JumpReg JOFF "000000 ..... ..... 00000 00000 001010" =>
        |c, i| c.branch(c.r(i.rs).wrapping_add(c.r(i.rt).wrapping_mul(8)));
}}}
