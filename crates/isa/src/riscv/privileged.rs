//! System calls, trap returns and waiting, for a machine with machine and user mode. U 2.8; P 3.3.
//!
//! There is no supervisor mode: `sret` and `sfence.vma` are illegal.

macro_rules! privileged { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { I
    /// Environment call.
    Ecall "ecall" System NONE "0000000 00000 00000 000 00000 1110011" =>
        |h, _i| h.system(System::Ecall);
    /// Breakpoint.
    Ebreak "ebreak" System NONE "0000000 00001 00000 000 00000 1110011" =>
        |h, _i| h.system(System::Ebreak);
} { Sm
    /// Returns from a trap taken in user mode. Privileged Architecture 20190608, chapter 5.
    Uret "uret" System NONE "0000000 00010 00000 000 00000 1110011" =>
        |h, _i| h.system(System::Uret);
    /// Returns from a trap taken in machine mode.
    Mret "mret" System NONE "0011000 00010 00000 000 00000 1110011" =>
        |h, _i| h.system(System::Mret);
    /// Waits for an interrupt.
    Wfi "wfi" System NONE "0001000 00101 00000 000 00000 1110011" =>
        |h, _i| h.system(System::Wfi);
}}}}
