//! The keys that experiments of all kinds of cards have.

use super::check::Problem;
use super::entry::{FromText, OneOrMany, TextOr, text_or_table};
use super::keys;
use super::text::{FaultSpec, Settings, Span};
use crate::kinds::Kind;
use crate::toml_text::{self, Format, TextFileError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wire::source::Snapped;

/// The keys that experiments of all kinds of cards have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Common {
    /// The card.
    #[serde(default, deserialize_with = "text_or_table")]
    #[schemars(with = "TextOr<NicSpec>")]
    pub nic: NicSpec,
    /// Packets from the network: one source or several.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub traffic: OneOrMany<SourceSpec>,
    /// Packets that the host sends: one source or several. For cards with a host that sends.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub send: OneOrMany<SourceSpec>,
    /// Faults of the network on the way to the card.
    #[serde(default, skip_serializing_if = "FaultSpec::is_none")]
    pub faults: FaultSpec,
    /// Seed of all random choices.
    #[serde(default = "one")]
    pub seed: u64,
    /// Ends the run at this simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Span>,
    /// Ends the run when packets are unfinished and none has moved for this long. If not given, the default of the kind of card.
    #[serde(default = "unset")]
    pub stall_limit: Span,
}

impl Default for Common {
    fn default() -> Self {
        Common {
            nic: NicSpec::default(),
            traffic: OneOrMany::default(),
            send: OneOrMany::default(),
            faults: FaultSpec::default(),
            seed: one(),
            limit: None,
            stall_limit: unset(),
        }
    }
}

/// The card. A text is its `preset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicSpec {
    /// Name of a preset, or path of a file like it. If not given, the first preset of the experiment's kind of card.
    #[serde(default)]
    pub preset: String,
    /// Parameters that differ from the preset.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub set: Settings,
}

impl FromText for NicSpec {
    const EXAMPLE: &'static str = "pspin";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(NicSpec { preset: text.to_owned(), set: Settings::default() })
    }
}

/// Packets and their times. A text is the `source`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// A capture, or a definition for the generator such as `udp:size=64,count=1000,rate=50G`.
    pub source: String,
    /// In `traffic`: the network port; 0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u8>,
    /// In `send`: the transmit queue; 0 if not given. In a text, `2=SOURCE` is for queue 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u16>,
    /// When they come, as in [`wire::pacing::Pacing`].
    #[serde(default = "times")]
    pub pacing: String,
    /// Time of the first packet; by default, as soon as the card is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,
    /// Number of packets to take; the rest of the source is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Treatment of packets whose capture is truncated.
    #[serde(default)]
    pub snapped: Snapped,
    /// In `traffic`: least number of cycles from one packet to the next; 0 if not given. For cards that run handlers, and for wired
    /// cards, where the clock is that of the line (`packet-feeder`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_cycles: Option<u64>,
}

impl FromText for SourceSpec {
    const EXAMPLE: &'static str = "udp:size=64,count=1000";

    fn from_text(text: &str) -> Result<Self, String> {
        let numbered = text.split_once('=').and_then(|(queue, source)| Some((queue.trim().parse().ok()?, source)));
        let (queue, source) = numbered.map_or((None, text), |(queue, source)| (Some(queue), source));
        Ok(SourceSpec {
            source: source.to_owned(),
            port: None,
            queue,
            pacing: times(),
            start: None,
            count: None,
            snapped: Snapped::default(),
            gap_cycles: None,
        })
    }
}

/// An experiment that cannot be run; `P` lists the faults of its values.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError<P = Problem> {
    /// The text is not an experiment.
    #[error(transparent)]
    Text(#[from] TextFileError),
    /// The text has an invalid value.
    #[error("{file}{}: {key}: {problem}", line.map_or_else(String::new, |line| format!(": line {line}")))]
    Value {
        /// Name of the file.
        file: String,
        /// Line, if known.
        line: Option<usize>,
        /// Path of the key: `context[1].match`.
        key: String,
        /// The fault.
        problem: Box<P>,
    },
}

impl<P> ExperimentError<P> {
    /// A fault at a key of a text, which came from a file.
    pub(crate) fn at((text, file, format): (&str, &str, Format), path: &[String], problem: Box<P>) -> Self {
        let (line, key) = toml_text::place_of(text, format, path);
        ExperimentError::Value { file: file.into(), line, key, problem }
    }
}

/// An experiment for one kind of card: the common keys and the kind's own.
pub trait Section: DeserializeOwned + JsonSchema {
    /// Its kind of card.
    const KIND: &'static Kind;

    /// The common keys.
    fn common(&mut self) -> &mut Common;
}

/// Reads an experiment from `text`, which came from `file`. All unknown keys are reported in one error.
pub fn read<T: Section>(text: &str, file: &str, format: Format) -> Result<T, TextFileError> {
    toml_text::check_limits(text, file, format)?;
    keys::check(text, file, format, T::KIND)?;
    let mut experiment: T = toml_text::read(text, file, format)?;
    let common: Common = toml_text::read(text, file, format)?;
    *experiment.common() = common;
    let Common { nic: NicSpec { preset, .. }, stall_limit, .. } = experiment.common();
    if preset.is_empty() {
        *preset = T::KIND.example.into();
    }
    if *stall_limit == unset() {
        *stall_limit = T::KIND.stall_limit;
    }
    Ok(experiment)
}

fn one() -> u64 {
    1
}

/// Stands for a missing value, because files cannot contain this span. [`read`] replaces it by the default.
fn unset() -> Span {
    Span::from_fs(0)
}

fn times() -> String {
    "times".into()
}
