//! The experiment: the keys that all kinds of cards share, and those of cards that run handlers. Files and the command
//! use the same types.
//!
//! `docs/reference/experiment.md` describes the keys for people.

mod actions;
mod check;
mod common;
pub(crate) mod engine;
mod entry;
mod io;
pub(crate) mod keys;
mod layout;
pub(crate) mod schema;
mod sources;
mod text;

pub use actions::{ActionSpec, InstallSpec, ReadSpec, RemoveSpec, WriteSpec};
pub(crate) use check::gives;
pub use check::{Checked, CheckedContext, Problem, SourceText, Traffic};
pub use common::{Common, ExperimentError, NicSpec, Section, SourceSpec, read};
pub(crate) use entry::text_or_table;
pub use entry::{Entry, FromText, OneOrMany, TextOr};
pub use io::{IoError, IoSpec};
pub use layout::{
    DESCRIPTOR_BYTES, DESCRIPTORS, HOST_BASE, LayoutError, LayoutProblem, PlacedContext, PlacedProgram, place,
};
pub use sources::{CheckedSource, Ends, KeyProblem};
pub use text::{Address, FaultSpec, Settings, Span};

use crate::driver::MAX_WEIGHT;
use crate::kinds::{self, Kind};
use pspin::delivery::{Delivery, EarlyPayload, WhenFull};
use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use wire::rule_set::RuleSet;

/// An experiment for a card that runs handlers, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// C sources, which become one program, or one ELF file.
    pub program: OneOrMany<String>,
    /// The keys of all experiments.
    #[serde(flatten, skip_deserializing)]
    pub common: Common,
    /// Weight of this program's tenant: its part of the HPUs relative to other tenants', if the card shares by weight.
    #[serde(default = "weight_1", deserialize_with = "weight", skip_serializing_if = "is_1")]
    pub weight: u32,
    /// Priority and limits of the commands of this program's tenant.
    #[serde(default, skip_serializing_if = "IoSpec::is_default")]
    pub io: IoSpec,
    /// Tenants besides the one whose program boots the NIC, each with a program of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<TenantSpec>,
    /// Execution contexts; a packet goes to the first that it matches.
    pub context: Vec<ContextSpec>,
    /// The driver's actions while packets flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<ActionSpec>,
}

impl Section for Experiment {
    const KIND: &'static Kind = &kinds::HANDLERS;

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// A user of the NIC, besides the owner of the first program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// Its name in contexts.
    pub name: String,
    /// C sources, which become one program without a runtime, or one ELF file that is linked to unused memory.
    pub program: OneOrMany<String>,
    /// Packets that its contexts may receive, as a match expression; the default is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its part of the HPUs relative to other tenants', if the card shares by weight.
    #[serde(default = "weight_1", deserialize_with = "weight", skip_serializing_if = "is_1")]
    pub weight: u32,
    /// Priority and limits of its commands.
    #[serde(default, skip_serializing_if = "IoSpec::is_default")]
    pub io: IoSpec,
}

/// An execution context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextSpec {
    /// Its name in reports; the default is the name of its handlers, or its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its owner: a name of [`Experiment::tenant`]; the default is the owner of the first program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Packets that it takes, as a match expression; all if not given.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The definition of a message, as in [`wire::message`].
    #[serde(default = "each")]
    pub message: String,
    /// Packets and messages for a card whose match engine has rule sets, instead of `match` and `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_set: Option<RuleSet>,
    /// Contexts of higher priority are tested first; equal ones in order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// Installs its rule at the start; otherwise [`Experiment::at`] installs it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub installed: bool,
    /// Common name of its handlers; may be left out if the program has handlers of one name only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// Symbol of the header handler instead; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Symbol of the payload handler instead; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Symbol of the completion handler instead; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<String>,
    /// L2 handler memory; a text is its `data`.
    #[serde(default, deserialize_with = "text_or_table", skip_serializing_if = "MemorySpec::is_default")]
    #[schemars(with = "TextOr<MemorySpec>")]
    pub handler_memory: MemorySpec,
    /// Host memory; a text is its `data`.
    #[serde(default, deserialize_with = "text_or_table", skip_serializing_if = "MemorySpec::is_default")]
    #[schemars(with = "TextOr<MemorySpec>")]
    pub host_memory: MemorySpec,
    /// Bytes of scratchpad in every cluster; by default, an equal part of the scratchpad memory that is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad_bytes: Option<u32>,
    /// Copies at most this many bytes of each packet to L1; the default is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes: Option<u32>,
    /// Cycles that one of its handlers may run; 0 disables the limit. The default is the NIC's
    /// `isolation.watchdog_cycles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog_cycles: Option<u32>,
    /// Treatment of packets when a buffer is full, a packet is early, or a message is late.
    #[serde(default, skip_serializing_if = "DeliverySpec::is_default")]
    pub delivery: DeliverySpec,
}

/// Treatment of packets when a buffer is full, a packet is early, or a message is late, as in [`Delivery`]. Unset
/// fields use the NIC's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliverySpec {
    /// Action for a packet that finds no room in packet memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
    /// Marks packets from this occupancy of packet memory on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_threshold_percent: Option<u32>,
    /// Action for a packet that comes before the first packet of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_payload: Option<EarlyPayload>,
    /// Number of early packets that may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_packets: Option<u32>,
    /// Time without a packet after which a message times out; 0 disables the timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_cycles: Option<u64>,
}

impl DeliverySpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the preset's options, replaced by the values that are set here.
    pub(crate) fn over(&self, preset: Delivery) -> Delivery {
        Delivery {
            when_full: self.when_full.unwrap_or(preset.when_full),
            ecn_threshold_percent: self.ecn_threshold_percent.unwrap_or(preset.ecn_threshold_percent),
            early_payload: self.early_payload.unwrap_or(preset.early_payload),
            early_packets: self.early_packets.unwrap_or(preset.early_packets),
            timeout_cycles: self.timeout_cycles.unwrap_or(preset.timeout_cycles),
        }
    }
}

/// A memory of a context; spinet chooses missing values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// First byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Address>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// File with its content from the first byte on; zeros if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl MemorySpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromText for MemorySpec {
    const EXAMPLE: &'static str = "table.bin";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(MemorySpec { data: Some(text.to_owned()), ..Self::default() })
    }
}

pub(crate) fn yes() -> bool {
    true
}

pub(crate) fn is_yes(value: &bool) -> bool {
    *value
}

fn is_default(value: &i32) -> bool {
    *value == 0
}

fn weight<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    whole(value, 1, MAX_WEIGHT)
}

/// Reads a number with these bounds.
fn whole<'de, D: Deserializer<'de>>(value: D, least: u32, most: u32) -> Result<u32, D::Error> {
    let found = i64::deserialize(value)?;
    u32::try_from(found).ok().filter(|found| (least..=most).contains(found)).ok_or_else(|| {
        D::Error::invalid_value(Unexpected::Signed(found), &format!("a whole number from {least} to {most}").as_str())
    })
}

fn weight_1() -> u32 {
    1
}

fn is_1(value: &u32) -> bool {
    *value == 1
}

fn each() -> String {
    "each".into()
}
