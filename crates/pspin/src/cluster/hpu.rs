//! A handler processing unit (HPU): a core with its driver and all else that is its own, and what it waits for.

use super::dma_registers::DmaRegisters;
use super::guard::Guard;
use super::hpu_driver::HpuDriver;
use super::refills::Miss;
use crate::map;
use crate::params::PspinParams;
use crate::pe::PeRequest;
use blocks::cpu::{AccessKind, Core, Privilege, Profile};
use isa::riscv::Amo;
use kernel::Cycle;
use std::collections::VecDeque;

/// What a core does next, or what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// Goes on with the next instruction.
    Run,
    /// Asks for memory.
    Access,
    /// Misses the fetch line at this address, and has not asked for it yet.
    Fetch(u32),
    /// Should ask for the line at this address ahead, so that it is looked for so many cycles later, and then go on.
    Prefetch(u32, Cycle),
    /// Has asked for the line.
    Line(u32),
    /// Waits for a line that it does not need any more, since it jumped.
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
    /// Never goes on: nothing grants its access, or it waits for an interrupt.
    Forever,
    /// Waits forever for an instruction that it may not have. Its exception is entered when its watchdog ends the handler.
    Stray,
    /// Its watchdog has run out.
    Killed,
}

impl Wait {
    /// In words.
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

/// One HPU: a core, the driver that hands it tasks, and what else a cluster holds for each core.
pub(super) struct Hpu {
    pub core: Core,
    pub driver: HpuDriver,
    pub guard: Guard,
    /// Cycle in which its handler has run too long.
    pub deadline: Cycle,
    pub wait: Wait,
    /// The first part of a misaligned access that is half done.
    pub first_part: Option<u32>,
    /// The line that its cache controller misses.
    pub miss: Option<Miss>,
    /// Cycle in which a line came that it had requested ahead.
    pub line_came: Cycle,
    /// The line that it fetched while the cache was off and has not entered; its prefetch buffer keeps it when the cache is
    /// turned on.
    pub held_line: Option<u32>,
    /// What it asks the PE interconnect, and since when.
    pub pe_request: Option<(Cycle, PeRequest)>,
    pub dma: DmaRegisters,
    /// Words from its neighbour.
    pub fifo: VecDeque<u32>,
    /// The line of text it is writing.
    pub text: Vec<u8>,
    /// Instructions retired when its handler started.
    pub started: u64,
}

impl Hpu {
    pub fn new(cluster: u32, core: u32, params: &PspinParams) -> Self {
        // Bits [10:5] are the cluster, [3:0] the core.
        let hart_id = cluster << 5 | core;
        Hpu {
            core: Core::new(Profile::Ri5cy, hart_id, map::BOOT_ADDR),
            driver: HpuDriver::new(cluster, core, params),
            guard: Guard::new(cluster, core, params),
            deadline: Cycle::MAX,
            wait: Wait::Run,
            first_part: None,
            miss: None,
            line_came: 0,
            held_line: None,
            pe_request: None,
            dma: DmaRegisters::default(),
            fifo: VecDeque::new(),
            text: Vec::new(),
            started: 0,
        }
    }

    /// The address of the word or part of a word that the core asks for next.
    #[inline]
    pub fn next_address(&self) -> u32 {
        let addr = self.core.access().addr;
        if self.first_part.is_some() { (addr & !3).wrapping_add(4) } else { addr }
    }

    /// Returns true if the address is in the own L1 and the access is allowed, with its second part.
    #[inline(always)]
    pub fn accesses_l1(&self, addr: u32) -> bool {
        let access = self.core.access();
        self.guard.allows_l1(access.addr, access.bytes())
            || self.core.privilege() == Privilege::Machine && self.guard.is_own_l1(addr)
    }

    /// Returns true if it waits for an AMO that reads and writes, so neither `lr.w` nor `sc.w`.
    pub fn is_read_and_write(&self) -> bool {
        let kind = self.core.access().kind;
        matches!(kind, AccessKind::Amo(amo) if !matches!(amo, Amo::LoadReserved | Amo::StoreConditional))
    }

    /// Whether it waits for an AMO whose address is no multiple of 4.
    pub fn is_misaligned_amo(&self) -> bool {
        let access = self.core.access();
        !access.addr.is_multiple_of(4) && matches!(access.kind, AccessKind::Amo(_))
    }
}
