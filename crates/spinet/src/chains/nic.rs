//! NICs of offload chains by name, and their services: those of the NIC's file, those that come with spinet, the user's own.

use super::experiment::{EngineSpec, ServiceEntry};
use crate::nics::{self, NicError, Preset, Setting};
use crate::toml_text::{self, Format};
use panic::params::{PanicParams, ServiceSpec};
use panic::policy::{Level, PolicyParams};
use panic::unit::EngineParams;
use std::path::Path;
use toml::{Table, Value};
use wire::near::nearest;

/// NICs of offload chains that are compiled in.
pub const PRESETS: &[Preset] = &[
    Preset { name: "panic", text: include_str!("../../../../presets/panic.toml") },
    Preset { name: "panic-asic", text: include_str!("../../../../presets/panic-asic.toml") },
];

/// Services that come with spinet, each named after its engine.
const SERVICES: &str = include_str!("../../../../presets/panic-services.toml");

/// Keys that files of such NICs have, and others do not.
const KEYS: [&str; 3] = ["ingress", "interconnect", "service"];

/// A service that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("there is no engine `{found}`, must be one of {known} or a table with its parameters{}",
            near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    NoEngine { found: String, known: String, near: Option<String> },
    #[error("there is no service `{found}` in the NIC's file that could be changed{}; a new one says what its engine is",
            near.as_ref().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")))]
    NoService { found: String, near: Option<String> },
    #[error("`{found}` is the name of two services, each must have its own")]
    Twice { found: String },
    #[error("set: {problem}")]
    Set { problem: String },
}

/// Whether `nic` is one of offload chains: a preset, or a file that has what only such files have.
pub fn is_meant_by(nic: &str, base_dir: &Path) -> bool {
    match text_of(nic, base_dir) {
        Ok((_, text)) => match toml::from_str::<Table>(&text) {
            Ok(table) => KEYS.iter().any(|key| table.contains_key(*key)) && !table.contains_key("instances"),
            Err(_) => text.lines().any(|line| line.trim_start().starts_with("[interconnect")),
        },
        Err(_) => false,
    }
}

/// The NIC called `nic`, a preset or a file beside `base_dir`, with `settings` over it; checked.
pub fn load(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<PanicParams, NicError> {
    let (file, text) = text_of(nic, base_dir)?;
    let params: PanicParams = toml_text::read(&text, &file, Format::Toml)?;
    params.check().map_err(|problem| NicError::Chains { file: file.clone(), problem })?;
    set(params, settings, &file)
}

/// The text of a NIC's file; with settings, the values that hold.
pub fn show(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<String, NicError> {
    let params = load(nic, settings, base_dir)?;
    if settings.is_empty() {
        return Ok(text_of(nic, base_dir)?.1);
    }
    Ok(toml::to_string(&params).expect("parameters are tables of numbers and words"))
}

/// The same NIC with other values; `file` is what errors call it.
pub fn set(params: PanicParams, settings: &[Setting], file: &str) -> Result<PanicParams, NicError> {
    if settings.is_empty() {
        return Ok(params);
    }
    let mut table = Table::try_from(&params).expect("parameters are tables of numbers and words");
    let mut params = params;
    for (key, value) in settings {
        nics::set(&mut table, key, value)?;
        params = Value::Table(table.clone()).try_into().map_err(|error| nics::not_a_value(key, value, &error))?;
    }
    let keys: Vec<&str> = settings.iter().map(|(key, _)| key.as_str()).collect();
    let named = |problem| NicError::Chains { file: format!("{file} with {}", keys.join(", ")), problem };
    params.check().map_err(named)?;
    Ok(params)
}

fn text_of(nic: &str, base_dir: &Path) -> Result<(String, String), NicError> {
    match PRESETS.iter().find(|preset| preset.name == nic) {
        Some(preset) => Ok((format!("presets/{nic}.toml"), preset.text.into())),
        None => nics::read_file(nic, base_dir),
    }
}

/// The services that come with spinet, in the order of their file.
pub fn services() -> Vec<ServiceSpec> {
    #[derive(serde::Deserialize)]
    struct File {
        service: Vec<ServiceSpec>,
    }
    let file: File = toml::from_str(SERVICES).unwrap_or_else(|error| panic!("presets/panic-services.toml: {error}"));
    file.service
}

/// A service as an entry makes it of one of the NIC's, or of none.
pub fn service(entry: &ServiceEntry, own: &[ServiceSpec]) -> Result<ServiceSpec, ServiceError> {
    let of_same_name = own.iter().find(|service| service.name == entry.name);
    let mut service = match (&entry.engine, of_same_name) {
        (Some(EngineSpec::Named(name)), same) => {
            let known = services();
            let found = known.iter().find(|service| service.name == *name).ok_or_else(|| no_engine(name, &known))?;
            let engine = found.engine.clone();
            ServiceSpec { engine, ..same.unwrap_or(found).clone() }
        }
        (Some(EngineSpec::Given(engine)), same) => {
            let blank = || ServiceSpec {
                name: entry.name.clone(),
                units: 1,
                credits: 2, // source: 4.3.1
                engine: engine.clone(),
                flow_affinity: false,
                policy: Level::of(PolicyParams::Fifo),
            };
            ServiceSpec { engine: engine.clone(), ..same.cloned().unwrap_or_else(blank) }
        }
        (None, Some(same)) => same.clone(),
        (None, None) => {
            let near = nearest(&entry.name, own.iter().map(|service| service.name.as_str()));
            return Err(ServiceError::NoService { found: entry.name.clone(), near: near.map(Into::into) });
        }
    };
    service.name = entry.name.clone();
    service.engine = set_engine(&service.engine, &entry.set.0)?;
    service.units = entry.units.unwrap_or(service.units);
    service.credits = entry.credits.unwrap_or(service.credits);
    service.flow_affinity = entry.flow_affinity.unwrap_or(service.flow_affinity);
    Ok(service)
}

fn no_engine(name: &str, known: &[ServiceSpec]) -> ServiceError {
    let names: Vec<&str> = known.iter().map(|service| service.name.as_str()).collect();
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let near = nearest(name, names).map(Into::into);
    ServiceError::NoEngine { found: name.into(), known: listed.join(", "), near }
}

/// An engine with other values; the last part of a path is enough where only one ends so.
fn set_engine(engine: &EngineParams, settings: &[Setting]) -> Result<EngineParams, ServiceError> {
    if settings.is_empty() {
        return Ok(engine.clone());
    }
    let refuse = |error: NicError| ServiceError::Set { problem: error.to_string().replacen("set: ", "", 1) };
    let mut table = Table::try_from(engine).expect("parameters are tables of numbers and words");
    let mut engine = engine.clone();
    for (key, value) in settings {
        let paths = nics::paths(&table, "");
        let mut ends = paths.iter().filter(|path| *path == key || path.ends_with(&format!(".{key}")));
        let key = match (ends.next(), ends.next()) {
            (Some(only), None) => only.clone(),
            _ => key.clone(),
        };
        nics::set(&mut table, &key, value).map_err(refuse)?;
        let read = Value::Table(table.clone()).try_into();
        engine = read.map_err(|error| refuse(nics::not_a_value(&key, value, &error)))?;
    }
    Ok(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_and_every_service_is_right() {
        for preset in PRESETS {
            load(preset.name, &[], Path::new("")).unwrap_or_else(|error| panic!("{error}"));
        }
        for service in services() {
            let mut params = load("panic", &[], Path::new("")).unwrap_or_else(|error| panic!("{error}"));
            let name = service.name.clone();
            params.services = vec![service];
            params.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
