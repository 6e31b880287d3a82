//! The core under a debugger. Only a core with a probe pays for it.

use super::core::MipsCore;
use super::fault::Cause;
use super::state::{Request, State};
use crate::debug::{Event, Probe, Report};
use isa::mips::{Load, Store};
use kernel::Cycle;

/// Registers of a report: the general ones, `lo`, `hi`.
type Registers = [u32; 34];

/// State of a debugged core between reports.
pub(super) struct Debug {
    probe: Probe,
    /// Registers before the current instruction.
    before: Registers,
    /// The word that the current instruction has replaced in the scratchpad, and its value before.
    replaces: Option<(u32, u32)>,
}

fn registers(state: &State) -> Registers {
    let mut all = [0; 34];
    all[..32].copy_from_slice(&state.r);
    (all[32], all[33]) = (state.lo, state.hi);
    all
}

impl MipsCore {
    /// Reports every following instruction to `probe`. A core that runs ahead reports ahead of time.
    pub fn set_probe(&mut self, probe: Probe) {
        self.debug = Some(Box::new(Debug { probe, before: registers(&self.state), replaces: None }));
        self.is_observed = true;
    }

    /// The registers in the order of reports.
    pub fn all_registers(&self) -> [u32; 34] {
        registers(&self.state)
    }

    /// Answers may have changed registers since the last instruction.
    #[cold]
    pub(super) fn begin_debugged(&mut self) {
        let before = registers(&self.state);
        if let Some(debug) = &mut self.debug {
            debug.before = before;
        }
    }

    /// The word of the scratchpad at `addr` will be replaced.
    #[cold]
    pub(super) fn keep_replaced(&mut self, addr: u32) {
        let word = self.scratchpad.read(addr);
        if let Some(debug) = &mut self.debug {
            debug.replaces = Some((addr & !3, word));
        }
    }

    /// Reports an instruction that has written its registers.
    pub(super) fn report_retired(&mut self, at: Cycle, pc: u32, request: Request) {
        let after = registers(&self.state);
        let Some(debug) = &mut self.debug else { return };
        let replaces = debug.replaces.take();
        let mut report = |event| (debug.probe)(&Report { event, at, pc, registers: &debug.before });
        report(Event::Instruction);
        let access = match request {
            Request::Load { addr, kind, .. } => Some((addr, load_bytes(kind), false)),
            Request::Store { addr, kind, .. } => Some((addr, store_bytes(kind), true)),
            Request::Conditional { addr, .. } => Some((addr, 4, true)),
            Request::Nothing | Request::Sync | Request::Exception(_) => None,
        };
        if let Some((addr, bytes, stores)) = access {
            report(Event::Access { addr, bytes, loads: !stores, stores, replaces });
        }
        debug.before = after;
    }

    /// Reports that the core stops by itself.
    pub(super) fn report_fault(&mut self, at: Cycle, cause: Cause, pc: u32, value: u32) {
        if let Some(debug) = &mut self.debug {
            let event = Event::Fault { cause: cause as u32, value };
            (debug.probe)(&Report { event, at, pc, registers: &debug.before });
        }
    }

    /// Reads the scratchpad. Returns the number of bytes, 0 outside.
    pub fn read_scratchpad(&self, addr: u32, data: &mut [u8]) -> usize {
        let there = (addr..).take_while(|&at| self.scratchpad.window.holds(at));
        let bytes = there.map(|at| self.scratchpad.read(at).to_be_bytes()[at as usize % 4]);
        data.iter_mut().zip(bytes).map(|(to, byte)| *to = byte).count()
    }

    /// Writes the scratchpad. Returns the number of bytes, 0 outside.
    pub fn write_scratchpad(&mut self, addr: u32, data: &[u8]) -> usize {
        let window = self.scratchpad.window;
        let there = (addr..).zip(data).take_while(|&(at, _)| window.holds(at));
        let mut n = 0;
        for (at, &byte) in there {
            let shift = 24 - at % 4 * 8;
            self.scratchpad.write(at, u32::from(byte) << shift, 0xff << shift);
            n += 1;
        }
        n
    }

    /// The address on the bus of an address that is neither in the scratchpad nor in the register window.
    pub fn bus_address(&self, addr: u32) -> u32 {
        match self.params.stack_window {
            Some(window) if window.holds(addr) => addr.wrapping_sub(self.stack_offset),
            _ => addr,
        }
    }

    /// First address and bytes of the window of stacks, if there is one.
    pub fn stack_window(&self) -> Option<(u32, u32)> {
        self.params.stack_window.map(|window| (window.base, window.bytes))
    }

    /// The addresses of the scratchpad: the first, and the number of bytes; 0 if there is none.
    pub fn scratchpad_window(&self) -> (u32, u32) {
        (self.scratchpad.window.base, self.scratchpad.window.bytes)
    }
}

fn load_bytes(kind: Load) -> u32 {
    match kind {
        Load::Byte | Load::ByteU => 1,
        Load::Half | Load::HalfU => 2,
        Load::Word | Load::Linked | Load::Left | Load::Right => 4,
    }
}

fn store_bytes(kind: Store) -> u32 {
    match kind {
        Store::Byte => 1,
        Store::Half => 2,
        Store::Word | Store::Left | Store::Right => 4,
    }
}
