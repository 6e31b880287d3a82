//! A TOML text as a tree that records the place of every key and value.

use super::problem::{FilePlace, Problems, Source};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub place: FilePlace,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Neither list nor table.
    Plain(toml::Value),
    List(Vec<Node>),
    Table(Table),
}

/// Keys in the order of the file.
pub(super) type Table = Vec<(Key, Node)>;

/// A key and its place.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub name: String,
    pub place: FilePlace,
}

impl Node {
    /// Parses a text; a syntax error is a problem.
    pub fn read(source: &Arc<Source>, problems: &mut Problems) -> Option<Table> {
        match DeTable::parse(&source.text) {
            Ok(table) => match Node::of(source, table.span(), DeValue::Table(table.into_inner()), problems).value {
                Value::Table(table) => Some(table),
                _ => None,
            },
            Err(error) => {
                problems.add(&FilePlace::new(source, error.span().unwrap_or(0..0)), error.message());
                None
            }
        }
    }

    fn of(source: &Arc<Source>, span: std::ops::Range<usize>, value: DeValue, problems: &mut Problems) -> Node {
        let place = FilePlace::new(source, span);
        let value = match value {
            DeValue::Table(table) => {
                let mut keys: Table = table
                    .into_iter()
                    .map(|(key, node)| {
                        let (span, inner) = (node.span(), node.into_inner());
                        let key_place = FilePlace::new(source, key.span());
                        (
                            Key { name: key.into_inner().into_owned(), place: key_place },
                            Node::of(source, span, inner, problems),
                        )
                    })
                    .collect();
                keys.sort_by_key(|(key, _)| key.place.start());
                Value::Table(keys)
            }
            DeValue::Array(list) => Value::List(
                list.into_iter().map(|node| Node::of(source, node.span(), node.into_inner(), problems)).collect(),
            ),
            DeValue::String(text) => Value::Plain(toml::Value::String(text.into_owned())),
            DeValue::Boolean(is) => Value::Plain(toml::Value::Boolean(is)),
            DeValue::Datetime(time) => Value::Plain(toml::Value::Datetime(time)),
            DeValue::Integer(digits) => Value::Plain(toml::Value::Integer(
                i64::from_str_radix(digits.as_str(), digits.radix()).unwrap_or_else(|_| {
                    problems.add(&place, format!("the number is {digits}, must be -2^63 to 2^63 - 1"));
                    0
                }),
            )),
            DeValue::Float(digits) => Value::Plain(toml::Value::Float(digits.as_str().parse().unwrap_or_default())),
        };
        Node { place, value }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Plain(toml::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// Name of its type, for errors.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Table(_) => "a table",
            Value::List(_) => "a list",
            Value::Plain(value) => kind(value),
        }
    }
}

/// Name of a value's type, for errors.
pub(super) fn kind(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number with decimals",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a time",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}
