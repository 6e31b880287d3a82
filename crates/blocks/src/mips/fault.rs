//! Reasons for which a core stops by itself.

use kernel::Cycle;
use kernel::trace::EventKind;

/// Trace event: a core stopped because of its program.
pub(super) static STOPPED: EventKind = EventKind { name: "cpu_stopped", fields: &["cause", "pc", "value"], number: 0 };

/// Why a core stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An illegal instruction; the value is the word.
    Reserved,
    /// Overflow of a signed sum or difference.
    Overflow,
    /// A trap instruction; the value is its code.
    Trap,
    /// `break`; the value is its code.
    Breakpoint,
    /// `syscall`; the value is its code.
    Syscall,
    /// A jump to a misaligned address; the value is the address.
    MisalignedFetch,
    /// A load that crosses a word; the value is the address.
    MisalignedLoad,
    /// A store that crosses a word; the value is the address.
    MisalignedStore,
    /// A fetch from an unmapped address; the value is the address.
    FetchBus,
    /// A load from an unmapped address; the value is the address.
    LoadBus,
    /// A store to an unmapped address, possibly executed some time earlier; the value is the address.
    StoreBus,
}

impl Cause {
    /// All causes, by number.
    pub const ALL: [Cause; 11] = [
        Cause::Reserved,
        Cause::Overflow,
        Cause::Trap,
        Cause::Breakpoint,
        Cause::Syscall,
        Cause::MisalignedFetch,
        Cause::MisalignedLoad,
        Cause::MisalignedStore,
        Cause::FetchBus,
        Cause::LoadBus,
        Cause::StoreBus,
    ];

    /// Description for reports.
    pub const fn text(self) -> &'static str {
        match self {
            Cause::Reserved => "an illegal instruction",
            Cause::Overflow => "signed overflow",
            Cause::Trap => "a trap instruction",
            Cause::Breakpoint => "a break instruction",
            Cause::Syscall => "a syscall instruction",
            Cause::MisalignedFetch => "a jump to a misaligned address",
            Cause::MisalignedLoad => "a misaligned load",
            Cause::MisalignedStore => "a misaligned store",
            Cause::FetchBus => "a fetch from an unmapped address",
            Cause::LoadBus => "a load from an unmapped address",
            Cause::StoreBus => "a store to an unmapped address",
        }
    }
}

/// A stop of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The cause.
    pub cause: Cause,
    /// Address of the instruction.
    pub pc: u32,
    /// Address, word or code, depending on the cause.
    pub value: u32,
    /// Cycle of the core's clock.
    pub cycle: Cycle,
}
