//! The event unit, with which cores of a cluster sleep and wake each other.
//!
//! The boot code uses the mask, the dispatch FIFO and its team mask. The rest is the part of PULP's event unit that
//! other start-up code may access.
//!
//! Source: PsPIN RTL a49fec8 names the unit; register offsets are those of PULP's `event_unit_flex`.

use std::collections::VecDeque;

// Registers of a core: offsets from the start of the unit.
const MASK: u32 = 0x00;
const MASK_AND: u32 = 0x04;
const MASK_OR: u32 = 0x08;
const STATUS: u32 = 0x18;
const BUFFER: u32 = 0x1c;
const BUFFER_MASKED: u32 = 0x20;
const BUFFER_CLEAR: u32 = 0x28;
const WAIT: u32 = 0x38;
const WAIT_CLEAR: u32 = 0x3c;
const DISPATCH_FIFO: u32 = 0x80;
const DISPATCH_TEAM: u32 = 0x84;
const SOFT_EVENT: u32 = 0x100;
const N_SOFT_EVENTS: u32 = 8;
const BARRIER: u32 = 0x200;
const BARRIER_END: u32 = 0x300;

/// Event that a barrier sends.
const BARRIER_EVENT: u32 = 16;
/// Event that a dispatch sends.
const DISPATCH_EVENT: u32 = 18;

#[derive(Clone, Default)]
struct Core {
    mask: u32,
    buffer: u32,
    dispatched: VecDeque<u32>,
}

#[derive(Clone, Copy, Default)]
struct Barrier {
    trigger_mask: u32,
    target_mask: u32,
    arrived: u32,
}

/// The result of an access to the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The access returns this value in the same cycle.
    Value(u32),
    /// The core sleeps. It repeats the access when an event arrives.
    Sleep,
}

/// The unit of one cluster.
pub struct EventUnit {
    cores: Vec<Core>,
    team: u32,
    barriers: [Barrier; 8],
    /// Cores that an event has reached since the last [`EventUnit::take_woken`].
    woken: u32,
}

impl EventUnit {
    pub fn new(n_cores: u32) -> Self {
        let cores = vec![Core::default(); n_cores as usize];
        EventUnit { cores, team: 0, barriers: [Barrier::default(); 8], woken: 0 }
    }

    /// Takes the set of cores that an event has reached. They may wake.
    pub fn take_woken(&mut self) -> u32 {
        std::mem::take(&mut self.woken)
    }

    /// A core reads (`write` is `None`) or writes a register; `elw` marks the reads that may sleep.
    pub fn access(&mut self, core: u32, offset: u32, write: Option<u32>, elw: bool) -> Reply {
        match write {
            Some(value) => {
                self.write(core, offset, value);
                Reply::Value(0)
            }
            None => self.read(core, offset, elw),
        }
    }

    fn write(&mut self, core: u32, offset: u32, value: u32) {
        let all = (1 << self.cores.len()) - 1;
        let own = &mut self.cores[core as usize];
        match offset {
            MASK => own.mask = value,
            MASK_AND => own.mask &= !value,
            MASK_OR => own.mask |= value,
            BUFFER_CLEAR => own.buffer &= !value,
            DISPATCH_FIFO => {
                for (i, core) in self.cores.iter_mut().enumerate() {
                    if self.team >> i & 1 != 0 {
                        core.dispatched.push_back(value);
                    }
                }
                self.send(DISPATCH_EVENT, self.team);
            }
            DISPATCH_TEAM => self.team = value & all,
            SOFT_EVENT.. if offset < SOFT_EVENT + 4 * N_SOFT_EVENTS => {
                // The value selects the cores; 0 selects all.
                let targets = if value & all == 0 { all } else { value & all };
                self.send((offset - SOFT_EVENT) / 4, targets);
            }
            BARRIER..BARRIER_END => {
                let index = ((offset - BARRIER) / 0x20) as usize;
                match offset & 0x1f {
                    0x00 => self.barriers[index].trigger_mask = value & all,
                    0x0c => self.barriers[index].target_mask = value & all,
                    0x10 => self.arrive(index, value & all),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, core: u32, offset: u32, elw: bool) -> Reply {
        let own = &mut self.cores[core as usize];
        Reply::Value(match offset {
            MASK => own.mask,
            STATUS => 0,
            BUFFER => own.buffer,
            BUFFER_MASKED => own.buffer & own.mask,
            DISPATCH_FIFO => match own.dispatched.pop_front() {
                Some(value) => {
                    own.buffer &= !(1 << DISPATCH_EVENT);
                    value
                }
                None if elw => return Reply::Sleep,
                None => 0,
            },
            DISPATCH_TEAM => self.team,
            WAIT | WAIT_CLEAR => {
                let events = own.buffer & own.mask;
                if events == 0 && elw {
                    return Reply::Sleep;
                }
                if offset == WAIT_CLEAR {
                    own.buffer &= !own.mask;
                }
                events
            }
            BARRIER..BARRIER_END => {
                let index = ((offset - BARRIER) / 0x20) as usize;
                match offset & 0x1f {
                    0x00 => self.barriers[index].trigger_mask,
                    0x04 => self.barriers[index].arrived,
                    0x0c => self.barriers[index].target_mask,
                    0x14 => {
                        self.arrive(index, 1 << core);
                        0
                    }
                    0x18 | 0x1c => return self.wait_at_barrier(core, index, offset & 0x1f == 0x1c, elw),
                    _ => 0,
                }
            }
            _ => 0,
        })
    }

    /// The core arrives and sleeps until all cores have arrived. A sleeping core repeats its access and must not arrive
    /// twice.
    fn wait_at_barrier(&mut self, core: u32, index: usize, clear: bool, elw: bool) -> Reply {
        let event = 1 << BARRIER_EVENT;
        if self.cores[core as usize].buffer & event == 0 {
            self.arrive(index, 1 << core);
        }
        let own = &mut self.cores[core as usize];
        if own.buffer & event == 0 && elw {
            return Reply::Sleep;
        }
        let events = own.buffer & own.mask;
        if clear {
            own.buffer &= !own.mask;
        }
        Reply::Value(events)
    }

    fn arrive(&mut self, index: usize, cores: u32) {
        let barrier = &mut self.barriers[index];
        barrier.arrived |= cores & barrier.trigger_mask;
        if barrier.trigger_mask != 0 && barrier.arrived == barrier.trigger_mask {
            barrier.arrived = 0;
            let targets = barrier.target_mask;
            self.send(BARRIER_EVENT, targets);
        }
    }

    fn send(&mut self, event: u32, targets: u32) {
        for (i, core) in self.cores.iter_mut().enumerate() {
            if targets >> i & 1 != 0 {
                core.buffer |= 1 << event;
            }
        }
        self.woken |= targets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_wakes_its_team() {
        let mut unit = EventUnit::new(8);
        assert_eq!(unit.access(3, DISPATCH_FIFO, None, true), Reply::Sleep);
        unit.access(0, DISPATCH_TEAM, Some(0b1010), false);
        unit.access(0, DISPATCH_FIFO, Some(77), false);
        assert_eq!(unit.take_woken(), 0b1010);
        assert_eq!(unit.access(3, DISPATCH_FIFO, None, true), Reply::Value(77));
        assert_eq!(unit.access(3, DISPATCH_FIFO, None, true), Reply::Sleep);
        assert_eq!(unit.access(2, DISPATCH_FIFO, None, true), Reply::Sleep);
    }

    #[test]
    fn a_barrier_opens_when_all_have_come() {
        let mut unit = EventUnit::new(2);
        for core in 0..2 {
            unit.access(core, MASK, Some(1 << BARRIER_EVENT), false);
        }
        unit.access(0, BARRIER, Some(3), false);
        unit.access(0, BARRIER + 0x0c, Some(3), false);
        assert_eq!(unit.access(0, BARRIER + 0x1c, None, true), Reply::Sleep);
        assert_eq!(unit.access(0, BARRIER + 0x1c, None, true), Reply::Sleep);
        assert_eq!(unit.access(1, BARRIER + 0x1c, None, true), Reply::Value(1 << BARRIER_EVENT));
        assert_eq!(unit.access(0, BARRIER + 0x1c, None, true), Reply::Value(1 << BARRIER_EVENT));
    }

    #[test]
    fn a_soft_event_ends_a_wait() {
        let mut unit = EventUnit::new(4);
        unit.access(1, MASK_OR, Some(0b10), false);
        assert_eq!(unit.access(1, WAIT_CLEAR, None, true), Reply::Sleep);
        unit.access(0, SOFT_EVENT + 4, Some(0b10), false);
        assert_eq!(unit.access(1, WAIT_CLEAR, None, true), Reply::Value(0b10));
        assert_eq!(unit.access(1, WAIT_CLEAR, None, true), Reply::Sleep);
    }
}
