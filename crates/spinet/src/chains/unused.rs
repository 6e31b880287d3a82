//! Parts of an experiment that no packet used: most often a mistake.

use super::check::CheckedChains;
use super::stats::Stats;
use super::summary::ServiceSummary;
use serde::Serialize;

/// Names of the chains, services, units and tenants that got no packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Unused {
    /// Chains that took no packet.
    pub chains: Vec<String>,
    /// Services of the experiment that no packet visited.
    pub services: Vec<String>,
    /// Units, such as `aes[1]`, that got no packet although their service did.
    pub units: Vec<String>,
    /// Tenants without a packet.
    pub tenants: Vec<String>,
}

impl Unused {
    /// The unused parts so far; none until a packet has arrived.
    pub(super) fn of(checked: &CheckedChains, stats: &Stats, services: &[ServiceSummary]) -> Unused {
        if stats.all.came.packets == 0 {
            return Unused::default();
        }
        let chains = || checked.chains.all().iter().zip(&stats.chains);
        let is_wanted = |service: &str| {
            let visits =
                |hops: &[_]| hops.iter().any(|hop: &panic::rmt::action_params::HopParams| hop.service == service);
            chains().any(|(chain, group)| group.came.packets > 0 && visits(&chain.params.services))
        };
        let is_said = |name: &str| checked.experiment.service.iter().any(|said| said.0.name == name);
        let is_idle = |service: &&ServiceSummary| service.visits.packets == 0 && !is_wanted(&service.visits.service);
        let used = services.iter().filter(|service| !is_idle(service));
        Unused {
            chains: chains()
                .filter(|(_, group)| group.came.packets == 0)
                .map(|(chain, _)| chain.params.name.clone())
                .collect(),
            services: services
                .iter()
                .filter(|service| is_idle(service) && is_said(&service.visits.service))
                .map(|service| service.visits.service.clone())
                .collect(),
            units: used
                .flat_map(|service| &service.units)
                .filter(|unit| unit.packets == 0 && unit.busy_percent.unwrap_or(0.0) == 0.0)
                .map(|unit| unit.path.clone())
                .collect(),
            tenants: (checked.tenants.iter().zip(&stats.tenants))
                .filter(|(_, group)| group.came.packets == 0)
                .map(|(tenant, _)| tenant.name.clone())
                .collect(),
        }
    }
}
