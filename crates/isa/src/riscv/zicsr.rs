//! Zicsr: control and status registers. U chapter 9.
//!
//! Setting or clearing with register 0 (or the constant 0) does not write; `csrrw` into register 0 does not read.

macro_rules! zicsr { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { Zicsr
    /// rd = csr; csr = rs1.
    Csrrw "csrrw" Csr CSR "............ ..... 001 ..... 1110011" =>
        |h, i| h.csr(i.rd, i.csr(), CsrWrite::Write(h.x(i.rs1)), i.rd != 0);
    /// rd = csr; the bits of rs1 are set in csr.
    Csrrs "csrrs" Csr CSR "............ ..... 010 ..... 1110011" => |h, i| {
        let write = if i.rs1 == 0 { CsrWrite::None } else { CsrWrite::Set(h.x(i.rs1)) };
        h.csr(i.rd, i.csr(), write, true)
    };
    /// rd = csr; the bits of rs1 are cleared in csr.
    Csrrc "csrrc" Csr CSR "............ ..... 011 ..... 1110011" => |h, i| {
        let write = if i.rs1 == 0 { CsrWrite::None } else { CsrWrite::Clear(h.x(i.rs1)) };
        h.csr(i.rd, i.csr(), write, true)
    };
    /// rd = csr; csr = zimm.
    Csrrwi "csrrwi" Csr CSRI "............ ..... 101 ..... 1110011" =>
        |h, i| h.csr(i.rd, i.csr(), CsrWrite::Write(i.zimm()), i.rd != 0);
    /// rd = csr; the bits of zimm are set in csr.
    Csrrsi "csrrsi" Csr CSRI "............ ..... 110 ..... 1110011" => |h, i| {
        let write = if i.zimm() == 0 { CsrWrite::None } else { CsrWrite::Set(i.zimm()) };
        h.csr(i.rd, i.csr(), write, true)
    };
    /// rd = csr; the bits of zimm are cleared in csr.
    Csrrci "csrrci" Csr CSRI "............ ..... 111 ..... 1110011" => |h, i| {
        let write = if i.zimm() == 0 { CsrWrite::None } else { CsrWrite::Clear(i.zimm()) };
        h.csr(i.rd, i.csr(), write, true)
    };
}}}}
