//! Inputs of a core: answers, lines and orders; and its status output.

use super::control::{CpuControl, CpuStatus};
use super::core::{MipsCore, Mode};
use super::fault::{Cause, Fault, STOPPED};
use super::fetch::Fetch;
use super::profile::Profile;
use super::refer::{Answered, DataPort, Pending, Purpose};
use super::state::State;
use isa::mips::{Cpu, Load};
use kernel::{Cycle, Rx};

impl MipsCore {
    pub(super) fn take_orders(&mut self, now: Cycle) {
        while let Some(order) = self.control.as_ref().filter(|control| control.is_due(now)).and_then(Rx::take) {
            let is_halted = self.is_halted();
            match order {
                CpuControl::Reset => self.reset(),
                CpuControl::Halt => self.halt(),
                CpuControl::Run | CpuControl::Step if is_halted => {
                    self.mode = if order == CpuControl::Run { Mode::Running } else { Mode::Stepping };
                    self.owes_status = true;
                    self.fault = None;
                    self.pipeline.begin(now);
                }
                CpuControl::SetPc(pc) if is_halted => {
                    self.state.set_pc(pc);
                    // assumed: a jump by a register write fetches again, because new code may have been stored there.
                    self.fetch.iter_mut().for_each(Fetch::forget);
                }
                CpuControl::SetRegister(r, value) if is_halted => self.state.set(r, value),
                CpuControl::StackOffset(offset) => self.stack_offset = offset,
                // These orders need a halted core, and this core runs.
                CpuControl::Run | CpuControl::Step | CpuControl::SetPc(_) | CpuControl::SetRegister(..) => (),
            }
        }
    }

    fn reset(&mut self) {
        self.state = State::new(self.params.reset_pc);
        self.pipeline.forget();
        self.holding = 0;
        self.posted_waited = 0;
        self.fault = None;
        self.memory.forget();
        self.registers.iter_mut().for_each(DataPort::forget);
        self.fetch.iter_mut().for_each(Fetch::forget);
        self.profile.iter_mut().for_each(Profile::forget);
        self.halt();
    }

    pub(super) fn halt(&mut self) {
        self.mode = Mode::Halted;
        self.owes_status = true;
    }

    pub(super) fn stop(&mut self, now: Cycle, cause: Cause, pc: u32, value: u32) {
        self.fault = Some(Fault { cause, pc, value, cycle: now });
        self.report_fault(now, cause, pc, value);
        self.tracer.emit(&STOPPED, now, &[cause as u64, pc.into(), value.into()]);
        self.halt();
    }

    pub(super) fn take_answers(&mut self, now: Cycle) {
        while let Some(Answered { pending, due, waited, answer }) = self.next_answer(now) {
            let Pending { purpose, addr, pc } = pending;
            if purpose == Purpose::Posted {
                self.posted_waited += waited;
            }
            if matches!(purpose, Purpose::Load { .. } | Purpose::Conditional { .. } | Purpose::Held) {
                let rt = if let Purpose::Load { rt, .. } | Purpose::Conditional { rt } = purpose { rt } else { 0 };
                self.holding -= 1;
                let waited = waited + std::mem::take(&mut self.posted_waited);
                self.pipeline.answered(rt, due, waited, now);
            }
            match (purpose, answer) {
                (Purpose::Forgotten, _) | (Purpose::Held | Purpose::Posted, Ok(_)) => (),
                (Purpose::Load { rt, kind }, Ok((word, token))) => {
                    self.state.set(rt, kind.value(addr, word, self.state.r(rt)));
                    if kind == Load::Linked {
                        self.state.token = token;
                    }
                }
                (Purpose::Conditional { rt }, Ok((holds, _))) => self.state.set(rt, holds),
                (Purpose::Load { .. }, Err(_)) => self.stop(now, Cause::LoadBus, pc, addr),
                (Purpose::Held | Purpose::Posted | Purpose::Conditional { .. }, Err(_)) => {
                    self.stop(now, Cause::StoreBus, pc, addr)
                }
            }
        }
        self.take_line(now);
    }

    /// The next answer of both ports. Memory's comes first if both are visible from the same cycle on.
    #[inline]
    fn next_answer(&mut self, now: Cycle) -> Option<Answered> {
        match &mut self.registers {
            Some(registers) if registers.answer_due() < self.memory.answer_due() => registers.answer(now),
            _ => self.memory.answer(now),
        }
    }

    fn take_line(&mut self, now: Cycle) {
        let Some(fetch) = self.fetch.as_mut().filter(|fetch| fetch.requester.replies.is_due(now)) else { return };
        let pc = self.state.pc;
        let refused = fetch.take(now);
        // A prefetched line that was refused may never be needed.
        if refused.is_some_and(|line| self.mode != Mode::Halted && fetch.cache.line(pc) == line) {
            self.stop(now, Cause::FetchBus, pc, pc);
        }
    }

    pub(super) fn send_status(&mut self) {
        let is_halted = self.is_halted();
        if !self.owes_status || is_halted && self.holding > 0 {
            return;
        }
        if let Some(status) = &self.status {
            if !status.has_room() {
                return;
            }
            let registers = is_halted.then(|| Box::new(self.state.r));
            status.send(CpuStatus { is_halted, pc: self.state.pc, registers });
        }
        self.owes_status = false;
    }
}
