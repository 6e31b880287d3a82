//! A parameter that cannot be, and the checks that say so.

use std::fmt::{Debug, Display};

/// A parameter that cannot be, alone or beside another.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} is {found}, must be {allowed}")]
pub struct ParamError {
    /// Path of the parameter, as files have it: `cluster.n_cores`.
    pub key: String,
    /// What it is.
    pub found: String,
    /// What it may be.
    pub allowed: String,
}

impl ParamError {
    /// The same parameter as part of this table.
    pub fn inside(mut self, table: &str) -> Self {
        self.key = format!("{table}.{}", self.key);
        self
    }

    /// The same, where another parameter has a say in what is allowed.
    pub fn because(mut self, why: &str) -> Self {
        self.allowed = format!("{}, {why}", self.allowed);
        self
    }
}

/// Refuses a parameter unless something holds.
pub fn must(key: &str, found: impl Display, holds: bool, allowed: impl FnOnce() -> String) -> Result<(), ParamError> {
    match holds {
        true => Ok(()),
        false => Err(ParamError { key: key.to_owned(), found: found.to_string(), allowed: allowed() }),
    }
}

/// A number within its bounds.
pub fn within<T: Copy + PartialOrd + Display>(key: &str, found: T, least: T, most: T) -> Result<(), ParamError> {
    must(key, found, (least..=most).contains(&found), || format!("{least} to {most}"))
}

/// One of these.
pub fn one_of<T: Copy + PartialEq + Display + Debug>(key: &str, found: T, allowed: &[T]) -> Result<(), ParamError> {
    must(key, found, allowed.contains(&found), || format!("one of {allowed:?}"))
}

/// A power of two within its bounds.
pub fn power_of_two(key: &str, found: u32, least: u32, most: u32) -> Result<(), ParamError> {
    let holds = found.is_power_of_two() && (least..=most).contains(&found);
    must(key, found, holds, || format!("a power of two from {least} to {most}"))
}
