//! Errors in a card's file, with their places.

use diagnostics::text::TextError;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text and the name of its file.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
}

/// A byte range of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FilePlace {
    source: Arc<Source>,
    start: usize,
    end: usize,
}

impl FilePlace {
    pub(super) fn new(source: &Arc<Source>, span: Range<usize>) -> FilePlace {
        let end = span.end.min(source.text.len());
        FilePlace { source: source.clone(), start: span.start.min(end), end }
    }

    /// The place of the text `part` within this place, or this place if it does not contain `part`.
    pub(super) fn of(&self, part: &str) -> FilePlace {
        let found = self.source.text.get(self.start..self.end).and_then(|text| text.find(part));
        match found.filter(|_| !part.is_empty()) {
            Some(at) => FilePlace { start: self.start + at, end: self.start + at + part.len(), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// Line number, from 1.
    pub fn line(&self) -> usize {
        self.source.text.as_bytes()[..self.start].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }
}

/// One error: what was found and what is allowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Its place.
    pub place: FilePlace,
    /// The error text.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilePlace { source, start, end } = &self.place;
        let shown = TextError { text: source.text.clone(), span: *start..*end, problem: &self.text };
        write!(f, "{}: line {}: {shown}", source.name, self.place.line())
    }
}

/// The errors in a card's file: first those of instances, inner ones first, then those of connections. At most
/// [`NetlistErrors::MOST`] are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetlistErrors {
    /// The first errors.
    pub problems: Vec<Problem>,
    /// Number of further errors.
    pub n_more: usize,
}

impl NetlistErrors {
    /// Maximum number of errors reported at once.
    pub const MOST: usize = 20;
}

impl fmt::Display for NetlistErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        f.write_str(&texts.join("\n"))?;
        match self.n_more {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

impl std::error::Error for NetlistErrors {}

/// Collects errors in the order found. An error that recurs in another copy of a module counts once.
#[derive(Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
    known: BTreeSet<Problem>,
    n_more: usize,
}

/// Maximum number collected, to limit the memory that a hostile file takes.
const MOST_COLLECTED: usize = 1000;

impl Problems {
    pub fn add(&mut self, place: &FilePlace, text: impl Into<String>) {
        if self.found.len() < MOST_COLLECTED {
            let problem = Problem { place: place.clone(), text: text.into() };
            if self.known.insert(problem.clone()) {
                self.found.push(problem);
            }
        } else {
            self.n_more += 1;
        }
    }

    /// Sorts by file position; for syntax errors, which do not cause each other.
    pub fn in_files_order(mut self) -> Problems {
        self.found.sort();
        self
    }

    /// Returns `value` if there are no errors.
    pub fn into_result<T>(self, value: T) -> Result<T, NetlistErrors> {
        if self.found.is_empty() {
            return Ok(value);
        }
        let n_more = self.n_more + self.found.len().saturating_sub(NetlistErrors::MOST);
        Err(NetlistErrors { problems: self.found.into_iter().take(NetlistErrors::MOST).collect(), n_more })
    }
}
