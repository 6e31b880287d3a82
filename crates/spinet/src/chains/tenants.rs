//! Tenants, and the policies that follow from their weights, priorities and rates.

use super::experiment::{ChainEntry, ChainExperiment, PolicySpec};
use super::policies;
use crate::experiment::Span;
use diagnostics::near::{did_you_mean, nearest};
use panic::model::NicModel;
use panic::params::ServiceSpec;
use panic::policy::{Bucket, ClassService, PolicyParams, PolicyTree, PolicyTreeError};
use std::collections::BTreeSet;
use wire::units::parse_bps;

/// A tenant, whose packets are counted separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Its share.
    pub weight: u32,
    /// Its priority: lower is more urgent.
    pub priority: u32,
    /// Its traffic class.
    pub class: u8,
    /// Its rate in bits a second and its burst in bytes, if it has a limit.
    pub rate: Option<(u64, u32)>,
    /// Time that its packets may wait.
    pub slack: Option<Span>,
}

/// Invalid tenants.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    #[error("`{found}` is the name of two tenants, each must have its own")]
    Name { found: String },
    #[error("the name is empty, must be what chains and reports call the tenant")]
    NoName,
    #[error("class is {found}, which `{other}` already has")]
    Class { found: u8, other: String },
    #[error("there are {found} tenants, must be at most 256: each has a traffic class")]
    TooMany { found: usize },
    #[error("weight is {found}, must be 1 to 65536")]
    Weight { found: u32 },
    #[error("rate is `{found}`, must be bits a second from 100M to 10T, such as `10G`")]
    Rate { found: String },
    #[error("no service has the policy `leaky-bucket`, so a rate changes nothing")]
    NoBucket,
    #[error("there is no tenant `{found}`, must be the `name` of a [[tenant]]{}",
            did_you_mean(near.as_ref()))]
    None { found: String, near: Option<String> },
    #[error("there is no policy `{found}`, must be one of {}{}", policies::names().collect::<Vec<_>>().join(", "),
            did_you_mean(near.as_ref()))]
    NoPolicy { found: String, near: Option<&'static str> },
    #[error("{}", .0.problem)]
    Level(#[from] PolicyTreeError),
}

/// All tenants of an experiment.
pub struct Tenants {
    /// The listed tenants, then one for each chain without a tenant.
    pub all: Vec<Tenant>,
}

/// Checks a weight.
pub fn check_weight(weight: u32) -> Result<(), TenantError> {
    if (1..=65536).contains(&weight) { Ok(()) } else { Err(TenantError::Weight { found: weight }) }
}

impl Tenants {
    /// The tenants of an experiment; an error comes with its place.
    pub fn of(experiment: &ChainExperiment) -> Result<Tenants, (Vec<String>, TenantError)> {
        let mut all: Vec<Tenant> = Vec::new();
        let mut taken: Vec<u8> = Vec::new();
        for (i, spec) in experiment.tenant.iter().enumerate() {
            let fail = |key: &str, error| (vec!["tenant".to_owned(), i.to_string(), key.to_owned()], error);
            let entry = &spec.0;
            if entry.name.is_empty() {
                return Err(fail("name", TenantError::NoName));
            }
            if all.iter().any(|other| other.name == entry.name) {
                return Err(fail("name", TenantError::Name { found: entry.name.clone() }));
            }
            if let Some(class) = entry.class {
                let of_class = |(other, _): &(&Tenant, _)| other.class == class;
                let same = all.iter().zip(&experiment.tenant).filter(|(_, spec)| spec.0.class.is_some()).find(of_class);
                if let Some((other, _)) = same {
                    return Err(fail("class", TenantError::Class { found: class, other: other.name.clone() }));
                }
                taken.push(class);
            }
            let weight = entry.weight.unwrap_or(1);
            check_weight(weight).map_err(|error| fail("weight", error))?;
            let rate = entry.rate.as_ref().map(|text| {
                let bps = parse_bps(text).filter(|bps| (100_000_000..=10_000_000_000_000).contains(bps));
                bps.ok_or_else(|| fail("rate", TenantError::Rate { found: text.clone() }))
            });
            let rate = rate.transpose()?.map(|bps| (bps, entry.burst_bytes.unwrap_or(0)));
            let (priority, class) = (entry.priority.unwrap_or(0), entry.class.unwrap_or(0));
            all.push(Tenant { name: entry.name.clone(), weight, priority, class, rate, slack: entry.slack });
        }
        for chain in experiment.chain.iter().filter(|chain| chain.0.tenant.is_none()) {
            if !all.iter().any(|tenant| tenant.name == chain.0.name) {
                let name = chain.0.name.clone();
                all.push(Tenant { name, weight: 1, priority: 0, class: 0, rate: None, slack: None });
            }
        }
        let classes = experiment.tenant.iter().map(|spec| spec.0.class).chain(std::iter::repeat(None));
        let found = all.len();
        let mut free = (0..=u8::MAX).filter(|class| !taken.contains(class));
        for (tenant, _) in all.iter_mut().zip(classes).filter(|(_, class)| class.is_none()) {
            let too_many = || (vec!["tenant".to_owned()], TenantError::TooMany { found });
            tenant.class = free.next().ok_or_else(too_many)?;
        }
        Ok(Tenants { all })
    }

    /// Number of traffic classes that they need.
    pub fn n_classes(&self) -> usize {
        self.all.iter().map(|tenant| usize::from(tenant.class) + 1).max().unwrap_or(1)
    }

    /// Position of the tenant of a chain.
    pub fn of_chain(&self, chain: &ChainEntry) -> Result<usize, TenantError> {
        let wanted = chain.tenant.as_ref().unwrap_or(&chain.name);
        let position = self.all.iter().position(|tenant| tenant.name == *wanted);
        let near = || nearest(wanted, self.all.iter().map(|tenant| tenant.name.as_str())).map(Into::into);
        position.ok_or_else(|| TenantError::None { found: wanted.clone(), near: near() })
    }

    /// The owner of a class as text, if it has one.
    pub fn of_class(&self, class: usize) -> String {
        let tenant = self.all.iter().find(|tenant| usize::from(tenant.class) == class);
        tenant.map_or_else(String::new, |tenant| format!(" (`{}`)", tenant.name))
    }

    /// Classes of packets: those of tenants and chains; all classes if the pipeline's own tables may set others.
    fn used(&self, experiment: &ChainExperiment, n_classes: usize) -> BTreeSet<usize> {
        if experiment.rmt.is_some() {
            return (0..n_classes).collect();
        }
        let of_chains = experiment.chain.iter().filter_map(|chain| chain.0.class);
        let all = self.all.iter().map(|tenant| tenant.class).chain(of_chains).map(usize::from);
        all.filter(|&class| class < n_classes).collect()
    }

    /// The policy for this NIC, and true if it is `weighted-fair` by name.
    pub fn level(
        &self,
        policy: &PolicySpec,
        experiment: &ChainExperiment,
        nic: &NicModel,
    ) -> Result<(PolicyTree, bool), TenantError> {
        let name = match policy {
            PolicySpec::Given(table) => {
                let n_classes = nic.n_classes();
                let level = policies::complete(
                    policies::read(table, n_classes)?,
                    &self.used(experiment, n_classes),
                    n_classes,
                    self,
                )?;
                level.check(n_classes)?;
                return Ok((level, false));
            }
            PolicySpec::Named(name) => name.as_str(),
        };
        let Some((_, policy)) = PolicyParams::ALL.iter().find(|(known, _)| *known == name) else {
            return Err(TenantError::NoPolicy { found: name.into(), near: nearest(name, policies::names()) });
        };
        let mut policy = policy.clone();
        if let Some((_, numbers)) = policy.numbers_mut() {
            self.class_services(nic).iter().for_each(|service| numbers.push(service));
        }
        Ok((PolicyTree::of(policy), name == "weighted-fair"))
    }

    /// The weight and the rate of each class.
    fn class_services(&self, nic: &NicModel) -> Vec<ClassService> {
        let thousand_cycles_fs = u128::from(nic.edges().edge(1000).fs());
        let bucket = |(bps, burst_bytes): (u64, u32)| {
            let bytes = u128::from(bps) * thousand_cycles_fs / 8 / 1_000_000_000_000_000;
            let bytes_per_1000_cycles = u32::try_from(bytes).unwrap_or(u32::MAX).clamp(1, 1 << 30);
            Bucket { bytes_per_1000_cycles, burst_bytes }
        };
        let mut found = vec![ClassService::default(); nic.n_classes()];
        for tenant in &self.all {
            if let Some(service) = found.get_mut(usize::from(tenant.class)) {
                *service = ClassService { weight: tenant.weight, rate: tenant.rate.map(bucket) };
            }
        }
        found
    }

    /// A rate without a policy that enforces it is an error.
    pub fn check_rates(&self, services: &[ServiceSpec]) -> Result<(), (Vec<String>, TenantError)> {
        let is_bucket = |level: &PolicyTree| matches!(level.policy, PolicyParams::LeakyBucket { .. });
        let has_bucket = services.iter().any(|service| is_bucket(&service.policy));
        match self.all.iter().position(|tenant| tenant.rate.is_some() && !has_bucket) {
            Some(i) => Err((vec!["tenant".into(), i.to_string(), "rate".into()], TenantError::NoBucket)),
            None => Ok(()),
        }
    }
}

impl Tenant {
    /// Cycles that its packets may wait on this NIC. The default exceeds that of every other tenant.
    pub fn slack_cycles(&self, nic: &NicModel) -> u64 {
        self.slack.map_or(u64::from(u32::MAX), |slack| nic.edges().cycle_at_or_after(slack.time()))
    }
}
