//! The cluster scheduler: it copies packets to L1 and assigns tasks to idle HPUs, in order.

use super::cores::Cores;
use super::dma::{Dma, Owner};
use super::drivers::Drivers;
use super::hpu_driver::{Done, HpuTask};
use super::rings::PacketRings;
use crate::events::{Hold, TASK_ACCEPTED, TASK_ASSIGNED, TASK_COPIED, TASK_COPYING, TASK_HELD};
use crate::map;
use crate::params::PspinParams;
use crate::protocol::Task;
use kernel::trace::{Counter, Level, Tracer};
use kernel::{Cycle, Rx};
use std::collections::VecDeque;

/// State of the cluster scheduler.
///
/// Timing:  a task is accepted in the cycle of its arrival if its packet has room, and its copy is requested in that
///          cycle. While the DMA engine does not take the copy, no other task is accepted. A task whose copy finished
///          in cycle c is assigned in c + 1. At most one task a cycle is accepted, and one assigned.
/// Source:  PsPIN RTL a49fec8, `hw/src/pkt_scheduler/cluster_scheduler.sv`.
pub struct Scheduler {
    /// Tasks from the dispatcher.
    pub tasks: Rx<Task>,
    packet_buffer: u32,
    depth: usize,
    rings: PacketRings,
    /// Booked bytes of the rings over time.
    booked: Level,
    /// Accepted tasks, in order, and their number over time.
    fifo: VecDeque<HpuTask>,
    level: Level,
    /// The latest accepted task waits for the DMA engine to take its copy.
    waits_for_dma: bool,
    /// Number of finished copies whose tasks are not assigned.
    copied: u32,
    /// When the latest task was accepted.
    accepted_at: Cycle,
    /// Why the task at the port was last seen to wait.
    held: Option<Hold>,
    /// Tasks assigned.
    pub assigned: Counter,
}

impl Scheduler {
    pub fn new(cluster: u32, params: &PspinParams, tasks: Rx<Task>) -> Self {
        Scheduler {
            tasks,
            packet_buffer: map::L1_BASE + cluster * map::L1_STRIDE + params.cluster.packet_buffer_offset,
            depth: params.cluster.task_fifo as usize,
            rings: PacketRings::new(&params.cluster, params.rtl_mistakes.l1_gaps_misbooked),
            booked: Level::default(),
            fifo: VecDeque::new(),
            level: Level::default(),
            waits_for_dma: false,
            copied: 0,
            accepted_at: 0,
            held: None,
            assigned: Counter::default(),
        }
    }

    /// Number of tasks that it keeps.
    pub fn depth(&self) -> u64 {
        self.depth as u64
    }

    /// The number of tasks that it kept over time.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// Size of the packet buffer in L1, in bytes, and its booked bytes over time.
    pub fn packet_room(&self) -> (u64, &Level) {
        (self.rings.bytes(), &self.booked)
    }

    /// The feedback of a task leaves. Frees the packet's room in L1.
    pub fn packet_freed(&mut self, now: Cycle, done: &Done) {
        if done.feedback.pkt_size > 0 {
            self.rings.free(done.pkt_ptr - self.packet_buffer, done.feedback.pkt_size);
            self.booked.set(now, self.rings.booked_bytes());
        }
    }

    /// Returns true if the scheduler may act in the next cycle without another event before. `idle` is true if a driver
    /// could accept a task.
    #[inline]
    pub fn is_pressing(&self, now: Cycle, idle: bool) -> bool {
        self.waits_for_dma || idle && self.head_is_ready() || self.may_accept(now)
    }

    /// Returns true if the scheduler requests a copy from the DMA engine in this cycle.
    pub fn requests_copy(&self) -> bool {
        self.waits_for_dma
    }

    fn head_is_ready(&self) -> bool {
        self.fifo.front().is_some_and(|head| head.task.pkt_size == 0 || self.copied > 0)
    }

    /// The oldest copy in flight is done.
    pub fn packet_copied(&mut self, now: Cycle, trace: &Tracer) {
        if trace.on() {
            let mut copies = self.fifo.iter().filter(|waiting| waiting.task.pkt_size > 0);
            let HpuTask { task, .. } = copies.nth(self.copied as usize).expect("a copy is for a task");
            trace.emit(&TASK_COPIED, now, &[task.packet.0, task.stage as u64]);
        }
        self.copied += 1;
    }

    /// Assigns the oldest task to the idle HPU with the lowest number, if the task's packet has arrived.
    #[inline]
    pub fn assign_task(&mut self, now: Cycle, cores: &mut Cores, drivers: &mut Drivers, trace: &Tracer) {
        if drivers.without_task == 0 || !self.head_is_ready() {
            return;
        }
        let idle = (0..cores.len()).filter(|&core| drivers.without_task >> core & 1 != 0);
        let Some(core) = { idle }.find(|&core| cores[core].driver.is_ready(now)) else { return };
        let head = self.fifo.pop_front().expect("a head that is ready");
        self.level.set(now, self.fifo.len() as u64);
        if head.task.pkt_size > 0 {
            self.copied -= 1;
        }
        self.assigned.add(1);
        let values = [head.task.packet.0, head.task.stage as u64, core as u64];
        trace.emit(&TASK_ASSIGNED, now, &values);
        cores[core].driver.accept(now, head);
        drivers.watch(core, &cores[core].driver);
        cores.repeat_driver(core, now + 1);
    }

    /// Returns true if a task has arrived and can be accepted.
    #[inline]
    fn may_accept(&self, now: Cycle) -> bool {
        let free = !self.waits_for_dma && self.fifo.len() < self.depth;
        free && self.tasks.is_due(now) && self.tasks.peek().is_some_and(|task| self.rings.has_room(task.pkt_size))
    }

    /// Accepts a task if its packet has room in L1, and requests its copy.
    #[inline]
    pub fn accept_task(&mut self, now: Cycle, trace: &Tracer) {
        if self.may_accept(now) {
            let task = self.tasks.take().expect("just seen");
            let offset = self.rings.book(task.pkt_size).expect("there is room");
            self.booked.set(now, self.rings.booked_bytes());
            trace.emit(&TASK_ACCEPTED, now, &[task.packet.0, task.stage as u64]);
            self.waits_for_dma = task.pkt_size > 0;
            self.accepted_at = now;
            self.held = None;
            self.fifo.push_back(HpuTask { task, pkt_ptr: self.packet_buffer + offset });
            self.level.set(now, self.fifo.len() as u64);
        } else if trace.on() && self.tasks.is_due(now) {
            self.note_hold(now, trace);
        }
    }

    /// Reports why the task at the port waits, if that is not known yet.
    fn note_hold(&mut self, now: Cycle, trace: &Tracer) {
        let hold = match () {
            _ if self.waits_for_dma => Hold::CopyEngine,
            _ if self.fifo.len() >= self.depth => Hold::TaskFifo,
            _ => Hold::L1Room,
        };
        if self.held.replace(hold) != Some(hold)
            && let Some(task) = self.tasks.peek()
        {
            trace.emit(&TASK_HELD, now, &[task.packet.0, task.stage as u64, hold as u64]);
        }
    }

    /// The DMA engine takes the copy of the latest task.
    pub fn launch_copy(&mut self, now: Cycle, dma: &mut Dma, trace: &Tracer) {
        let HpuTask { task, pkt_ptr } = self.fifo.back().expect("the task that waits");
        dma.launch(now, Owner::Scheduler, task.pkt_addr, *pkt_ptr, task.pkt_size);
        self.waits_for_dma = false;
        if now > self.accepted_at {
            trace.emit(&TASK_COPYING, now, &[task.packet.0, task.stage as u64]);
        }
    }
}
