//! The facade: reads an experiment, builds the system, runs it, returns results.

pub mod elf;
pub mod nics;
pub mod program;
pub mod toml_text;
