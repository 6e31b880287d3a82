//! The driver's actions at given times.

use super::{Span, yes};
use crate::driver::Remaining;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The driver's actions at one time, in the order of the fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSpec {
    /// The time since reset. An action that takes time delays those after it.
    pub time: Span,
    /// Writes handler memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WriteSpec>,
    /// Installs the rule of a context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<InstallSpec>,
    /// Removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove: Option<RemoveSpec>,
    /// Reads handler memory into the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadSpec>,
}

/// Installs the rule of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallSpec {
    /// Its name.
    pub context: String,
}

/// Removes the rule of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpec {
    /// Its name.
    pub context: String,
    /// Treatment of open messages.
    pub messages: Remaining,
}

/// Writes into the handler memory of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteSpec {
    /// Its name.
    pub context: String,
    /// First byte, from the start of its handler memory.
    #[serde(default)]
    pub offset: u32,
    /// File with the bytes.
    pub data: String,
    /// Wait until it is done before the next action.
    #[serde(default = "yes")]
    pub wait: bool,
}

/// Reads the handler memory of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSpec {
    /// Its name.
    pub context: String,
    /// First byte, from the start of its handler memory.
    #[serde(default)]
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

impl ActionSpec {
    /// The contexts that it names, each with its key.
    pub fn contexts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = [
            ("write", self.write.as_ref().map(|spec| &spec.context)),
            ("install", self.install.as_ref().map(|spec| &spec.context)),
            ("remove", self.remove.as_ref().map(|spec| &spec.context)),
            ("read", self.read.as_ref().map(|spec| &spec.context)),
        ];
        names.into_iter().filter_map(|(key, name)| Some((key, name?.as_str())))
    }
}
