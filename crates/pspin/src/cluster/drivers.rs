//! The cores' drivers: accesses of the cores, and messages to and from the rest of the card.

use super::cores::Cores;
use super::hpu::Hpu;
use super::hpu_driver::{Answer, ERROR, HpuDriver, ISSUE, Trapped};
use super::scheduler::Scheduler;
use super::tick_plan::TickPlan;
use crate::arbiter::LockingTree;
use crate::events::{
    CLUSTER_ACTIVE, COMMAND_DONE, COMMAND_ISSUED, HANDLER_END, HANDLER_START, HOST_COPY_ISSUED, HPU_IDLE, TASK_DONE,
};
use crate::params::{IoSchedule, PspinParams};
use crate::protocol::{ClusterActive, Command, CommandResponse, Feedback};
use blocks::cpu::Privilege;
use kernel::trace::Tracer;
use kernel::{Cycle, Ports, Rx, Tx, members};
use std::collections::VecDeque;

/// The result of an access of a core to its driver.
pub(super) enum DriverAccess {
    /// Granted in this cycle or a later one: the word read, and the packet and stage of the task that ends with it.
    Granted(Cycle, u32, Option<(u64, u64)>),
    /// The core waits for its driver.
    Blocked,
    /// The core may not move the data that its command names.
    Refused,
    /// The runtime must clear the core first.
    OtherContext,
}

/// The connections of the HPU drivers to the rest of the card: each sends one item a cycle, in turn.
pub(super) struct Drivers {
    feedbacks: Tx<Feedback>,
    commands: Tx<Command>,
    responses: Rx<CommandResponse>,
    active: Tx<ClusterActive>,
    /// All cores have reached their drivers.
    pub is_active: bool,
    /// Commands in the FIFO of each driver.
    command_fifos: Vec<VecDeque<Command>>,
    /// Bit sets of drivers: with commands in the FIFO, with feedback, and without a task.
    with_commands: u32,
    with_feedback: u32,
    /// The drivers of `with_feedback` whose commands are done, so that their feedback may leave soon.
    leaving: u32,
    pub without_task: u32,
    /// The command unit cuts commands.
    by_tenant: bool,
    command_arbiter: LockingTree,
    feedback_arbiter: LockingTree,
}

impl Drivers {
    pub fn new(
        params: &PspinParams,
        (feedbacks, active): (Tx<Feedback>, Tx<ClusterActive>),
        (commands, responses): (Tx<Command>, Rx<CommandResponse>),
    ) -> Self {
        Drivers {
            feedbacks,
            commands,
            responses,
            active,
            is_active: false,
            command_fifos: vec![VecDeque::new(); params.cluster.n_cores as usize],
            with_commands: 0,
            with_feedback: 0,
            leaving: 0,
            without_task: 0,
            by_tenant: params.sharing.io_schedule != IoSchedule::InOrder,
            command_arbiter: LockingTree::default(),
            feedback_arbiter: LockingTree::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("feedbacks", &self.feedbacks);
        ports.output("commands", &self.commands);
        ports.input("responses", &self.responses);
        ports.output("active", &self.active);
    }

    /// Returns true if a command may leave in the next cycle. New room wakes the cluster.
    pub fn is_pressing(&self) -> bool {
        self.with_commands != 0 && (!self.command_arbiter.is_locked() || self.commands.has_room())
    }

    /// Core `i` reads or writes a register of its driver.
    pub fn access(
        &mut self,
        i: usize,
        (offset, write): (u32, Option<u32>),
        now: Cycle,
        cores: &mut Cores,
        plan: &mut TickPlan,
        trace: &Tracer,
    ) -> DriverAccess {
        let hpu = &mut cores[i];
        if let Some(word) = hpu.driver.access_words(now, offset, write) {
            return DriverAccess::Granted(now, word, None);
        }
        let instructions = hpu.core.instructions();
        if !hpu.driver.is_active() {
            plan.do_all();
            hpu.driver.first_request(now);
            self.watch(i, &hpu.driver);
        }
        if (offset, write) == (ISSUE, None) && !hpu.may_issue() {
            return DriverAccess::Refused;
        }
        let Hpu { core, driver, .. } = hpu;
        let watched = (self.with_feedback, self.without_task);
        let before = driver.task().map(|held| (held.task.packet.0, held.task.stage as u64, held.task.handler.addr));
        let was_running = driver.running().is_some();
        let mut issued = None;
        let mut answer = match (offset, write) {
            (ERROR, Some(cause)) => {
                let trap = core.last_trap();
                let is_handlers = core.privilege() == Privilege::User;
                let trapped = if is_handlers { Trapped::default() } else { Trapped { value: trap.value, pc: trap.pc } };
                driver.report(now, cause, trapped, &mut issued)
            }
            _ => driver.access(now, offset, write, &mut issued),
        };
        if answer == Answer::OtherContext && core.privilege() == Privilege::Machine {
            // A runtime that never leaves machine mode isolates no tasks, so the core need not be cleared.
            driver.need_not_clear();
            answer = driver.access(now, offset, write, &mut issued);
        }
        let (granted, word) = match answer {
            Answer::Granted(granted, word) => (granted, word),
            Answer::Blocked => return DriverAccess::Blocked,
            Answer::OtherContext => return DriverAccess::OtherContext,
        };
        let is_running = driver.running().is_some();
        self.watch(i, driver);
        if is_running != was_running || issued.is_some() || watched != (self.with_feedback, self.without_task) {
            // The most frequent accesses do not need this: reads of the task, and writes of a command's words.
            plan.do_all();
        }
        let mut ended = None;
        if let Some((packet, stage, handler)) = before
            && was_running != is_running
        {
            hpu.task_changes(granted);
            plan.set_deadline(cores.next_deadline());
            let hpu = &mut cores[i];
            hpu.report_task();
            hpu.core.mark_profile();
            if is_running {
                hpu.started = instructions;
                trace.emit(&HANDLER_START, granted, &[packet, stage, i as u64, handler.into()]);
            } else {
                if hpu.driver.is_idle() {
                    trace.emit(&HPU_IDLE, granted, &[i as u64]);
                }
                trace.emit(&HANDLER_END, granted, &[packet, stage, i as u64, instructions - hpu.started]);
                ended = Some((packet, stage));
            }
        }
        if let Some(command) = issued {
            let values = [command.packet.0, i as u64, command.target as u64, command.writes_host().into()];
            trace.emit(&COMMAND_ISSUED, granted, &values);
            if let Some((addr, bytes)) = command.copy_to_host() {
                trace.emit(&HOST_COPY_ISSUED, granted, &[command.packet.0, addr, bytes.into()]);
            }
            cores[i].report_command(&command);
            self.command_fifos[i].push_back(command);
            self.with_commands |= 1 << i;
        }
        DriverAccess::Granted(granted, word, ended)
    }

    /// Passes the ends of commands to the drivers. Cores that wait for them continue.
    pub fn take_responses(&mut self, now: Cycle, cores: &mut Cores, trace: &Tracer) {
        while self.responses.is_due(now)
            && let Some(CommandResponse { id }) = self.responses.take()
        {
            let core = usize::from(id.core);
            let done = cores[core].driver.command_done(now, id.local);
            self.watch(core, &cores[core].driver);
            if let Some((packet, target)) = done {
                trace.emit(&COMMAND_DONE, now, &[packet.0, core as u64, target as u64]);
                cores.repeat_driver(core, now);
            }
        }
    }

    /// Sends one command a cycle to the command unit. If transfers are checked, sends one fragment of a command, so
    /// that no core waits for the whole transfer of another.
    pub fn send_command(&mut self, cores: &mut Cores) {
        if self.with_commands != 0
            && let Some(core) = self.command_arbiter.take(self.with_commands.into(), self.commands.has_room())
        {
            let core = core as usize;
            let first = self.command_fifos[core].front_mut().expect("a command that waits");
            if let Some(fragment_bytes) = cores[core].guard.fragment_bytes().filter(|_| !self.by_tenant)
                && let Some(part) = first.split(fragment_bytes)
            {
                cores[core].driver.command_split(part.id.local);
                return self.commands.send(part);
            }
            self.commands.send(self.command_fifos[core].pop_front().expect("a command that waits"));
            if self.command_fifos[core].is_empty() {
                self.with_commands &= !(1 << core);
            }
        }
    }

    /// Sends one feedback a cycle to the dispatcher.
    pub fn send_feedback(&mut self, now: Cycle, cores: &mut Cores, scheduler: &mut Scheduler, trace: &Tracer) {
        let ready = self.may_leave(now, cores);
        if ready != 0
            && let Some(core) = self.feedback_arbiter.take(ready, self.feedbacks.has_room())
        {
            let core = core as usize;
            let was_idle = cores[core].driver.is_idle();
            let done = cores[core].driver.leave(now);
            self.watch(core, &cores[core].driver);
            if !was_idle && cores[core].driver.is_idle() {
                // The FIFO shows room a cycle later.
                trace.emit(&HPU_IDLE, now + 1, &[core as u64]);
            }
            scheduler.packet_freed(now, &done);
            let values = [done.feedback.packet.0, done.stage as u64, core as u64];
            trace.emit(&TASK_DONE, now, &values);
            self.feedbacks.send(done.feedback);
            cores.repeat_driver(core, now + 1);
        }
    }

    /// Bit set of the drivers whose feedback may leave in this cycle.
    fn may_leave(&self, now: Cycle, cores: &Cores) -> u64 {
        let ready = |core: &u32| cores[*core as usize].driver.leaves_at().is_some_and(|at| at <= now);
        members(self.leaving.into()).filter(ready).fold(0, |set, core| set | 1 << core)
    }

    /// The next cycle in which a feedback may leave that waits only for its time, not for a command or a transfer.
    pub fn next_leave(&self, cores: &Cores) -> Cycle {
        let leaves = members(self.leaving.into()).filter_map(|core| cores[core as usize].driver.leaves_at());
        leaves.min().unwrap_or(Cycle::MAX)
    }

    /// Notifies the inbound engine, once, that all cores have reached their drivers.
    pub fn report_active(&mut self, now: Cycle, cores: &Cores, trace: &Tracer) {
        if !self.is_active && cores.hpus.iter().all(|hpu| hpu.driver.is_active()) {
            self.is_active = true;
            trace.emit(&CLUSTER_ACTIVE, now, &[]);
            self.active.send(ClusterActive);
        }
    }

    /// Updates the bit sets after a change of a driver's feedback, task or commands.
    pub fn watch(&mut self, core: usize, driver: &HpuDriver) {
        self.with_feedback = self.with_feedback & !(1 << core) | u32::from(driver.has_done()) << core;
        self.leaving = self.leaving & !(1 << core) | u32::from(driver.has_done() && !driver.has_commands()) << core;
        self.without_task = self.without_task & !(1 << core) | u32::from(driver.is_idle()) << core;
    }
}
