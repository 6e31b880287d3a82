//! The card of `presets/panic.toml` against what the prototype did and what the paper says.

mod bench;
mod models;
mod prototype;
