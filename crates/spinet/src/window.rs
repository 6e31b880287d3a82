//! A window of simulated time, as users write it: `1 us..2 us`.

use crate::experiment::Span;
use kernel::Time;

/// A window of simulated time. Without an end, it extends to the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Option<Span>,
    /// The first time after it.
    pub to: Option<Span>,
}

/// The error of a text that cannot be read as a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum WindowError {
    #[error("`{found}` is not a time window; write for example `1 us..2 us`, `..2 us` or `1 us..`")]
    Text { found: String },
    #[error("`{found}` is empty, its end must be behind its beginning")]
    Empty { found: String },
}

impl Window {
    /// Reads a window.
    pub fn parse(found: &str) -> Result<Window, WindowError> {
        let refuse = || WindowError::Text { found: found.into() };
        let (from, to) = found.split_once("..").ok_or_else(refuse)?;
        let end = |text: &str| match text.trim() {
            "" => Ok(None),
            text => Span::parse(text).map(Some).map_err(|_| refuse()),
        };
        // Users may write 0, which `Span` refuses.
        let from = if from.trim().trim_end_matches(char::is_alphabetic).trim() == "0" { "" } else { from };
        let window = Window { from: end(from)?, to: end(to)? };
        match (window.from, window.to) {
            (Some(from), Some(to)) if from.time() >= to.time() => Err(WindowError::Empty { found: found.into() }),
            _ => Ok(window),
        }
    }

    /// Its beginning and the first time after it.
    pub fn times(&self) -> (Time, Time) {
        (self.from.map_or(Time::ZERO, Span::time), self.to.map_or(Time::from_fs(u64::MAX), Span::time))
    }
}
