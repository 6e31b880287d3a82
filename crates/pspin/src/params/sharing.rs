//! Parts that tenants share, and the rules by which they share them.

use super::IsolationParams;
use crate::protocol::PAGE_BYTES;
use diagnostics::param::{ParamError, must, power_of_two, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Guarantees for tenants that share the card. They do not change results of a card with one tenant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharingParams {
    /// Queues reserved for each tenant with a rule, at most an equal share of all; 0 reserves none.
    pub reserved_queues: u32,
    /// If true, tenants take turns for queues and tasks. A tenant without free descriptors does not block the others,
    /// and many messages do not get more tasks than one.
    pub turns: bool,
    /// The tenant that sends the next task to the clusters; rules with weights need `turns`.
    pub schedule: Schedule,
    /// Largest part of a transfer, in bytes, before other cores have their turn. Parts end at multiples of this number: in NIC
    /// memory for transfers with the host, in the source for transfers of a cluster's DMA. Needs `isolation.check_transfers`
    /// if it is not 4096.
    pub fragment_bytes: u32,
    /// The order in which commands reach the units that execute them: off-cluster DMA, NIC outbound engine, HostDirect. Tenants with
    /// `io` need a rule other than `in_order`.
    pub io_schedule: IoSchedule,
    /// The order in which a cluster's DMA takes the transfers of its cores. With `in_order`, cores take turns. If
    /// `io_schedule` is not `in_order`, cores of tenants at their limits wait, and the tenants with the highest
    /// priority go first.
    pub cluster_dma_schedule: IoSchedule,
    /// Largest read that the NIC outbound engine makes for a packet before other packets have their turn. A read also ends at each multiple of
    /// this in NIC memory. With 4096, packets are read one after the other.
    pub egress_fragment_bytes: u32,
    /// Maximum share of L2 packet memory for one tenant while several have rules, in percent. Packets beyond it are
    /// dropped, whatever the context requests for a full memory.
    pub packet_memory_percent: u32,
}

impl SharingParams {
    pub(super) fn validate(&self, isolation: &IsolationParams) -> Result<(), ParamError> {
        let SharingParams { turns, schedule, fragment_bytes, egress_fragment_bytes, .. } = *self;
        within("reserved_queues", self.reserved_queues, 0, 1024)?;
        must("schedule", schedule.word(), turns || schedule == Schedule::RoundRobin, || {
            "round_robin while sharing.turns is false".into()
        })?;
        power_of_two("fragment_bytes", fragment_bytes, 64, PAGE_BYTES)?;
        let is_cut = isolation.check_transfers || fragment_bytes == PAGE_BYTES;
        must("fragment_bytes", fragment_bytes, is_cut, || {
            format!("{PAGE_BYTES} while isolation.check_transfers is false")
        })?;
        power_of_two("egress_fragment_bytes", egress_fragment_bytes, 64, PAGE_BYTES)?;
        within("packet_memory_percent", self.packet_memory_percent, 1, 100)
    }
}

/// The rule by which tenants share the HPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// A task of each tenant in turn.
    RoundRobin,
    /// As many tasks of each tenant in turn as its weight, or until it has none.
    WeightedRoundRobin,
    /// Borrowed virtual time: the tenant with the fewest tasks in flight for its weight, on average over the cycles in
    /// which it had packets or tasks.
    Bvt,
    /// The same, but a tenant has at most its share by weight of all tasks that clusters hold, rounded up. Shares count
    /// only tenants with packets in queues.
    Wlbvt,
}

impl Schedule {
    fn word(self) -> &'static str {
        match self {
            Schedule::RoundRobin => "round_robin",
            Schedule::WeightedRoundRobin => "weighted_round_robin",
            Schedule::Bvt => "bvt",
            Schedule::Wlbvt => "wlbvt",
        }
    }
}

/// The rule by which tenants share a unit that executes commands, or a cluster's DMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoSchedule {
    /// Clusters take turns at a unit and cores at a cluster's DMA, whatever tenant they work for.
    InOrder,
    /// Commands and transfers wait by tenant, and are cut at `fragment_bytes`. The tenants of the highest priority that are below their
    /// limits take turns after each part.
    RoundRobin,
    /// The same, but the next part comes from the tenant with the fewest bytes for its weight.
    WeightedFair,
}
