//! The unit under a debugger. Only a unit with a probe pays for it.

use super::bus::{Bus, What};
use super::params::MEMORY_BASE;
use super::trouble::Program;
use blocks::debug::{Event, Probe, Report};
use kernel::Cycle;

/// A store that has not reached memory.
#[derive(Clone, Copy, Debug)]
struct Posted {
    /// Cycle of the instruction.
    at: Cycle,
    addr: u32,
    value: u32,
    bytes: u32,
}

/// The probe of a debugged unit, and its state between reports.
pub(super) struct Debug {
    probe: Probe,
    /// Registers and program counter behind the last instruction.
    registers: [u32; 32],
    pc: u32,
    /// Stores that have not reached memory, in order.
    posted: Vec<Posted>,
    /// The packet that the program has.
    packet: Option<u64>,
    /// Address of the instruction behind the one that took the packet.
    entry: u32,
}

impl Debug {
    /// Reports an instruction of cycle `at`, which has left these registers, and continues at `next`.
    pub fn retired(&mut self, at: Cycle, pc: u32, access: Option<Event>, registers: &[u32; 32], next: u32) {
        for event in [Some(Event::Instruction), access].into_iter().flatten() {
            (self.probe)(&Report { event, at, pc, registers: &self.registers });
        }
        (self.registers, self.pc) = (*registers, next);
    }

    /// Reports a fault in cycle `at`.
    pub fn fault(&mut self, at: Cycle, pc: u32, cause: u32, value: u32) {
        (self.probe)(&Report { event: Event::Fault { cause, value }, at, pc, registers: &self.registers });
    }

    /// The core continues at `pc` with these registers: after a reset, or in a trap handler.
    pub fn redirected(&mut self, registers: &[u32; 32], pc: u32) {
        (self.registers, self.pc) = (*registers, pc);
    }

    /// The program takes a packet with the instruction before `entry`.
    pub fn took_packet(&mut self, entry: u32) {
        self.entry = entry;
    }

    /// The state of the unit at the end of a cycle.
    pub fn end_cycle(&mut self, bus: &Bus, packet: Option<u64>) {
        self.packet = packet;
        let posted = |request: &super::bus::Request| match request.what {
            What::Store { addr, value, bytes } => Some(Posted { at: bus.issued(request), addr, value, bytes }),
            _ => None,
        };
        self.posted = bus.requests.iter().filter_map(posted).collect();
    }
}

impl Program {
    /// Reports every instruction of its unit's core to `probe`. A core that runs ahead reports ahead of time.
    pub fn set_probe(&self, probe: Probe) {
        let (registers, pc) = ([0; 32], self.image.entry);
        let (posted, packet, entry) = (Vec::new(), None, 0);
        self.observed.borrow_mut().debug = Some(Debug { probe, registers, pc, posted, packet, entry });
    }

    /// Program counter and registers behind the last instruction that was reported.
    pub fn registers(&self) -> (u32, Vec<u32>) {
        let observed = self.observed.borrow();
        observed.debug.as_ref().map_or((self.image.entry, vec![0; 32]), |debug| (debug.pc, debug.registers.to_vec()))
    }

    /// The number of the packet that the program has, and the address at which it begins to process packets.
    pub fn work(&self) -> Option<(u64, u32)> {
        let observed = self.observed.borrow();
        let debug = observed.debug.as_ref()?;
        Some((debug.packet?, debug.entry))
    }

    /// Reads the unit's memory as the core sees it before cycle `now`: with its stores that have not reached memory. Returns false if not all
    /// of the range is there.
    pub fn read_before(&self, now: Cycle, addr: u32, data: &mut [u8]) -> bool {
        if !self.read_memory(addr, data) {
            return false;
        }
        let observed = self.observed.borrow();
        let posted = observed.debug.iter().flat_map(|debug| &debug.posted).filter(|store| store.at < now);
        for store in posted {
            for (at, byte) in (store.addr..).zip(&store.value.to_le_bytes()[..store.bytes as usize]) {
                if let Some(to) = data.get_mut(at.wrapping_sub(addr) as usize) {
                    *to = *byte;
                }
            }
        }
        true
    }

    /// Writes the unit's memory; lines in its caches keep their old bytes. Returns the number of bytes, 0 outside.
    pub fn write(&self, addr: u32, data: &[u8]) -> usize {
        let mut memory = self.memory.borrow_mut();
        let held = memory.get_mut(addr.wrapping_sub(MEMORY_BASE) as usize..).unwrap_or_default();
        let n = data.len().min(held.len());
        held[..n].copy_from_slice(&data[..n]);
        n
    }

    /// First address and bytes of the unit's memory.
    pub fn window(&self) -> (u32, u32) {
        (MEMORY_BASE, self.memory.borrow().len() as u32)
    }
}
