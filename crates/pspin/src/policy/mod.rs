//! Policies by which tenants share a part of the card: the tasks for the clusters, each unit that executes commands, and
//! the DMA engine of each cluster.
//!
//! The rules of [`crate::params::Schedule`] and [`crate::params::IoSchedule`] are policies (`rules.rs`). A user's
//! policy implements [`TenantPolicy`] and is passed in [`Policies`]; see `crates/spinet/tests/it/driver/sharing.rs`.

mod chooser;
mod rules;
mod table;

pub use chooser::Chooser;
pub use rules::{BorrowedTime, ByPriority, RoundRobin, WeightedFair, WeightedRoundRobin};
pub use table::TenantTable;

use crate::params::{IoSchedule, PspinParams};
use diagnostics::param::{ParamError, must};
use kernel::Cycle;

/// A tenant at a part of the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tenant {
    /// Its number, [`crate::protocol::Context::tenant`].
    pub number: u32,
    /// Its weight.
    pub weight: u32,
    /// The priority of its commands and transfers; higher is more urgent. All parts know it.
    pub priority: u8,
    /// Something of it may start now: a task, or a part of a command or transfer that its limits allow.
    pub waits: bool,
    /// It has packets in queues, commands or transfers, whether or not something may start now.
    pub is_queued: bool,
    /// Bytes of the packet, or of the part of a command or transfer, that would start next. Valid while it waits.
    pub bytes: u32,
    /// Its tasks or parts that were started and have not ended.
    pub in_service: u32,
    /// Its use so far. For tasks: the number of tasks in service, summed over all cycles. Otherwise: bytes.
    pub used: u64,
    /// Tasks: cycles in which it had packets or tasks. Otherwise 0.
    pub active_cycles: u64,
}

/// The next tenant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The tenant at this place, which waits.
    Start(usize),
    /// Nobody, until something changes: a tenant begins to wait, or something ends.
    Nobody,
    /// Nobody before this cycle, unless something changes.
    NobodyBefore(Cycle),
}

/// Chooses the tenant that is next at a part of the card.
///
/// `tenants` lists the tenants that the part has seen and that its tables still hold, in order of first appearance. A
/// tenant's index is its place. A place goes to another tenant only if its tenant has nothing there and the tables are
/// full.
pub trait TenantPolicy {
    /// Called when something may start and several tenants wait, or [`TenantPolicy::holds_back`] is true.
    fn choose(&mut self, now: Cycle, tenants: &[Tenant]) -> Choice;

    /// True if the policy is also asked while only one tenant waits, which it may hold back.
    fn holds_back(&self) -> bool {
        false
    }

    /// The tenant at `place`, which had nothing to start, has something now.
    fn began(&mut self, _now: Cycle, _place: usize, _tenants: &[Tenant]) {}

    /// Something of the tenant at `place` starts, with its `bytes`. Only `number`, `weight`, `priority` and `bytes` are up to date.
    fn started(&mut self, _now: Cycle, _place: usize, _tenants: &[Tenant]) {}

    /// A task or a part of the tenant with this number ended.
    fn ended(&mut self, _now: Cycle, _number: u32) {}
}

/// The parts of the card that tenants share by a policy: the tasks for the clusters, the units that execute commands, and
/// the DMA engine of each cluster.
pub const PARTS: [&str; 5] = ["tasks", "host_direct", "nic_send", "host_dma", "cluster_dma"];

/// The user's own policies, which replace the card's rules, by the positions in [`PARTS`]. A part has one policy or none;
/// `cluster_dma` has one for each cluster or none.
#[derive(Default)]
pub struct Policies(pub [Vec<Box<dyn TenantPolicy>>; PARTS.len()]);

impl Policies {
    /// Checks the number of policies, and that the card distinguishes tenants at each part with a policy.
    pub(crate) fn validate(&self, params: &PspinParams) -> Result<(), ParamError> {
        let sharing = &params.sharing;
        for (part, policies) in PARTS.into_iter().zip(&self.0) {
            let (found, is_dma) = (policies.len(), part == "cluster_dma");
            let n = if is_dma { params.n_clusters as usize } else { 1 };
            must(&format!("number of policies of `{part}`"), found, [0, n].contains(&found), || {
                format!("{n}{}", if is_dma { ": one for each cluster" } else { "" })
            })?;
            if found == 0 {
                continue;
            }
            if part == "tasks" {
                must("sharing.turns", sharing.turns, sharing.turns, || "true for a policy of `tasks`".into())?;
                continue;
            }
            let (key, schedule) = match is_dma {
                true => ("sharing.cluster_dma_schedule", sharing.cluster_dma_schedule),
                false => ("sharing.io_schedule", sharing.io_schedule),
            };
            must(key, "in_order", schedule != IoSchedule::InOrder, || {
                format!("round_robin or weighted_fair for a policy of `{part}`")
            })?;
        }
        Ok(())
    }
}
