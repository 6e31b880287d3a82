//! Why a core stops by itself.

use kernel::Cycle;
use kernel::trace::EventKind;

/// A core stopped because of what its program did.
pub(super) static STOPPED: EventKind = EventKind { name: "cpu_stopped", fields: &["cause", "pc", "value"] };

/// Why a core stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A word that is no instruction; the value is the word.
    Reserved,
    /// A signed sum or difference did not fit.
    Overflow,
    /// A trap instruction; the value is its code.
    Trap,
    /// `break`; the value is its code.
    Breakpoint,
    /// `syscall`; the value is its code.
    Syscall,
    /// A jump to an address that is no word's; the value is the address.
    MisalignedFetch,
    /// A load across words; the value is the address.
    MisalignedLoad,
    /// A store across words; the value is the address.
    MisalignedStore,
    /// No instruction memory answers; the value is the address.
    FetchBus,
    /// No memory answers a load; the value is the address.
    LoadBus,
    /// No memory answers a store, which may have executed some time before; the value is the address.
    StoreBus,
}

impl Cause {
    /// What happened, for a report.
    pub const fn text(self) -> &'static str {
        match self {
            Cause::Reserved => "a word that is no instruction",
            Cause::Overflow => "signed overflow",
            Cause::Trap => "a trap instruction",
            Cause::Breakpoint => "a break instruction",
            Cause::Syscall => "a syscall instruction",
            Cause::MisalignedFetch => "a jump to a misaligned address",
            Cause::MisalignedLoad => "a misaligned load",
            Cause::MisalignedStore => "a misaligned store",
            Cause::FetchBus => "a fetch from where no memory is",
            Cause::LoadBus => "a load from where no memory is",
            Cause::StoreBus => "a store to where no memory is",
        }
    }
}

/// A core stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Why.
    pub cause: Cause,
    /// Address of the instruction.
    pub pc: u32,
    /// Address, word or code, as the cause says.
    pub value: u32,
    /// Cycle of the core's clock.
    pub cycle: Cycle,
}
