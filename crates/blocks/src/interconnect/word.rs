//! Words: plain numbers between glue and processor modules.

use crate::netlist::Wire;

/// A number on a one-way connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Word(pub u64);

impl Wire for Word {
    const NAME: &'static str = "words";
}

/// Item type of a module with one-way connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// Plain numbers.
    Words,
    /// Ethernet frames.
    Frames,
}
