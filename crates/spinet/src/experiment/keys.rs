//! Finds all keys of an experiment that its kind of card does not have, and all unknown keys of a card's file.

use crate::kinds::{self, Kind};
use crate::toml_text::{self, Format, TextFileError};
use diagnostics::near::{did_you_mean, nearest};
use schemars::JsonSchema;
use serde_json::Value;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A document, with the known places of its keys.
enum Node {
    Table(Vec<(String, Option<Range<usize>>, Node)>),
    List(Vec<Node>),
    Other,
}

impl Node {
    fn of_table(table: &DeTable<'_>) -> Node {
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            (name.to_string(), Some(key.span()), Node::of_toml(value.get_ref()))
        };
        Node::Table(table.iter().map(entry).collect())
    }

    fn of_toml(value: &DeValue<'_>) -> Node {
        match value {
            DeValue::Table(table) => Node::of_table(table),
            DeValue::Array(list) => Node::List(list.iter().map(|item| Node::of_toml(item.get_ref())).collect()),
            _ => Node::Other,
        }
    }

    fn of_json(value: &Value) -> Node {
        match value {
            Value::Object(map) => {
                Node::Table(map.iter().map(|(key, value)| (key.clone(), None, Node::of_json(value))).collect())
            }
            Value::Array(list) => Node::List(list.iter().map(Node::of_json).collect()),
            _ => Node::Other,
        }
    }
}

/// A key that is not in the schema.
struct Unknown<'a> {
    /// Names of the tables around it, without positions in lists.
    path: Vec<&'a str>,
    key: &'a str,
    span: Option<Range<usize>>,
    allowed: Vec<&'a str>,
}

/// The schemas of one place: the schema itself, the one that it refers to, or each of its alternatives.
fn alternatives<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    if let Some(target) = schema["$ref"].as_str() {
        return root.pointer(target.trim_start_matches('#')).map_or_else(Vec::new, |found| alternatives(found, root));
    }
    match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        Some(all) => all.iter().flat_map(|one| alternatives(one, root)).collect(),
        None => vec![schema],
    }
}

/// The keys of tables at one place, if there is exactly one schema, and true if it allows no other keys.
fn keys_at<'a>(schema: &'a Value, root: &'a Value) -> Option<(&'a serde_json::Map<String, Value>, bool)> {
    let mut tables = alternatives(schema, root).into_iter().filter(|one| one["properties"].is_object());
    let (first, more) = (tables.next()?, tables.next());
    let is_closed =
        ["additionalProperties", "unevaluatedProperties"].iter().any(|rule| first[rule] == Value::Bool(false));
    first["properties"].as_object().filter(|_| more.is_none()).map(|keys| (keys, is_closed))
}

/// The same, if it allows no other keys.
fn table_at<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a serde_json::Map<String, Value>> {
    keys_at(schema, root).filter(|&(_, is_closed)| is_closed).map(|(keys, _)| keys)
}

fn walk<'a>(node: &'a Node, schema: &'a Value, root: &'a Value, path: &[&'a str], found: &mut Vec<Unknown<'a>>) {
    match node {
        Node::Table(entries) => {
            let Some((properties, is_closed)) = keys_at(schema, root) else { return };
            for (key, span, value) in entries {
                match properties.get(key) {
                    Some(inner) => walk(value, inner, root, &[path, &[key]].concat(), found),
                    None if !is_closed => {}
                    None => found.push(Unknown {
                        path: path.to_vec(),
                        key,
                        span: span.clone(),
                        allowed: properties.keys().map(String::as_str).collect(),
                    }),
                }
            }
        }
        Node::List(items) => {
            let of_items = alternatives(schema, root).into_iter().find_map(|one| one.get("items"));
            let Some(of_items) = of_items else { return };
            items.iter().for_each(|item| walk(item, of_items, root, path, found));
        }
        Node::Other => {}
    }
}

/// Returns true if a kind's experiments have this key at this place, in a table or in the tables of a list.
fn has(kind: &Kind, path: &[&str], key: &str) -> bool {
    let root: &Value = &kind.schema;
    let mut at = root;
    for step in path {
        let Some(inner) = table_at(at, root).and_then(|properties| properties.get(*step)) else { return false };
        at = alternatives(inner, root).into_iter().find_map(|one| one.get("items")).unwrap_or(inner);
    }
    table_at(at, root).is_some_and(|properties| properties.contains_key(key))
}

impl Unknown<'_> {
    fn text(&self, kind: &Kind) -> String {
        let key = self.key;
        let others = kinds::ALL.iter().filter(|other| other.name != kind.name && has(other, &self.path, key));
        let such_as = |kind: &Kind| match kind.example {
            "" => String::new(),
            example => format!(" (such as {example})"),
        };
        let others: Vec<String> = others.map(|other| format!("a card that {}{}", other.does, such_as(other))).collect();
        let place = self.place();
        if !others.is_empty() {
            let reason = kind.lacks.iter().find(|(lacking, _)| self.path.is_empty() && *lacking == key);
            let reason = reason.map_or_else(String::new, |(_, reason)| format!("; {reason}"));
            return format!("`{key}`{place} is for {}, this card {}{reason}", others.join(" or for "), kind.does);
        }
        self.plain_text()
    }

    fn plain_text(&self) -> String {
        let near = nearest(self.key, self.allowed.iter().copied());
        let near = did_you_mean(near.as_ref());
        let allowed: Vec<String> = self.allowed.iter().map(|key| format!("`{key}`")).collect();
        format!("unknown key `{}`{}, expected one of {}{near}", self.key, self.place(), allowed.join(", "))
    }

    /// The part of the error that names the table around the key.
    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path.join(".")) }
    }
}

/// Refuses a text with keys that experiments of this kind do not have, naming all of them. A text that is not TOML or JSON passes:
/// its reader has a better error.
pub fn check(text: &str, file: &str, format: Format, kind: &Kind) -> Result<(), TextFileError> {
    let node = match format {
        Format::Toml => DeTable::parse(text).ok().map(|table| Node::of_table(table.get_ref())),
        Format::Json => serde_json::from_str(text).ok().map(|value| Node::of_json(&value)),
    };
    let Some(node) = node else { return Ok(()) };
    let found = unknown(&node, &kind.schema);
    one_error(found.iter().map(|unknown| (unknown, unknown.text(kind))), text, file).map_or(Ok(()), Err)
}

/// All unknown keys of a card's file, as one error. `skipped` are keys that the file may have at its top although the
/// parameters `T` do not.
pub fn unknown_in_card<T: JsonSchema>(text: &str, file: &str, skipped: &[&str]) -> Option<TextFileError> {
    let node = DeTable::parse(text).ok().map(|table| Node::of_table(table.get_ref()))?;
    let schema = schemars::schema_for!(T).to_value();
    let mut found = unknown(&node, &schema);
    found.retain(|unknown| !unknown.path.is_empty() || !skipped.contains(&unknown.key));
    one_error(found.iter().map(|unknown| (unknown, unknown.plain_text())), text, file)
}

/// The keys that a schema does not have, in the order of the text.
fn unknown<'a>(node: &'a Node, schema: &'a Value) -> Vec<Unknown<'a>> {
    let mut found = Vec::new();
    walk(node, schema, schema, &[], &mut found);
    found.sort_by_key(|unknown| unknown.span.as_ref().map(|span| span.start));
    found
}

/// One error about all of them; `None` if there are none.
fn one_error<'a>(
    found: impl Iterator<Item = (&'a Unknown<'a>, String)>,
    text: &str,
    file: &str,
) -> Option<TextFileError> {
    let mut errors = found.map(|(unknown, problem)| toml_text::at(text, file, unknown.span.clone(), &problem));
    let mut first = errors.next()?;
    first.text.extend(errors.map(|error| format!("\n{error}")));
    Some(first)
}
