//! Memory accesses and other requests of instructions, and how long they make the core wait.

use super::code::Slot;
use super::core::MipsCore;
use super::fault::Cause;
use super::params::StoreKind;
use super::pipeline::Start;
use super::refer::{self, DataPort, Pending, Purpose};
use super::state::Request;
use crate::bus::{Link, WordOp};
use isa::mips::{Cpu, Exception, Inst, Load, Op, Store};
use kernel::{Activity, Cycle};

/// Maximum loads and held stores outstanding: one in the memory stage, and one that waits for it.
const MAX_HOLDING: usize = 2;

/// Numbers of loads and stores by destination.
#[derive(Clone, Copy, Default)]
pub(super) struct References {
    pub loads: [u64; 3],
    pub stores: [u64; 3],
}

/// Destination of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Scratchpad,
    Registers,
    Memory,
}

/// Done, or until when an instruction must wait.
type Waits = Result<(), Activity>;

impl MipsCore {
    /// Carries out an instruction's request, or makes it wait.
    pub(super) fn serve(&mut self, request: Request, start: &mut Start) -> Waits {
        match request {
            Request::Load { addr, kind, .. } if !kind.is_aligned(addr) => {
                self.refuse(start, Cause::MisalignedLoad, addr)
            }
            Request::Store { addr, kind, .. } if !kind.is_aligned(addr) => {
                self.refuse(start, Cause::MisalignedStore, addr)
            }
            Request::Conditional { addr, .. } if addr & 3 != 0 => self.refuse(start, Cause::MisalignedStore, addr),
            Request::Load { rt, addr, kind } => self.load(start, rt, addr, kind),
            Request::Store { addr, value, kind } => self.store(start, addr, value, kind),
            Request::Conditional { addr, .. } if self.state.linked != Some(addr) => Ok(()),
            Request::Conditional { rt, addr, value } if self.target(addr) == Target::Memory => {
                self.store_conditional(start, rt, addr, value)
            }
            Request::Conditional { addr, value, .. } => self.store(start, addr, value, Store::Word),
            Request::Sync if self.is_quiet() => Ok(()),
            Request::Sync => Err(self.wait()),
            Request::Exception(what) => {
                let (cause, value) = match what {
                    Exception::Overflow => (Cause::Overflow, 0),
                    Exception::Trap(code) => (Cause::Trap, code),
                    Exception::Breakpoint(code) => (Cause::Breakpoint, code),
                    Exception::Syscall(code) => (Cause::Syscall, code),
                    Exception::Reserved(word) => (Cause::Reserved, word),
                };
                self.refuse(start, cause, value)
            }
            Request::Nothing => Ok(()),
        }
    }

    fn load(&mut self, start: &mut Start, rt: u8, addr: u32, kind: Load) -> Waits {
        let target = self.target(addr);
        if target == Target::Scratchpad {
            if self.holding > 0 {
                return Err(self.wait());
            }
            let r = self.state.r[usize::from(rt & 31)];
            self.state.set(rt, kind.value(addr, self.scratchpad.read(addr), r));
            self.pipeline.uses_scratchpad(start.executes);
        } else {
            let pending = Pending { purpose: Purpose::Load { rt, kind }, addr, pc: self.state.pc };
            let is_linked = kind == Load::Linked && target == Target::Memory;
            let op = if is_linked { WordOp::Linked(Link::Load) } else { WordOp::Read };
            self.send(start, target, addr & !3, op, pending)?;
        }
        self.references.loads[target as usize] += 1;
        Ok(())
    }

    fn store(&mut self, start: &mut Start, addr: u32, value: u32, kind: Store) -> Waits {
        let target = self.target(addr);
        let (bits, mask) = kind.bits(addr, value);
        if target == Target::Scratchpad {
            if self.holding > 0 {
                return Err(self.wait());
            }
            if self.is_observed {
                self.keep_replaced(addr);
            }
            self.scratchpad.write(addr, bits, mask);
            self.pipeline.uses_scratchpad(start.executes);
        } else {
            let purpose = if self.params.stores == StoreKind::Held { Purpose::Held } else { Purpose::Posted };
            let pending = Pending { purpose, addr, pc: self.state.pc };
            let (first, op) = refer::write(addr, bits, mask);
            self.send(start, target, first, op, pending)?;
            if let Some(fetch) = &mut self.fetch {
                fetch.stored(addr);
            }
        }
        self.references.stores[target as usize] += 1;
        Ok(())
    }

    /// A conditional store to linked memory: the memory decides whether the link still holds.
    fn store_conditional(&mut self, start: &mut Start, rt: u8, addr: u32, value: u32) -> Waits {
        if self.holding > 0 {
            return Err(self.wait()); // The answer with the link's token may be outstanding.
        }
        let pending = Pending { purpose: Purpose::Conditional { rt }, addr, pc: self.state.pc };
        let op = WordOp::Linked(Link::Store { word: value, token: self.state.token });
        self.send(start, Target::Memory, addr, op, pending)?;
        if let Some(fetch) = &mut self.fetch {
            fetch.stored(addr);
        }
        self.references.stores[Target::Memory as usize] += 1;
        Ok(())
    }

    /// Sends a reference in its cycle, or returns why it must wait.
    fn send(&mut self, start: &mut Start, target: Target, addr: u32, op: WordOp, pending: Pending) -> Waits {
        let is_register = target == Target::Registers;
        let registers_done = self.registers.as_ref().filter(|_| !is_register).map_or(0, DataPort::done);
        let free = start.executes.max(self.memory_free).max(registers_done);
        if free > self.now && !self.goes_ahead_to(free) {
            return Err(Activity::Until(free));
        }
        let is_in_order = !is_register || self.memory.is_quiet();
        let port = self.registers.as_mut().filter(|_| is_register).unwrap_or(&mut self.memory);
        if !is_in_order {
            return Err(self.wait_for_memory());
        }
        if self.holding >= MAX_HOLDING || !port.has_room() {
            return Err(self.wait());
        }
        let bus_addr = match (is_register, self.params.registers, self.params.stack_window) {
            (true, Some(window), _) => addr - window.base,
            (_, _, Some(window)) if window.holds(addr) => addr.wrapping_sub(self.stack_offset),
            _ => addr,
        };
        let holds = pending.purpose != Purpose::Posted;
        let cycles = port.cycles;
        port.send(bus_addr, op, pending, self.now, self.now - self.ticked);
        start.wait(free, self.now);
        self.holding += usize::from(holds);
        self.memory_free = self.now + if holds { cycles - 1 } else { 1 };
        Ok(())
    }

    /// Updates the registers that an access writes, once its time is known.
    pub(super) fn settle(&mut self, slot: &Slot, request: Request, executes: Cycle) {
        match request {
            Request::Load { rt, addr, kind } => {
                if kind == Load::Linked {
                    self.state.linked = Some(addr);
                }
                if self.target(addr) == Target::Scratchpad {
                    self.pipeline.loads_at_once(executes, rt);
                } else {
                    self.pipeline.awaits(rt);
                }
            }
            Request::Conditional { rt, addr, .. } => {
                let holds = self.state.linked.take() == Some(addr);
                if holds && self.target(addr) == Target::Memory {
                    self.pipeline.awaits(rt);
                } else {
                    self.state.set(rt, holds.into());
                    self.pipeline.loads_at_once(executes, slot.writes);
                }
            }
            _ => (),
        }
    }

    /// Stops the core because of an instruction, in the instruction's cycle.
    fn refuse(&mut self, start: &Start, cause: Cause, value: u32) -> Waits {
        if self.holding > 0 {
            return Err(self.wait());
        }
        let at = start.executes.max(self.now);
        if at > self.ticked {
            return Err(Activity::Until(at));
        }
        self.stop(at, cause, self.state.pc, value);
        Ok(())
    }

    fn target(&self, addr: u32) -> Target {
        if self.scratchpad.window.holds(addr) {
            Target::Scratchpad
        } else if self.params.registers.is_some_and(|window| window.holds(addr)) {
            Target::Registers
        } else {
            Target::Memory
        }
    }

    /// Returns true if a load or store is sent to another component, at the earliest in the cycle in which it executes.
    #[inline(always)]
    pub(super) fn goes_out(&self, inst: &Inst) -> bool {
        let addr = self.state.r(inst.rs).wrapping_add(inst.imm as u32);
        // A conditional store without a link is done at once.
        inst.op != Op::Sc && !self.scratchpad.window.holds(addr)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.memory.is_quiet() && self.registers.as_ref().is_none_or(DataPort::is_quiet)
    }
}
