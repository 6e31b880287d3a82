//! The card of `presets/panic.toml` against the prototype and the paper.

mod bench;
mod models;
mod prototype;
