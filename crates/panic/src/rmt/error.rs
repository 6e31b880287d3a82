//! Errors in the parameters of an RMT pipeline.

use super::EntryHandle;
use diagnostics::near::{did_you_mean, nearest};
use diagnostics::param;
use diagnostics::text::TextError;
use std::fmt;
use wire::expr::{ExprError, ExprProblem};

/// An error and its place. The failed change has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RmtError {
    /// The key, for example `tables[0].entries[2].match`, or the request; empty for the whole.
    pub at: String,
    /// The problem.
    pub problem: Problem,
}

impl fmt::Display for RmtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { self.problem.fmt(f) } else { write!(f, "{}: {}", self.at, self.problem) }
    }
}

/// An error in the text of a chain, with its position.
pub type ChainTextError = TextError<Problem>;

/// Kinds of errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum Problem {
    #[error("found {found}, must be {allowed}")]
    Found { found: String, allowed: String },
    #[error("unknown {what} `{found}`; {}{}", listed(what, known), did_you_mean(near.as_ref()))]
    Unknown { what: &'static str, found: String, near: Option<String>, known: Vec<String> },
    #[error("found a second {what} `{name}`, must be one only")]
    Taken { what: &'static str, name: String },
    #[error("found {found} services, must be at most {most}, which a descriptor holds")]
    TooManyHops { found: usize, most: u32 },
    #[error("`{service}` is service {first} of the chain too, must occur once unless `repeat` is set")]
    Loop { service: String, first: usize },
    #[error("queue {queue} is bound to chain `{chain}`, must be bound to one chain only")]
    Bound { queue: u16, chain: String },
    #[error("found {tables}, must be at most {stages}, the pipeline's stages")]
    Stages { tables: String, stages: u32 },
    #[error("a chain of transmit queues cannot have a match: the queue alone selects its packets (paper, section 3)")]
    MatchAndQueues,
    #[error("`{field}` cannot be changed{hint}")]
    Fixed { field: String, hint: &'static str },
    #[error("table `{table}` would have more entries than its size, must be at most {size}")]
    Full { table: String, size: u32 },
    #[error("there is no entry {0}; it was removed or never existed")]
    NoEntry(EntryHandle),
    #[error("{0}")]
    Expr(#[from] ExprProblem),
    #[error("{0}")]
    Match(ExprError),
}

impl Problem {
    pub(super) fn found(found: impl fmt::Display, allowed: impl Into<String>) -> Problem {
        Problem::Found { found: found.to_string(), allowed: allowed.into() }
    }

    /// A name that is not one of the known ones.
    pub(super) fn unknown<'a>(what: &'static str, found: &str, known: impl Iterator<Item = &'a str>) -> Problem {
        let known: Vec<String> = known.map(str::to_owned).collect();
        let near = nearest(found, known.iter().map(String::as_str)).map(str::to_owned);
        Problem::Unknown { what, found: found.to_owned(), near, known }
    }

    /// This problem at a place.
    pub(super) fn at(self, at: impl Into<String>) -> RmtError {
        RmtError { at: at.into(), problem: self }
    }
}

impl RmtError {
    /// The same error with `outer` in front of its key.
    pub(super) fn below(self, outer: &str) -> RmtError {
        let at = if self.at.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.at) };
        RmtError { at, ..self }
    }
}

/// Checks the range of a number.
pub(super) fn within(at: &str, value: u64, least: u64, most: u64) -> Result<(), RmtError> {
    param::within(at, value, least, most).map_err(|error| Problem::found(error.found, error.allowed).at(at))
}

fn listed(what: &str, known: &[String]) -> String {
    match known {
        [] => format!("there is no {what}"),
        _ => format!("known: {}", known.join(", ")),
    }
}
