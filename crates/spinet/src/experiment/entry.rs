//! Values of an experiment that may be written as a text, a table, or a list of either.

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// For the schema: a table, or a text as its short form.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum TextOr<T> {
    /// Stands for a table.
    Text(String),
    /// The table.
    Table(T),
}

/// For the schema of [`OneOrMany`].
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is made from it, and nothing else")]
enum OneOrManySchema<T> {
    /// Stands for a table.
    Text(String),
    /// The table.
    Table(T),
    /// Several entries.
    List(Vec<TextOr<T>>),
}

/// A type that has a short form as a text.
pub trait FromText: Sized {
    /// An example of such a text, for errors.
    const EXAMPLE: &'static str;

    /// Reads the text. An error is a text, too.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// A table, or its short form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "TextOr<T>")]
pub struct Entry<T>(pub T);

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Entry<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a table or a text such as `{}`", T::EXAMPLE)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Entry<T>, E> {
                T::from_text(text).map(Entry).map_err(|problem| E::custom(format!("`{text}`: {problem}")))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Entry)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// Reads a table or its short form.
pub fn text_or_table<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Entry::deserialize(deserializer).map(|entry| entry.0)
}

/// One entry, or a list of entries.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "OneOrManySchema<T>")]
pub struct OneOrMany<T>(pub Vec<Entry<T>>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    /// A single one.
    pub fn of(entry: T) -> Self {
        OneOrMany(vec![Entry(entry)])
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|entry| &entry.0)
    }

    /// All entries, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|entry| &mut entry.0)
    }
}

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text such as `{}`, a table, or a list of them", T::EXAMPLE)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                let entry = T::from_text(text).map_err(|problem| E::custom(format!("`{text}`: {problem}")))?;
                Ok(OneOrMany(vec![Entry(entry)]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany<T>, A::Error> {
                Ok(OneOrMany(vec![Entry(T::deserialize(MapAccessDeserializer::new(map))?)]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany<T>, A::Error> {
                let mut all = OneOrMany::default();
                while let Some(entry) = seq.next_element()? {
                    all.0.push(entry);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// A name or a path.
impl FromText for String {
    const EXAMPLE: &'static str = "echo.c";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}
