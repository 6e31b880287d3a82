//! A handler processing unit (HPU): a core, its driver and its other private parts, and its wait state.

use super::dma_frontend::DmaRegisters;
use super::guard::Guard;
use super::hpu_driver::HpuDriver;
use super::refills::Miss;
use crate::map;
use crate::params::PspinParams;
use crate::pe::PeOp;
use crate::protocol::CommandTarget;
use blocks::cpu::{AccessKind, Core, Privilege, Profile};
use isa::riscv::Amo;
use kernel::Cycle;
use std::collections::VecDeque;

/// The next action of a core, or the event that it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// Continues with the next instruction.
    Run,
    /// Requests memory.
    Access,
    /// Misses the fetch line at this address, and has not requested it yet.
    Fetch(u32),
    /// Prefetches the line at this address, with the lookup after the given number of cycles. Then the core continues.
    Prefetch(u32, Cycle),
    /// Has requested the line.
    Line(u32),
    /// Waits for a line that it no longer needs, because it jumped.
    Abandoned(u32),
    /// Waits for its driver.
    Driver,
    /// Waits for the DMA engine to take its transfer.
    Launch,
    /// Waits for the PE interconnect.
    Pe,
    /// Sleeps until an event.
    Event,
    /// Waits for a word in its inter-core FIFO, or for room in its neighbour's.
    Fifo,
    /// Never continues: its access gets no grant, or it waits for an interrupt.
    Forever,
    /// Waits forever for an instruction that it may not fetch. The exception is taken when its watchdog ends the
    /// handler.
    Stray,
    /// Its watchdog has run out.
    Killed,
}

impl Wait {
    /// A short description, for users.
    pub fn describe(self) -> &'static str {
        match self {
            Wait::Run => "runs",
            Wait::Access => "asks for memory",
            Wait::Fetch(_) | Wait::Prefetch(..) | Wait::Line(_) | Wait::Abandoned(_) => "waits for an instruction line",
            Wait::Driver => "waits for its driver",
            Wait::Launch => "waits for its cluster's DMA engine",
            Wait::Pe => "waits for memory outside its cluster",
            Wait::Event => "sleeps until an event",
            Wait::Fifo => "waits for an inter-core FIFO",
            Wait::Forever => "waits for ever: asleep, or nothing answers its access",
            Wait::Stray => "waits forever for an instruction outside its program memory",
            Wait::Killed => "is stopped by its watchdog",
        }
    }
}

/// One HPU: a core, the driver that gives it tasks, and the other state that a cluster has for each core.
pub(super) struct Hpu {
    pub core: Core,
    pub driver: HpuDriver,
    pub guard: Guard,
    /// Cycle in which the watchdog of its handler runs out.
    pub deadline: Cycle,
    pub wait: Wait,
    /// First part of a misaligned access whose second part is pending.
    pub first_part: Option<u32>,
    /// The line that its cache controller misses.
    pub miss: Option<Miss>,
    /// Cycle in which a prefetched line arrived.
    pub line_came: Cycle,
    /// The line that the core fetched while the cache was off and from which it has run nothing yet. Its prefetch
    /// buffer keeps the line when the cache is turned on.
    pub held_line: Option<u32>,
    pub dma: DmaRegisters,
    /// Words from its neighbour.
    pub fifo: VecDeque<u32>,
    /// Instructions retired when its handler started.
    pub started: u64,
}

impl Hpu {
    pub fn new(cluster: u32, core: u32, params: &PspinParams) -> Self {
        // Bits [10:5] are the cluster, [3:0] the core.
        let hart_id = cluster << 5 | core;
        let mut cpu = Core::new(Profile::Ri5cy, hart_id, map::BOOT_ADDR);
        if params.cluster.cycle_register {
            cpu.add_cycle_register();
        }
        Hpu {
            core: cpu,
            driver: HpuDriver::new(cluster, core, params),
            guard: Guard::new(cluster, core, params),
            deadline: Cycle::MAX,
            wait: Wait::Run,
            first_part: None,
            miss: None,
            line_came: 0,
            held_line: None,
            dma: DmaRegisters::default(),
            fifo: VecDeque::new(),
            started: 0,
        }
    }

    /// The address of the word, or of the part of a word, that the core requests next.
    #[inline]
    pub fn next_address(&self) -> u32 {
        let addr = self.core.access().addr;
        if self.first_part.is_some() { (addr & !3).wrapping_add(4) } else { addr }
    }

    /// Returns true if the address is in the own L1 and the whole access is allowed, including its second part.
    #[inline(always)]
    pub fn accesses_l1(&self, addr: u32) -> bool {
        let access = self.core.access();
        self.guard.allows_l1(access.addr, access.bytes())
            || self.core.privilege() == Privilege::Machine && self.guard.is_own_l1(addr)
    }

    /// Its cache controller, which misses a line, looks for the line in cycle `at`.
    pub fn look_at(&mut self, at: Cycle) {
        self.miss.as_mut().expect("a controller that misses a line").looks_at = at;
    }

    /// The operation on the word at [`Hpu::next_address`].
    pub fn word_op(&self) -> PeOp {
        let access = self.core.access();
        let shift = access.addr % 4 * 8;
        match access.kind {
            AccessKind::Load(_) => PeOp::Load,
            AccessKind::Amo(amo) => PeOp::Amo { amo, operand: access.value },
            AccessKind::Store(width) => {
                let ones = u32::MAX >> (32 - 8 * width.bytes());
                if self.first_part.is_some() {
                    PeOp::Store { value: access.value >> (32 - shift), mask: ones >> (32 - shift) }
                } else {
                    PeOp::Store { value: access.value << shift, mask: ones << shift }
                }
            }
        }
    }

    /// Physical memory protection outside the own L1. Machine mode may access everything.
    pub fn is_permitted(&self, addr: u32, is_beside: bool) -> bool {
        let Hpu { core, guard, first_part, .. } = self;
        let access = core.access();
        core.privilege() == Privilege::Machine
            // If the first part was permitted, the second one is too. Registers on the link are checked for each part.
            || first_part.is_some() && !is_beside
            || match (is_beside, addr & 0x4000 != 0) {
                (true, true) => guard.allows_link(addr),
                (true, false) => guard.allows_peripherals(),
                (false, _) => {
                    guard.allows(addr, access.bytes(), !matches!(access.kind, AccessKind::Load(_)))
                }
            }
    }

    /// Returns true if the command that the core has prepared moves only data that its handler may access.
    pub fn may_issue(&self) -> bool {
        let Hpu { core, driver, guard, .. } = self;
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

    /// A task starts or ends in cycle `at`: sets the memory that the core may access, and its deadline.
    pub fn task_changes(&mut self, at: Cycle) {
        let Hpu { core, driver, guard, deadline, dma, .. } = self;
        if guard.is_exact() {
            core.forget_loops();
            driver.forget_command();
            *dma = DmaRegisters::default();
        }
        let running = driver.running();
        guard.set(running.map(|held| (&held.task, held.pkt_ptr)));
        core.set_user_code(guard.code());
        let limit = running.map_or(0, |held| held.task.context.protection.watchdog_cycles);
        *deadline = if limit == 0 { Cycle::MAX } else { at + Cycle::from(limit) };
    }

    /// Returns true if the core waits for an AMO that reads and writes: neither `lr.w` nor `sc.w`.
    pub fn is_read_and_write(&self) -> bool {
        let kind = self.core.access().kind;
        matches!(kind, AccessKind::Amo(amo) if !matches!(amo, Amo::LoadReserved | Amo::StoreConditional))
    }

    /// Returns true if the core waits for an AMO whose address is not a multiple of 4.
    pub fn is_misaligned_amo(&self) -> bool {
        let access = self.core.access();
        !access.addr.is_multiple_of(4) && matches!(access.kind, AccessKind::Amo(_))
    }
}
