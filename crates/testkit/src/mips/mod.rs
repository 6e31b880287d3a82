//! The same for MIPS: programs as text, programs at random, and the simplest machine there is.

pub mod plain;
pub mod program;
mod random_items;
pub mod text;
