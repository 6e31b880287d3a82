//! The facade: reads an experiment, builds the system, runs it, returns results.

pub mod elf;
pub mod experiment;
pub mod nics;
pub mod program;
pub mod toml_text;
pub mod digest; pub mod histogram; pub mod host;
