//! The front end of the cluster DMA: its registers, and the choice of the next transfer.

use super::cores::Cores;
use super::dma::{Dma, Owner};
use super::dma_shares::DmaShares;
use super::hpu::Hpu;
use crate::arbiter::LockingTree;
use crate::params::{IoSchedule, PspinParams};
use crate::pe::{PeOp, RemoteRequest};
use crate::policy::{Tenant, TenantPolicy, TenantTable};
use crate::protocol::Sender;
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

impl DmaRegisters {
    /// Reads or writes a register, except for a read that launches.
    pub fn access(&mut self, addr: u32, write: Option<u32>, dma: &Dma, now: Cycle) -> u32 {
        match (addr & OFFSET, write) {
            (0x00, Some(value)) => self.src = value,
            (0x08, Some(value)) => self.dst = value,
            (0x10, Some(value)) => self.bytes = value,
            (0x28, Some(value)) => self.config = value & 7,
            (_, Some(_)) => {}
            (0x00, None) => return self.src,
            (0x08, None) => return self.dst,
            (0x10, None) => return self.bytes,
            // Without bytes the read shows the next id and does not use it.
            (LAUNCH, None) => return dma.next_id(),
            (0x20, None) => return dma.done_id(now),
            (0x28, None) => return self.config | u32::from(dma.is_busy()) << 16,
            (_, None) => {}
        }
        0
    }
}

/// Bits of an address that choose the register.
const OFFSET: u32 = 0x3c;
/// The register whose read launches a transfer.
const LAUNCH: u32 = 0x18;

/// Returns true if the address of a slow peripheral is one of the public registers.
pub(super) fn is_public(addr: u32) -> bool {
    addr >> 10 & 0xf == 6
}

/// The requester of a launch through the public registers.
pub(super) enum Launcher {
    /// A core of this cluster.
    Core(usize),
    /// An access from another cluster.
    Remote(RemoteRequest),
}

/// The part of a core's transfer that the engine would take next.
pub(super) struct NextPart {
    src: u32,
    dst: u32,
    pub bytes: u32,
    is_last: bool,
}

/// The next part of the transfer with which this core waits.
pub(super) fn next_part(hpu: &Hpu) -> NextPart {
    let DmaRegisters { src, dst, bytes, begun, .. } = hpu.dma;
    let (src, dst, left) = (src.wrapping_add(begun), dst.wrapping_add(begun), bytes - begun);
    let bytes = hpu.guard.fragment_bytes().map_or(left, |fragment| left.min(fragment - src % fragment));
    NextPart { src, dst, bytes, is_last: bytes == left }
}

/// The result of an access of a core to its registers.
pub(super) enum DmaAccess {
    /// The word read.
    Word(u32),
    /// The core waits until the engine takes its transfer.
    Launches,
    /// The core may not access the memory that it wants to copy.
    Refused,
}

/// The transfer that the engine takes.
pub(super) enum Launched {
    /// The transfer of a core, or its last part, with its id.
    Core(usize, u32),
    /// The transfer in the public registers, with its id.
    Public(Launcher, u32),
    /// The scheduler's copy of a packet.
    Copy,
    /// Nothing: the watchdog of this core ends its handler between two parts.
    Expired(usize),
}

/// The front end. Cores, the public registers and the scheduler take turns. A launch is held until the engine takes it.
/// With an `io_schedule` other than `in_order`, the cores of a tenant at its limit wait. Among the other cores, those of the
/// tenants with the highest priority go first. If tenants share the engine by a policy ([`DmaShares`]), they share the turns of all
/// cores: the core that the policy chooses replaces the core whose turn it is.
/// If transfers are checked, a long one is taken page by page, so that no requester waits for the whole transfer of
/// another. A watchdog ends a transfer between two pages, while its tenant is at its limit, or while a policy chooses others.
///
/// Source: PsPIN RTL a49fec8, `pulp_cluster_frontend.sv`: one arbiter, whose inputs are the cores, then the public
/// port, and the scheduler last. assumed, and our own: priorities, limits and policies.
pub(super) struct DmaFrontend {
    /// Bit set of the cores that wait for the engine to take their transfer, and the arbiter's turn.
    waiting: u32,
    turn: LockingTree,
    pub public: DmaRegisters,
    /// The requester that waits for the engine to take the transfer in `public`.
    held: Option<Launcher>,
    /// Tenants have priorities and limits.
    by_tenant: bool,
    tenants: TenantTable,
    /// Tenants share the engine by the policy of `tenants`.
    shares: Option<DmaShares>,
}

impl DmaFrontend {
    pub fn new(params: &PspinParams) -> Self {
        let schedule = params.sharing.cluster_dma_schedule;
        let is_shared = schedule != IoSchedule::InOrder;
        DmaFrontend {
            waiting: 0,
            turn: LockingTree::default(),
            public: DmaRegisters::default(),
            held: None,
            by_tenant: is_shared || params.sharing.io_schedule != IoSchedule::InOrder,
            tenants: TenantTable::new(schedule, None, params.clock_mhz.hz()),
            shares: is_shared.then(|| DmaShares::new(params.cluster.n_cores)),
        }
    }

    /// Tenants share the engine by this policy. There must be no tenants yet.
    pub fn replace_policy(&mut self, own: Box<dyn TenantPolicy>) {
        self.tenants.replace_policy(own);
    }

    pub fn counters(&self, counters: &mut CounterList) {
        for Tenant { number, used, .. } in self.tenants.tenants() {
            counters.add(&format!("tenant[{number}].cluster_bytes"), *used);
        }
    }

    /// Returns true if it may act in the next cycle.
    pub fn is_pressing(&self) -> bool {
        self.waiting != 0 || self.held.is_some()
    }

    /// Returns true if a launch through the public registers is held.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Returns true if an access from another cluster must wait. While a remote launch is held, all remote accesses
    /// wait. While any launch is held, accesses to the public registers wait.
    pub fn holds_back_remote(&self, to_public: bool) -> bool {
        self.held.as_ref().is_some_and(|held| to_public || matches!(held, Launcher::Remote(_)))
    }

    /// Core `i` accesses its registers: `axidma__dma_conf_t` of the runtime.
    pub fn access(
        &mut self,
        i: usize,
        addr: u32,
        write: Option<u32>,
        now: Cycle,
        cores: &mut Cores,
        dma: &Dma,
    ) -> DmaAccess {
        let Hpu { core, dma: registers, guard, .. } = &mut cores[i];
        let DmaRegisters { src, dst, bytes, .. } = *registers;
        if addr & OFFSET != LAUNCH || write.is_some() || bytes == 0 {
            return DmaAccess::Word(registers.access(addr, write, dma, now));
        }
        let is_allowed = guard.allows_transfer(src, bytes) && guard.allows_transfer(dst, bytes);
        if core.privilege() == Privilege::User && !is_allowed {
            return DmaAccess::Refused;
        }
        self.waiting |= 1 << i;
        core.report_with(|| Event::Moves { from: Some(src), to: Some(dst), bytes });
        if let Some(shares) = &mut self.shares
            && let Some(sender) = sender(&cores[i])
        {
            shares.add(now, i, sender, &mut self.tenants);
        }
        DmaAccess::Launches
    }

    /// Holds the access if it is a launch through the public registers. Returns true if it is held; it is answered when
    /// the engine takes the launch. Only one launch is held at a time.
    pub fn hold(&mut self, launcher: Launcher, addr: u32, op: PeOp) -> bool {
        let launches = addr & OFFSET == LAUNCH && matches!(op, PeOp::Load) && self.public.bytes > 0;
        if launches {
            assert!(self.held.is_none(), "only one launch through the public registers is held");
            self.held = Some(launcher);
        }
        launches
    }

    /// Chooses the transfer that the engine takes.
    pub fn launch(
        &mut self,
        now: Cycle,
        cores: &mut Cores,
        dma: &mut Dma,
        scheduler_requests: bool,
    ) -> Option<Launched> {
        let (public, scheduler) = (cores.len(), cores.len() + 1);
        let requests = u64::from(self.waiting)
            | u64::from(self.held.is_some()) << public
            | u64::from(scheduler_requests) << scheduler;
        let accepts = dma.accepts(now);
        // Tenants are compared only when the engine accepts, so that a late launch of high priority can still be chosen.
        if requests == 0 || self.by_tenant && !accepts {
            return None;
        }
        let winner =
            if self.by_tenant { self.choose(requests, now, cores) } else { self.turn.take(requests, accepts) }?;
        let i = winner as usize;
        if i == scheduler {
            return Some(Launched::Copy);
        }
        if i == public {
            let DmaRegisters { src, dst, bytes, .. } = self.public;
            let id = dma.launch(now, Owner::Public, src, dst, bytes);
            return Some(Launched::Public(self.held.take().expect("a launch is held"), id));
        }
        let NextPart { src, dst, bytes, is_last } = next_part(&cores[i]);
        let from = sender(&cores[i]);
        let Hpu { dma: registers, driver, deadline, .. } = &mut cores[i];
        if registers.begun > 0 && *deadline <= now {
            self.end(i, registers);
            return Some(Launched::Expired(i));
        }
        registers.begun = if is_last { 0 } else { registers.begun + bytes };
        match (&mut self.shares, from) {
            (Some(shares), _) => shares.start(now, i, bytes, is_last, &mut self.tenants),
            (None, Some(sender)) => {
                let place = self.tenants.place(sender, sender.io.cluster_bps);
                self.tenants.count(now, place, bytes);
            }
            (None, None) => {}
        }
        driver.transfers += 1;
        let id = dma.launch(now, Owner::Core(winner), src, dst, bytes);
        is_last.then(|| {
            self.waiting &= !(1 << i);
            Launched::Core(i, id)
        })
    }

    /// Chooses among these requesters by their tenants. The engine must accept one.
    fn choose(&mut self, requests: u64, now: Cycle, cores: &Cores) -> Option<u32> {
        let Some(shares) = &mut self.shares else {
            let requests = self.most_urgent(requests, now, cores);
            return self.turn.take(requests, true);
        };
        let held = shares.waiting() & at_limit(self.waiting, &self.tenants, now, cores);
        let (requests, by_tenant) = (requests & !held, shares.waiting() & !held);
        let winner = self.turn.choose(requests)?;
        if by_tenant >> winner & 1 == 0 {
            return self.turn.take(requests, true);
        }
        match shares.choose(now, |i| next_part(&cores[i]).bytes, &mut self.tenants) {
            Some(core) => {
                self.turn.take(requests, true);
                Some(core)
            }
            // The policy chooses no tenant now.
            None => self.turn.take(requests & !by_tenant, true),
        }
    }

    /// A transfer of a core ended.
    pub fn ended(&mut self, now: Cycle) {
        if let Some(shares) = &mut self.shares {
            shares.ended(now, &mut self.tenants);
        }
    }

    /// The watchdog of core `i` ends a handler that waits for the engine: the rest of its transfer is not copied.
    fn end(&mut self, i: usize, registers: &mut DmaRegisters) {
        registers.begun = 0;
        self.waiting &= !(1 << i);
        if let Some(shares) = &mut self.shares {
            shares.remove(i, &mut self.tenants);
        }
    }

    /// Ends the transfers of cores that wait for the limit of their tenant, or for a policy, and whose watchdogs have run out.
    /// Returns the set of these cores.
    pub fn take_expired(&mut self, now: Cycle, cores: &mut Cores, dma: &Dma) -> u32 {
        if !self.by_tenant || self.waiting == 0 || !dma.accepts(now) {
            return 0;
        }
        let late = |i: &u32| cores[*i as usize].deadline <= now;
        let held = match &self.shares {
            Some(shares) => shares.waiting(),
            None => at_limit(self.waiting, &self.tenants, now, cores),
        };
        let expired = members(held).filter(late).fold(0, |set, i| set | 1 << i);
        members(expired.into()).for_each(|i| self.end(i as usize, &mut cores[i as usize].dma));
        expired
    }

    /// Removes cores whose tenant is at its limit, and cores whose tenant has a lower priority than that of another core. The
    /// scheduler and the public registers have neither, and stay.
    fn most_urgent(&self, requests: u64, now: Cycle, cores: &Cores) -> u64 {
        let held = at_limit(self.waiting, &self.tenants, now, cores);
        let priority = |i: u32| sender(&cores[i as usize]).map_or(0, |sender| sender.io.priority);
        let waiting = u64::from(self.waiting) & !held;
        let most = members(waiting).map(priority).max();
        members(waiting).filter(|&i| Some(priority(i)) < most).fold(requests & !held, |set, i| set & !(1 << i))
    }
}

/// Bit set of the waiting cores whose tenant is at its limit.
fn at_limit(waiting: u32, tenants: &TenantTable, now: Cycle, cores: &Cores) -> u64 {
    let at_limit = |&i: &u32| sender(&cores[i as usize]).is_some_and(|by| !tenants.allows(now, by.tenant));
    members(waiting.into()).filter(at_limit).fold(0, |set, i| set | 1 << i)
}

/// The tenant of the handler that a core runs, and its terms.
pub(super) fn sender(hpu: &Hpu) -> Option<Sender> {
    hpu.driver.running().map(|held| Sender::from(&*held.task.context))
}
