//! Syntax of connections: `cpu[*].memory -> sram.requesters[4..]`.

use super::expression::{Scope, whole_number};

/// One side of a connection, as written.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// The whole text.
    pub text: String,
    pub instance: Selector,
    pub port: Selector,
}

/// A name and the indices that it selects.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    pub name: String,
    pub index: Index,
}

/// The index of a [`Selector`]; texts are arithmetic expressions.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// No brackets.
    Plain,
    /// `[*]`: all indices.
    All,
    /// `[3]`.
    One(String),
    /// `[2..6]`: from the first index to before the last.
    Range(String, String),
    /// `[2..]`: from this index on, as many as the other side has.
    From(String),
}

/// An [`Index`] with its expressions evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    Plain,
    All,
    One(usize),
    Between(usize, usize),
    From(usize),
}

impl Endpoint {
    /// Parses `instance.port`, each with or without brackets. The port name may contain dots.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let text = text.trim();
        let mut depth = 0;
        let dot = text.char_indices().find(|&(_, c)| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == '.' && depth == 0
        });
        let Some((at, _)) = dot else {
            return Err(format!("found `{text}`, must be `instance.port`"));
        };
        let (instance, port) = (Selector::parse(&text[..at])?, Selector::parse(&text[at + 1..])?);
        Ok(Endpoint { text: text.to_owned(), instance, port })
    }
}

impl Selector {
    fn parse(text: &str) -> Result<Selector, String> {
        let text = text.trim();
        let (name, index) = match text.split_once('[') {
            None => (text, Index::Plain),
            Some((name, rest)) => {
                let Some(inside) = rest.strip_suffix(']') else {
                    return Err(format!("found `{text}`, must end with `]`"));
                };
                let index = match (inside.trim(), inside.split_once("..")) {
                    ("*", _) => Index::All,
                    ("", _) => {
                        return Err(format!("found `{text}`, must have an index: [3], [*], [2..6] or [2..]"));
                    }
                    (_, Some((first, last))) if last.trim().is_empty() => Index::From(first.to_owned()),
                    (_, Some((first, last))) => Index::Range(first.to_owned(), last.to_owned()),
                    (one, None) => Index::One(one.to_owned()),
                };
                (name.trim(), index)
            }
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if !is_name {
            return Err(format!("found `{name}`, must be a name of letters, digits, `_` and `-`"));
        }
        Ok(Selector { name: name.to_owned(), index })
    }

    /// Evaluates the index with the parameters of `scope`.
    pub fn range(&self, scope: &Scope) -> Result<Range, String> {
        let number = |text: &str| {
            let value = whole_number(text, scope)?;
            usize::try_from(value)
                .map_err(|_| format!("`{}[{}]` is number {value}, must be at least 0", self.name, text.trim()))
        };
        Ok(match &self.index {
            Index::Plain => Range::Plain,
            Index::All => Range::All,
            Index::One(text) => Range::One(number(text)?),
            Index::From(first) => Range::From(number(first)?),
            Index::Range(first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return Err(format!(
                        "`{}`: the range is {first}..{last}, must end at or after its start",
                        self.name
                    ));
                }
                Range::Between(first, last)
            }
        })
    }
}

/// Parses both sides of `from -> to`.
pub(super) fn parse_wire(text: &str) -> Result<(Endpoint, Endpoint), String> {
    let mut sides = text.split("->");
    match (sides.next(), sides.next(), sides.next()) {
        (Some(from), Some(to), None) => Ok((Endpoint::parse(from)?, Endpoint::parse(to)?)),
        _ => Err(format!("found `{text}`, must be `instance.port -> instance.port`")),
    }
}
