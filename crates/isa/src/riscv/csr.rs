//! Control and status registers: numbers, names, and writes.

/// The write that an instruction performs on a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsrWrite {
    /// No write and no side effects of a write. A read-only register does not trap.
    None,
    /// Writes the value.
    Write(u32),
    /// Sets the bits that are 1 in the value.
    Set(u32),
    /// Clears the bits that are 1 in the value.
    Clear(u32),
}

impl CsrWrite {
    /// The register's new value, before its own rules restrict it.
    #[inline]
    pub const fn apply(self, old: u32) -> u32 {
        match self {
            CsrWrite::None => old,
            CsrWrite::Write(value) => value,
            CsrWrite::Set(bits) => old | bits,
            CsrWrite::Clear(bits) => old & !bits,
        }
    }

    /// Returns true if the register is written, even with its old value.
    #[inline]
    pub const fn writes(self) -> bool {
        !matches!(self, CsrWrite::None)
    }
}

/// Lowest privilege that can access register `csr`: 0 user, 3 machine. P 2.1.
#[inline]
pub const fn privilege(csr: u16) -> u8 {
    (csr >> 8 & 3) as u8
}

/// Returns true if the number of register `csr` marks it as read-only. P 2.1.
#[inline]
pub const fn is_read_only(csr: u16) -> bool {
    csr >> 10 & 3 == 3
}

macro_rules! registers {
    ($($(#[$doc:meta])* $constant:ident $name:literal = $number:literal;)*) => {
        $($(#[$doc])* pub const $constant: u16 = $number;)*

        /// The name of register `csr`, if the list below has it. The list omits the 64 physical memory protection
        /// registers.
        pub const fn name(csr: u16) -> Option<&'static str> {
            match csr {
                $($constant => Some($name),)*
                _ => None,
            }
        }
    };
}

// The source is P table 2.2 and 2.5, except where an entry names another. "RI5CY" is PsPIN RTL a49fec8,
// `riscv_cs_registers.sv`.
registers! {
    /// User status.
    USTATUS "ustatus" = 0x000;
    /// Trap handler address of user mode.
    UTVEC "utvec" = 0x005;
    /// Cluster and core numbers, readable in user mode. RI5CY.
    UHARTID "uhartid" = 0x014;
    /// Program counter at a user-mode trap.
    UEPC "uepc" = 0x041;
    /// Cause of a user-mode trap.
    UCAUSE "ucause" = 0x042;
    /// Current privilege, 0 user or 3 machine, readable in user mode. RI5CY.
    PRIVLV "privlv" = 0xc10;
    /// Cycle counter, user view. RI5CY lacks it.
    CYCLE "cycle" = 0xc00;
    /// Wall clock, user view. RI5CY lacks it.
    TIME "time" = 0xc01;
    /// Instructions retired, user view. RI5CY lacks it.
    INSTRET "instret" = 0xc02;
    /// Upper half of [`CYCLE`].
    CYCLEH "cycleh" = 0xc80;
    /// Upper half of [`TIME`].
    TIMEH "timeh" = 0xc81;
    /// Upper half of [`INSTRET`].
    INSTRETH "instreth" = 0xc82;
    /// Machine status.
    MSTATUS "mstatus" = 0x300;
    /// The ISA and its extensions.
    MISA "misa" = 0x301;
    /// Interrupt enables.
    MIE "mie" = 0x304;
    /// Trap handler address of machine mode.
    MTVEC "mtvec" = 0x305;
    /// Bit mask of counters that do not count.
    MCOUNTINHIBIT "mcountinhibit" = 0x320;
    /// Bit mask of counters that user mode may read.
    MCOUNTEREN "mcounteren" = 0x306;
    /// Execution environment of user mode.
    MENVCFG "menvcfg" = 0x30a;
    /// Upper half of [`MSTATUS`].
    MSTATUSH "mstatush" = 0x310;
    /// Upper half of [`MENVCFG`].
    MENVCFGH "menvcfgh" = 0x31a;
    /// Selects the trigger that the next registers show. This and the trigger registers: RISC-V Debug 0.13.2, 5.2.
    TSELECT "tselect" = 0x7a0;
    /// Type and settings of the trigger; type 0 means that there is none.
    TDATA1 "tdata1" = 0x7a1;
    /// Value that the trigger compares.
    TDATA2 "tdata2" = 0x7a2;
    /// Further settings of the trigger.
    TDATA3 "tdata3" = 0x7a3;
    /// Bit mask of the events that [`MHPMCOUNTER3`] counts.
    MHPMEVENT3 "mhpmevent3" = 0x323;
    /// The last event selector.
    MHPMEVENT31 "mhpmevent31" = 0x33f;
    /// Scratch word for the trap handler.
    MSCRATCH "mscratch" = 0x340;
    /// Program counter at a machine-mode trap.
    MEPC "mepc" = 0x341;
    /// Cause of a machine-mode trap.
    MCAUSE "mcause" = 0x342;
    /// Address or instruction that caused the trap.
    MTVAL "mtval" = 0x343;
    /// Interrupts pending.
    MIP "mip" = 0x344;
    /// First of the registers of protection attributes, four regions each.
    PMPCFG0 "pmpcfg0" = 0x3a0;
    /// First of 16 protection addresses.
    PMPADDR0 "pmpaddr0" = 0x3b0;
    /// Start address of hardware loop 0. RI5CY.
    LPSTART0 "lpstart0" = 0x7c0;
    /// End address of hardware loop 0. RI5CY.
    LPEND0 "lpend0" = 0x7c1;
    /// Remaining iterations of hardware loop 0. RI5CY.
    LPCOUNT0 "lpcount0" = 0x7c2;
    /// Start address of hardware loop 1. RI5CY.
    LPSTART1 "lpstart1" = 0x7c4;
    /// End address of hardware loop 1. RI5CY.
    LPEND1 "lpend1" = 0x7c5;
    /// Remaining iterations of hardware loop 1. RI5CY.
    LPCOUNT1 "lpcount1" = 0x7c6;
    /// Cycle counter.
    MCYCLE "mcycle" = 0xb00;
    /// Instructions retired.
    MINSTRET "minstret" = 0xb02;
    /// Programmable event counter.
    MHPMCOUNTER3 "mhpmcounter3" = 0xb03;
    /// The last event counter.
    MHPMCOUNTER31 "mhpmcounter31" = 0xb1f;
    /// Upper half of [`MCYCLE`].
    MCYCLEH "mcycleh" = 0xb80;
    /// Upper half of [`MINSTRET`].
    MINSTRETH "minstreth" = 0xb82;
    /// Upper half of [`MHPMCOUNTER3`].
    MHPMCOUNTER3H "mhpmcounter3h" = 0xb83;
    /// Upper half of [`MHPMCOUNTER31`].
    MHPMCOUNTER31H "mhpmcounter31h" = 0xb9f;
    /// Vendor of the core.
    MVENDORID "mvendorid" = 0xf11;
    /// Base microarchitecture.
    MARCHID "marchid" = 0xf12;
    /// Version of the implementation.
    MIMPID "mimpid" = 0xf13;
    /// Cluster and core numbers.
    MHARTID "mhartid" = 0xf14;
    /// Address of a description of the machine, or 0.
    MCONFIGPTR "mconfigptr" = 0xf15;
}
