//! Parses and prints traffic definitions.

use super::{Arrivals, MAX_FLOWS, Rate, Sizes, TrafficSpec, Transport};
use crate::units::{parse_bps, scaled, show_bps, show_scaled};
use diagnostics::near::{did_you_mean, nearest};
use diagnostics::text::TextError;
use std::fmt;
use std::str::FromStr;

/// An error in a traffic definition, with its position.
pub type TrafficTextError = TextError<TrafficProblem>;

/// Problems in a traffic definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum TrafficProblem {
    #[error("unknown generator `{found}`, must be one of {}; {}", known.join(", "),
            nearest(found, known.iter().copied())
                .map_or_else(|| "for other packets use a capture".into(), |near| format!("did you mean `{near}`?")))]
    Transport { found: String, known: &'static [&'static str] },
    #[error("unknown key `{found}`, must be one of {}{}", KEYS.join(", "),
            did_you_mean(near.as_ref()))]
    UnknownKey { found: String, near: Option<&'static str> },
    #[error("`{key}` is given twice")]
    Twice { key: &'static str },
    #[error("found `{found}`, must be `key=value`")]
    NotAPair { found: String },
    #[error("{key} is {found}, must be {allowed}")]
    Value { key: &'static str, found: String, allowed: String },
}

const GENERATORS: [&str; 3] = ["udp", "tcp", "pspin"];

const KEYS: [&str; 16] = [
    "size", "count", "rate", "arrivals", "flows", "senders", "messages", "payload", "seed", "src", "dst", "src_port",
    "dst_port", "src_mac", "dst_mac", "ecn",
];

pub(super) const ECN: &str = "0 (not capable), 1 or 2 (capable) or 3 (marked)";
const SIZES: &str = "a length such as `64`, `64..1500`, `bimodal:64:1500:90`, `imix` or `list:64:128`";
const RATES: &str =
    "a rate with its unit, such as `400G` or `1500bit/s` (bits a second) or `10Mpps` (packets a second)";

pub(super) fn refused(key: &'static str, found: &str, allowed: &str) -> TrafficProblem {
    TrafficProblem::Value { key, found: format!("`{found}`"), allowed: allowed.into() }
}

impl TrafficSpec {
    /// Returns true if the text is a traffic definition rather than a file name: `udp`, `tcp` or `pspin`, alone or
    /// followed by a colon.
    pub fn is_definition(text: &str) -> bool {
        text.split(':').next().is_some_and(|kind| GENERATORS.contains(&kind))
    }

    /// The error for a text that looks like a definition, such as `icmp:count=5`, but whose kind is not in `known`.
    /// Call this only for texts that are not files.
    pub fn unknown(text: &str, known: &'static [&'static str]) -> Option<TrafficTextError> {
        let (kind, pairs) = text.split_once(':')?;
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let looks_so = is_word(kind) && (pairs.is_empty() || pairs.contains('=')) && !known.contains(&kind);
        let problem = TrafficProblem::Transport { found: kind.into(), known };
        looks_so.then(|| TrafficTextError { text: text.into(), span: 0..kind.len(), problem })
    }

    /// Kinds of definitions.
    pub const KINDS: &[&str] = &GENERATORS;

    /// Parses a definition such as `udp:size=64,count=1000,rate=400G`. Omitted keys have their default.
    pub fn parse(text: &str) -> Result<Self, TrafficTextError> {
        let fail = |part: &str, problem| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            TrafficTextError { text: text.into(), span: start..start + part.len(), problem }
        };
        let (transport, pairs) = text.split_once(':').unwrap_or((text, ""));
        let transport = match transport.trim() {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            "pspin" => Transport::Pspin,
            found => {
                return Err(fail(transport, TrafficProblem::Transport { found: found.into(), known: &GENERATORS }));
            }
        };
        let mut spec = Self { transport, ..Self::default() };
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for pair in pairs.split(',').filter(|_| !pairs.trim().is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(fail(pair, TrafficProblem::NotAPair { found: pair.trim().into() }));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(&key) = KEYS.iter().find(|&&key| key == name) else {
                let near = nearest(name, KEYS);
                return Err(fail(name, TrafficProblem::UnknownKey { found: name.into(), near }));
            };
            if seen.iter().any(|(other, _)| *other == key) {
                return Err(fail(name, TrafficProblem::Twice { key }));
            }
            seen.push((key, value));
            spec.set(key, value).map_err(|problem| fail(value, problem))?;
        }
        spec.validate().map_err(|problem| {
            // Point at the wrong value, unless it is a default.
            let is_blamed = |name: &str| matches!(problem, TrafficProblem::Value { key, .. } if key == name);
            let place = seen.iter().find(|(key, _)| is_blamed(key)).map_or(text, |(_, value)| value);
            fail(place, problem)
        })?;
        Ok(spec)
    }

    fn set(&mut self, key: &'static str, value: &str) -> Result<(), TrafficProblem> {
        /// Parses a value with its own parser.
        fn read<T: FromStr>(key: &'static str, value: &str, allowed: &str) -> Result<T, TrafficProblem> {
            value.parse().map_err(|_| refused(key, value, allowed))
        }
        let number = |value: &str| scaled(value).ok_or_else(|| refused(key, value, "a number such as 1000 or 10M"));
        let flows =
            |value: &str| u32::try_from(number(value)?).map_err(|_| refused(key, value, &format!("1 to {MAX_FLOWS}")));
        match key {
            "size" => self.size = value.parse()?,
            "count" => self.count = number(value)?,
            "rate" => self.rate = value.parse()?,
            "arrivals" => {
                self.arrivals = match value {
                    "constant" => Arrivals::Constant,
                    "poisson" => Arrivals::Poisson,
                    _ => return Err(refused(key, value, "`constant` or `poisson`")),
                }
            }
            "flows" => self.flows = flows(value)?,
            "senders" => self.senders = flows(value)?,
            "messages" => self.messages = number(value)?,
            "payload" => self.payload = value.parse()?,
            "seed" => self.seed = read(key, value, "0 to 2^64 - 1")?,
            "src" => self.src = read(key, value, "an IP address")?,
            "dst" => self.dst = read(key, value, "an IP address")?,
            "src_port" => self.src_port = read(key, value, "0 to 65535")?,
            "dst_port" => self.dst_port = read(key, value, "0 to 65535")?,
            "src_mac" => self.src_mac = read(key, value, "a MAC address such as 02:00:00:00:00:01")?,
            "dst_mac" => self.dst_mac = read(key, value, "a MAC address such as 02:00:00:00:00:01")?,
            "ecn" => self.ecn = read(key, value, ECN)?,
            _ => return Err(TrafficProblem::UnknownKey { found: key.into(), near: None }),
        }
        Ok(())
    }
}

impl fmt::Display for TrafficSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Pspin => "pspin",
        };
        let arrivals = match self.arrivals {
            Arrivals::Constant => "constant",
            Arrivals::Poisson => "poisson",
        };
        let Self { size, count, rate, flows, senders, messages, payload, seed, .. } = self;
        write!(f, "{transport}:size={size},count={count},rate={rate},arrivals={arrivals},flows={flows}")?;
        write!(
            f,
            ",senders={senders},messages={messages},payload={payload},seed={seed},src={},dst={}",
            self.src, self.dst
        )?;
        write!(f, ",src_port={},dst_port={}", self.src_port, self.dst_port)?;
        write!(f, ",src_mac={},dst_mac={}", self.src_mac, self.dst_mac)?;
        if self.ecn == 0 { Ok(()) } else { write!(f, ",ecn={}", self.ecn) }
    }
}

impl FromStr for TrafficSpec {
    type Err = TrafficTextError;
    fn from_str(text: &str) -> Result<Self, TrafficTextError> {
        Self::parse(text)
    }
}

impl FromStr for Sizes {
    type Err = TrafficProblem;

    fn from_str(text: &str) -> Result<Self, TrafficProblem> {
        let number = |part: &str| part.trim().parse::<u32>().ok();
        let sizes = if text == "imix" {
            Some(Self::Imix)
        } else if let Some(rest) = text.strip_prefix("list:") {
            rest.split(':').map(number).collect::<Option<Vec<u32>>>().map(Self::List)
        } else if let Some(rest) = text.strip_prefix("bimodal:") {
            match rest.split(':').map(number).collect::<Option<Vec<u32>>>().as_deref() {
                Some(&[small, large, small_percent]) => Some(Self::Bimodal { small, large, small_percent }),
                _ => None,
            }
        } else if let Some((min, max)) = text.split_once("..") {
            number(min).zip(number(max)).map(|(min, max)| Self::Uniform { min, max })
        } else {
            number(text).map(Self::Fixed)
        };
        sizes.ok_or_else(|| refused("size", text, SIZES))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(f, "{size}"),
            Self::Uniform { min, max } => write!(f, "{min}..{max}"),
            Self::Bimodal { small, large, small_percent } => write!(f, "bimodal:{small}:{large}:{small_percent}"),
            Self::Imix => f.write_str("imix"),
            Self::List(sizes) => {
                f.write_str("list")?;
                sizes.iter().try_for_each(|size| write!(f, ":{size}"))
            }
        }
    }
}

impl FromStr for Rate {
    type Err = TrafficProblem;

    fn from_str(text: &str) -> Result<Self, TrafficProblem> {
        match text.strip_suffix("pps") {
            Some(number) => scaled(number).map(Self::Pps),
            None => parse_bps(text).map(Self::Bps),
        }
        .ok_or_else(|| refused("rate", text, RATES))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bps(bps) => f.write_str(&show_bps(*bps)),
            Self::Pps(pps) => write!(f, "{}pps", show_scaled(*pps)),
        }
    }
}

/// Value of a TOML key whose text is often a plain number.
#[derive(serde::Deserialize)]
#[serde(untagged)]
pub(super) enum IntOrText {
    Int(u64),
    Text(String),
}

impl IntOrText {
    fn read<T: FromStr>(self) -> Result<T, T::Err> {
        match self {
            Self::Int(number) => number.to_string().parse(),
            Self::Text(text) => text.parse(),
        }
    }
}

impl TryFrom<IntOrText> for Sizes {
    type Error = TrafficProblem;
    fn try_from(value: IntOrText) -> Result<Self, TrafficProblem> {
        value.read()
    }
}

impl TryFrom<IntOrText> for Rate {
    type Error = TrafficProblem;
    fn try_from(value: IntOrText) -> Result<Self, TrafficProblem> {
        value.read()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}
