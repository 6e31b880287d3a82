//! Checks an experiment with chains: looks up every name, parses every text, and opens every file.

use super::changes::{Change, changes};
use super::classify::{Chain, Chains, Wrong};
use super::experiment::ChainExperiment;
use super::nic::{self, ServiceError};
use super::tenants::{Tenant, TenantError, Tenants};
use crate::experiment::{self, CheckedSource, Ends, ExperimentError, NicSpec, Problem as SourceProblem};
use crate::files;
use crate::kinds;
use crate::nics::NicError;
use crate::run::Port;
use crate::toml_text::Format;
use diagnostics::near::did_you_mean;
use panic::model::NicModel;
use panic::params::ServiceSpec;
use panic::rmt::RmtError;
use panic::world::ExternalPort;
use std::path::Path;

/// An experiment with chains that cannot be run.
pub type ChainError = ExperimentError<Problem>;

/// The ways in which a value can be invalid.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Tenant(#[from] TenantError),
    #[error("{}", .0.problem)]
    Chain(RmtError),
    #[error("`{found}` is the name of two chains, each must have its own")]
    Name { found: String },
    #[error("chains stand in [[chain]], where they can have tenants")]
    ChainsInRmt,
    #[error("there is no chain and no table, so no packet is processed")]
    NothingToDo,
    #[error("this NIC has no policies: packets wait in order of arrival")]
    NoPolicies,
    #[error(transparent)]
    Source(#[from] SourceProblem),
    #[error("{0}")]
    Params(String),
    #[error("there is no chain `{found}`{}", did_you_mean(near.as_ref()))]
    NoChain { found: String, near: Option<String> },
    #[error("there is no tenant `{found}`{}", did_you_mean(near.as_ref()))]
    NoTenant { found: String, near: Option<String> },
    #[error("the chain `{found}` is there already")]
    Installed { found: String },
    #[error("there is no chain `{found}`")]
    NotInstalled { found: String },
    #[error("no service has the policy `weighted-fair` by name, so weights change nothing")]
    NoWeights,
    #[error("nothing changes, must have one or more of `install`, `remove`, `weights`, `entries`")]
    Nothing,
}

/// A position in the experiment, and its fault.
pub(super) type Fault = (Vec<String>, Box<Problem>);

pub(super) fn fault(path: &[&str], problem: impl Into<Problem>) -> Fault {
    (path.iter().map(|&part| part.to_owned()).collect(), Box::new(problem.into()))
}

/// An experiment that can be run.
#[derive(Clone, Debug)]
pub struct CheckedChains {
    /// As it was written, with paths made absolute.
    pub experiment: ChainExperiment,
    /// The NIC with all its services.
    pub nic: NicModel,
    /// The services.
    pub services: Vec<ServiceSpec>,
    /// The tenants, which own packets.
    pub tenants: Vec<Tenant>,
    /// The pipeline with the chains that are installed at the start.
    pub chains: Chains,
    /// Where packets come from: networks, then transmit queues.
    pub sources: Vec<SideSource>,
    /// Positions of services whose policy is `weighted-fair` by name.
    pub weighted: Vec<usize>,
    /// The changes, in order of time.
    pub changes: Vec<Change>,
}

/// A source of packets, and its port.
#[derive(Clone, Debug)]
pub struct SideSource {
    /// The packets.
    pub source: CheckedSource,
    /// Where they come in.
    pub side: ExternalPort,
    /// Its name in reports.
    pub name: String,
}

impl CheckedChains {
    /// Reads an experiment from `text`, which came from `file`. Relative paths in it start at `base_dir`.
    pub fn read(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ChainError> {
        let checked = Self::read_idle(text, file, base_dir, format)?;
        if checked.sources.is_empty() {
            let (path, problem) = fault(&["traffic"], SourceProblem::NoTraffic);
            return Err(ChainError::at((text, file, format), &path, problem));
        }
        Ok(checked)
    }

    /// The same, but an experiment without traffic is allowed, because packets may come from the caller.
    pub fn read_idle(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ChainError> {
        let experiment: ChainExperiment = experiment::read(text, file, format)?;
        Self::check(experiment, base_dir)
            .map_err(|(path, problem)| ChainError::at((text, file, format), &path, problem))
    }

    fn check(mut experiment: ChainExperiment, base_dir: &Path) -> Result<Self, Fault> {
        let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
        let NicSpec { preset, set } = &mut experiment.common.nic;
        let set = set.0.clone();
        let mut nic = nic::load(preset, &[], &base_dir).map_err(|problem| fault(&["nic"], problem))?;
        if preset.ends_with(".toml") {
            *preset = base_dir.join(&*preset).display().to_string();
        }
        let (services, policies) = services(&experiment, &nic)?;
        let tenants = Tenants::of(&experiment).map_err(|(path, error)| (path, Box::new(error.into())))?;
        nic::set_classes(&mut nic, tenants.n_classes());
        nic::set_services(&mut nic, services);
        let mut nic = nic::set(nic, &set, "nic").map_err(|problem| fault(&["nic", "set"], problem))?;
        let (n_classes, needed) = (nic.n_classes(), tenants.n_classes());
        if n_classes < needed {
            let problem = format!("n_classes is {n_classes}, must be at least {needed}: each tenant has one");
            return Err(fault(&["nic", "set"], Problem::Params(problem)));
        }
        // Policies need the final number of classes.
        let weighted = set_policies(&mut nic, &tenants, &experiment, &policies)?;
        nic.check().map_err(|problem| fault(&["service"], Problem::Params(problem)))?;
        let services = nic::services_of(&nic);
        programs(&mut experiment, &services, &base_dir)?;
        tenants.check_rates(&services).map_err(|(path, error)| (path, Box::new(error.into())))?;

        let chains = chains(&experiment, &nic, &tenants)?;
        let sources = sources(&mut experiment, &nic, &base_dir)?;
        let changes = changes(&experiment, &chains, &tenants, !weighted.is_empty())?;
        Ok(CheckedChains { experiment, nic, services, tenants: tenants.all, chains, sources, weighted, changes })
    }
}

/// Gives services their policies. Returns the positions of the services whose policy is `weighted-fair` by name.
fn set_policies(
    nic: &mut NicModel,
    tenants: &Tenants,
    experiment: &ChainExperiment,
    policies: &[ServicePolicy],
) -> Result<Vec<usize>, Fault> {
    let mut weighted = Vec::new();
    for (service, (policy, place)) in policies {
        if !matches!(nic, NicModel::Panic(_)) {
            return Err(fault(&place.path(), Problem::NoPolicies));
        }
        let (level, is_weighted) = tenants.level(policy, experiment, nic).map_err(|error| {
            let keys = match &error {
                TenantError::Level(error) => path_of(&error.at),
                _ => Vec::new(),
            };
            let place = place.path().into_iter().map(str::to_owned).chain(keys).collect();
            (place, Box::new(error.into()))
        })?;
        if let NicModel::Panic(params) = &mut *nic {
            params.services[*service].policy = level;
        }
        weighted.extend(is_weighted.then_some(*service));
    }
    Ok(weighted)
}

/// The keys of a path such as `branches[0].level`.
pub(super) fn path_of(at: &str) -> Vec<String> {
    let keys = at.replace('[', ".").replace(']', "");
    keys.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// Checks the programs of services: a service must have a program if its engine is a core, and otherwise must not. The
/// file must exist.
fn programs(experiment: &mut ChainExperiment, services: &[ServiceSpec], base_dir: &Path) -> Result<(), Fault> {
    for (i, listed) in experiment.service.iter_mut().enumerate() {
        let (entry, number) = (&mut listed.0, i.to_string());
        let Some(service) = services.iter().find(|service| service.name == entry.name) else { continue };
        let fail = |problem| fault(&["service", &number, "program"], Problem::Params(problem));
        if !entry.program.is_empty() && !service.engine.is_programmed() {
            return Err(fail("the engine of this service runs no program".into()));
        }
        for program in entry.program.iter_mut() {
            let path = base_dir.join(&program);
            files::open(&path).map_err(|error| fail(format!("{}: {error}", path.display())))?;
            *program = path.display().to_string();
        }
    }
    let has_program = |name: &str| {
        let own = experiment.service.iter().find(|listed| listed.0.name == name);
        own.is_some_and(|listed| !listed.0.program.is_empty())
    };
    let without = services.iter().find(|service| service.engine.is_programmed() && !has_program(&service.name));
    match without {
        Some(service) => {
            let problem = format!("`{}` is a core and has no `program`, which it must have", service.name);
            Err(fault(&["service"], Problem::Params(problem)))
        }
        None => Ok(()),
    }
}

/// The pipeline and the chains, with all names resolved.
fn chains(experiment: &ChainExperiment, nic: &NicModel, tenants: &Tenants) -> Result<Chains, Fault> {
    if experiment.rmt.as_ref().is_some_and(|rmt| !rmt.chains.is_empty()) {
        return Err(fault(&["rmt", "chains"], Problem::ChainsInRmt));
    }
    if experiment.chain.is_empty() && experiment.rmt.as_ref().is_none_or(|rmt| rmt.tables.is_empty()) {
        return Err(fault(&["chain"], Problem::NothingToDo));
    }
    // A chain keeps its position when it is removed and installed again.
    let mut in_order: Vec<usize> = (0..experiment.chain.len()).collect();
    in_order.sort_by_key(|&i| experiment.chain[i].0.order);
    let mut chains: Vec<Chain> = Vec::new();
    for (i, listed) in experiment.chain.iter().enumerate() {
        let (entry, number) = (&listed.0, i.to_string());
        if chains.iter().any(|other| other.params.name == entry.name) {
            return Err(fault(&["chain", &number, "name"], Problem::Name { found: entry.name.clone() }));
        }
        let tenant = tenants.of_chain(entry).map_err(|error| fault(&["chain", &number, "tenant"], error))?;
        let order = in_order.iter().position(|&other| other == i).unwrap_or(i) as u32;
        chains.push(Chain::new(entry, (tenant, &tenants.all[tenant]), nic, order));
    }
    let made = Chains::new(experiment.rmt.as_ref(), nic, chains, &experiment.otherwise);
    made.map_err(|wrong| {
        let (mut path, error) = match wrong {
            Wrong::Rmt(error) => (vec!["rmt".to_owned()], error),
            Wrong::Chain(i, error) => (vec!["chain".to_owned(), i.to_string()], error),
            Wrong::Otherwise(error) => {
                return fault(&["otherwise"], Problem::Chain(error));
            }
        };
        path.extend(path_of(&error.at));
        (path, Box::new(Problem::Chain(error)))
    })
}

/// The key of a policy in the experiment.
pub(super) enum PolicyKey {
    /// All services.
    All,
    /// The service at this position of the experiment.
    Service(String),
}

impl PolicyKey {
    fn path(&self) -> Vec<&str> {
        match self {
            PolicyKey::All => vec!["policy"],
            PolicyKey::Service(i) => vec!["service", i, "policy"],
        }
    }
}

type ServicePolicy = (usize, (super::experiment::PolicySpec, PolicyKey));

/// The services of a NIC and an experiment, and the services with a policy in the experiment.
fn services(experiment: &ChainExperiment, nic: &NicModel) -> Result<(Vec<ServiceSpec>, Vec<ServicePolicy>), Fault> {
    let own = nic::services_of(nic);
    let mut found = if experiment.preset_services { own.clone() } else { Vec::new() };
    let mut policies: Vec<ServicePolicy> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (i, listed) in experiment.service.iter().enumerate() {
        let (entry, number) = (&listed.0, i.to_string());
        if names.contains(&entry.name.as_str()) {
            let error = ServiceError::Twice { found: entry.name.clone() };
            return Err(fault(&["service", &number, "name"], error));
        }
        names.push(&entry.name);
        let service = nic::service(entry, &own).map_err(|error| fault(&["service", &number], error))?;
        let same = found.iter().position(|other| other.name == service.name);
        let at = same.unwrap_or(found.len());
        match same {
            Some(at) => found[at] = service,
            None => found.push(service),
        }
        policies.extend(entry.policy.clone().map(|policy| (at, (policy, PolicyKey::Service(number)))));
    }
    if let Some(policy) = &experiment.policy {
        let unsaid = |at: &usize| !policies.iter().any(|(said, _)| said == at);
        let rest: Vec<usize> = (0..found.len()).filter(unsaid).collect();
        policies.extend(rest.into_iter().map(|at| (at, (policy.clone(), PolicyKey::All))));
    }
    Ok((found, policies))
}

fn sources(experiment: &mut ChainExperiment, nic: &NicModel, base_dir: &Path) -> Result<Vec<SideSource>, Fault> {
    let ends = Ends { kind: &kinds::CHAINS, ports: nic.network_ports(), queues: nic::host_queues(nic).1 };
    let mut seed = experiment.common.seed;
    let sources = experiment.common.read_sources(&ends, |spec, port| {
        let side = match port {
            Port::Network(port) => ExternalPort::Network(*spec.port.insert(port)),
            Port::Host(queue) => ExternalPort::Host(*spec.queue.insert(queue)),
        };
        let source = spec.check(seed, base_dir)?;
        seed = seed.wrapping_add(1);
        Ok(SideSource { source, side, name: spec.source.clone() })
    });
    sources.map_err(|(path, problem)| (path, Box::new(problem.into())))
}
