//! Values that can be written in several ways.

use super::entry::TextOr;
use kernel::Time;
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::IntErrorKind;
use toml::Value;
use wire::faults::Faults;

/// An address: a number, or a text such as `0x1c300000`, the form in which it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(with = "TextOr<u64>")]
pub struct Address(pub u64);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Address;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address: a number from 0 to 2^64 - 1, or a text such as \"0x1c300000\"")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Address, E> {
                Ok(Address(number))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Address, E> {
                u64::try_from(number).map(Address).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Address, E> {
                let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
                let number = digits.and_then(|digits| u64::from_str_radix(&digits.replace('_', ""), 16).ok());
                number.map(Address).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#010x}", self.0))
    }
}

/// In the schema: [`Settings`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is made from it, and nothing else")]
enum SettingsSchema {
    List(Vec<String>),
    Table(std::collections::BTreeMap<String, serde_json::Value>),
}

/// In the schema: [`FaultSpec`].
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it, and nothing else")]
struct FaultTable {
    /// Chance that a packet is lost.
    loss: Option<TextOr<f64>>,
    /// Chance that a packet is duplicated.
    duplicate: Option<TextOr<f64>>,
    /// Chance that a packet is late, and the largest number of packets that overtake it.
    reorder: Option<TextOr<f64>>,
}

/// Parameters to set: a table of paths and values, tables in it included, or a list of `path=value`.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(with = "SettingsSchema")]
pub struct Settings(pub Vec<(String, Value)>);

impl Settings {
    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, path: String, value: Value) {
        match value {
            Value::Table(table) => table.into_iter().for_each(|(key, value)| self.add(format!("{path}.{key}"), value)),
            _ => self.0.push((path, value)),
        }
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Settings;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of paths and values, or a list of `path=value`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
                let mut settings = Settings::default();
                while let Some((key, value)) = map.next_entry()? {
                    settings.add(key, value);
                }
                Ok(settings)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Settings, A::Error> {
                let mut settings = Settings::default();
                while let Some(text) = seq.next_element::<String>()? {
                    settings.0.push(crate::nics::parse_setting(&text).map_err(A::Error::custom)?);
                }
                Ok(settings)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Faults of the network: a text such as `loss=0.01,reorder=0.02:8`, or a table of the same with numbers or texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(with = "TextOr<FaultTable>")]
pub struct FaultSpec(pub Faults);

impl FaultSpec {
    /// There are none.
    pub fn is_none(&self) -> bool {
        self.0 == Faults::NONE
    }
}

impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = FaultSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text such as `loss=0.01` or a table with `loss`, `duplicate` and `reorder`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<FaultSpec, E> {
                text.parse().map(FaultSpec).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FaultSpec, A::Error> {
                let mut parts = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    parts.push(format!("{name}={value}"));
                }
                self.visit_str(&parts.join(","))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for FaultSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A span of simulated time, written as `10 ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct Span(Time);

const UNITS: [(&str, u64); 5] =
    [("ps", 1_000), ("ns", 1_000_000), ("us", 1_000_000_000), ("ms", 1_000_000_000_000), ("s", 1_000_000_000_000_000)];

impl Span {
    /// `fs` femtoseconds.
    pub const fn from_fs(fs: u64) -> Self {
        Span(Time::from_fs(fs))
    }

    /// As time.
    pub fn time(self) -> Time {
        self.0
    }

    /// Reads `10 ms`, `1.5us`; at least 1 fs, and as much as 64 bits of it hold.
    pub fn parse(text: &str) -> Result<Self, NoSpan> {
        let no_span = || NoSpan::Form { text: text.into() };
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(no_span)?;
        let (number, unit) = (&trimmed[..digits], trimmed[digits..].trim());
        let (_, fs) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(no_span)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let number = match format!("{whole}{fraction}").parse::<u128>() {
            Ok(number) => number,
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => u128::MAX,
            Err(_) => return Err(no_span()),
        };
        let fs = || {
            let scale = 10u64.checked_pow(fraction.len() as u32)?;
            u64::try_from(number.checked_mul(u128::from(*fs))? / u128::from(scale)).ok().filter(|&fs| fs > 0)
        };
        fs().map(Span::from_fs).ok_or_else(|| NoSpan::Size { text: text.into() })
    }
}

/// A text that is not a span of time.
#[derive(Debug, thiserror::Error)]
pub enum NoSpan {
    #[error("`{text}` is not a time; write for example `10 ms` (units: ps, ns, us, ms, s)")]
    Form { text: String },
    #[error("`{text}` is out of range, must be above 0 and at most 18446 s (5.1 hours)")]
    Size { text: String },
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fs = self.0.fs();
        match UNITS.iter().rev().find(|(_, unit)| fs.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{} {name}", fs / unit),
            None => write!(f, "{}.{:03} ps", fs / 1000, fs % 1000),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Span::parse(&text).map_err(D::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
