//! Messages: groups of packets, and the end of each group.
//!
//! ```text
//! each                                              every packet is a message
//! by 5-tuple until tcp.flags.fin || tcp.flags.rst   a flow, until a packet matches
//! by ipv4.src, ipv4.dst count 16                    16 packets with the same fields
//! by flow last                                      a flow, until its last packet in the capture
//! by flow from tcp.flags.syn until tcp.flags.fin    the same; the SYN is the first packet, even if it arrives later
//! all count 1000                                    1000 packets in the order of arrival
//! ```
//!
//! `5-tuple` and `flow` are synonyms: addresses, protocol and ports, in one direction. A definition without an end
//! means `last`. `last` needs the number of packets of each flow: a first pass over the traffic counts them. Its memory
//! use grows with the number of flows, not of packets (see [`FlowIndex`]).
//!
//! Without `from`, the first packet to arrive is the first of the message. With `from`, the first packet is the one
//! that matches, so a card can let packets that arrive before it wait. These packets still belong to the message, in
//! their order of arrival.
//!
//! A packet that has none of the fields is a message of its own. If it has some of the fields, a missing one counts as
//! a value of its own. Later IP fragments have no ports, so `5-tuple` treats them as a separate flow. After its last
//! packet a message ends, and the next packet with the same fields begins a new message. An open message needs some
//! hundred bytes of memory. A message whose `until` never matches stays open to the end.

mod classifier;
mod key;

pub use classifier::{Classifier, ClassifierCounts, FlowIndex, OpenMessage, Verdict};

use crate::expr::{ExprProblem, Field, Matcher, parse_field};
use diagnostics::near::{did_you_mean, nearest};
use diagnostics::text::TextError;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// Definition of messages. The text form is described in [`crate::message`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MessageSpec {
    /// Every packet is a message.
    Each,
    /// Packets with the same key form a message, until its end.
    Group {
        /// The key.
        key: Key,
        /// The first packet of a message, if it is not the first to arrive.
        first: Option<Box<Matcher>>,
        /// The end of a message.
        end: End,
    },
}

/// Fields that are equal in all packets of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Addresses, protocol, ports.
    FiveTuple,
    /// The listed fields.
    Fields(Vec<Field>),
    /// No fields: all packets have the same key.
    All,
}

/// The last packet of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The packet with this number, from 1.
    Count(NonZeroU64),
    /// The first packet that matches.
    Until(Matcher),
    /// The last packet with this key in the traffic.
    Last,
}

/// An error in a message definition, with its position.
pub type MessageError = TextError<MessageProblem>;

/// Problems in a message definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum MessageProblem {
    #[error("the message definition is empty; write for example `each` or `by 5-tuple until tcp.flags.fin`")]
    Empty,
    #[error("unknown key `{found}`, must be `each`, `all`, `5-tuple` or fields such as `ipv4.src, ipv4.dst`{}",
            did_you_mean(near.as_ref()))]
    UnknownKey { found: String, near: Option<String> },
    #[error("the number of packets is `{found}`, must be 1 or more")]
    Count { found: String },
    #[error("found `{found}` after `each`, must be `each` alone: each packet is a message")]
    EachHasEnd { found: String },
    #[error("found `{found}`, must be {allowed}")]
    Unexpected { found: String, allowed: &'static str },
    #[error("found more than {MAX_FIELDS} fields, must be at most {MAX_FIELDS}")]
    TooManyFields,
    #[error(transparent)]
    Expr(#[from] ExprProblem),
}

/// Maximum number of fields in a key. Each costs time on every packet.
const MAX_FIELDS: usize = 32;
const KEYS: [&str; 4] = ["each", "all", "5-tuple", "flow"];

impl MessageSpec {
    /// Parses a message definition.
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
            ("each", Some((at, word))) => {
                return fail(at, word.len(), MessageProblem::EachHasEnd { found: word.into() });
            }
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

    /// Returns true if a [`FlowIndex`] must count the traffic before classification.
    pub fn needs_index(&self) -> bool {
        matches!(self, Self::Group { end: End::Last, .. })
    }
}

/// Words and their positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Parses the key `key_text`, which starts at `start` in `text`.
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
        // A complete key next to others. A key alone is handled above.
        if KEYS.contains(&name) {
            let behind = span.end..start + key_text.len();
            let (span, allowed) = match span.start == start {
                true => (behind, "`from`, `count`, `until` or `last`: the key before it cannot be combined"),
                false => (span, "a field: this key cannot be combined"),
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
