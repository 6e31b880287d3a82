//! An experiment for a card that is wired from modules, as it is written.

use crate::experiment::{Address, Common, FromText, OneOrMany, Section, yes};
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
