//! Errors of invalid parameters, and the checks that return them.

use std::fmt::{Debug, Display};

/// A parameter with an invalid value, alone or in combination with another.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} is {found}, must be {allowed}")]
pub struct ParamError {
    /// Path of the parameter as in files: `cluster.n_cores`.
    pub key: String,
    /// The value found.
    pub found: String,
    /// The values allowed.
    pub allowed: String,
}

impl ParamError {
    /// The same error with the key inside `table`.
    pub fn inside(mut self, table: &str) -> Self {
        self.key = format!("{table}.{}", self.key);
        self
    }

    /// Adds a reason why only these values are allowed.
    pub fn because(mut self, why: &str) -> Self {
        self.allowed = format!("{}, {why}", self.allowed);
        self
    }
}

/// Returns an error unless `holds`.
pub fn must(key: &str, found: impl Display, holds: bool, allowed: impl FnOnce() -> String) -> Result<(), ParamError> {
    match holds {
        true => Ok(()),
        false => Err(ParamError { key: key.to_owned(), found: found.to_string(), allowed: allowed() }),
    }
}

/// Checks that a number is within bounds.
pub fn within<T: Copy + PartialOrd + Display>(key: &str, found: T, least: T, most: T) -> Result<(), ParamError> {
    must(key, found, (least..=most).contains(&found), || format!("{least} to {most}"))
}

/// Checks that a value is in a list.
pub fn one_of<T: Copy + PartialEq + Display + Debug>(key: &str, found: T, allowed: &[T]) -> Result<(), ParamError> {
    must(key, found, allowed.contains(&found), || format!("one of {allowed:?}"))
}

/// Checks that a number is a power of two within bounds.
pub fn power_of_two(key: &str, found: u32, least: u32, most: u32) -> Result<(), ParamError> {
    let holds = found.is_power_of_two() && (least..=most).contains(&found);
    must(key, found, holds, || format!("a power of two from {least} to {most}"))
}
