//! RV32M: multiplication and division. U chapter 7.

macro_rules! rv32m { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { M
    /// rd = low word of rs1 * rs2.
    Mul "mul" Mul R "0000001 ..... ..... 000 ..... 0110011" =>
        |h, i| h.set(i.rd, h.x(i.rs1).wrapping_mul(h.x(i.rs2)));
    /// rd = high word of rs1 * rs2, both signed.
    Mulh "mulh" MulHigh R "0000001 ..... ..... 001 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::mulh(h.x(i.rs1), h.x(i.rs2)));
    /// rd = high word of rs1 * rs2, rs1 signed, rs2 unsigned.
    Mulhsu "mulhsu" MulHigh R "0000001 ..... ..... 010 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::mulhsu(h.x(i.rs1), h.x(i.rs2)));
    /// rd = high word of rs1 * rs2, both unsigned.
    Mulhu "mulhu" MulHigh R "0000001 ..... ..... 011 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::mulhu(h.x(i.rs1), h.x(i.rs2)));
    /// rd = rs1 / rs2, signed. See [`flow::div`] for 0 and overflow.
    Div "div" Div R "0000001 ..... ..... 100 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::div(h.x(i.rs1), h.x(i.rs2)));
    /// rd = rs1 / rs2, unsigned.
    Divu "divu" Div R "0000001 ..... ..... 101 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::divu(h.x(i.rs1), h.x(i.rs2)));
    /// rd = remainder of rs1 / rs2, signed.
    Rem "rem" Div R "0000001 ..... ..... 110 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::rem(h.x(i.rs1), h.x(i.rs2)));
    /// rd = remainder of rs1 / rs2, unsigned.
    Remu "remu" Div R "0000001 ..... ..... 111 ..... 0110011" =>
        |h, i| h.set(i.rd, flow::remu(h.x(i.rs1), h.x(i.rs2)));
}}}}
