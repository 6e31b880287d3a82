//! The facade: reads an experiment, builds the system, runs it, returns results.
//!
//! [`experiment::Checked::read`] checks an experiment, [`run::Run`] runs it, [`summary::Summary`] reports it.

pub mod captured;
pub mod chains;
mod check;
pub mod columns;
pub mod debug;
pub mod diff_trace;
pub mod digest;
pub mod driver;
pub mod elf;
pub mod exec;
pub mod exhaustion;
pub mod experiment;
pub mod files;
pub mod flows;
pub mod goal;
pub mod handlers;
pub mod histogram;
pub mod instructions;
pub mod kinds;
pub mod lines;
pub mod live;
pub mod matching;
pub mod milestones;
pub mod network;
pub mod nics;
pub mod offered;
pub mod paths;
pub mod profile;
pub mod program;
pub mod ranks;
pub mod room;
pub mod run;
pub mod schema;
pub mod streams;
pub mod summary;
pub mod toml_text;
pub mod tracks;
pub mod trial;
pub mod unit;
pub mod window;
pub mod wired;
pub mod worker;
