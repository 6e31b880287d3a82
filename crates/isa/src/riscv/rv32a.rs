//! RV32A: atomic memory operations on words. U chapter 8.
//!
//! Acquire and release bits are decoded and shown but have no effect: a hart performs its accesses in order.

macro_rules! rv32a { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { A
    /// rd = word at rs1, and reserves it.
    LrW "lr.w" Amo LR "00010 .. 00000 ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), 0, Amo::LoadReserved);
    /// Word at rs1 = rs2 if the reservation holds; then rd = 0, else 1.
    ScW "sc.w" Amo AMO "00011 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::StoreConditional);
    /// rd = word at rs1; then that word = rs2.
    AmoswapW "amoswap.w" Amo AMO "00001 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Swap);
    /// rd = word at rs1; then that word += rs2.
    AmoaddW "amoadd.w" Amo AMO "00000 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Add);
    /// rd = word at rs1; then that word ^= rs2.
    AmoxorW "amoxor.w" Amo AMO "00100 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Xor);
    /// rd = word at rs1; then that word &= rs2.
    AmoandW "amoand.w" Amo AMO "01100 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::And);
    /// rd = word at rs1; then that word |= rs2.
    AmoorW "amoor.w" Amo AMO "01000 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Or);
    /// rd = word at rs1; then that word = minimum of it and rs2, signed.
    AmominW "amomin.w" Amo AMO "10000 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Min);
    /// rd = word at rs1; then that word = maximum of it and rs2, signed.
    AmomaxW "amomax.w" Amo AMO "10100 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::Max);
    /// rd = word at rs1; then that word = minimum of it and rs2, unsigned.
    AmominuW "amominu.w" Amo AMO "11000 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::MinU);
    /// rd = word at rs1; then that word = maximum of it and rs2, unsigned.
    AmomaxuW "amomaxu.w" Amo AMO "11100 .. ..... ..... 010 ..... 0101111" =>
        |h, i| h.amo(i.rd, h.x(i.rs1), h.x(i.rs2), Amo::MaxU);
}}}}
