//! The kinds of cards: the name, the schema of experiments, and the start of a run.
//!
//! A new kind of card adds its line to [`ALL`].

use crate::chains::{ChainCard, ChainExperiment, ChainPackets, ChainSection, CheckedChains};
use crate::columns::TableSpec;
use crate::driver::OwnSharing;
use crate::experiment::{Checked, Experiment, Span, schema};
use crate::handlers::{HandlerCard, HandlerPackets, HandlerSection};
use crate::network::{NetworkCard, NetworkExperiment, NetworkPackets, NetworkSection};
use crate::paths::{self, Cause, PATHS};
use crate::run::{Run, RunError, Wanted};
use crate::summary::NoMore;
use crate::toml_text::{self, Format};
use crate::wired::{FirmwareExperiment, Setup, WiredCard, WiredSection};
use crate::{chains, goal, handlers, network, summary, wired};
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// A kind of card.
pub struct Kind {
    /// Its name, as the command and Python know it.
    pub name: &'static str,
    /// The function of its cards, as text that follows "a card that".
    pub does: &'static str,
    /// A preset of this kind, which is the default of its experiments.
    pub example: &'static str,
    /// True if its network ports simulate their lines: each frame takes time at the line's rate.
    pub has_lines: bool,
    /// Default of `stall_limit` in its experiments.
    pub stall_limit: Span,
    /// Schema of its experiments.
    pub schema: LazyLock<Value>,
    /// Tables of its runs.
    pub tables: &'static [TableSpec],
    /// Causes of time in its table of paths.
    pub causes: fn() -> &'static [Cause],
    /// Reasons for which its cards drop packets, and their meanings.
    pub drops: fn() -> Vec<(&'static str, String)>,
    /// Schemas of its counts of packets and of its section in the summary.
    pub summary: [fn() -> Value; 2],
    /// Keys that only experiments of this kind have.
    keys: &'static [&'static str],
    /// Keys of other kinds that are refused here, each with the reason.
    pub lacks: &'static [(&'static str, &'static str)],
    /// Returns true if the card of this name is of this kind; relative paths start at the folder.
    pub has: fn(&str, &Path) -> bool,
    /// An experiment with its defaults filled in.
    pub check: fn(&Text<'_>, &Wanted) -> Result<Value, RunError>,
    /// Builds the card of an experiment.
    pub start: fn(&Text<'_>, &Wanted, OwnPolicies) -> Result<Run, RunError>,
}

/// A user's policies.
#[derive(Default)]
pub struct OwnPolicies {
    /// For cards that run chains: by the names of services.
    pub services: chains::OwnPolicies,
    /// For cards that run handlers: by the names of the parts that tenants share.
    pub sharing: OwnSharing,
}

/// The text of an experiment.
pub struct Text<'a> {
    /// The text.
    pub text: &'a str,
    /// The file that it came from, for errors.
    pub file: &'a str,
    /// The folder at which relative paths in it start.
    pub base_dir: &'a Path,
    /// The format of the text.
    pub format: Format,
}

impl Text<'_> {
    fn handlers(&self, wanted: &Wanted) -> Result<Checked, RunError> {
        let read = if wanted.lines { Checked::read_idle } else { Checked::read };
        read(self.text, self.file, self.base_dir, self.format).map_err(RunError::new)
    }

    fn chains(&self, wanted: &Wanted) -> Result<CheckedChains, RunError> {
        let read = if wanted.lines { CheckedChains::read_idle } else { CheckedChains::read };
        read(self.text, self.file, self.base_dir, self.format).map_err(RunError::new)
    }

    fn modules(&self) -> Result<Setup, RunError> {
        Setup::read(self.text, self.file, self.base_dir, self.format).map_err(RunError::new)
    }
}

/// Cards that run handlers.
pub static HANDLERS: Kind = Kind {
    name: "handlers",
    does: "runs handlers",
    example: "pspin",
    has_lines: false,
    stall_limit: Span::from_fs(10_000_000_000_000),
    schema: LazyLock::new(schema::of::<Experiment>),
    tables: &[
        TableSpec { name: "packets", columns: handlers::table::COLUMNS, words: handlers::table::words },
        TableSpec { name: PATHS, columns: paths::COLUMNS, words: handlers::paths::words },
    ],
    causes: || &handlers::paths::CAUSES,
    drops: || reasons(pspin::delivery::DropReason::NAMES, pspin::delivery::DropReason::ABOUT),
    summary: [summary::schema_of::<HandlerPackets>, summary::schema_of::<HandlerSection>],
    keys: &["program", "context"],
    lacks: &[],
    has: |nic, base_dir| !chains::is_nic(nic, base_dir) && !wired::is_wired(nic, base_dir),
    check: |text, wanted| Ok(json(&text.handlers(wanted)?.experiment)),
    start: |text, wanted, own| {
        refuse_services(&own, &HANDLERS)?;
        let card = HandlerCard::with_policies(text.handlers(wanted)?, wanted, own.sharing).map_err(RunError::new)?;
        Ok(Run::of(card).erased())
    },
};
/// Cards that run chains of offloads.
pub static CHAINS: Kind = Kind {
    name: "chains",
    does: "runs chains of offloads",
    example: "panic",
    has_lines: true,
    stall_limit: Span::from_fs(10_000_000_000_000),
    schema: LazyLock::new(schema::of::<ChainExperiment>),
    tables: &[
        TableSpec { name: "packets", columns: chains::PACKET_COLUMNS, words: chains::words },
        TableSpec { name: "hops", columns: chains::HOP_COLUMNS, words: chains::words },
        TableSpec { name: PATHS, columns: paths::COLUMNS, words: chains::paths::words },
    ],
    causes: || &chains::paths::CAUSES,
    drops: || reasons(panic::drops::DropReason::NAMES, panic::drops::DropReason::ABOUT),
    summary: [summary::schema_of::<ChainPackets>, summary::schema_of::<ChainSection>],
    keys: &["chain", "service", "preset_services", "rmt"],
    lacks: &[],
    has: chains::is_nic,
    check: |text, wanted| Ok(json(&text.chains(wanted)?.experiment)),
    start: |text, wanted, own| {
        refuse_sharing(&own, &CHAINS)?;
        let card = ChainCard::with_policies(text.chains(wanted)?, wanted, own.services).map_err(RunError::new)?;
        Ok(Run::of(card).erased())
    },
};
/// Cards that are wired from modules.
pub static MODULES: Kind = Kind {
    name: "modules",
    does: "is wired from modules and runs firmware",
    example: "tigon2",
    has_lines: true,
    stall_limit: Span::from_fs(50_000_000_000_000),
    schema: LazyLock::new(schema::of::<FirmwareExperiment>),
    tables: &[
        TableSpec { name: "frames", columns: wired::FRAME_COLUMNS, words: wired::words },
        TableSpec { name: PATHS, columns: paths::COLUMNS, words: wired::paths::words },
    ],
    causes: || &wired::paths::CAUSES,
    drops: wired::drops,
    summary: [summary::schema_of::<NoMore>, summary::schema_of::<WiredSection>],
    keys: &["firmware", "profile"],
    lacks: &[
        ("tenant", "one firmware gets all frames, and the card cannot tell whose they are"),
        ("program", "its cores run the program in `firmware`"),
        ("context", "its firmware decides what to do with each frame"),
        ("chain", "its firmware decides what to do with each frame"),
        ("service", "a change of its parts is a change of its file, or of `nic.set`"),
        ("policy", "the arbiters of its parts have policies, which `nic.set` changes"),
    ],
    has: wired::is_wired,
    check: |text, _| Ok(json(&text.modules()?.experiment)),
    start: |text, wanted, own| {
        refuse_services(&own, &MODULES)?;
        refuse_sharing(&own, &MODULES)?;
        Ok(Run::of(WiredCard::new(text.modules()?, wanted).map_err(RunError::new)?).erased())
    },
};

/// Networks of cards.
pub static NETWORK: Kind = Kind {
    name: "network",
    does: "is a network of cards",
    example: "",
    has_lines: false,
    stall_limit: Span::from_fs(50_000_000_000_000),
    schema: LazyLock::new(schema::of::<NetworkExperiment>),
    tables: &[
        TableSpec { name: network::FRAMES, columns: network::FRAME_COLUMNS, words: network::words },
        network::MESSAGES,
        goal::OPERATIONS,
    ],
    causes: || &[],
    drops: network::drops,
    summary: [summary::schema_of::<NetworkPackets>, summary::schema_of::<NetworkSection>],
    keys: &["nodes", "links", "topology"],
    lacks: &[],
    has: |_, _| false,
    check: |text, _| Ok(json(&network::Setup::read(text).map_err(RunError::new)?.experiment)),
    start: |text, wanted, own| {
        refuse_services(&own, &NETWORK)?;
        refuse_sharing(&own, &NETWORK)?;
        let setup = network::Setup::read(text).map_err(RunError::new)?;
        Ok(Run::of(NetworkCard::new(setup, wanted).map_err(RunError::new)?).erased())
    },
};

/// All kinds.
pub static ALL: [&Kind; 4] = [&HANDLERS, &CHAINS, &MODULES, &NETWORK];

/// The kind of a card: its name, or the path of its file.
pub fn of_nic(nic: &str, base_dir: &Path) -> &'static Kind {
    ALL.iter().find(|kind| (kind.has)(nic, base_dir)).expect("a card that is of no other kind runs handlers")
}

/// The kind of card that an experiment is for: it has keys that only this kind has, or names a card of this kind.
pub fn of_experiment(text: &str, base_dir: &Path, format: Format) -> &'static Kind {
    let is_short = toml_text::check_limits(text, "", format).is_ok();
    let table: Option<serde_json::Map<String, Value>> = match format {
        _ if !is_short => None,
        Format::Toml => toml::from_str(text).ok(),
        Format::Json => serde_json::from_str(text).ok(),
    };
    let others = || ALL.into_iter().filter(|kind| kind.name != HANDLERS.name);
    let Some(table) = table else {
        // The kind's reader reports the error. Choose the kind that fits the text best.
        let is_header = |line: &str, key: &str| line == format!("[[{key}]]") || line == format!("[{key}]");
        let is_value =
            |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        let has = |key: &str| text.lines().map(str::trim).any(|line| is_header(line, key) || is_value(line, key));
        return others().find(|kind| kind.keys.iter().any(|key| has(key))).unwrap_or(&HANDLERS);
    };
    let nic = table.get("nic").and_then(|nic| nic.as_str().or_else(|| nic.get("preset")?.as_str()));
    if NETWORK.keys.iter().any(|key| table.contains_key(*key)) {
        return &NETWORK; // In a network, `nic` is the default card of the nodes.
    }
    let by_key = ALL.into_iter().find(|kind| kind.keys.iter().any(|key| table.contains_key(*key)));
    let by_nic = nic.and_then(|nic| others().find(|kind| (kind.has)(nic, base_dir)));
    by_nic.or(by_key).unwrap_or(&HANDLERS)
}

fn reasons<const N: usize>(names: [&'static str; N], about: [&str; N]) -> Vec<(&'static str, String)> {
    names.into_iter().zip(about.map(str::to_owned)).collect()
}

fn refuse_services(own: &OwnPolicies, kind: &Kind) -> Result<(), RunError> {
    refuse(own.services.is_empty(), kind, "of services")
}

fn refuse_sharing(own: &OwnPolicies, kind: &Kind) -> Result<(), RunError> {
    refuse(own.sharing.policies.is_empty(), kind, "of tenants")
}

fn refuse(is_empty: bool, kind: &Kind, what: &'static str) -> Result<(), RunError> {
    if is_empty { Ok(()) } else { Err(RunError::new(NoPolicies { does: kind.does, what })) }
}

/// The error of a user's policies on a kind of card that does not support them.
#[derive(Debug, thiserror::Error)]
#[error("policies: a card that {does} has none {what}")]
struct NoPolicies {
    does: &'static str,
    what: &'static str,
}

fn json(experiment: &impl serde::Serialize) -> Value {
    serde_json::to_value(experiment).expect("experiments are numbers and texts")
}
