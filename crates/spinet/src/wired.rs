//! Cards that a file wires from modules. They are found by name, or by the path of the file.

mod card;
mod debug;
mod experiment;
mod fates;
mod frames;
pub mod paths;
mod rates;
mod remarks;
mod setup;
mod summary;
mod timeline;
mod traffic;

pub use card::{WiredCard, WiredError};
pub use experiment::{FirmwareExperiment, FirmwareSpec, LinkState, MemoryReadSpec, MemoryWriteSpec, WiredActionSpec};
pub use fates::{Fates, drops};
pub use frames::{FRAME_COLUMNS, words};
pub(crate) use setup::MOST_IMAGE_BYTES;
pub use setup::{Firmware, Setup};
pub use summary::{Rate, WiredSection, WiredSummary};
pub use traffic::{CardTrafficError, MOST_FRAMES};

use crate::nics::{self, Preset, Setting};
use crate::toml_text::{self, Format, TextFileError};
use blocks::netlist::{Catalog, Design, Kind, Netlist, NetlistErrors, PortSpec};
use diagnostics::near::{did_you_mean, nearest};
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// Cards wired from modules that are compiled in.
pub const PRESETS: &[Preset] = &[
    Preset { name: "tengig", text: include_str!("../../../presets/tengig.toml") },
    Preset { name: "tengig-events", text: include_str!("../../../presets/tengig-events.toml") },
    Preset { name: "tigon2", text: include_str!("../../../presets/tigon2.toml") },
    Preset { name: "tigon2-cached", text: include_str!("../../../presets/tigon2-cached.toml") },
];

/// Keys that files of cards wired from modules have, and others do not.
const WIRED_KEYS: &[&str] = &["instances", "modules", "base", "connections", "clocks", "name"];

/// A card that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum CardError {
    #[error("nic is `{found}`, must be {known}or the path of a card (*.toml){}",
            did_you_mean(near.as_ref()))]
    Unknown { found: String, known: String, near: Option<&'static str> },
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("there is no module `{found}`{}", near.map_or_else(|| "; `spinet nic modules` lists them".to_owned(), |near| format!("; did you mean `{near}`?")))]
    Module { found: String, near: Option<&'static str> },
    #[error(transparent)]
    Text(#[from] TextFileError),
    #[error(transparent)]
    Wiring(#[from] NetlistErrors),
}

/// Name and text of the card called `nic`: a preset, or a file relative to `base_dir`.
pub fn text_of(nic: &str, base_dir: &Path) -> Result<(String, String), CardError> {
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == nic) {
        return Ok((format!("presets/{nic}.toml"), preset.text.into()));
    }
    if !nic.ends_with(".toml") && !nic.contains(std::path::MAIN_SEPARATOR) {
        let known = PRESETS.iter().map(|preset| format!("`{}`, ", preset.name)).collect();
        return Err(CardError::Unknown {
            found: nic.into(),
            known,
            near: nearest(nic, nics::all().map(|preset| preset.name)),
        });
    }
    nics::read(nic, base_dir).map_err(|(file, source)| CardError::Read { file, source })
}

/// Returns true for a card that is wired from modules: a preset, or a file that has instances or derives from such a card.
pub fn is_wired(nic: &str, base_dir: &Path) -> bool {
    is_wired_within(nic, base_dir, nics::MOST_BASES)
}

fn is_wired_within(nic: &str, base_dir: &Path, bases: usize) -> bool {
    let Ok((file, text)) = text_of(nic, base_dir) else { return false };
    let Ok(table) = toml::from_str::<toml::Table>(&text) else {
        return text.lines().any(|line| line.trim_start().starts_with("[instances"));
    };
    match table.get("base").and_then(toml::Value::as_str) {
        Some(base) if nics::PRESETS.iter().chain(crate::chains::PRESETS).any(|preset| preset.name == base) => false,
        Some(base) if base.ends_with(".toml") && bases > 0 => {
            is_wired_within(base, Path::new(&file).parent().unwrap_or(base_dir), bases - 1)
        }
        _ => WIRED_KEYS.iter().any(|key| table.contains_key(*key)),
    }
}

/// The card called `nic` after `settings`. The result is checked.
pub fn design(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<Design, CardError> {
    let (file, text) = text_of(nic, base_dir)?;
    design_of(&file, &text, settings, base_dir)
}

/// All modules that a card may use.
fn catalog() -> Catalog {
    spinach_parts::add_to(spinach::catalog())
}

/// The card that `text` describes, checked; `file` is its name in errors, and relative paths start at its folder.
pub fn design_of(file: &str, text: &str, settings: &[Setting], base_dir: &Path) -> Result<Design, CardError> {
    toml_text::check_limits(text, file, Format::Toml)?;
    let find = |wanted: &str, by: &str| {
        let is_preset = PRESETS.iter().any(|preset| by == format!("presets/{}.toml", preset.name));
        let beside = if is_preset { base_dir } else { Path::new(by).parent().unwrap_or(base_dir) };
        text_of(wanted, beside).map_err(|error| error.to_string())
    };
    Ok(Netlist::read(file, text, settings, &find)?.design(&catalog())?)
}

/// The folder in `firmware/` with the firmware that the card's host drives; `None` if the card has no such host.
pub fn firmware_of(design: &Design) -> Option<&'static str> {
    spinach::hosts::kinds(design).first().map(|kind| kind.firmware)
}

/// All modules that a card may name, or the module called `name`: description, ports, parameters as a JSON schema, an
/// example.
pub fn modules(name: Option<&str>) -> Result<Value, CardError> {
    let catalog = catalog();
    let found: Vec<Value> =
        catalog.kinds().filter(|kind| name.is_none_or(|name| kind.name == name)).map(module).collect();
    match name {
        Some(name) if found.is_empty() => {
            let near = nearest(name, catalog.kinds().map(|kind| kind.name));
            Err(CardError::Module { found: name.into(), near })
        }
        _ => Ok(Value::Array(found)),
    }
}

fn module(kind: &Kind) -> Value {
    let example: toml::Table = toml::from_str(kind.example).unwrap_or_default();
    let ports: Vec<PortSpec> = (kind.ports)(&example).unwrap_or_default();
    let schema = crate::schema::without_links(&(kind.schema)().to_value());
    json!({ "name": kind.name, "about": kind.about, "ports": ports, "example": kind.example, "schema": schema })
}

#[cfg(test)]
mod tests {

    #[test]
    fn every_preset_is_right() {
        for preset in super::PRESETS {
            super::design(preset.name, &[], std::path::Path::new("")).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn every_module_shows_how_it_is_written() {
        for kind in super::catalog().kinds() {
            let example: toml::Table =
                toml::from_str(kind.example).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
            let ports = (kind.ports)(&example).unwrap_or_else(|problem| panic!("{}: {}", kind.name, problem.text));
            assert!(!ports.is_empty(), "{} has no ports", kind.name);
            for reserved in ["module", "clock", "count"] {
                let schema = (kind.schema)().to_value();
                assert!(schema["properties"].get(reserved).is_none(), "{}: a card's own key `{reserved}`", kind.name);
            }
        }
    }

    /// The card may be hostile: no number may make a module request thousands of ports.
    #[test]
    fn every_module_refuses_absurd_numbers_or_does_not_mind() {
        for kind in super::catalog().kinds() {
            let example: toml::Table = toml::from_str(kind.example).unwrap_or_default();
            let schema = (kind.schema)().to_value();
            let numbers =
                schema["properties"].as_object().into_iter().flatten().filter(|(_, value)| value["type"] == "integer");
            for (key, _) in numbers {
                for absurd in [0, -1, 3, 1_000_000, i64::from(u32::MAX), i64::MAX] {
                    let mut table = example.clone();
                    table.insert(key.clone(), toml::Value::Integer(absurd));
                    let n = (kind.ports)(&table).map_or(0, |ports| ports.len());
                    assert!(n <= 4096, "{}: {key} = {absurd} makes {n} ports", kind.name);
                }
            }
        }
    }
}
