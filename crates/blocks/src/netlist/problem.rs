//! What is wrong with a card's file, and where.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use wire::text::TextError;

/// A text that somebody wrote, with the name of its file.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
}

/// Bytes of a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    source: Arc<Source>,
    start: usize,
    end: usize,
}

impl Place {
    pub(super) fn new(source: &Arc<Source>, span: Range<usize>) -> Place {
        let end = span.end.min(source.text.len());
        Place { source: source.clone(), start: span.start.min(end), end }
    }

    /// The place of `part` within this one, where it stands there as it is.
    pub(super) fn of(&self, part: &str) -> Place {
        let found = self.source.text.get(self.start..self.end).and_then(|text| text.find(part));
        match found.filter(|_| !part.is_empty()) {
            Some(at) => Place { start: self.start + at, end: self.start + at + part.len(), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// Line of the file, from 1.
    pub fn line(&self) -> usize {
        self.source.text.as_bytes()[..self.start].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }
}

/// One thing that is wrong: what was found and what is allowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { source, start, end } = &self.place;
        let shown = TextError { text: source.text.clone(), span: *start..*end, problem: &self.text };
        write!(f, "{}: line {}: {shown}", source.name, self.place.line())
    }
}

/// All that is wrong with a card, causes before what they cause: instances, the inner ones first, then connections; at most
/// [`NetlistErrors::MOST`] are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetlistErrors {
    /// The first of them.
    pub problems: Vec<Problem>,
    /// How many there are beyond those.
    pub n_more: usize,
}

impl NetlistErrors {
    /// As many problems are told of at once.
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

/// Problems while they are collected, in the order in which they were found. The same one, found again in another copy of a
/// module, counts once.
#[derive(Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
    known: BTreeSet<Problem>,
    n_more: usize,
}

/// As many are collected; a hostile file has no more of our memory.
const MOST_COLLECTED: usize = 1000;

impl Problems {
    pub fn add(&mut self, place: &Place, text: impl Into<String>) {
        if self.found.len() < MOST_COLLECTED {
            let problem = Problem { place: place.clone(), text: text.into() };
            if self.known.insert(problem.clone()) {
                self.found.push(problem);
            }
        } else {
            self.n_more += 1;
        }
    }

    /// `value`, unless something is wrong.
    pub fn none_or<T>(self, value: T) -> Result<T, NetlistErrors> {
        if self.found.is_empty() {
            return Ok(value);
        }
        let n_more = self.n_more + self.found.len().saturating_sub(NetlistErrors::MOST);
        Err(NetlistErrors { problems: self.found.into_iter().take(NetlistErrors::MOST).collect(), n_more })
    }
}

/// `; did you mean ...?`, if one of `candidates` is near.
pub(super) fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match wire::near::nearest(found, candidates) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    }
}

/// Names in backticks with commas between; of many, the first.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}
