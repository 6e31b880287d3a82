//! The short forms of services, tenants, chains, engines and policies as texts.

use super::experiment::{ChainEntry, EngineSpec, PolicySpec, ServiceEntry, TenantEntry};
use crate::experiment::{Entry, FromText, OneOrMany, Span};
use diagnostics::near::suggestion;
use panic::rmt::ChainParams;
use panic::unit::EngineParams;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

impl FromText for ServiceEntry {
    const EXAMPLE: &'static str = "aes: aes-256-ctr, units=2, credits=2";

    fn from_text(text: &str) -> Result<Self, String> {
        let (name, pairs) = named(text, Self::EXAMPLE)?;
        let mut entry = ServiceEntry { name, ..ServiceEntry::default() };
        for (place, part) in pairs.into_iter().enumerate() {
            let Some((key, value)) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
                if place > 0 || part.is_empty() {
                    return Err(format!("`{part}` must be KEY=VALUE; only the engine stands alone, right behind `:`"));
                }
                entry.engine = Some(EngineSpec::Named(part.to_owned()));
                continue;
            };
            match key {
                "units" => entry.units = Some(number(key, value)?),
                "credits" => entry.credits = Some(number(key, value)?),
                "flow_affinity" => entry.flow_affinity = Some(number(key, value)?),
                "program" => entry.program = OneOrMany(value.split('+').map(|one| Entry(one.trim().into())).collect()),
                "handler" => entry.handler = Some(value.to_owned()),
                "policy" => entry.policy = Some(PolicySpec::Named(value.to_owned())),
                _ => entry.set.0.push(crate::nics::parse_setting(part).map_err(|error| error.to_string())?),
            }
        }
        Ok(entry)
    }
}

impl FromText for TenantEntry {
    const EXAMPLE: &'static str = "gold: weight=2, priority=0";

    fn from_text(text: &str) -> Result<Self, String> {
        const KEYS: [&str; 6] = ["weight", "priority", "class", "rate", "burst_bytes", "slack"];
        let (name, pairs) = named(text, Self::EXAMPLE)?;
        let mut entry = TenantEntry { name, ..TenantEntry::default() };
        for part in pairs {
            let (key, value) = part.split_once('=').map_or((part, ""), |(key, value)| (key.trim(), value.trim()));
            match key {
                "weight" => entry.weight = Some(number(key, value)?),
                "priority" => entry.priority = Some(number(key, value)?),
                "class" => entry.class = Some(number(key, value)?),
                "rate" => entry.rate = Some(value.to_owned()),
                "burst_bytes" => entry.burst_bytes = Some(number(key, value)?),
                "slack" => {
                    entry.slack = Some(Span::parse(value).map_err(|error| format!("slack: {error}"))?);
                }
                _ => return Err(format!("there is no `{key}`, must be one of {}{}", KEYS.join(", "), near(key, KEYS))),
            }
        }
        Ok(entry)
    }
}

impl FromText for ChainEntry {
    const EXAMPLE: &'static str = "ipsec [udp.dst_port == 4500]: sha -> aes => host";

    /// Reads the form of [`ChainParams::parse`]. `NAME@TENANT` names the owner of the packets.
    fn from_text(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.@".contains(c))).unwrap_or(text.len());
        let (tenant, text) = match text[..end].split_once('@') {
            None => (None, text.to_owned()),
            Some((name, tenant)) => (Some(tenant.to_owned()), format!("{name}{}", &text[end..])),
        };
        let chain = ChainParams::parse(&text).map_err(|error| error.to_string())?;
        let ChainParams { name, matches, queues, services, class, priority, slack_cycles, exit, repeat, order } = chain;
        let installed = true;
        Ok(ChainEntry {
            name,
            matches,
            queues,
            services,
            tenant,
            class,
            priority,
            slack_cycles,
            exit,
            repeat,
            order,
            installed,
        })
    }
}

/// `NAME: a, b`: the name, and the parts between commas outside of brackets.
fn named<'a>(text: &'a str, like: &str) -> Result<(String, Vec<&'a str>), String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    if name.is_empty() || name.contains([',', '=']) {
        return Err(format!("must begin with a name and `:`, such as `{like}`"));
    }
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in rest.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(rest[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(rest[begin..].trim());
    if parts == [""] {
        parts.clear();
    }
    Ok((name.to_owned(), parts))
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    let allowed = match std::any::type_name::<T>() {
        "bool" => "true or false",
        "u8" => "a whole number from 0 to 255",
        _ => "a whole number from 0 to 4294967295",
    };
    value.parse().map_err(|_| format!("{key} is `{value}`, must be {allowed}"))
}

fn near<const N: usize>(word: &str, known: [&'static str; N]) -> String {
    suggestion(word, known)
}

impl<'de> Deserialize<'de> for EngineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let like = "the name of an engine, or a table such as { kind = \"delay\", ... }";
        text_or_table(deserializer, like, EngineSpec::Named, |map| {
            EngineParams::deserialize(map).map(EngineSpec::Given)
        })
    }
}

impl<'de> Deserialize<'de> for PolicySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let like = "the name of a policy, or a table such as { policy = { kind = \"fifo\" } }";
        text_or_table(deserializer, like, PolicySpec::Named, |map| map.try_into().map(PolicySpec::Given))
    }
}

/// Reads a value that is a text or a table; errors in a table keep their place.
fn text_or_table<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    like: &'static str,
    text: fn(String) -> T,
    table: fn(toml::Value) -> Result<T, toml::de::Error>,
) -> Result<T, D::Error> {
    struct Either<T> {
        like: &'static str,
        text: fn(String) -> T,
        table: fn(toml::Value) -> Result<T, toml::de::Error>,
    }
    impl<'de, T> Visitor<'de> for Either<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.like)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            Ok((self.text)(text.to_owned()))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            let value = toml::Value::deserialize(MapAccessDeserializer::new(map))?;
            (self.table)(value).map_err(|error| A::Error::custom(error.message()))
        }
    }
    deserializer.deserialize_any(Either { like, text, table })
}
