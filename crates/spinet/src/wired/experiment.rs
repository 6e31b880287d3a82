//! An experiment for a card that is wired from modules, as it is written.

use crate::experiment::{Address, Common, FromText, OneOrMany, Section, Span, yes};
use crate::kinds::{self, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An experiment for a card that is wired from modules, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirmwareExperiment {
    /// The keys of all experiments.
    #[serde(flatten, skip_deserializing)]
    pub common: Common,
    /// The program of the cores. Cards without cores need none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "firmware")]
    #[schemars(with = "Option<crate::experiment::TextOr<FirmwareSpec>>")]
    pub firmware: Option<FirmwareSpec>,
    /// Counts cycles by function of the firmware.
    #[serde(default = "yes")]
    pub profile: bool,
    /// Actions while packets flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<WiredActionSpec>,
}

impl Section for FirmwareExperiment {
    const KIND: &'static Kind = &kinds::MODULES;

    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// The program of the cores; a text is its `program`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirmwareSpec {
    /// Firmware that comes with spinet, C sources, an ELF file, or an image.
    pub program: OneOrMany<String>,
    /// Where an image without a header is loaded; without it, an image has a header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Address>,
    /// Where execution of such an image begins; at `load` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Address>,
}

impl FromText for FirmwareSpec {
    const EXAMPLE: &'static str = "tigon2";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(FirmwareSpec { program: OneOrMany::of(text.to_owned()), ..Self::default() })
    }
}

fn firmware<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<FirmwareSpec>, D::Error> {
    crate::experiment::text_or_table(deserializer).map(Some)
}

/// Actions at one time, in the order of the fields. They take no simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WiredActionSpec {
    /// The time since reset.
    pub time: Span,
    /// Takes the network down or up. While it is down, frames are lost in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<LinkState>,
    /// Writes into a memory of the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<MemoryWriteSpec>,
    /// Reads a memory of the card into the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<MemoryReadSpec>,
}

impl WiredActionSpec {
    /// Returns true if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.network.is_none() && self.write.is_none() && self.read.is_none()
    }
}

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Frames pass.
    Up,
    /// Frames whose last bit passes during this time are lost. The card does not notice.
    Down,
}

impl LinkState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            LinkState::Up => "up",
            LinkState::Down => "down",
        }
    }
}

/// Writes into a memory of the card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryWriteSpec {
    /// Its path on the card, such as `sram`.
    pub memory: String,
    /// First byte, from the start of the memory.
    #[serde(default)]
    pub offset: Address,
    /// File with the bytes.
    pub data: String,
}

/// Reads a memory of the card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryReadSpec {
    /// Its path on the card, such as `sram`.
    pub memory: String,
    /// First byte, from the start of the memory.
    #[serde(default)]
    pub offset: Address,
    /// Bytes.
    pub size: u32,
}
