//! Spans of time and ratios, as users write them.

use kernel::Time;
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::IntErrorKind;
use wire::units::parse_ratio;

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
#[expect(missing_docs, reason = "the texts say what each field is")]
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

/// A rate in bit/s, written as `100G`; `none` means that bits take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct BitRate(pub Option<u64>);

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim() == "none" {
            return Ok(BitRate(None));
        }
        let bps = wire::units::parse_bps(&text).filter(|&bps| bps > 0);
        let refuse = || {
            D::Error::custom(format!(
                "`{text}` is not a rate above 0; write for example `100G` or `800 bit/s`, or `none` for no limit"
            ))
        };
        bps.map(|bps| BitRate(Some(bps))).ok_or_else(refuse)
    }
}

impl Serialize for BitRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(bps) => serializer.collect_str(&wire::units::show_bps(bps)),
            None => serializer.serialize_str("none"),
        }
    }
}

/// A positive ratio: a text such as `1/8` or `0.125`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Written")]
pub struct Ratio {
    /// Numerator.
    pub top: u64,
    /// Denominator.
    pub bottom: u64,
}

impl Ratio {
    /// `top / bottom`. Panics if one of them is 0.
    pub const fn new(top: u64, bottom: u64) -> Self {
        assert!(top > 0 && bottom > 0, "a ratio has no 0");
        Ratio { top, bottom }
    }

    /// The ratio of `of`, rounded down.
    pub fn times(self, of: u64) -> u64 {
        let product = u128::from(of) * u128::from(self.top) / u128::from(self.bottom);
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_any(RatioText)?;
        let refuse =
            || D::Error::custom(format!("`{text}` is not a ratio above 0; write for example `1/8` or `0.125`"));
        parse_ratio(&text).map(|(top, bottom)| Ratio { top, bottom }).ok_or_else(refuse)
    }
}

/// The forms of a ratio in a file.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Written {
    Text(String),
    Number(f64),
}

/// Reads a ratio as a text.
struct RatioText;

impl Visitor<'_> for RatioText {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ratio such as `1/8` or 0.125")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}/{}", self.top, self.bottom))
    }
}
