//! Where the cycles of a cluster's cores go.

use super::Cluster;
use super::hpu::Hpu;
use crate::map;
use blocks::cpu::{Access, AccessKind, Lost, causes, causes_about};
use blocks::profile::CodeProfile;
use kernel::Cycle;

kernel::words! {
    /// The target of an access that waits.
    enum Place {
        /// A bank of the own L1.
        OwnL1 = "l1_bank",
        /// The L1 of another cluster.
        RemoteL1 = "remote_l1",
        /// L2 packet memory.
        L2Packet = "l2_packet",
        /// L2 handler memory.
        L2Handler = "l2_handler",
        /// An AMO, wherever its word is.
        Amo = "amo",
        /// Room for a command.
        CommandIssue = "command_issue",
        /// The end of a command.
        CommandWait = "command_wait",
        /// The cluster's DMA engine.
        Dma = "dma",
        /// A task.
        Idle = "idle",
        /// An event, or an inter-core FIFO.
        Event = "event",
        /// Another peripheral.
        Peripheral = "peripheral",
    }
}

/// Names of the causes of lost cycles.
pub static CAUSES: [&str; Lost::NAMES.len() + Place::NAMES.len()] = causes(&Place::NAMES);
/// Their meanings: why the core waits.
pub static CAUSES_ABOUT: [&str; CAUSES.len()] = causes_about(&Place::ABOUT);

/// The place that an access of a core in cluster `id` waits for.
fn place(id: u32, access: &Access) -> Place {
    let addr = access.addr;
    let own = map::L1_BASE + id * map::L1_STRIDE;
    let from = |base: u32| addr.wrapping_sub(base);
    let is_beside = [map::ALIAS_BASE, own].into_iter().any(|base| from(base) < map::L1_STRIDE);
    if is_beside && from(own).min(from(map::ALIAS_BASE)) >= map::CLUSTER_PERIPHERALS {
        return beside(addr);
    }
    match addr {
        _ if matches!(access.kind, AccessKind::Amo(_)) => Place::Amo,
        _ if is_beside => Place::OwnL1,
        map::L2_PACKET_BASE..map::PROGRAM_BASE => Place::L2Packet,
        map::L2_HANDLER_BASE..map::L2_PACKET_BASE => Place::L2Handler,
        map::L1_BASE..map::SOC_PERIPHERALS => Place::RemoteL1,
        _ => Place::Peripheral,
    }
}

/// The same for an address of the peripherals beside the core.
fn beside(addr: u32) -> Place {
    let is_link = addr & 0x4000 != 0;
    match (is_link, addr >> 10 & 0xf, addr & 0x3ff) {
        (true, 0 | 2 | 3, _) => Place::Event,
        (true, 1, _) => Place::Dma,
        (true, 4, super::hpu_driver::ISSUE) => Place::CommandIssue,
        (true, 4, 0x84..0x90) => Place::CommandWait,
        (true, 4, _) => Place::Idle,
        _ => Place::Peripheral,
    }
}

impl Cluster {
    /// Counts the cycles of each core by instruction and cause from now on.
    pub fn profile_cores(&mut self) {
        self.plan.profile_cores();
        let id = self.cores.cluster;
        for hpu in &mut self.cores.hpus {
            hpu.core.set_profile(&self.fetch.program, &CAUSES, Box::new(move |access| place(id, access) as usize));
        }
    }

    /// Reports the lost cycles of each handler by cause from now on. [`Cluster::profile_cores`] comes first, if both are wanted.
    pub fn profile_handlers(&mut self) {
        self.plan.profile_cores();
        let id = self.cores.cluster;
        for hpu in &mut self.cores.hpus {
            hpu.core.count_between_marks(&CAUSES, Box::new(move |access| place(id, access) as usize));
        }
    }

    /// The profile of each core up to cycle `now`; empty without [`Cluster::profile_cores`].
    pub fn core_profiles(&mut self, now: Cycle) -> Vec<CodeProfile> {
        let program = &self.fetch.program;
        let profile = |hpu: &mut Hpu| hpu.core.profile(program, now);
        self.cores.hpus.iter_mut().filter_map(profile).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_those_of_cores_and_then_the_places() {
        assert_eq!(CAUSES[0], Lost::NAMES[0]);
        assert_eq!(CAUSES[Lost::NAMES.len() + Place::Peripheral as usize], "peripheral");
    }
}
