//! Control and status registers, privilege and traps.

use super::loops::{Loops, SEEN_AFTER_CSR};
use super::pmp::Pmp;
use isa::riscv::{CsrWrite, LoopPart, cause, csr};
use kernel::Cycle;

/// Privilege mode of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Privilege {
    /// Handlers.
    User,
    /// Boot code and trap handlers.
    Machine,
}

/// Selects which control registers exist and how they behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// RI5CY in PsPIN: no user counters, counters disabled after reset, `mtval` is 0, traps go to 256-byte blocks.
    Ri5cy,
    /// A core with machine and user mode according to the RISC-V standard.
    Standard,
}

const MSTATUS_MIE: u32 = 1 << 3;
const MSTATUS_MPIE: u32 = 1 << 7;
const MSTATUS_MPP: u32 = 3 << 11;
const MSTATUS_MPRV: u32 = 1 << 17;
/// The bits UIE and UPIE of the extension N.
const MSTATUS_USER: u32 = 0x11;
/// Software, timer and external interrupts of machine mode.
const MIE_STANDARD: u32 = 0x888;
/// RV32 with A, C, I, M and user mode.
const MISA: u32 = 1 << 30 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2 | 1;
/// Set if there are nonstandard extensions. RI5CY, `riscv_cs_registers.sv`.
const MISA_X: u32 = 1 << 23;
const INHIBIT_CYCLE: u32 = 1;
const INHIBIT_INSTRET: u32 = 1 << 2;
const INHIBIT_EVENT: u32 = 1 << 3;

/// A counter register. It is stored as its difference from the counted number, so that counting costs nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// While the counter runs: its value minus the counted number. While it is inhibited: its value.
    offset: u64,
    running: bool,
}

impl Counter {
    fn read(&self, counted: u64) -> u64 {
        if self.running { counted.wrapping_add(self.offset) } else { self.offset }
    }

    fn write(&mut self, counted: u64, value: u64) {
        self.offset = if self.running { value.wrapping_sub(counted) } else { value };
    }

    fn run(&mut self, counted: u64, running: bool) {
        let value = self.read(counted);
        self.running = running;
        self.write(counted, value);
    }
}

/// The numbers that a core has counted when a register is accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub cycle: Cycle,
    pub instructions: u64,
    pub events: u64,
}

/// The hardware loop and the part of it that register `number` holds.
fn loop_part(number: u16) -> Option<(usize, LoopPart)> {
    let parts = [LoopPart::Start, LoopPart::End, LoopPart::Count];
    let offset = usize::from(number - csr::LPSTART0);
    Some((offset / 4, *parts.get(offset % 4)?))
}

/// The control and status registers.
#[derive(Clone, Debug)]
pub struct Csrs {
    profile: Profile,
    /// Current privilege.
    pub privilege: Privilege,
    /// True if a RI5CY core has the standard's register `cycle`, which the hardware lacks. It holds the core's cycle;
    /// programs can neither stop nor set it.
    pub(super) has_cycle: bool,
    /// Value of `mhartid`, and of `uhartid` on RI5CY.
    pub hart_id: u32,
    mstatus: u32,
    mie: u32,
    mtvec: u32,
    mscratch: u32,
    mepc: u32,
    mcause: u32,
    mtval: u32,
    utvec: u32,
    uepc: u32,
    ucause: u32,
    mhpmevent3: u32,
    /// The standard leaves its reset value open; here user mode may read all counters until software forbids it.
    mcounteren: u32,
    inhibit: u32,
    cycle: Counter,
    instret: Counter,
    event: Counter,
    pub(super) pmp: Pmp,
    pub(super) loops: Loops,
}

impl Csrs {
    pub(crate) fn new(profile: Profile, hart_id: u32, boot: u32) -> Self {
        let running = profile == Profile::Standard;
        let counter = Counter { offset: 0, running };
        Csrs {
            profile,
            privilege: Privilege::Machine,
            has_cycle: false,
            hart_id,
            mstatus: MSTATUS_MPP,
            mie: 0,
            mtvec: if profile == Profile::Ri5cy { boot & !0xff } else { 0 },
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mtval: 0,
            utvec: 0,
            uepc: 0,
            ucause: 0,
            mhpmevent3: 0,
            mcounteren: 7,
            inhibit: if running { 0 } else { INHIBIT_CYCLE | INHIBIT_INSTRET | INHIBIT_EVENT },
            cycle: counter,
            instret: counter,
            event: Counter::default(),
            pmp: if running { Pmp::open() } else { Pmp::default() },
            loops: Loops::default(),
        }
    }

    /// Events that `mhpmcounter3` counts now, by bit; 0 while it is inhibited.
    pub(crate) fn counted_events(&self) -> u32 {
        if self.event.running { self.mhpmevent3 } else { 0 }
    }

    /// Reads register `number` and writes it; `None` if the access is illegal.
    pub(crate) fn access(&mut self, number: u16, write: CsrWrite, counted: Counted) -> Option<u32> {
        if csr::privilege(number) > self.privilege as u8 * 3 || (write.writes() && csr::is_read_only(number)) {
            return None;
        }
        let old = self.read(number, counted)?;
        if write.writes() {
            self.write(number, write.apply(old), counted);
        }
        Some(old)
    }

    fn read(&self, number: u16, counted: Counted) -> Option<u32> {
        let standard = self.profile == Profile::Standard;
        let (cycle, instret) = (self.cycle.read(counted.cycle), self.instret.read(counted.instructions));
        let event = self.event.read(counted.events);
        Some(match number {
            csr::USTATUS if !standard => self.mstatus & MSTATUS_USER,
            csr::UTVEC if !standard => self.utvec,
            csr::UEPC if !standard => self.uepc,
            csr::UCAUSE if !standard => self.ucause,
            csr::UHARTID if !standard => self.hart_id,
            csr::PRIVLV if !standard => self.privilege as u32 * 3,
            csr::CYCLE if self.has_cycle => counted.cycle as u32,
            csr::CYCLEH if self.has_cycle => (counted.cycle >> 32) as u32,
            csr::CYCLE | csr::CYCLEH | csr::TIME | csr::TIMEH | csr::INSTRET | csr::INSTRETH
                if self.privilege == Privilege::User && self.mcounteren >> (number & 31) & 1 == 0 =>
            {
                return None;
            }
            csr::CYCLE | csr::TIME if standard => cycle as u32,
            csr::CYCLEH | csr::TIMEH if standard => (cycle >> 32) as u32,
            csr::INSTRET if standard => instret as u32,
            csr::INSTRETH if standard => (instret >> 32) as u32,
            csr::MSTATUS => self.mstatus,
            csr::MISA => {
                if standard {
                    MISA
                } else {
                    MISA | MISA_X
                }
            }
            csr::MIE => self.mie,
            csr::MTVEC => self.mtvec,
            csr::MCOUNTEREN if standard => self.mcounteren,
            csr::MSTATUSH | csr::MENVCFG | csr::MENVCFGH if standard => 0,
            // There are no debug triggers.
            csr::TSELECT..=csr::TDATA3 if standard => 0,
            csr::MCOUNTINHIBIT => self.inhibit,
            csr::MHPMEVENT3 => self.mhpmevent3,
            csr::MSCRATCH => self.mscratch,
            csr::MEPC => self.mepc,
            csr::MCAUSE => self.mcause,
            csr::MTVAL => self.mtval,
            csr::MIP | csr::MVENDORID | csr::MARCHID | csr::MIMPID => 0,
            csr::MCYCLE => cycle as u32,
            csr::MCYCLEH => (cycle >> 32) as u32,
            csr::MINSTRET => instret as u32,
            csr::MINSTRETH => (instret >> 32) as u32,
            csr::MHPMCOUNTER3 => event as u32,
            csr::MHPMCOUNTER3H => (event >> 32) as u32,
            // Counters that count nothing must exist (RISC-V Privileged ISA 20211203, 3.1.10).
            csr::MHPMCOUNTER3..=csr::MHPMCOUNTER31 | csr::MHPMCOUNTER3H..=csr::MHPMCOUNTER31H if standard => 0,
            csr::MHPMEVENT3..=csr::MHPMEVENT31 if standard => 0,
            csr::MHARTID => self.hart_id,
            csr::MCONFIGPTR if standard => 0,
            csr::LPSTART0..=csr::LPCOUNT1 if !standard => {
                let (id, part) = loop_part(number)?;
                self.loops.read(id, part)
            }
            n if (csr::PMPCFG0..csr::PMPCFG0 + 4).contains(&n) => self.pmp.config(usize::from(n - csr::PMPCFG0)),
            n if (csr::PMPADDR0..csr::PMPADDR0 + 16).contains(&n) => self.pmp.addr(usize::from(n - csr::PMPADDR0)),
            _ => return None,
        })
    }

    fn write(&mut self, number: u16, value: u32, counted: Counted) {
        let low = |old: u64| old & !0xffff_ffff | u64::from(value);
        let high = |old: u64| old & 0xffff_ffff | u64::from(value) << 32;
        match number {
            csr::USTATUS => self.mstatus = self.mstatus & !MSTATUS_USER | value & MSTATUS_USER,
            csr::UTVEC => self.utvec = value,
            csr::UEPC => self.uepc = value & !1,
            csr::UCAUSE => self.ucause = value,
            csr::MSTATUS => {
                // MPP holds user or machine mode; a write of another mode becomes user mode.
                let mpp = if value & MSTATUS_MPP == MSTATUS_MPP { MSTATUS_MPP } else { 0 };
                let user = if self.profile == Profile::Ri5cy { MSTATUS_USER } else { 0 };
                self.mstatus = value & (MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_MPRV | user) | mpp;
            }
            csr::MIE => self.mie = if self.profile == Profile::Ri5cy { value } else { value & MIE_STANDARD },
            csr::MTVEC => self.mtvec = if self.profile == Profile::Ri5cy { value & !0xfe } else { value & !3 },
            csr::MCOUNTEREN => self.mcounteren = value & 7,
            csr::MCOUNTINHIBIT => {
                self.inhibit = value & (INHIBIT_CYCLE | INHIBIT_INSTRET | INHIBIT_EVENT);
                self.cycle.run(counted.cycle, value & INHIBIT_CYCLE == 0);
                self.instret.run(counted.instructions, value & INHIBIT_INSTRET == 0);
                self.event.run(counted.events, value & INHIBIT_EVENT == 0);
            }
            csr::MHPMEVENT3 => self.mhpmevent3 = value,
            csr::MSCRATCH => self.mscratch = value,
            csr::MEPC => self.mepc = value & !1,
            csr::MCAUSE => self.mcause = value,
            csr::MTVAL if self.profile == Profile::Standard => self.mtval = value,
            csr::MCYCLE => self.cycle.write(counted.cycle, low(self.cycle.read(counted.cycle))),
            csr::MCYCLEH => self.cycle.write(counted.cycle, high(self.cycle.read(counted.cycle))),
            csr::MINSTRET => self.write_instret(counted, low(self.instret.read(counted.instructions))),
            csr::MINSTRETH => self.write_instret(counted, high(self.instret.read(counted.instructions))),
            csr::MHPMCOUNTER3 => self.event.write(counted.events, low(self.event.read(counted.events))),
            csr::MHPMCOUNTER3H => self.event.write(counted.events, high(self.event.read(counted.events))),
            csr::LPSTART0..=csr::LPCOUNT1 => {
                if let Some((id, part)) = loop_part(number) {
                    self.loops.write(id, part, value, counted.cycle, SEEN_AFTER_CSR);
                }
            }
            n if (csr::PMPCFG0..csr::PMPCFG0 + 4).contains(&n) => match (self.profile, usize::from(n - csr::PMPCFG0)) {
                (Profile::Standard, word) => self.pmp.write_config(word, value),
                (Profile::Ri5cy, word) => self.pmp.keep_config(word, value),
            },
            n if (csr::PMPADDR0..csr::PMPADDR0 + 16).contains(&n) => {
                match (self.profile, usize::from(n - csr::PMPADDR0)) {
                    (Profile::Standard, entry) => self.pmp.write_addr(entry, value),
                    (Profile::Ri5cy, entry) => self.pmp.keep_addr(entry, value),
                }
            }
            _ => {} // Writes to other registers have no effect.
        }
    }

    /// Sets `minstret`. In the standard the next instruction reads the written value: the write replaces the count of
    /// the writing instruction itself (RISC-V Privileged ISA 20211203, 3.1.10).
    fn write_instret(&mut self, counted: Counted, value: u64) {
        let own = u64::from(self.profile == Profile::Standard);
        self.instret.write(counted.instructions + own, value);
    }

    /// Enters machine mode for a trap at `pc`. Returns the address of the handler.
    pub(crate) fn enter_trap(&mut self, cause: u32, value: u32, pc: u32) -> u32 {
        self.mepc = pc;
        self.mcause = cause;
        self.mtval = if self.profile == Profile::Standard { value } else { 0 };
        let enabled = self.mstatus & MSTATUS_MIE != 0;
        let mpp = if self.privilege == Privilege::Machine { MSTATUS_MPP } else { 0 };
        self.mstatus &= !(MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_MPP);
        self.mstatus |= mpp | if enabled { MSTATUS_MPIE } else { 0 };
        self.privilege = Privilege::Machine;
        self.mtvec & !if self.profile == Profile::Ri5cy { 0xff } else { 3 }
    }

    /// Executes `mret`. Returns the address to continue at, or `None` in user mode, where it is illegal.
    pub(crate) fn leave_trap(&mut self) -> Option<u32> {
        if self.privilege == Privilege::User {
            return None;
        }
        let to_machine = self.mstatus & MSTATUS_MPP != 0;
        let enabled = self.mstatus & MSTATUS_MPIE != 0;
        self.mstatus &= !(MSTATUS_MPP | MSTATUS_MIE);
        self.mstatus |= MSTATUS_MPIE | if enabled { MSTATUS_MIE } else { 0 };
        self.privilege = if to_machine { Privilege::Machine } else { Privilege::User };
        if self.profile == Profile::Standard && !to_machine {
            self.mstatus &= !MSTATUS_MPRV;
        }
        Some(self.mepc)
    }

    /// Privilege of loads and stores, which MPRV can take from MPP.
    pub(super) fn data_privilege(&self) -> Privilege {
        match self.mstatus & (MSTATUS_MPRV | MSTATUS_MPP) {
            MSTATUS_MPRV => Privilege::User,
            _ => self.privilege,
        }
    }

    /// Returns true if `mtval` holds the word of an illegal instruction, as the standard allows.
    pub(super) fn shows_illegal_words(&self) -> bool {
        self.profile == Profile::Standard
    }

    /// The target of `uret`; `None` in the standard, which has the instruction only with extension N.
    pub(crate) fn user_return(&self) -> Option<u32> {
        (self.profile == Profile::Ri5cy).then_some(self.uepc)
    }

    /// The cause of `ecall` at this privilege.
    pub(crate) fn ecall_cause(&self) -> u32 {
        match self.privilege {
            Privilege::User => cause::ECALL_USER,
            Privilege::Machine => cause::ECALL_MACHINE,
        }
    }
}
