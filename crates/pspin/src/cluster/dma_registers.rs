//! The registers of the cluster DMA, one set for each core and one for the public port.

use super::Cluster;
use super::access::SLOW_PERIPHERAL;
use super::dma::Owner;
use super::hpu::{Hpu, Wait};
use crate::pe::{PeOp, RemoteRequest};
use crate::protocol::Sender;
use crate::rate::RateLimit;
use blocks::cpu::Privilege;
use blocks::debug::Event;
use kernel::{CounterList, Cycle, members};

/// The registers with which a core or the public port describes a transfer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DmaRegisters {
    src: u32,
    dst: u32,
    bytes: u32,
    config: u32,
    /// Bytes of a launch that the engine has already taken.
    begun: u32,
}

/// The register whose read launches a transfer.
const LAUNCH: u32 = 0x18;

/// The requester of a launch through the public registers.
pub(super) enum Launcher {
    /// A core of this cluster.
    Core(usize),
    /// An access from another cluster.
    Remote(RemoteRequest),
}

/// Copies by the handlers of a tenant with this cluster's DMA.
struct Account {
    tenant: u32,
    bytes: u64,
    limit: Option<RateLimit>,
}

/// The accounts of all tenants with transfers so far.
pub(super) struct Accounts {
    clock_hz: u64,
    all: Vec<Account>,
}

impl Accounts {
    pub fn new(clock_hz: u64) -> Self {
        Accounts { clock_hz, all: Vec::new() }
    }

    /// Returns true if the limit of this tenant allows a part of a transfer to start in this cycle.
    fn allow(&self, now: Cycle, tenant: u32) -> bool {
        let account = self.all.iter().find(|account| account.tenant == tenant);
        account.and_then(|account| account.limit).is_none_or(|limit| limit.allows_at() <= now)
    }

    /// A part of a transfer of a handler of this tenant starts.
    fn count(&mut self, now: Cycle, sender: Sender, bytes: u32) {
        let Sender { tenant, io, .. } = sender;
        let place = self.all.iter().position(|account| account.tenant == tenant).unwrap_or_else(|| {
            self.all.push(Account { tenant, bytes: 0, limit: io.cluster_bps.map(RateLimit::new) });
            self.all.len() - 1
        });
        let account = &mut self.all[place];
        account.bytes += u64::from(bytes);
        if let Some(limit) = &mut account.limit {
            limit.spend(now, bytes, self.clock_hz);
        }
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        for Account { tenant, bytes, .. } in &self.all {
            counters.add(&format!("tenant[{tenant}].cluster_bytes"), *bytes);
        }
    }
}

impl Cluster {
    /// Accesses the DMA registers of core `i`: `axidma__dma_conf_t` of the runtime.
    pub(super) fn access_dma(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        let Hpu { core, dma, guard, .. } = &self.cores[i];
        let mut registers = *dma;
        let launches = offset == LAUNCH && write.is_none() && registers.bytes > 0;
        let DmaRegisters { src, dst, bytes, .. } = registers;
        let is_allowed = guard.allows_transfer(src, bytes) && guard.allows_transfer(dst, bytes);
        if launches && core.privilege() == Privilege::User && !is_allowed {
            return self.refuse(i, now);
        }
        if launches {
            self.launching |= 1 << i;
            self.cores[i].core.report_with(|| Event::Moves { from: Some(src), to: Some(dst), bytes });
            self.cores[i].wait = Wait::Launch;
            return;
        }
        let answer = self.dma_register(&mut registers, offset, write, now);
        self.cores[i].dma = registers;
        self.word_done(i, now, now, answer);
    }

    /// The DMA engine takes a transfer, if it can. Cores, the public registers and the scheduler take turns. A launch
    /// is held until the engine takes it.
    /// Unless commands go `in_order`, cores of the tenants with the highest priority that are below their limits go first.
    /// If transfers are checked, a long one is taken page by page, so that no requester waits for the whole transfer of
    /// another. A watchdog ends a transfer between two pages, or while its tenant is at its limit.
    ///
    /// Source: PsPIN RTL a49fec8, `pulp_cluster_frontend.sv`: one arbiter, whose inputs are the cores, then the public
    /// port, and the scheduler last.
    pub(super) fn launch_transfer(&mut self, now: Cycle) {
        let (public, scheduler) = (self.cores.len(), self.cores.len() + 1);
        let asking = u64::from(self.launching)
            | u64::from(self.public_launch.is_some()) << public
            | u64::from(self.scheduler.requests_copy()) << scheduler;
        if asking == 0 {
            return;
        }
        let accepts = self.beats.dma.accepts(now);
        // Priorities are compared only when the engine accepts, so that a late launch of high priority can still be chosen.
        if self.drivers.by_tenant && !accepts {
            return;
        }
        let asking = if self.drivers.by_tenant { self.most_urgent(asking, now) } else { asking };
        if asking == 0 {
            return;
        }
        let Some(winner) = self.launch_turn.take(asking, accepts) else { return };
        let i = winner as usize;
        if i == scheduler {
            return self.launch_copy(now);
        }
        if i == public {
            return self.launch_public(now);
        }
        let Hpu { dma, guard, driver, deadline, .. } = &mut self.cores[i];
        let DmaRegisters { src, dst, bytes, begun, .. } = *dma;
        let (src, dst, left) = (src.wrapping_add(begun), dst.wrapping_add(begun), bytes - begun);
        let part = guard.fragment_bytes().map_or(left, |fragment| left.min(fragment - src % fragment));
        let is_last = part == left;
        dma.begun = if is_last { 0 } else { begun + part };
        if begun > 0 && *deadline <= now {
            return self.end_launch(i, now);
        }
        if let Some(held) = driver.running() {
            self.accounts.count(now, Sender::from(&*held.task.context), part);
        }
        driver.transfers += 1;
        let id = self.beats.dma.launch(now, Owner::Core(winner), src, dst, part);
        if is_last {
            self.launching &= !(1 << i);
            self.word_done(i, now, now, id);
        }
    }

    /// The watchdog of core `i` ends a handler that waits for the engine: the rest of its transfer is not copied.
    fn end_launch(&mut self, i: usize, now: Cycle) {
        self.cores[i].dma.begun = 0;
        self.launching &= !(1 << i);
        self.kill(i, now);
    }

    /// Removes cores whose tenant is at its limit, and cores whose tenant has a lower priority than that of another core. The
    /// scheduler and the public registers have neither, and stay.
    fn most_urgent(&mut self, asking: u64, now: Cycle) -> u64 {
        let waiting = u64::from(self.launching);
        let terms = |hpu: &Hpu| hpu.driver.running().map(|held| Sender::from(&*held.task.context));
        let at_limit =
            |&i: &u32| terms(&self.cores[i as usize]).is_some_and(|sender| !self.accounts.allow(now, sender.tenant));
        let held = members(waiting).filter(at_limit).fold(0, |set, i| set | 1 << i);
        let priority = |i: u32| terms(&self.cores[i as usize]).map_or(0, |sender| sender.io.priority);
        let cores = waiting & !held;
        let most = members(cores).map(priority).max();
        let urgent =
            members(cores).filter(|&i| Some(priority(i)) < most).fold(asking & !held, |set, i| set & !(1 << i));
        for i in members(held) {
            if self.cores[i as usize].deadline <= now {
                self.end_launch(i as usize, now);
            }
        }
        urgent
    }

    /// Holds the access if it is a launch through the public registers. Returns true if it is held; it is answered when
    /// the engine takes the launch. Only one launch is held at a time.
    pub(super) fn hold_public(&mut self, launcher: Launcher, offset: u32, op: PeOp) -> bool {
        let launches = offset == LAUNCH && matches!(op, PeOp::Load) && self.public_dma.bytes > 0;
        if launches {
            assert!(self.public_launch.is_none(), "only one launch through the public registers is held");
            self.public_launch = Some(launcher);
        }
        launches
    }

    /// The DMA engine takes the transfer that the public registers describe.
    fn launch_public(&mut self, now: Cycle) {
        let DmaRegisters { src, dst, bytes, .. } = self.public_dma;
        let id = self.beats.dma.launch(now, Owner::Public, src, dst, bytes);
        match self.public_launch.take().expect("a launch is held") {
            Launcher::Core(i) => self.word_done(i, now, now + SLOW_PERIPHERAL, id),
            Launcher::Remote(remote) => self.answer_remote(&remote, id),
        }
    }

    /// Reads or writes a DMA register, except for a read that launches.
    pub(super) fn dma_register(
        &mut self,
        registers: &mut DmaRegisters,
        offset: u32,
        write: Option<u32>,
        now: Cycle,
    ) -> u32 {
        let DmaRegisters { src, dst, bytes, .. } = *registers;
        match (offset, write) {
            (0x00, Some(value)) => registers.src = value,
            (0x08, Some(value)) => registers.dst = value,
            (0x10, Some(value)) => registers.bytes = value,
            (0x28, Some(value)) => registers.config = value & 7,
            (_, Some(_)) => {}
            (0x00, None) => return src,
            (0x08, None) => return dst,
            (0x10, None) => return bytes,
            // Without bytes the read shows the next id and does not use it.
            (LAUNCH, None) => return self.beats.dma.next_id(),
            (0x20, None) => return self.beats.dma.done_id(now),
            (0x28, None) => return registers.config | u32::from(self.beats.dma.is_busy()) << 16,
            (_, None) => {}
        }
        0
    }
}
