//! TOML and JSON files into types, with errors that show the line and the word that may have been meant.

use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Range;
use wire::near::teach;
use wire::text::TextError;

/// A text that is not what its type says: file, line, what is wrong, the line itself with carets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {text}", line.map_or_else(String::new, |line| format!(": line {line}")))]
pub struct TextFileError {
    /// Name of the file.
    pub file: String,
    /// Line of it, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong, and the place.
    pub text: String,
}

/// A line of a file, in front of what is wrong there; nothing where the line is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(Option<(String, usize)>);

impl Place {
    /// This line of a file, from 1.
    pub fn new(file: &str, line: Option<usize>) -> Self {
        Place(line.map(|line| (file.to_owned(), line)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((file, line)) => write!(f, "{file}: line {line}: "),
            None => Ok(()),
        }
    }
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON with the same keys.
    Json,
}

/// Reads `text`, which came from `file`.
pub fn read<T: DeserializeOwned>(text: &str, file: &str, format: Format) -> Result<T, TextFileError> {
    match format {
        Format::Toml => toml::from_str(text).map_err(|e| {
            let found = e.span().and_then(|span| text.get(span));
            let header = found.filter(|header| header.starts_with('['));
            let said = match (e.message(), found) {
                ("u64 value was too large", Some(number)) => {
                    format!("found the number {number}, must be a whole number below 2^63")
                }
                (message, _) => teach(message),
            };
            let message = said.replace("[[name]]", &header.map_or("[[name]]".into(), |h| format!("[{h}]")));
            at(text, file, e.span(), &message)
        }),
        Format::Json => serde_json::from_str(text).map_err(|e| {
            let message = e.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            TextFileError { file: file.into(), line: None, text: teach(message) }
        }),
    }
}

/// The problem `message` at these bytes of `text`.
pub fn at(text: &str, file: &str, span: Option<Range<usize>>, message: &str) -> TextFileError {
    let Some(span) = span.filter(|span| span.start <= text.len()) else {
        return TextFileError { file: file.into(), line: None, text: message.into() };
    };
    let line = Some(text.as_bytes()[..span.start].iter().filter(|&&byte| byte == b'\n').count() + 1);
    let shown = TextError { text: text.into(), span, problem: message.to_owned() };
    TextFileError { file: file.into(), line, text: shown.to_string() }
}

/// Bytes of the value at this path of keys in a TOML text; list positions are written as numbers.
pub fn span_of(text: &str, path: &[&str]) -> Option<Range<usize>> {
    use toml::de::{DeTable, DeValue};
    let root = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let mut value = root.get_ref().get(*first)?;
    for key in rest {
        value = match value.get_ref() {
            DeValue::Table(table) => table.get(*key)?,
            DeValue::Array(array) => array.get(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value.span())
}

/// Where a key stands in a text: its line, where that is known, and its path as people write it, `chain[1].match`. Of a key that
/// the text does not have, the nearest around it counts.
pub fn place_of(text: &str, format: Format, path: &[String]) -> (Option<usize>, String) {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let found = || (1..=parts.len()).rev().find_map(|n| span_of(text, &parts[..n]));
    let span = if format == Format::Toml { found() } else { None };
    let newlines = |end: usize| text.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count();
    let key = path.iter().fold(String::new(), |key, part| match part.parse::<usize>() {
        Ok(index) => format!("{key}[{index}]"),
        Err(_) if key.is_empty() => part.clone(),
        Err(_) => format!("{key}.{part}"),
    });
    (span.map(|span| newlines(span.start) + 1), key)
}
