//! The cause of a different time: a guess from the instruction and its neighbour.
//!
//! A trace contains the times at which instructions leave decode, but not the reasons for waiting. The cycles between
//! an instruction and the next are divided by the first rule that applies, from the most to the least certain.

use crate::instructions::{Entry, Registers};
use isa::riscv::{Class, decode};
use pspin::map;
use serde::Serialize;
use std::collections::BTreeSet;

/// A class of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Sleep until an event.
    Event,
    /// Cluster DMA, or commands to the network and the host.
    Command,
    /// Other registers: tasks, doorbells, peripherals.
    Device,
    /// Memory outside the own cluster.
    Remote,
    /// A line of the instruction cache.
    FetchLine,
    /// Control registers, fences, calls, traps and returns.
    Flush,
    /// Division or a high product.
    Arithmetic,
    /// A register jump waits for its register.
    JumpRegister,
    /// The result of a load is used at once.
    LoadUse,
    /// A branch taken, or a jump.
    Taken,
    /// Own L1: a bank that another port has, or an AMO.
    Bank,
    /// The runs took different paths.
    Path,
    /// None of these.
    Unknown,
}

impl Cause {
    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Event => "event wait (p.elw)",
            Cause::Command => "DMA or command wait",
            Cause::Device => "MMIO or doorbell wait",
            Cause::Remote => "L2 or remote access",
            Cause::FetchLine => "instruction cache miss",
            Cause::Flush => "CSR, fence or trap",
            Cause::Arithmetic => "division or high product",
            Cause::JumpRegister => "register of a jalr",
            Cause::LoadUse => "load-use",
            Cause::Taken => "taken branch or jump",
            Cause::Bank => "bank conflict or AMO",
            Cause::Path => "other path",
            Cause::Unknown => "unknown",
        }
    }
}

/// Maximum number of lines whose first use is stored, so that a hostile trace does not take more memory than others.
const MAX_LINES: usize = 1 << 16;
/// Least number of cycles of a refill. All other costs of a change of line are smaller.
const REFILL: u64 = 4;

/// The data, besides the instructions, on which a cause depends.
#[derive(Debug, Default)]
pub struct Causes {
    /// Cluster of the core. If it is unknown, the L1 of every cluster counts as the core's own.
    cluster: Option<u32>,
    /// Lines that were used.
    seen: BTreeSet<u32>,
}

/// The kind of memory at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    OwnL1,
    Command,
    Device,
    Remote,
}

impl Causes {
    /// For a core of `cluster`, if that is known.
    pub fn of(cluster: Option<u32>) -> Self {
        Causes { cluster, seen: BTreeSet::new() }
    }

    /// The cause of a difference in the cycles between `before` and `next`; `(a, b)` are the cycles of the two runs.
    pub fn between(&self, before: &Entry, next: &Entry, (a, b): (u64, u64)) -> Cause {
        let (shorter, difference) = (a.min(b), a.abs_diff(b));
        let class = decode(before.word).class();
        let region = before.addr.map(|addr| self.region(addr));
        match (class, region) {
            (Class::Elw, _) => return Cause::Event,
            (_, Some(Region::Command)) => return Cause::Command,
            (_, Some(Region::Device)) => return Cause::Device,
            (_, Some(Region::Remote)) => return Cause::Remote,
            _ => {}
        }
        let leaves_line = next.pc >> 4 != before.pc >> 4 || next.pc & 15 == 14;
        let jumps = ![2, 4].contains(&next.pc.wrapping_sub(before.pc));
        match class {
            _ if leaves_line && !self.seen.contains(&(next.pc >> 4)) => Cause::FetchLine,
            Class::Csr | Class::System | Class::Fence | Class::Illegal => Cause::Flush,
            Class::Div | Class::MulHigh => Cause::Arithmetic,
            _ if jumps && region.is_some() => Cause::Flush,
            _ if leaves_line && difference >= REFILL && region.is_none() => Cause::FetchLine,
            _ if waits_for_register(before, next) => Cause::JumpRegister,
            // One of the runs does not wait for the load. If both wait, the cause is another one.
            Class::Load if (shorter, difference) == (1, 1) && reads(next, &before.written) => Cause::LoadUse,
            Class::Branch | Class::Jump | Class::JumpReg if jumps => Cause::Taken,
            _ if region == Some(Region::OwnL1) => Cause::Bank,
            _ if leaves_line => Cause::FetchLine,
            _ => Cause::Unknown,
        }
    }

    /// The cause of the cycles of instructions that only one of the two runs executed.
    pub fn apart<'a>(&self, mut entries: impl Iterator<Item = &'a Entry>) -> Cause {
        let waits = |entry: &Entry| match entry.addr.map(|addr| self.region(addr)) {
            _ if decode(entry.word).class() == Class::Elw => Some(Cause::Event),
            Some(Region::Command) => Some(Cause::Command),
            Some(Region::Device) => Some(Cause::Device),
            _ => None,
        };
        entries.find_map(waits).unwrap_or(Cause::Path)
    }

    /// Notes that an instruction at this address was executed.
    pub fn see(&mut self, pc: u32) {
        if self.seen.len() < MAX_LINES {
            self.seen.insert(pc >> 4);
        }
    }

    fn region(&self, addr: u32) -> Region {
        // L1 and peripherals of a cluster, by windows of 2 MiB.
        let clusters = map::L1_BASE..map::ALIAS_BASE;
        let base = match self.cluster {
            _ if addr >> 22 == map::ALIAS_BASE >> 22 => map::ALIAS_BASE,
            Some(own) if addr >> 22 == (map::L1_BASE >> 22).wrapping_add(own) => addr & !(map::L1_STRIDE - 1),
            None if clusters.contains(&addr) => addr & !(map::L1_STRIDE - 1),
            _ => return Region::Remote,
        };
        match addr - base {
            offset if offset < map::CLUSTER_PERIPHERALS => Region::OwnL1,
            offset => match (offset >> 14 & 0x3f, offset >> 10 & 0xf) {
                (1, 1) => Region::Command,
                // The registers of commands follow those of tasks.
                (1, 4) if offset & 0x80 != 0 => Region::Command,
                _ => Region::Device,
            },
        }
    }
}

fn reads(next: &Entry, written: &Registers) -> bool {
    let inst = decode(next.word);
    written.iter().any(|(r, _)| inst.reads() >> r & 1 != 0)
}

fn waits_for_register(before: &Entry, next: &Entry) -> bool {
    decode(next.word).class() == Class::JumpReg && reads(next, &before.written)
}
