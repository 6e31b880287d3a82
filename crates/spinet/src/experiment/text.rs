//! Values that can be written in several ways.

use super::entry::TextOr;
pub use net::span::Span;
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
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

/// For the schema of [`Settings`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is made from it, and nothing else")]
enum SettingsSchema {
    List(Vec<String>),
    Table(std::collections::BTreeMap<String, serde_json::Value>),
}

/// For the schema of [`FaultSpec`].
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it, and nothing else")]
struct FaultTable {
    /// Chance that a packet is lost.
    loss: Option<TextOr<f64>>,
    /// Chance that a packet is duplicated.
    duplicate: Option<TextOr<f64>>,
    /// Probability that a packet is late, and the largest number of packets that overtake it.
    reorder: Option<TextOr<f64>>,
}

/// Parameters to set: a table of paths and values, which may contain tables, or a list of `path=value`.
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
