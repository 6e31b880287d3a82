//! An experiment with a NIC of offload chains, as it is written. Files and the command use the same types.
//!
//! `docs/reference/chains.md` describes the keys for people.

use crate::experiment::{Common, Entry, OneOrMany, Section, Settings, Span, is_yes, yes};
use crate::kinds::{self, Kind};
use panic::policy::PolicyTree;
use panic::rmt::action_params::HopParams;
use panic::rmt::{EntryParams, RmtParams};
use panic::unit::EngineParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainExperiment {
    /// The keys of all experiments.
    #[serde(flatten, skip_deserializing)]
    pub common: Common,
    /// Keeps the services of the NIC's file, in addition to those below.
    #[serde(default = "yes")]
    pub preset_services: bool,
    /// Services; an entry with the name of a service of the NIC's file changes that service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<Entry<ServiceEntry>>,
    /// The policy of services without their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySpec>,
    /// The tenants, which own packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<Entry<TenantEntry>>,
    /// The pipeline of match-action tables in front of the chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmt: Option<RmtParams>,
    /// Chains of services; a packet takes the first that it matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Entry<ChainEntry>>,
    /// Destination of packets from the network that no chain takes: `host`, `host:2`, `network:0`, `drop`.
    #[serde(default = "host")]
    pub otherwise: String,
    /// Changes while packets flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<ChangeEntry>,
}

impl Section for ChainExperiment {
    const KIND: &'static Kind = &kinds::CHAINS;

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// A service: `aes: aes-256-ctr, units=2, credits=2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceEntry {
    /// Name in chains.
    pub name: String,
    /// The kind of its units: a name of `spinet nic services`, or a table. The default is that of the service that it
    /// changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineSpec>,
    /// Programs for its cores: C sources, or one ELF file for such a unit.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub program: OneOrMany<String>,
    /// The set of handlers to run, if the program has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// Parameters of the engine that differ, by their paths.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub set: Settings,
    /// Number of units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Credits of each unit: the most packets it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u32>,
    /// True if all packets of a flow go to the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_affinity: Option<bool>,
    /// The policy that chooses its next packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySpec>,
}

/// The engine of a service: its name, or a table with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EngineSpec {
    /// A name of `spinet nic services`.
    Named(String),
    /// Its parameters.
    Given(EngineParams),
}

/// The policy that chooses a service's next packet: its name, with the numbers of the tenants, or a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PolicySpec {
    /// `fifo`, `strict-priority`, `least-slack`, `round-robin`, `weighted-fair` or `leaky-bucket`.
    Named(String),
    // A table: `super::level` reads it, which reports places in it.
    /// A policy with its numbers, or a hierarchy.
    Given(#[schemars(with = "PolicyTree")] toml::Table),
}

/// A tenant, whose packets are counted separately: `gold: weight=2, priority=0`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantEntry {
    /// Its name in chains and reports.
    pub name: String,
    /// Its share where services are shared by `weighted-fair`; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Lower is more urgent where `strict-priority` decides; 0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Its traffic class; the first that is free if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// The largest rate that it gets of a service with `leaky-bucket`, such as `10G`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Bytes that it may send ahead of that rate after a pause; 0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u32>,
    /// Total time that its packets may wait, for the policy `least-slack`, such as `2 us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<Span>,
}

/// A chain: `ipsec [udp.dst_port == 4500]: sha -> aes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainEntry {
    /// Its name in reports.
    pub name: String,
    /// Packets from the network that take it, as a match expression; all if not given, unless it has queues.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Transmit queues; all their packets take this chain, which then has no match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<u16>,
    /// The services that they visit, in order: names, or tables with properties of the visit.
    #[serde(default)]
    pub services: Vec<HopParams>,
    /// The owner of its packets: a name of a `[[tenant]]`. The default is the tenant with the chain's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Traffic class of the packets; the tenant's if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Default priority of the visits, lower is more urgent; by default the tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Total cycles that the packets may wait; the default comes from the tenant's `slack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_cycles: Option<u64>,
    /// Where they go then: `host`, `host:2`, `network:1`, `drop`. If not given, the host's first queue, for packets of transmit
    /// queues the first network port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// Allows a service to be visited more than once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
    /// Chains with lower numbers are tried first, those with equal numbers in the given order.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub order: u32,
    /// Installs it at the start; otherwise `at` installs it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub installed: bool,
}

/// A change at a given time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeEntry {
    /// When; packets that come after it see the change.
    pub time: Span,
    /// Names of chains that are installed then.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub install: OneOrMany<String>,
    /// Names of chains that are removed then; packets inside the card still follow them.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub remove: OneOrMany<String>,
    /// Weights that tenants have from then on, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
    /// New entries of tables of `rmt`, by the tables' names; they replace all earlier ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<String, Vec<EntryParams>>,
}

fn host() -> String {
    "host".into()
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}
