//! Errors of schedules: the file, the place, what was found and what is allowed.

use diagnostics::text::TextError;
use std::fmt;
use std::io;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line and a column of a text, both from 1.
    Line(u64, usize),
    /// A byte of a binary file, from 0.
    Byte(u64),
    /// The file as a whole.
    File,
}

/// A schedule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalError {
    /// The file as its user names it.
    pub file: String,
    /// Where the problem is.
    pub place: Place,
    /// The problem; in a text, with the line and carets.
    pub problem: String,
}

impl GoalError {
    /// A problem of a file as a whole.
    pub fn of_file(file: &str, problem: impl fmt::Display) -> GoalError {
        GoalError { file: file.to_owned(), place: Place::File, problem: problem.to_string() }
    }

    /// A file that cannot be read or written.
    pub fn io(file: &str, error: &io::Error) -> GoalError {
        GoalError::of_file(file, error)
    }

    /// A problem at a byte of a binary file.
    pub(super) fn at_byte(file: &str, byte: usize, problem: impl Into<String>) -> GoalError {
        GoalError { file: file.to_owned(), place: Place::Byte(byte as u64), problem: problem.into() }
    }

    /// A problem at some bytes of a line.
    pub(super) fn at_line(file: &str, number: u64, line: &[u8], span: std::ops::Range<usize>, problem: String) -> Self {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let start = lossy(&line[..span.start.min(line.len())]);
        let end = lossy(&line[..span.end.min(line.len())]).len();
        let column = start.chars().count() + 1;
        let shown = TextError { text: lossy(line), span: start.len()..end, problem };
        GoalError { file: file.to_owned(), place: Place::Line(number, column), problem: shown.to_string() }
    }
}

impl fmt::Display for GoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GoalError { file, place, problem } = self;
        match place {
            Place::Line(line, column) => write!(f, "{file}:{line}:{column}: {problem}"),
            Place::Byte(byte) => write!(f, "{file}: byte {byte}: {problem}"),
            Place::File => write!(f, "{file}: {problem}"),
        }
    }
}

impl std::error::Error for GoalError {}
