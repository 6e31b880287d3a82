//! TOML and JSON files into types, with errors that show the line and the word that may have been meant.

use serde::de::DeserializeOwned;
use std::ops::Range;
use wire::near::nearest;
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
            let header = e.span().and_then(|span| text.get(span)).filter(|header| header.starts_with('['));
            let message =
                teach(e.message()).replace("[[name]]", &header.map_or("[[name]]".into(), |h| format!("[{h}]")));
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

/// Adds the word that may have been meant to serde's message about an unknown one, which has all words in backticks:
/// first the one found, then those expected.
fn teach(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match quoted.next().filter(|_| is_unknown).and_then(|found| nearest(found, quoted)) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => said_plainly(message),
    }
}

/// What serde says about types, in the words of files: `invalid type: map, expected a sequence`.
fn said_plainly(message: &str) -> String {
    let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    else {
        return message.into();
    };
    let word = |text: &str| match text {
        "map" => "a table".to_owned(),
        "sequence" | "a sequence" => "a list".into(),
        "a map" | "struct" => "a table".into(),
        "a string" => "a text".into(),
        _ => match text.split_once(' ') {
            Some(("string", value)) => format!("the text {value}"),
            Some(("integer" | "floating", value)) => format!("the number {}", value.trim_start_matches("point ")),
            Some(("boolean", value)) => value.into(),
            Some(("struct", _)) => "a table".into(),
            _ => text.into(),
        },
    };
    let hint = if found == "map" && expected == "a sequence" { "; a list of tables is written [[name]]" } else { "" };
    format!("found {}, must be {}{hint}", word(found), word(expected))
}
