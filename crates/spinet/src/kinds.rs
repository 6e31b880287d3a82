//! The kinds of cards: what each is called, what its experiments may say.
//!
//! A new kind of card adds one line to [`ALL`].

use crate::cards::FirmwareExperiment;
use crate::chains::ChainExperiment;
use crate::experiment::{Experiment, schema};
use serde_json::Value;
use std::sync::LazyLock;

/// A kind of card.
pub struct Kind {
    /// Its name, as the command and Python know it.
    pub name: &'static str,
    /// What its cards do, after "a card that".
    pub does: &'static str,
    /// A preset of this kind.
    pub example: &'static str,
    /// Schema of its experiments.
    pub schema: LazyLock<Value>,
}

/// Cards that run handlers.
pub static HANDLERS: Kind =
    Kind { name: "handlers", does: "runs handlers", example: "pspin", schema: LazyLock::new(schema::of::<Experiment>) };
/// Cards that run chains of offloads.
pub static CHAINS: Kind = Kind {
    name: "chains",
    does: "runs chains of offloads",
    example: "panic",
    schema: LazyLock::new(schema::of::<ChainExperiment>),
};
/// Cards that are wired from modules.
pub static MODULES: Kind = Kind {
    name: "modules",
    does: "is wired from modules and runs firmware",
    example: "tigon2",
    schema: LazyLock::new(schema::of::<FirmwareExperiment>),
};

/// All kinds.
pub static ALL: [&Kind; 3] = [&HANDLERS, &CHAINS, &MODULES];
