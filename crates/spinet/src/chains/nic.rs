//! NICs of offload chains by name, and their services: from the NIC's file, from spinet, or from the user.

use super::experiment::{EngineSpec, ServiceEntry};
use crate::nics::{self, NicError, NicFile, Preset, Setting};
use diagnostics::near::{did_you_mean, nearest};
use panic::baseline::{PoolParams, StageParams};
use panic::model::NicModel;
use panic::params::ServiceSpec;
use panic::policy::{PolicyParams, PolicyTree};
use panic::unit::EngineParams;
use std::path::Path;
use toml::Table;

/// NICs of offload chains that are compiled in.
pub const PRESETS: &[Preset] = &[
    Preset { name: "panic", text: include_str!("../../../../presets/panic.toml") },
    Preset { name: "panic-rtl", text: include_str!("../../../../presets/panic-rtl.toml") },
    Preset { name: "panic-asic", text: include_str!("../../../../presets/panic-asic.toml") },
    Preset { name: "pipeline", text: include_str!("../../../../presets/pipeline.toml") },
    Preset { name: "manycore", text: include_str!("../../../../presets/manycore.toml") },
    Preset { name: "rmt", text: include_str!("../../../../presets/rmt.toml") },
];

/// Services that come with spinet, each named after its engine.
const SERVICES: &str = include_str!("../../../../presets/panic-services.toml");

/// The engine of services that are cores.
const RISCV: &str = include_str!("../../../../presets/units/riscv.toml");

/// Keys that only files of such NICs have.
const KEYS: [&str; 2] = ["model", "flit_bytes"];

/// An invalid service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("there is no engine `{found}`, must be one of {known} or a table with its parameters{}",
            did_you_mean(near.as_ref()))]
    NoEngine { found: String, known: String, near: Option<String> },
    #[error("there is no service `{found}` in the NIC's file that could be changed{}; a new one says what its engine is",
            near.as_ref().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")))]
    NoService { found: String, near: Option<String> },
    #[error("`{found}` is the name of two services, each must have its own")]
    Twice { found: String },
    #[error("set: {problem}")]
    Set { problem: String },
}

/// Returns true if `nic` runs offload chains: a preset, or a file with keys that only such files have.
pub fn is_meant_by(nic: &str, base_dir: &Path) -> bool {
    match NicFile::open(nic, base_dir, &text_of) {
        Ok(NicFile { text, .. }) => match toml::from_str::<Table>(&text) {
            Ok(table) => KEYS.iter().any(|key| table.contains_key(*key)) && !table.contains_key("instances"),
            Err(_) => text.lines().any(|line| line.trim_start().starts_with(KEYS[1])),
        },
        Err(_) => false,
    }
}

/// The NIC called `nic`, a preset or a file relative to `base_dir`, after `settings`. The result is checked.
pub fn load(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<NicModel, NicError> {
    let source = NicFile::open(nic, base_dir, &text_of)?;
    let (file, text) = (&source.file, &source.text);
    let has_model = toml::from_str::<Table>(text).is_ok_and(|table| table.contains_key("model"));
    let model = match model_of(text) {
        Some((name, rest)) if name == "panic" => NicModel::Panic(source.read(&rest)?),
        Some((name, rest)) if name == "pipeline" => NicModel::Pipeline(source.read(&rest)?),
        Some((name, rest)) if name == "manycore" => NicModel::Manycore(source.read(&rest)?),
        Some((name, rest)) if name == "rmt-only" => NicModel::RmtOnly(source.read(&rest)?),
        _ if has_model => source.read(text)?,
        _ => NicModel::Panic(source.read(text)?),
    };
    model.check().map_err(|problem| NicError::Chains { file: file.clone(), problem })?;
    set(model, settings, file)
}

/// Returns the value of the key `model`, and the text with blanks in its place. Serde reads a tagged table as a whole,
/// and would lose the positions that errors name.
fn model_of(text: &str) -> Option<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Head {
        model: toml::Spanned<String>,
    }
    let model = toml::from_str::<Head>(text).ok()?.model;
    let span = model.span();
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let rest = format!("{}{}{}", &text[..start], " ".repeat(span.end - start), &text[span.end..]);
    Some((model.into_inner(), rest))
}

/// The text of a NIC's file; with settings, the resulting values.
pub fn show(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<String, NicError> {
    let params = load(nic, settings, base_dir)?;
    if settings.is_empty() {
        return Ok(NicFile::open(nic, base_dir, &text_of)?.text);
    }
    Ok(toml::to_string(&params).expect("parameters are tables of numbers and words"))
}

/// The same NIC with other values. Errors call it `file`.
pub fn set(params: NicModel, settings: &[Setting], file: &str) -> Result<NicModel, NicError> {
    if settings.is_empty() {
        return Ok(params);
    }
    let table = Table::try_from(&params).expect("parameters are tables of numbers and words");
    let params: NicModel = nics::apply(table, settings)?;
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
    let mut file: File =
        toml::from_str(SERVICES).unwrap_or_else(|error| panic!("presets/panic-services.toml: {error}"));
    let core = toml::from_str(RISCV).unwrap_or_else(|error| panic!("presets/units/riscv.toml: {error}"));
    file.service.push(blank("riscv", 1, 2, core)); // source: 6 (one core), 4.3.1 (two credits)
    file.service
}

/// The services of a NIC. For NICs other than PANIC, missing properties are those of one unit with one credit.
pub fn services_of(nic: &NicModel) -> Vec<ServiceSpec> {
    let spec = |name: &str, units: u32, engine: &EngineParams| blank(name, units, 1, engine.clone());
    match nic {
        NicModel::Panic(params) => params.services.clone(),
        NicModel::Pipeline(params) => params.stages.iter().map(|stage| spec(&stage.name, 1, &stage.engine)).collect(),
        NicModel::Manycore(params) => {
            params.services.iter().map(|pool| spec(&pool.name, pool.units, &pool.engine)).collect()
        }
        NicModel::RmtOnly(params) => {
            let engine = services().remove(0).engine; // No stage has this service; the packets go to the host.
            params.host_services.iter().map(|name| spec(name, 1, &engine)).collect()
        }
    }
}

/// Sets the services of a NIC, with the properties that this kind of NIC has.
pub fn set_services(nic: &mut NicModel, found: Vec<ServiceSpec>) {
    match nic {
        NicModel::Panic(params) => params.services = found,
        NicModel::Pipeline(params) => {
            let stage = |ServiceSpec { name, engine, .. }| StageParams { name, engine };
            params.stages = found.into_iter().map(stage).collect();
        }
        NicModel::Manycore(params) => {
            let pool = |ServiceSpec { name, units, engine, .. }| PoolParams { name, units, engine };
            params.services = found.into_iter().map(pool).collect();
        }
        NicModel::RmtOnly(params) => params.host_services = found.into_iter().map(|service| service.name).collect(),
    }
}

/// Raises the number of traffic classes of a NIC to at least `least`.
pub fn set_classes(nic: &mut NicModel, least: usize) {
    let n_classes = match nic {
        NicModel::Panic(params) => &mut params.n_classes,
        NicModel::Pipeline(params) => &mut params.card.n_classes,
        NicModel::Manycore(params) => &mut params.card.n_classes,
        NicModel::RmtOnly(params) => &mut params.card.n_classes,
    };
    *n_classes = least.max(*n_classes);
}

/// Number of the host's receive queues, and of its transmit queues.
pub fn host_queues(nic: &NicModel) -> (u32, u32) {
    match nic {
        NicModel::Panic(params) => (params.dma.rx_queues, params.dma.tx_queues),
        // assumed: the host of other NICs accepts all packets, on as many queues as a PANIC may have.
        _ => (1024, 0),
    }
}

fn blank(name: &str, units: u32, credits: u32, engine: EngineParams) -> ServiceSpec {
    let policy = PolicyTree::of(PolicyParams::Fifo);
    ServiceSpec { name: name.to_owned(), units, credits, engine, flow_affinity: false, policy }
}

/// The service that an entry describes: one of the NIC's services with changes, or a new one.
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
            let new = || blank(&entry.name, 1, 2, engine.clone()); // source: 4.3.1 for the credits
            ServiceSpec { engine: engine.clone(), ..same.cloned().unwrap_or_else(new) }
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

/// An engine with changed values. The last part of a path suffices if it is unique.
fn set_engine(engine: &EngineParams, settings: &[Setting]) -> Result<EngineParams, ServiceError> {
    if settings.is_empty() {
        return Ok(engine.clone());
    }
    let refuse = |error: NicError| ServiceError::Set { problem: error.to_string().replacen("set: ", "", 1) };
    let table = Table::try_from(engine).expect("parameters are tables of numbers and words");
    let paths = nics::paths(&table, "");
    let whole = |(key, value): &Setting| {
        let mut ends = paths.iter().filter(|path| *path == key || path.ends_with(&format!(".{key}")));
        let key = match (ends.next(), ends.next()) {
            (Some(only), None) => only.clone(),
            _ => key.clone(),
        };
        (key, value.clone())
    };
    let settings: Vec<Setting> = settings.iter().map(whole).collect();
    nics::apply(table, &settings).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_taken_out_and_all_else_keeps_its_place() {
        let (model, rest) = model_of("a = 1\nmodel = \"rmt-only\" # why\n[t]\n").expect("a file with a model");
        assert_eq!((model.as_str(), rest.as_str()), ("rmt-only", "a = 1\n                   # why\n[t]\n"));
        assert_eq!(model_of("a = 1\n"), None);
    }

    #[test]
    fn every_preset_and_every_service_is_right() {
        for preset in PRESETS {
            load(preset.name, &[], Path::new("")).unwrap_or_else(|error| panic!("{error}"));
        }
        for service in services() {
            let mut params = load("panic", &[], Path::new("")).unwrap_or_else(|error| panic!("{error}"));
            let name = service.name.clone();
            set_services(&mut params, vec![service]);
            params.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
