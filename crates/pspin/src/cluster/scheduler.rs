//! The cluster scheduler: it copies packets to L1 and assigns tasks to idle HPUs, in order.

use super::Cluster;
use super::dma::Owner;
use super::hpu_driver::{Done, HpuTask};
use super::rings::PacketRings;
use crate::events::{Hold, TASK_ACCEPTED, TASK_ASSIGNED, TASK_COPIED, TASK_COPYING, TASK_HELD};
use crate::map;
use crate::params::PspinParams;
use kernel::Cycle;
use kernel::trace::Level;
use std::collections::VecDeque;

/// State of the scheduler.
///
/// Timing:  a task is accepted in the cycle of its arrival if its packet has room, and its copy is requested in that
///          cycle. While the DMA engine does not take the copy, no other task is accepted. A task whose copy finished
///          in cycle c is assigned in c + 1. At most one task a cycle is accepted, and one assigned.
/// Source:  PsPIN RTL a49fec8, `hw/src/pkt_scheduler/cluster_scheduler.sv`.
pub struct Scheduler {
    packet_buffer: u32,
    depth: usize,
    rings: PacketRings,
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
}

impl Scheduler {
    pub fn new(cluster: u32, params: &PspinParams) -> Self {
        Scheduler {
            packet_buffer: map::L1_BASE + cluster * map::L1_STRIDE + params.cluster.packet_buffer_offset,
            depth: params.cluster.task_fifo as usize,
            rings: PacketRings::new(&params.cluster, params.rtl_mistakes.l1_gaps_misbooked),
            fifo: VecDeque::new(),
            level: Level::default(),
            waits_for_dma: false,
            copied: 0,
            accepted_at: 0,
            held: None,
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

    /// The feedback of a task leaves. Frees the packet's room in L1.
    pub fn packet_freed(&mut self, done: &Done) {
        if done.feedback.pkt_size > 0 {
            self.rings.free(done.pkt_ptr - self.packet_buffer, done.feedback.pkt_size);
        }
    }

    /// Returns true if the scheduler may act in the next cycle without another event before. `idle` is true if a driver
    /// could accept a task.
    pub fn is_pressing(&self, idle: bool) -> bool {
        self.waits_for_dma || idle && self.head_is_ready()
    }

    /// Returns true if the scheduler requests a copy from the DMA engine in this cycle.
    pub fn requests_copy(&self) -> bool {
        self.waits_for_dma
    }

    fn head_is_ready(&self) -> bool {
        self.fifo.front().is_some_and(|head| head.task.pkt_size == 0 || self.copied > 0)
    }
}

impl Cluster {
    /// The oldest copy in flight is done.
    pub(super) fn packet_copied(&mut self, now: Cycle) {
        if self.trace.on() {
            let mut copies = self.scheduler.fifo.iter().filter(|waiting| waiting.task.pkt_size > 0);
            let HpuTask { task, .. } = copies.nth(self.scheduler.copied as usize).expect("a copy is for a task");
            self.trace.emit(&TASK_COPIED, now, &[task.packet.0, task.stage as u64]);
        }
        self.scheduler.copied += 1;
    }

    /// Assigns the oldest task to the idle HPU with the lowest number, if the task's packet has arrived.
    pub(super) fn assign_task(&mut self, now: Cycle) {
        if self.drivers.without_task == 0 || !self.scheduler.head_is_ready() {
            return;
        }
        let idle = (0..self.cores.len()).filter(|&core| self.drivers.without_task >> core & 1 != 0);
        let Some(core) = { idle }.find(|&core| self.cores[core].driver.is_ready(now)) else { return };
        let head = self.scheduler.fifo.pop_front().expect("a head that is ready");
        self.scheduler.level.set(now, self.scheduler.fifo.len() as u64);
        if head.task.pkt_size > 0 {
            self.scheduler.copied -= 1;
        }
        self.totals.tasks.add(1);
        let values = [head.task.packet.0, head.task.stage as u64, core as u64];
        self.trace.emit(&TASK_ASSIGNED, now, &values);
        self.cores[core].driver.accept(now, head);
        self.watch_driver(core);
        self.cores.repeat_driver(core, now + 1);
    }

    /// Returns true if a task has arrived and can be accepted.
    #[inline]
    pub(super) fn may_accept(&self, now: Cycle) -> bool {
        let scheduler = &self.scheduler;
        let free = !scheduler.waits_for_dma && scheduler.fifo.len() < scheduler.depth;
        free && self.ports.tasks.is_due(now)
            && self.ports.tasks.peek().is_some_and(|task| scheduler.rings.has_room(task.pkt_size))
    }

    /// Accepts a task if its packet has room in L1, and requests its copy.
    pub(super) fn accept_task(&mut self, now: Cycle) {
        if self.may_accept(now) {
            let task = self.ports.tasks.take().expect("just seen");
            let offset = self.scheduler.rings.book(task.pkt_size).expect("there is room");
            self.trace.emit(&TASK_ACCEPTED, now, &[task.packet.0, task.stage as u64]);
            self.scheduler.waits_for_dma = task.pkt_size > 0;
            self.scheduler.accepted_at = now;
            self.scheduler.held = None;
            self.scheduler.fifo.push_back(HpuTask { task, pkt_ptr: self.scheduler.packet_buffer + offset });
            self.scheduler.level.set(now, self.scheduler.fifo.len() as u64);
        } else if self.trace.on() && self.ports.tasks.is_due(now) {
            self.note_hold(now);
        }
    }

    /// Reports why the task at the port waits, if that is not known yet.
    fn note_hold(&mut self, now: Cycle) {
        let scheduler = &mut self.scheduler;
        let hold = match () {
            _ if scheduler.waits_for_dma => Hold::CopyEngine,
            _ if scheduler.fifo.len() >= scheduler.depth => Hold::TaskFifo,
            _ => Hold::L1Room,
        };
        if scheduler.held.replace(hold) != Some(hold)
            && let Some(task) = self.ports.tasks.peek()
        {
            self.trace.emit(&TASK_HELD, now, &[task.packet.0, task.stage as u64, hold as u64]);
        }
    }

    /// The DMA engine takes the copy of the latest task.
    pub(super) fn launch_copy(&mut self, now: Cycle) {
        let HpuTask { task, pkt_ptr } = self.scheduler.fifo.back().expect("the task that waits");
        self.beats.dma.launch(now, Owner::Scheduler, task.pkt_addr, *pkt_ptr, task.pkt_size);
        self.scheduler.waits_for_dma = false;
        if now > self.scheduler.accepted_at {
            self.trace.emit(&TASK_COPYING, now, &[task.packet.0, task.stage as u64]);
        }
    }
}
