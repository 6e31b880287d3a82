//! Slow peripherals of a cluster, except the DMA engine and the instruction cache.

use super::cores::Cores;
use super::events::{EventUnit, Reply};
use super::hpu::Wait;
use super::timer::Timer;
use kernel::{Cycle, members};

/// Cycles from an event until the sleeping cores continue: the event unit, and the core's clock.
/// Source: measured on the RTL: PsPIN's boot, from the grant of the store to the dispatch FIFO to the next instruction.
const WAKE: u64 = 6;

/// Event unit and timer. Each documents its own registers.
pub(super) struct Peripherals {
    event_unit: EventUnit,
    timer: Timer,
}

impl Peripherals {
    pub fn new(n_cores: u32) -> Self {
        Peripherals { event_unit: EventUnit::new(n_cores), timer: Timer::default() }
    }

    /// A core accesses the event unit; `elw` marks the reads that may sleep. Wakes the cores that an event reaches.
    pub fn access_events(
        &mut self,
        core: u32,
        addr: u32,
        write: Option<u32>,
        elw: bool,
        now: Cycle,
        cores: &mut Cores,
    ) -> Reply {
        let reply = self.event_unit.access(core, addr & 0x3ff, write, elw);
        for i in members(self.event_unit.take_woken().into()) {
            cores.repeat(i as usize, Wait::Event, now, now + WAKE);
        }
        reply
    }

    /// Accesses a register. Bits 10 to 13 of the address choose the peripheral.
    pub fn access(&mut self, core: u32, addr: u32, write: Option<u32>, now: Cycle, cores: &mut Cores) -> u32 {
        match addr >> 10 & 0xf {
            1 => self.timer.access(addr & 0x3ff, write, now),
            2 | 3 => match self.access_events(core, addr, write, false, now, cores) {
                Reply::Value(word) => word,
                Reply::Sleep => 0,
            },
            // The window of an optional accelerator, which the cluster does not have.
            4 => 0xdead_beef,
            // Cluster control, whose end-of-computation register has no effect here, and unmapped addresses.
            _ => 0,
        }
    }
}
