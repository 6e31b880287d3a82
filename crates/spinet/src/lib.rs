//! The facade: reads an experiment, builds the system, runs it, returns results.
//!
//! [`experiment::Checked::read`] understands an experiment, [`run::Run`] runs it, [`summary::Summary`] says what it was.

pub mod chains;
pub mod columns;
pub mod diff_trace;
pub mod digest;
pub mod driver;
pub mod elf;
pub mod exec;
pub mod experiment;
pub mod feed;
pub mod files;
pub mod handlers;
pub mod histogram;
pub mod host;
pub mod instructions;
pub mod kinds;
pub mod lines;
pub mod matching;
pub mod message_ids;
pub mod nics;
pub mod offered;
pub mod packets;
pub mod program;
pub mod record;
pub mod rules;
pub mod run;
pub mod schema;
pub mod stats;
pub mod streams;
pub mod summary;
pub mod table;
mod timeline;
pub mod toml_text;
mod tried;
pub mod unit;
pub mod wired;
pub mod worker;
