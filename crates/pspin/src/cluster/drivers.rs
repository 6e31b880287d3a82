//! The cores' drivers: accesses of the cores, and messages to and from the rest of the card.

use super::Cluster;
use super::dma_registers::DmaRegisters;
use super::hpu::{Hpu, Wait};
use super::hpu_driver::{Answer, ERROR, ISSUE, Trapped};
use crate::arbiter::LockingTree;
use crate::events::{
    COMMAND_DONE, COMMAND_ISSUED, HANDLER_END, HANDLER_LOST, HANDLER_START, HOST_COPY_ISSUED, HPU_IDLE, TASK_DONE,
};
use crate::params::{IoSchedule, PspinParams};
use crate::protocol::{CONTEXT_CAUSE, Command, CommandResponse, CommandTarget};
use blocks::cpu::Privilege;
use kernel::{Cycle, members};
use std::collections::VecDeque;

/// State of a cluster's HPU drivers that concerns the rest of the card.
pub(super) struct Drivers {
    /// Commands in the FIFO of each driver.
    command_fifos: Vec<VecDeque<Command>>,
    /// Bit sets of drivers: with commands in the FIFO, with feedback, and without a task.
    pub with_commands: u32,
    with_feedback: u32,
    pub without_task: u32,
    /// Commands and transfers wait by tenant: the command unit cuts commands, and launches go by priority.
    pub by_tenant: bool,
    pub command_arbiter: LockingTree,
    feedback_arbiter: LockingTree,
}

impl Drivers {
    pub fn new(params: &PspinParams) -> Self {
        Drivers {
            command_fifos: vec![VecDeque::new(); params.cluster.n_cores as usize],
            by_tenant: params.sharing.io_schedule != IoSchedule::InOrder,
            with_commands: 0,
            with_feedback: 0,
            without_task: 0,
            command_arbiter: LockingTree::default(),
            feedback_arbiter: LockingTree::default(),
        }
    }
}

impl Cluster {
    /// Core `i` reads or writes a register of its driver.
    pub(super) fn access_driver(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        let instructions = self.cores[i].core.instructions();
        if !self.cores[i].driver.is_active() {
            self.plan.do_all();
            self.cores[i].driver.first_request(now);
            self.watch_driver(i);
        }
        if (offset, write) == (ISSUE, None) && !self.may_issue(i) {
            return self.refuse(i, now);
        }
        let Hpu { core, driver, .. } = &mut self.cores[i];
        let watched = (self.drivers.with_feedback, self.drivers.without_task);
        let before = driver.task().map(|held| (held.task.packet.0, held.task.stage as u64, held.task.handler.addr));
        let was_running = driver.running().is_some();
        let mut issued = None;
        let answer = match (offset, write) {
            (ERROR, Some(cause)) => {
                let trap = core.last_trap();
                let is_handlers = core.privilege() == Privilege::User;
                let trapped = if is_handlers { Trapped::default() } else { Trapped { value: trap.value, pc: trap.pc } };
                driver.report(now, cause, trapped, &mut issued)
            }
            _ => driver.access(now, offset, write, &mut issued),
        };
        let (granted, word) = match answer {
            Answer::Granted(granted, word) => (granted, word),
            Answer::Blocked => {
                self.cores[i].wait = Wait::Driver;
                return;
            }
            Answer::OtherContext if self.cores[i].core.privilege() == Privilege::Machine => {
                // A runtime that never leaves machine mode isolates nothing.
                self.cores[i].driver.need_not_clear();
                return self.access_driver(i, offset, write, now);
            }
            Answer::OtherContext => return self.clear_core(i, now),
        };
        let is_running = driver.running().is_some();
        self.watch_driver(i);
        if is_running != was_running
            || issued.is_some()
            || watched != (self.drivers.with_feedback, self.drivers.without_task)
        {
            // The most frequent accesses do not need this: reads of the task, and writes of a command's words.
            self.plan.do_all();
        }
        if let Some((packet, stage, handler)) = before
            && was_running != is_running
        {
            self.guard_changes(i, granted);
            self.report_task(i);
            self.cores[i].core.mark_profile();
            if is_running {
                self.cores[i].started = instructions;
                self.trace.emit(&HANDLER_START, granted, &[packet, stage, i as u64, handler.into()]);
            } else {
                let n = instructions - self.cores[i].started;
                if self.cores[i].driver.is_idle() {
                    self.trace.emit(&HPU_IDLE, granted, &[i as u64]);
                }
                self.trace.emit(&HANDLER_END, granted, &[packet, stage, i as u64, n]);
            }
        }
        if let Some(command) = issued {
            let values = [command.packet.0, i as u64, command.target as u64, command.writes_host().into()];
            self.trace.emit(&COMMAND_ISSUED, granted, &values);
            if let Some((addr, bytes)) = command.copy_to_host() {
                self.trace.emit(&HOST_COPY_ISSUED, granted, &[command.packet.0, addr, bytes.into()]);
            }
            self.report_command(i, &command);
            self.drivers.command_fifos[i].push_back(command);
            self.drivers.with_commands |= 1 << i;
        }
        if granted > now {
            self.fetch_behind_access(i, now);
        }
        self.word_done(i, now, granted, word);
        if was_running
            && !is_running
            && let Some((packet, stage, _)) = before
        {
            let lost = (0..).zip(self.cores[i].core.lost_between_marks()).filter(|(_, cycles)| **cycles > 0);
            lost.for_each(|(cause, cycles)| self.trace.emit(&HANDLER_LOST, granted, &[packet, stage, cause, *cycles]));
        }
    }

    /// Clears the stack of core `i`, and raises an exception in which the runtime clears the core's registers, before
    /// the core runs a handler of another context. Each 64 bytes of the stack take one beat at the cluster DMA's port.
    /// This is done long before the runtime uses the stack.
    fn clear_core(&mut self, i: usize, now: Cycle) {
        if !self.cores[i].text.is_empty() {
            self.end_line(i, now);
        }
        let (stack, bytes) = self.cores[i].guard.stack();
        self.plan.do_all();
        self.beats.wide.clear(&mut self.l1, stack, bytes);
        self.cores[i].first_part = None;
        self.cores[i].core.refuse(now, CONTEXT_CAUSE);
        self.restore_place(i);
        self.advance(i, now);
    }

    /// Returns true if the command that core `i` has prepared moves only data that its handler may access.
    fn may_issue(&self, i: usize) -> bool {
        let Hpu { core, driver, guard, .. } = &self.cores[i];
        if core.privilege() == Privilege::Machine {
            return true;
        }
        let Some(held) = driver.running() else { return false };
        let command = driver.prepared();
        let [low, high, addr, size, word, ..] = command.words;
        let host = u64::from(high) << 32 | u64::from(low);
        match command.target {
            CommandTarget::NicSend => guard.allows_transfer(addr, word),
            CommandTarget::HostDma => guard.allows_transfer(addr, size) && guard.allows_host(&held.task, host, size),
            CommandTarget::HostDirect => guard.allows_host(&held.task, host, addr >> 1 & 0x1ff),
        }
    }

    /// A task of core `i` starts or ends in cycle `at`: sets the memory that the core may access, and its deadline.
    fn guard_changes(&mut self, i: usize, at: Cycle) {
        let Hpu { core, driver, guard, deadline, dma, .. } = &mut self.cores[i];
        if guard.is_exact() {
            core.forget_loops();
            driver.forget_command();
            *dma = DmaRegisters::default();
        }
        let running = driver.running();
        guard.set(running.map(|held| (&held.task, held.pkt_ptr)));
        core.set_user_code(guard.code());
        let limit = running.map_or(0, |held| held.task.context.protection.watchdog_cycles);
        let before = std::mem::replace(deadline, if limit == 0 { Cycle::MAX } else { at + Cycle::from(limit) });
        self.plan.next_deadline = self.plan.next_deadline.min(self.cores[i].deadline);
        if before == self.plan.next_deadline {
            self.plan.next_deadline = self.cores.next_deadline();
        }
    }

    /// Passes the ends of commands to the drivers. Cores that wait for them continue.
    pub(super) fn take_responses(&mut self, now: Cycle) {
        while self.ports.responses.is_due(now)
            && let Some(CommandResponse { id }) = self.ports.responses.take()
        {
            let core = usize::from(id.core);
            if let Some((packet, target)) = self.cores[core].driver.command_done(now, id.local) {
                self.trace.emit(&COMMAND_DONE, now, &[packet.0, core as u64, target as u64]);
                self.cores.repeat_driver(core, now);
            }
        }
    }

    /// Sends one command a cycle to the command unit. If transfers are checked, sends one fragment of a command, so
    /// that no core waits for the whole transfer of another.
    pub(super) fn send_command(&mut self) {
        let asking = u64::from(self.drivers.with_commands);
        if asking != 0
            && let Some(core) = self.drivers.command_arbiter.take(asking, self.ports.commands.has_room())
        {
            let core = core as usize;
            let first = self.drivers.command_fifos[core].front_mut().expect("a command that waits");
            if let Some(fragment_bytes) = self.cores[core].guard.fragment_bytes().filter(|_| !self.drivers.by_tenant)
                && let Some(part) = first.split(fragment_bytes)
            {
                self.cores[core].driver.command_split(part.id.local);
                return self.ports.commands.send(part);
            }
            self.ports.commands.send(self.drivers.command_fifos[core].pop_front().expect("a command that waits"));
            if self.drivers.command_fifos[core].is_empty() {
                self.drivers.with_commands &= !(1 << core);
            }
        }
    }

    /// Sends one feedback a cycle to the dispatcher.
    pub(super) fn send_feedback(&mut self, now: Cycle) {
        let ready = self.may_leave(now);
        if ready != 0
            && let Some(core) = self.drivers.feedback_arbiter.take(ready, self.ports.feedbacks.has_room())
        {
            let core = core as usize;
            let was_idle = self.cores[core].driver.is_idle();
            let done = self.cores[core].driver.leave(now);
            self.watch_driver(core);
            if !was_idle && self.cores[core].driver.is_idle() {
                // The FIFO shows room a cycle later.
                self.trace.emit(&HPU_IDLE, now + 1, &[core as u64]);
            }
            self.scheduler.packet_freed(&done);
            let values = [done.feedback.packet.0, done.stage as u64, core as u64];
            self.trace.emit(&TASK_DONE, now, &values);
            self.ports.feedbacks.send(done.feedback);
            self.cores.repeat_driver(core, now + 1);
        }
    }

    /// Bit set of the drivers whose feedback may leave in this cycle.
    fn may_leave(&self, now: Cycle) -> u64 {
        let ready = |core: &u32| self.cores[*core as usize].driver.leaves_at().is_some_and(|at| at <= now);
        members(self.drivers.with_feedback.into()).filter(ready).fold(0, |set, core| set | 1 << core)
    }

    /// The next cycle in which a feedback may leave that waits only for its time, not for a command or a transfer.
    pub(super) fn next_leave(&self) -> Cycle {
        let leaves =
            members(self.drivers.with_feedback.into()).filter_map(|core| self.cores[core as usize].driver.leaves_at());
        leaves.min().unwrap_or(Cycle::MAX)
    }

    /// Updates the bit sets after a change of a driver's feedback or task.
    pub(super) fn watch_driver(&mut self, core: usize) {
        let driver = &self.cores[core].driver;
        self.drivers.with_feedback = self.drivers.with_feedback & !(1 << core) | u32::from(driver.has_done()) << core;
        self.drivers.without_task = self.drivers.without_task & !(1 << core) | u32::from(driver.is_idle()) << core;
    }
}
