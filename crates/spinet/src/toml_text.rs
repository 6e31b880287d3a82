//! Reads TOML and JSON files into types. Errors show the line and suggest a similar word.

use diagnostics::near::explain_serde_error;
use diagnostics::text::TextError;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text that does not fit its type: file, line, fault, and the line itself with carets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {text}", line.map_or_else(String::new, |line| format!(": line {line}")))]
pub struct TextFileError {
    /// Name of the file.
    pub file: String,
    /// Its line number, from 1, if it is known.
    pub line: Option<usize>,
    /// The fault, and the place.
    pub text: String,
}

/// File and line of a key, for the front of an error; empty if the line is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPosition(Option<(String, usize)>);

impl KeyPosition {
    /// This line of a file, from 1.
    pub fn new(file: &str, line: Option<usize>) -> Self {
        KeyPosition(line.map(|line| (file.to_owned(), line)))
    }
}

impl fmt::Display for KeyPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((file, line)) => write!(f, "{file}: line {line}: "),
            None => Ok(()),
        }
    }
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON with the same keys.
    Json,
}

/// Largest size of a card's file or an experiment, in bytes. JSON from programs may contain long tables.
pub const MOST_BYTES: u64 = 1 << 20;
/// The same for JSON.
const MOST_JSON_BYTES: u64 = 64 << 20;
/// Maximum number of parts of a dotted key.
const MOST_PARTS: usize = 64;

/// Returns an error if a text is too long, or if a TOML key has too many parts. Each part is a table within a table,
/// and reading thousands of these takes minutes.
pub fn check_limits(text: &str, file: &str, format: Format) -> Result<(), TextFileError> {
    let most = if format == Format::Toml { MOST_BYTES } else { MOST_JSON_BYTES };
    if text.len() as u64 > most {
        let text = format!("the file has more than {most} bytes, the most that is read");
        return Err(TextFileError { file: file.into(), line: None, text });
    }
    match long_key(text) {
        Some(at) if format == Format::Toml => {
            let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            let text = format!("a key has more than {MOST_PARTS} parts, the most that is read");
            Err(TextFileError { file: file.into(), line: Some(line), text })
        }
        _ => Ok(()),
    }
}

/// The position at which a key of a TOML text has too many parts. Dots within texts and comments do not count.
fn long_key(text: &str) -> Option<usize> {
    let (bytes, mut at, mut dots) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'.' => dots += 1,
            b'\n' | b'=' | b',' | b'[' | b'{' => dots = 0,
            b'#' => at += bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at) - 1,
            quote @ (b'"' | b'\'') => at = end_of_text(bytes, at, quote) - 1,
            _ => {}
        }
        if dots >= MOST_PARTS {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The position after the text that begins at `at` with this quote. A text without an end extends to the end of its
/// line or of the file.
fn end_of_text(bytes: &[u8], at: usize, quote: u8) -> usize {
    let is_long = bytes[at..].starts_with(&[quote; 3]);
    let mark: &[u8] = if is_long { &[quote; 3] } else { &[quote] };
    let mut end = at + mark.len();
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if quote == b'"' => end += 1,
            b'\n' if !is_long => return end,
            _ if bytes[end..].starts_with(mark) => return end + mark.len(),
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

/// Reads `text`, which came from `file`.
pub fn read<T: DeserializeOwned>(text: &str, file: &str, format: Format) -> Result<T, TextFileError> {
    check_limits(text, file, format)?;
    match format {
        Format::Toml => read_toml(text).map_err(|(span, message)| at(text, file, span, &message)),
        Format::Json => serde_json::from_str(text).map_err(|e| {
            let message = e.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            TextFileError { file: file.into(), line: None, text: explain_serde_error(message) }
        }),
    }
}

/// Reads a TOML text. An error is a range, if it is known, and a message.
pub(crate) fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, (Option<Range<usize>>, String)> {
    toml::from_str(text).map_err(|e: toml::de::Error| {
        let span = e.span().map(|span| value_within(text, &span, e.message()).unwrap_or(span));
        let found = span.clone().and_then(|span| text.get(span));
        let header = found.filter(|header| header.starts_with('['));
        let message = match (e.message(), found) {
            ("u64 value was too large", Some(number)) => {
                format!("found the number {number}, must be a whole number below 2^63")
            }
            (message, _) => explain_serde_error(message),
        };
        (span, message.replace("[[name]]", &header.map_or("[[name]]".into(), |h| format!("[{h}]"))))
    })
}

/// The place of the wrong value, if an error gives that of the table around it: types that a key of the table chooses are
/// read from a copy, whose values have no places. None if the message names no value, or the table has several such values.
fn value_within(text: &str, table: &Range<usize>, message: &str) -> Option<Range<usize>> {
    let (kind, rest) = message.split_once(": ")?;
    let found = rest.rsplit_once(", expected ").filter(|_| matches!(kind, "invalid type" | "invalid value"))?.0;
    let root = DeTable::parse(text).ok()?;
    let mut open: Vec<(bool, &Spanned<DeValue<'_>>)> = root.get_ref().values().map(|value| (false, value)).collect();
    let mut places = Vec::new();
    while let Some((is_around, value)) = open.pop() {
        let is_within = is_around || value.span() == *table;
        match value.get_ref() {
            DeValue::Table(inner) => open.extend(inner.values().map(|value| (is_within, value))),
            DeValue::Array(list) => open.extend(list.iter().map(|value| (is_within, value))),
            leaf if is_within && shown(leaf).is_some_and(|shown| shown == found) => places.push(value.span()),
            _ => {}
        }
    }
    <[_; 1]>::try_from(places).ok().map(|[place]| place)
}

/// A value as serde's messages show it.
fn shown(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| format!("integer `{number}`"))
        }
        DeValue::Float(number) => {
            number.as_str().parse().ok().map(|number: f64| format!("floating point `{number:?}`"))
        }
        DeValue::String(text) => Some(format!("string {text:?}")),
        DeValue::Boolean(value) => Some(format!("boolean `{value}`")),
        _ => None,
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

/// The place of a key in a text: its line, if that is known, and its path in the form `chain[1].match`. If the text
/// does not contain the key, the place is that of the nearest table around it.
pub fn place_of(text: &str, format: Format, path: &[String]) -> (Option<usize>, String) {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let found = || (1..=parts.len()).rev().find_map(|n| span_of(text, &parts[..n]));
    let span = if format == Format::Toml { found() } else { None };
    let newlines = |end: usize| text.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count();
    (span.map(|span| newlines(span.start) + 1), show_path(path))
}

/// The path of a key in the form `chain[1].match`.
pub fn show_path(path: &[String]) -> String {
    path.iter().fold(String::new(), |key, part| match part.parse::<usize>() {
        Ok(index) => format!("{key}[{index}]"),
        Err(_) if key.is_empty() => part.clone(),
        Err(_) => format!("{key}.{part}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, want: Expect) {
        let read: Result<toml::Table, _> = read(text, "f.toml", Format::Toml);
        want.assert_eq(&read.map_or_else(|error| error.to_string(), |table| format!("{} keys", table.len())));
    }

    /// A type that a key chooses, as that of a topology.
    #[derive(Debug, serde::Deserialize)]
    #[serde(tag = "name", rename_all = "lowercase")]
    enum Shape {
        Tree {
            #[expect(dead_code, reason = "it is only read")]
            radix: u32,
            #[serde(default)]
            #[expect(dead_code, reason = "it is only read")]
            over: Vec<u8>,
        },
    }

    #[derive(Debug, serde::Deserialize)]
    struct Shapes {
        #[expect(dead_code, reason = "it is only read")]
        shape: Vec<Shape>,
    }

    #[test]
    fn errors_in_types_that_a_key_chooses_show_the_value() {
        let check = |text: &str, want: Expect| {
            let error = super::read::<Shapes>(text, "f.toml", Format::Toml).expect_err("it has an error");
            want.assert_eq(&error.to_string());
        };
        check(
            "[[shape]]\nname = 'tree'\nradix = 4\n\n[[shape]]\nname = 'tree'\nradix = -8",
            expect![[r#"
                f.toml: line 7: found the number -8, must be a whole number from 0 to 4294967295
                  radix = -8
                          ^^"#]],
        );
        check(
            "shape = [{ name = 'tree', radix = 2, over = [1, 'two'] }]",
            expect![[r#"
                f.toml: line 1: found the text "two", must be a whole number from 0 to 255
                  shape = [{ name = 'tree', radix = 2, over = [1, 'two'] }]
                                                                  ^^^^^"#]],
        );
        // Two such values: the table.
        check(
            "[[shape]]\nname = 'tree'\nradix = 300\nover = [300]",
            expect![[r#"
                f.toml: line 1: found the number 300, must be a whole number from 0 to 255
                  [[shape]]
                  ^^^^^^^^^"#]],
        );
    }

    #[test]
    fn keys_and_files_have_limits() {
        let key = |parts: usize| vec!["a"; parts].join(".");
        check(&format!("{} = 1", key(64)), expect!["1 keys"]);
        for text in
            [format!("\n{} = 1", key(65)), format!("\n[{}]", key(100_000)), format!("\nb = {{ {} = 1 }}", key(65))]
        {
            check(&text, expect!["f.toml: line 2: a key has more than 64 parts, the most that is read"]);
        }
        check("\na = 'b'\n# it's a comment\nc.d = \"\\\"\"", expect!["2 keys"]);
        let dots = ".".repeat(100);
        check(
            &format!("a = '{dots}'\nb = \"{dots}\\\"{dots}\"\nc = \"\"\"\n{dots}\"\n\"\"\"\nd = 1 # {dots}"),
            expect!["4 keys"],
        );
        check(&"#".repeat(1 << 20), expect!["0 keys"]);
        check(
            &"#".repeat((1 << 20) + 1),
            expect!["f.toml: the file has more than 1048576 bytes, the most that is read"],
        );
    }
}
