//! A card as its file says it.

use kernel::Freq;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A card: its clocks, its parts, and what is connected to what.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Netlist {
    /// What it is called.
    pub name: String,
    /// What it is, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// Clocks by name: `cpu = "88 MHz"`.
    pub clocks: BTreeMap<String, ClockFreq>,
    /// Parts by name.
    pub instances: BTreeMap<String, Instance>,
    /// What is connected to what.
    pub connections: Vec<Connection>,
}

/// A part.
#[derive(Clone, Debug, Deserialize)]
pub struct Instance {
    /// Which kind it is.
    pub module: String,
    /// Which clock drives it.
    pub clock: String,
    /// The kind's own parameters.
    #[serde(flatten)]
    pub parameters: toml::Table,
}

/// `from = "cpu_a.memory"`, `to = "arbiter.inputs[4]"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The port that asks or sends.
    pub from: String,
    /// The port that answers or receives.
    pub to: String,
    /// Items under way each way.
    #[serde(default = "two")]
    pub room: usize,
    /// Cycles of the sender from sending to being seen.
    #[serde(default = "one")]
    pub latency: u64,
}

fn two() -> usize {
    2
}

fn one() -> u64 {
    1
}

/// A frequency as people write it: `88 MHz`, `312.5 MHz`, `1 GHz`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct ClockFreq(pub Freq);

impl TryFrom<String> for ClockFreq {
    type Error = String;

    fn try_from(text: String) -> Result<ClockFreq, String> {
        read_freq(&text).map(ClockFreq).ok_or_else(|| {
            format!("`{text}` is not a frequency; write a number and Hz, kHz, MHz or GHz, as in `312.5 MHz`")
        })
    }
}

/// The exact value: decimals become a ratio, nothing is rounded.
fn read_freq(text: &str) -> Option<Freq> {
    let (number, unit) = text.trim().split_once(' ')?;
    let per_unit: u64 = match unit.trim() {
        "Hz" => 1,
        "kHz" => 1_000,
        "MHz" => 1_000_000,
        "GHz" => 1_000_000_000,
        _ => return None,
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let parts = 10u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let digits: u64 = format!("{whole}{decimals}").parse().ok()?;
    Freq::ratio(digits.checked_mul(per_unit)?, parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact() {
        let read = |text: &str| ClockFreq::try_from(text.to_owned()).ok().map(|freq| freq.0);
        assert_eq!(read("312.5 MHz"), Freq::ratio(3_125_000_000, 10).ok());
        assert_eq!(read("1 GHz"), Freq::hz(1_000_000_000).ok());
        for bad in ["", "88", "88 mHz", "0 Hz", "-1 MHz", "1.2.3 MHz", "99999999999999999999 Hz", "9 9 MHz"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
