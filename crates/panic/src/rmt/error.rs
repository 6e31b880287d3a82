//! What can be wrong with what an RMT pipeline is told.

use super::EntryHandle;
use diagnostics::near::{did_you_mean, nearest};
use diagnostics::param;
use diagnostics::text::TextError;
use std::fmt;
use wire::expr::{ExprError, ExprProblem};

/// What is wrong, and where. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RmtError {
    /// The key, as `tables[0].entries[2].match`, or what was asked for; empty if it is the whole.
    pub at: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for RmtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { self.problem.fmt(f) } else { write!(f, "{}: {}", self.at, self.problem) }
    }
}

/// An error in the text of a chain, with its place.
pub type ChainTextError = TextError<Problem>;

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The fields are what the messages show.
pub enum Problem {
    #[error("found {found}, must be {allowed}")]
    Found { found: String, allowed: String },
    #[error("unknown {what} `{found}`; {}{}", listed(what, known), did_you_mean(near.as_ref()))]
    Unknown { what: &'static str, found: String, near: Option<String>, known: Vec<String> },
    #[error("the {what} `{name}` is there already")]
    Taken { what: &'static str, name: String },
    #[error("{found} services, must be at most {most}: a descriptor holds no more hops")]
    TooManyHops { found: usize, most: u32 },
    #[error("`{service}` is service {first} of the chain already: a chain is no loop unless it says `repeat`")]
    Loop { service: String, first: usize },
    #[error("queue {queue} is bound to chain `{chain}` already")]
    Bound { queue: u16, chain: String },
    #[error("{tables}, but the pipeline has {stages} stages")]
    Stages { tables: String, stages: u32 },
    #[error("a chain of transmit queues has no match: the queue alone says what is done (paper, section 3)")]
    MatchAndQueues,
    #[error("`{field}` cannot be changed{hint}")]
    Fixed { field: String, hint: &'static str },
    #[error("the table `{table}` is full: its size is {size}")]
    Full { table: String, size: u32 },
    #[error("there is no entry {0}, it was removed or never was")]
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

    /// A name that is none of those that are known.
    pub(super) fn unknown<'a>(what: &'static str, found: &str, known: impl Iterator<Item = &'a str>) -> Problem {
        let known: Vec<String> = known.map(str::to_owned).collect();
        let near = nearest(found, known.iter().map(String::as_str)).map(str::to_owned);
        Problem::Unknown { what, found: found.to_owned(), near, known }
    }

    /// The same as an error at a place.
    pub(super) fn at(self, at: impl Into<String>) -> RmtError {
        RmtError { at: at.into(), problem: self }
    }
}

impl RmtError {
    /// The same error, seen from further out.
    pub(super) fn below(self, outer: &str) -> RmtError {
        let at = if self.at.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.at) };
        RmtError { at, ..self }
    }
}

/// A number within its bounds.
pub(super) fn within(at: &str, value: u64, least: u64, most: u64) -> Result<(), RmtError> {
    param::within(at, value, least, most).map_err(|error| Problem::found(error.found, error.allowed).at(at))
}

fn listed(what: &str, known: &[String]) -> String {
    match known {
        [] => format!("there is no {what}"),
        _ => format!("known: {}", known.join(", ")),
    }
}
