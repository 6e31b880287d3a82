//! Reports of traps: what the drivers and the host learn about handlers that end early.

use super::cores::Cores;
use super::drivers::Drivers;
use super::tick_plan::TickPlan;
use crate::events::HANDLER_TRAP;
use crate::host_events::{HandlerError, HostEvent, Notice};
use blocks::cpu::Privilege;
use kernel::trace::{Counter, Tracer};
use kernel::{Cycle, Ports, Tx};

/// Counts traps, and notifies the host of handlers that end with one.
pub(super) struct Traps {
    notices: Tx<Notice>,
    pub traps: Counter,
    /// Notices that were dropped because the queue was full.
    pub dropped_notices: Counter,
}

impl Traps {
    pub fn new(notices: Tx<Notice>) -> Self {
        Traps { notices, traps: Counter::default(), dropped_notices: Counter::default() }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("notices", &self.notices);
    }

    /// Core `i` has trapped. If the trap ends a handler, reports that to the driver and the host.
    pub fn report(
        &mut self,
        i: usize,
        now: Cycle,
        cores: &mut Cores,
        drivers: &mut Drivers,
        plan: &mut TickPlan,
        trace: &Tracer,
    ) {
        plan.do_all();
        self.traps.add(1);
        let trap = cores[i].core.last_trap();
        let at = cores[i].core.time();
        if trap.from == Privilege::User {
            cores[i].deadline = Cycle::MAX;
            plan.set_deadline(cores.next_deadline());
            if cores[i].guard.is_exact() {
                // Hardware loops jump back in machine mode too: the handler would continue in place of the runtime.
                cores[i].core.forget_loops();
                cores.restore_place(i);
            }
            cores[i].driver.trapped();
            drivers.watch(i, &cores[i].driver);
        }
        if trap.from == Privilege::User
            && let Some(held) = cores[i].driver.running()
        {
            let (packet, stage) = (held.task.packet.0, held.task.stage as u64);
            let (l1, bytes) = (held.pkt_ptr.into(), held.task.pkt_size.into());
            let values = [packet, stage, i as u64, trap.cause.into(), trap.pc.into(), trap.value.into(), l1, bytes];
            trace.emit(&HANDLER_TRAP, at, &values);
            let error = HandlerError {
                packet: held.task.packet,
                msgid: held.task.msgid,
                stage: held.task.stage,
                handler: held.task.handler.addr,
                cause: trap.cause,
                pc: trap.pc,
                addr: trap.value,
                cluster: cores.cluster as u8,
                core: i as u8,
            };
            let notice = held.task.context.notice(HostEvent::HandlerError(error));
            // The host takes all pending notices in every cycle. Only a core that traps endlessly can be too fast for
            // that.
            match self.notices.room() {
                0 => self.dropped_notices.add(1),
                _ => self.notices.send_late(notice, at.saturating_sub(now)),
            }
        }
    }
}
