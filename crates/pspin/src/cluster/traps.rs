//! Early ends of handlers: refused accesses, watchdogs, and the notices to the host.

use super::Cluster;
use super::hpu::Wait;
use crate::events::HANDLER_TRAP;
use crate::host_events::{HandlerError, HostEvent};
use crate::protocol::WATCHDOG_CAUSE;
use blocks::cpu::Privilege;
use kernel::Cycle;

/// Registers of the first two arguments, by number.
const A0: u8 = 10;
const A1: u8 = 11;

impl Cluster {
    /// Refuses the access of core `i` with an exception.
    #[cold]
    pub(super) fn refuse(&mut self, i: usize, now: Cycle) {
        self.cores[i].first_part = None;
        if self.cores.mistakes.refused_accesses_happen {
            self.cores[i].core.fault_late(now);
            return self.request(i, now, now + 2);
        }
        self.cores[i].core.fault(now);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Refuses an AMO to an address that is not a multiple of 4.
    #[cold]
    pub(super) fn refuse_misaligned(&mut self, i: usize, now: Cycle) {
        self.cores[i].core.misalign(now);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Ends handlers whose watchdogs have run out. If a core waits for an event that may never happen, its handler ends
    /// now. All other handlers end when their core has what it waits for.
    #[cold]
    pub(super) fn watch_deadlines(&mut self, now: Cycle) {
        for i in 0..self.cores.len() {
            let may_never_come = matches!(self.cores[i].wait, Wait::Driver | Wait::Fifo | Wait::Event | Wait::Forever);
            if self.cores[i].deadline > now {
                continue;
            }
            if may_never_come {
                self.cores.wait(i, Wait::Killed, now, now + 1);
            } else if self.cores[i].wait == Wait::Stray {
                self.cores.wait(i, Wait::Run, now, now + 1);
                self.cores[i].core.fetched(now);
                self.report_trap(i, now);
            }
        }
    }

    /// Ends the handler of core `i`, which has run too long, with an exception.
    #[cold]
    pub(super) fn kill(&mut self, i: usize, now: Cycle) {
        let hpu = &mut self.cores[i];
        hpu.first_part = None;
        hpu.core.interrupt(now, WATCHDOG_CAUSE);
        self.report_trap(i, now);
        self.advance(i, now);
    }

    /// Gives core `i` the registers that boot code leaves to the runtime: its cluster in a0, and its number within the
    /// cluster in a1.
    ///
    /// assumed: PsPIN's runtime (a49fec8, `hpu.c`) starts its loop again after an exception. The loop takes both
    /// registers for the numbers that it passes to handlers. In the paper (III-B) the state of the runtime is restored.
    pub(super) fn restore_place(&mut self, i: usize) {
        let cluster = self.id;
        let core = &mut self.cores[i].core;
        core.set_x(A0, cluster);
        core.set_x(A1, i as u32);
    }

    pub(super) fn report_trap(&mut self, i: usize, now: Cycle) {
        self.plan.do_all();
        self.totals.traps.add(1);
        let trap = self.cores[i].core.last_trap();
        let at = self.cores[i].core.time();
        if trap.from == Privilege::User {
            self.cores[i].deadline = Cycle::MAX;
            self.plan.next_deadline = self.cores.next_deadline();
            if self.cores[i].guard.is_exact() {
                // Hardware loops jump back in machine mode too: the handler would continue in place of the runtime.
                self.cores[i].core.forget_loops();
                self.restore_place(i);
            }
            self.cores[i].driver.trapped();
            self.watch_driver(i);
        }
        if trap.from == Privilege::User
            && let Some(held) = self.cores[i].driver.running()
        {
            let (packet, stage) = (held.task.packet.0, held.task.stage as u64);
            let (l1, bytes) = (held.pkt_ptr.into(), held.task.pkt_size.into());
            let values = [packet, stage, i as u64, trap.cause.into(), trap.pc.into(), trap.value.into(), l1, bytes];
            self.trace.emit(&HANDLER_TRAP, at, &values);
            let error = HandlerError {
                packet: held.task.packet,
                msgid: held.task.msgid,
                stage: held.task.stage,
                handler: held.task.handler.addr,
                cause: trap.cause,
                pc: trap.pc,
                addr: trap.value,
                cluster: self.id as u8,
                core: i as u8,
            };
            let notice = held.task.context.notice(HostEvent::HandlerError(error));
            // The host takes all pending notices in every cycle. Only a core that traps endlessly can be too fast for
            // that.
            match self.ports.notices.room() {
                0 => self.totals.dropped_notices.add(1),
                _ => self.ports.notices.send_late(notice, at.saturating_sub(now)),
            }
        }
    }
}
