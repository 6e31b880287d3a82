//! What an experiment with chains says, understood: every name looked up, every text parsed, every file there.

use super::classify::{Chain, NotAChain};
use super::experiment::{ChainExperiment, ChangeEntry};
use super::nic::{self, ServiceError};
use super::tenants::{Tenant, TenantError, Tenants};
use crate::experiment::{Problem as SourceProblem, Traffic};
use crate::nics::NicError;
use crate::toml_text::{self, Format, TextFileError};
use kernel::Time;
use panic::params::PanicParams;
use panic::world::Side;
use std::path::Path;
use wire::near::nearest;
use wire::pacing::{NotAPacing, Pacing};

/// An experiment that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The text is not one of such an experiment.
    #[error(transparent)]
    Text(#[from] TextFileError),
    /// A value in it makes no sense.
    #[error("{file}{}: {key}: {problem}", line.map_or_else(String::new, |line| format!(": line {line}")))]
    Value {
        /// Name of the file.
        file: String,
        /// Line, if known.
        line: Option<usize>,
        /// Path of the key: `chain[1].match`.
        key: String,
        /// What is wrong.
        problem: Box<Problem>,
    },
}

/// What can be wrong with a value.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Tenant(#[from] TenantError),
    #[error(transparent)]
    Chain(#[from] NotAChain),
    #[error(transparent)]
    Source(#[from] SourceProblem),
    #[error(transparent)]
    Pacing(#[from] NotAPacing),
    #[error("{0}")]
    Params(String),
    #[error("port is {found}, the NIC has {}", ports(*n))]
    Port { found: u8, n: u32 },
    #[error("there are no packets: name a capture or a generator such as `udp:size=64,count=1000`")]
    NoTraffic,
    #[error("there is no chain `{found}`{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    NoChain { found: String, near: Option<String> },
    #[error("there is no tenant `{found}`{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    NoTenant { found: String, near: Option<String> },
    #[error("the chain `{found}` is there already")]
    Installed { found: String },
    #[error("the chain `{found}` is not there")]
    NotInstalled { found: String },
    #[error("no service has the policy `weighted-fair` by name, so weights change nothing")]
    NoWeights,
    #[error("nothing changes, must have one or more of `install`, `remove`, `weights`")]
    Nothing,
}

fn ports(n: u32) -> String {
    if n == 1 { "port 0 only".into() } else { format!("ports 0 to {}", n - 1) }
}

/// A position in the experiment, and what is wrong there.
type Fault = (Vec<String>, Box<Problem>);

fn fault(path: &[&str], problem: impl Into<Problem>) -> Fault {
    (path.iter().map(|&part| part.to_owned()).collect(), Box::new(problem.into()))
}

/// An experiment that can be run.
#[derive(Clone, Debug)]
pub struct CheckedChains {
    /// As it was written, with paths made absolute.
    pub experiment: ChainExperiment,
    /// The NIC with all its services.
    pub nic: PanicParams,
    /// Whose packets there are.
    pub tenants: Vec<Tenant>,
    /// The chains, in order.
    pub chains: Vec<Chain>,
    /// Where packets go that no chain takes.
    pub otherwise: Option<Side>,
    /// Where packets come from.
    pub sources: Vec<CheckedSource>,
    /// Positions of services whose policy is `weighted-fair` by name.
    pub weighted: Vec<usize>,
    /// What changes, in order of time.
    pub changes: Vec<Change>,
}

/// Where packets come from.
#[derive(Clone, Debug)]
pub struct CheckedSource {
    /// The packets.
    pub traffic: Traffic,
    /// When they come.
    pub pacing: Pacing,
    /// At which network port.
    pub port: usize,
    /// How many at most.
    pub count: u64,
    /// When their time begins.
    pub start: Time,
}

/// A change, with names looked up.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub time: Time,
    /// Chains that are there from then on, and chains that are gone.
    pub install: Vec<usize>,
    /// See `install`.
    pub remove: Vec<usize>,
    /// Tenants and their weights.
    pub weights: Vec<(usize, u32)>,
}

impl CheckedChains {
    /// Reads an experiment from `text`, which came from `file`; its paths count from `base_dir`.
    pub fn read(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ChainError> {
        let experiment: ChainExperiment = toml_text::read(text, file, format)?;
        Self::check(experiment, base_dir).map_err(|(path, problem)| {
            let (line, key) = toml_text::place_of(text, format, &path);
            ChainError::Value { file: file.into(), line, key, problem }
        })
    }

    fn check(mut experiment: ChainExperiment, base_dir: &Path) -> Result<Self, Fault> {
        let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
        let preset = &mut experiment.nic.0.preset;
        let mut nic = nic::load(preset, &[], &base_dir).map_err(|problem| fault(&["nic"], problem))?;
        if preset.ends_with(".toml") {
            *preset = base_dir.join(&*preset).display().to_string();
        }
        let mut weighted = services(&experiment, &mut nic)?;
        let tenants = Tenants::of(&experiment).map_err(|(path, error)| (path, Box::new(error.into())))?;
        nic.n_classes = nic.n_classes.max(tenants.n_classes());
        for (service, policy) in std::mem::take(&mut weighted) {
            let (level, is_weighted) =
                tenants.level(&policy.0, &nic).map_err(|error| fault(&policy.1.path(), error))?;
            nic.services[service].policy = level;
            weighted.extend(is_weighted.then_some((service, policy)));
        }
        let set = &experiment.nic.0.set.0;
        let nic = nic::set(nic, set, "nic").map_err(|problem| fault(&["nic", "set"], problem))?;
        nic.check().map_err(|problem| fault(&["service"], Problem::Params(problem)))?;
        tenants.check_rates(&nic).map_err(|(path, error)| (path, Box::new(error.into())))?;

        let mut chains: Vec<Chain> = Vec::new();
        for (i, said) in experiment.chain.iter().enumerate() {
            let tenant =
                tenants.of_chain(&said.0).map_err(|error| fault(&["chain", &i.to_string(), "tenant"], error))?;
            let chain = Chain::check(&said.0, &nic, &tenants.all[tenant], tenant, &chains);
            chains.push(chain.map_err(|error| fault(&["chain", &i.to_string(), error.key()], error))?);
        }
        let otherwise =
            super::classify::exit(&experiment.otherwise, &nic).map_err(|error| fault(&["otherwise"], error))?;
        let sources = sources(&mut experiment, &nic, &base_dir)?;
        let weighted: Vec<usize> = weighted.into_iter().map(|(service, _)| service).collect();
        let changes = changes(&experiment, &chains, &tenants, !weighted.is_empty())?;
        Ok(CheckedChains { experiment, nic, tenants: tenants.all, chains, otherwise, sources, weighted, changes })
    }
}

/// Where a policy is said.
pub(super) enum Place {
    /// Of all services.
    All,
    /// Of the service at this position of the experiment.
    Service(String),
}

impl Place {
    fn path(&self) -> Vec<&str> {
        match self {
            Place::All => vec!["policy"],
            Place::Service(i) => vec!["service", i, "policy"],
        }
    }
}

type Said = (usize, (super::experiment::PolicySpec, Place));

/// Gives the NIC its services; says of which of them the experiment says a policy.
fn services(experiment: &ChainExperiment, nic: &mut PanicParams) -> Result<Vec<Said>, Fault> {
    let own = std::mem::take(&mut nic.services);
    if experiment.preset_services {
        nic.services = own.clone();
    }
    let mut policies: Vec<Said> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (i, said) in experiment.service.iter().enumerate() {
        let (entry, number) = (&said.0, i.to_string());
        if names.contains(&entry.name.as_str()) {
            let error = ServiceError::Twice { found: entry.name.clone() };
            return Err(fault(&["service", &number, "name"], error));
        }
        names.push(&entry.name);
        let service = nic::service(entry, &own).map_err(|error| fault(&["service", &number], error))?;
        let same = nic.services.iter().position(|other| other.name == service.name);
        let at = same.unwrap_or(nic.services.len());
        match same {
            Some(at) => nic.services[at] = service,
            None => nic.services.push(service),
        }
        policies.extend(entry.policy.clone().map(|policy| (at, (policy, Place::Service(number)))));
    }
    if let Some(policy) = &experiment.policy {
        let unsaid = |at: &usize| !policies.iter().any(|(said, _)| said == at);
        let rest: Vec<usize> = (0..nic.services.len()).filter(unsaid).collect();
        policies.extend(rest.into_iter().map(|at| (at, (policy.clone(), Place::All))));
    }
    Ok(policies)
}

fn sources(experiment: &mut ChainExperiment, nic: &PanicParams, base_dir: &Path) -> Result<Vec<CheckedSource>, Fault> {
    let mut sources = Vec::new();
    if experiment.traffic.is_empty() {
        return Err(fault(&["traffic"], Problem::NoTraffic));
    }
    let is_one = experiment.traffic.0.len() == 1;
    for (i, said) in experiment.traffic.0.iter_mut().enumerate() {
        let (number, entry) = (i.to_string(), &mut said.0);
        // A single source may stand without a list around it.
        let path = |key| if is_one { vec!["traffic", key] } else { vec!["traffic", number.as_str(), key] };
        let seed = experiment.seed.wrapping_add(i as u64);
        let traffic = Traffic::read(&mut entry.source, entry.snapped, seed, base_dir);
        let traffic = traffic.map_err(|problem| fault(&path("source"), problem))?;
        let pacing: Result<Pacing, NotAPacing> = entry.pacing.parse();
        let pacing = pacing.map_err(|problem| fault(&path("pacing"), problem))?;
        if u32::from(entry.port) >= nic.network_ports {
            return Err(fault(&path("port"), Problem::Port { found: entry.port, n: nic.network_ports }));
        }
        let start = entry.start.map_or(Time::ZERO, |start| start.time());
        let count = entry.count.unwrap_or(u64::MAX);
        sources.push(CheckedSource { traffic, pacing, port: entry.port.into(), count, start });
    }
    Ok(sources)
}

/// Everything that changes can change when its time comes.
fn changes(
    experiment: &ChainExperiment,
    chains: &[Chain],
    tenants: &Tenants,
    has_weights: bool,
) -> Result<Vec<Change>, Fault> {
    let mut installed: Vec<bool> = chains.iter().map(|chain| chain.installed).collect();
    let mut order: Vec<(usize, &ChangeEntry)> = experiment.at.iter().enumerate().collect();
    order.sort_by_key(|(_, entry)| entry.time.time());
    let mut changes = Vec::new();
    for (i, entry) in order {
        let number = i.to_string();
        let fail = |key: &str, problem: Problem| fault(&["at", &number, key], problem);
        if entry.install.is_empty() && entry.remove.is_empty() && entry.weights.is_empty() {
            return Err(fault(&["at", &number], Problem::Nothing));
        }
        let find = |key: &str, found: &String| {
            let near = || nearest(found, chains.iter().map(|chain| chain.name.as_str())).map(Into::into);
            let at = chains.iter().position(|chain| chain.name == *found);
            at.ok_or_else(|| fail(key, Problem::NoChain { found: found.clone(), near: near() }))
        };
        let (mut install, mut remove, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for name in entry.install.iter() {
            let chain = find("install", name)?;
            if std::mem::replace(&mut installed[chain], true) {
                return Err(fail("install", Problem::Installed { found: name.clone() }));
            }
            install.push(chain);
        }
        for name in entry.remove.iter() {
            let chain = find("remove", name)?;
            if !std::mem::replace(&mut installed[chain], false) {
                return Err(fail("remove", Problem::NotInstalled { found: name.clone() }));
            }
            remove.push(chain);
        }
        for (name, &weight) in &entry.weights {
            let near = || nearest(name, tenants.all.iter().map(|tenant| tenant.name.as_str())).map(Into::into);
            let tenant = tenants.all.iter().position(|tenant| tenant.name == *name);
            let tenant =
                tenant.ok_or_else(|| fail("weights", Problem::NoTenant { found: name.clone(), near: near() }))?;
            super::tenants::check_weight(weight).map_err(|error| fail("weights", error.into()))?;
            weights.push((tenant, weight));
        }
        if !weights.is_empty() && !has_weights {
            return Err(fail("weights", Problem::NoWeights));
        }
        changes.push(Change { time: entry.time.time(), install, remove, weights });
    }
    Ok(changes)
}
