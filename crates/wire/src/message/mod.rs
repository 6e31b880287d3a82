//! Messages: which packets belong together, and which is the last.
//!
//! ```text
//! each                                              every packet is a message
//! by 5-tuple until tcp.flags.fin || tcp.flags.rst   a flow, until a packet matches
//! by ipv4.src, ipv4.dst count 16                    16 packets with the same fields
//! by flow last                                      a flow, until its last packet in the capture
//! by flow from tcp.flags.syn until tcp.flags.fin    the same, its first packet known even if another comes before it
//! all count 1000                                    packets as they come
//! ```
//!
//! `5-tuple` and `flow` are the same: addresses, protocol and ports, one direction. What has no end stated ends
//! with `last`. `last` needs to know how many packets each flow has: a first pass over the traffic counts them,
//! in memory that grows with flows, not packets (see [`FlowIndex`]).
//!
//! Without `from` the first packet to come is the first of the message. With it, packets that do not match are known not to
//! be: a card can let them wait for the one that does. They are of the message all the same, in the order in which they come.
//!
//! A packet that has none of the fields is a message of its own; a field it lacks beside others it has counts as
//! a value like any other. Later IP fragments have no ports, so `5-tuple` takes them for a flow of their own.
//! After its last packet a message is over: the next packet with the same fields begins another. Until then its state is kept,
//! some hundred bytes: memory grows with the messages that are open, and one whose `until` never matches is open to the end.

mod classifier;
mod key;

pub use classifier::{Classifier, ClassifierCounts, FlowIndex, OpenMessage, Verdict};

use crate::expr::{ExprProblem, Field, Matcher, parse_field};
use crate::near::nearest;
use crate::text::TextError;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// What makes packets one message and what ends it. As text and in files: see [`crate::message`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MessageSpec {
    /// Every packet is a message.
    Each,
    /// Packets with the same key, up to the end.
    Group {
        /// What packets of a message have in common.
        key: Key,
        /// What its first packet is, if not the first to come.
        first: Option<Box<Matcher>>,
        /// What its last packet is.
        end: End,
    },
}

/// What the packets of a message have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Addresses, protocol, ports.
    FiveTuple,
    /// These fields.
    Fields(Vec<Field>),
    /// Nothing: all packets.
    All,
}

/// What the last packet of a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The one with this number, from 1.
    Count(NonZeroU64),
    /// The first that matches.
    Until(Matcher),
    /// The last with this key in the traffic.
    Last,
}

/// An error in a message definition, with the place.
pub type MessageError = TextError<MessageProblem>;

/// What can be wrong with a message definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The fields are what the messages show.
pub enum MessageProblem {
    #[error("the message definition is empty, must be such as `each` or `by 5-tuple until tcp.flags.fin`")]
    Empty,
    #[error("unknown key `{found}`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`{}",
            near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    UnknownKey { found: String, near: Option<String> },
    #[error("the number of packets is `{found}`, must be 1 or more")]
    Count { found: String },
    #[error("`each` ends with every packet, must stand alone")]
    EachHasEnd,
    #[error("found `{found}`, must be {allowed}")]
    Unexpected { found: String, allowed: &'static str },
    #[error("more than {MAX_FIELDS} fields")]
    TooManyFields,
    #[error(transparent)]
    Expr(#[from] ExprProblem),
}

/// Most fields of a key: there are not more worth naming, and each costs time on every packet.
const MAX_FIELDS: usize = 32;
const KEYS: [&str; 4] = ["each", "all", "5-tuple", "flow"];

impl MessageSpec {
    /// Reads a message definition.
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let fail = |start: usize, len: usize, problem| {
            Err(MessageError { text: text.into(), span: start..start + len, problem })
        };
        let mut words = words(text).peekable();
        let Some(&(first_at, first)) = words.peek() else { return fail(0, 0, MessageProblem::Empty) };
        if first == "by" {
            words.next();
        }
        let start = words.peek().map_or(text.len(), |(at, _)| *at);
        let mut end = words.find(|(_, word)| matches!(*word, "from" | "count" | "until" | "last"));
        let key_end = end.map_or(text.len(), |(at, _)| at);
        let key_text = text[start.min(key_end)..key_end].trim_end();
        match (key_text, end) {
            ("each", None) => return Ok(Self::Each),
            ("each", Some((at, word))) => return fail(at, word.len(), MessageProblem::EachHasEnd),
            ("", _) => {
                let (found, allowed) = (first.into(), "`each`, `all`, `5-tuple` or fields such as `ipv4.src`");
                return fail(first_at, first.len(), MessageProblem::Unexpected { found, allowed });
            }
            _ => {}
        }
        let key = parse_key(text, start, key_text)?;
        let mut first = None;
        if let Some((at, "from")) = end {
            end = words.find(|(_, word)| matches!(*word, "count" | "until" | "last"));
            let from = at + "from".len()..end.map_or(text.len(), |(at, _)| at);
            let matcher = Matcher::parse(&text[from.clone()]).map_err(|error| error.within(text, from.start))?;
            first = Some(Box::new(matcher));
        }
        let Some((at, word)) = end else { return Ok(Self::Group { key, first, end: End::Last }) };
        let rest_at = at + word.len();
        let rest = text[rest_at..].trim();
        let rest_at = rest_at + (text[rest_at..].len() - text[rest_at..].trim_start().len());
        let end = match word {
            "until" => End::Until(Matcher::parse(&text[rest_at..]).map_err(|error| error.within(text, rest_at))?),
            "count" => match rest.parse() {
                Ok(count) => End::Count(count),
                Err(_) => return fail(rest_at, rest.len(), MessageProblem::Count { found: rest.into() }),
            },
            _ if rest.is_empty() => End::Last,
            _ => {
                let (found, allowed) = (rest.into(), "nothing after `last`");
                return fail(rest_at, rest.len(), MessageProblem::Unexpected { found, allowed });
            }
        };
        Ok(Self::Group { key, first, end })
    }

    /// A [`FlowIndex`] must have seen the traffic before it can be classified.
    pub fn needs_index(&self) -> bool {
        matches!(self, Self::Group { end: End::Last, .. })
    }
}

/// Words and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Reads the key `key_text`, which stands at `start` in `text`.
fn parse_key(text: &str, start: usize, key_text: &str) -> Result<Key, MessageError> {
    match key_text {
        "all" => return Ok(Key::All),
        "5-tuple" | "flow" => return Ok(Key::FiveTuple),
        _ => {}
    }
    let mut fields = Vec::new();
    let mut at = start;
    for part in key_text.split(',') {
        let fail = |span, problem| Err(MessageError { text: text.into(), span, problem });
        let name = part.trim();
        let name_at = at + (part.len() - part.trim_start().len());
        let span = name_at..name_at + name.len();
        // A whole key beside others; alone it has been taken above.
        if KEYS.contains(&name) {
            let behind = span.end..start + key_text.len();
            let (span, allowed) = match span.start == start {
                true => (behind, "`from`, `count`, `until` or `last`: the key before it stands alone"),
                false => (span, "a field: such a key stands alone"),
            };
            return fail(span.clone(), MessageProblem::Unexpected { found: text[span].trim().into(), allowed });
        }
        match parse_field(name, &[]) {
            Ok((field, len)) if len == name.len() => fields.push(field),
            Ok((_, len)) => {
                let (found, allowed) =
                    (name[len..].trim().into(), "`,`, `from`, `count`, `until` or `last` after a field");
                return fail(name_at + len..span.end, MessageProblem::Unexpected { found, allowed });
            }
            Err(error) => {
                let near = match &error.problem {
                    ExprProblem::UnknownName { found, near } => {
                        near.as_deref().filter(|near| near != found).or(nearest(found, KEYS)).map(str::to_owned)
                    }
                    ExprProblem::Unexpected { .. } => nearest(name, KEYS).map(str::to_owned),
                    _ => return Err(error.within(text, name_at)),
                };
                return fail(span, MessageProblem::UnknownKey { found: name.into(), near });
            }
        }
        if fields.len() > MAX_FIELDS {
            return fail(span, MessageProblem::TooManyFields);
        }
        at += part.len() + 1;
    }
    Ok(Key::Fields(fields))
}

impl fmt::Display for MessageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Group { key, first, end } = self else { return f.write_str("each") };
        match key {
            Key::FiveTuple => f.write_str("by 5-tuple")?,
            Key::All => f.write_str("all")?,
            Key::Fields(fields) => {
                let names: Vec<String> = fields.iter().map(Field::to_string).collect();
                write!(f, "by {}", names.join(", "))?;
            }
        }
        if let Some(first) = first {
            write!(f, " from {first}")?;
        }
        match end {
            End::Count(count) => write!(f, " count {count}"),
            End::Until(matcher) => write!(f, " until {matcher}"),
            End::Last => f.write_str(" last"),
        }
    }
}

impl FromStr for MessageSpec {
    type Err = MessageError;
    fn from_str(text: &str) -> Result<Self, MessageError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for MessageSpec {
    type Error = MessageError;
    fn try_from(text: String) -> Result<Self, MessageError> {
        Self::parse(&text)
    }
}

impl From<MessageSpec> for String {
    fn from(spec: MessageSpec) -> Self {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests;
