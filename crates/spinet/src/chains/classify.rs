//! Assigns packets to chains: the RMT pipeline, and counts of the chains.

use super::experiment::ChainEntry;
use super::tenants::Tenant;
use kernel::Cycle;
use panic::model::NicModel;
use panic::rmt::action_params::ActionParams;
use panic::rmt::{Card, ChainParams, EntryHandle, EntryParams, Rmt, RmtError, RmtParams};
use panic::world::{Classifier, ExternalPort, Verdict};

/// Name of the table with the chains, in errors and tables.
const TABLE: &str = "chains";

/// A chain, looked up.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The chain, with the defaults of its tenant.
    pub params: ChainParams,
    /// Position of the tenant.
    pub tenant: usize,
    /// True if it is installed at the start.
    pub is_installed: bool,
}

/// The pipeline in front of a NIC, with chains that are installed and removed.
#[derive(Clone, Debug)]
pub struct Chains {
    rmt: Rmt,
    chains: Vec<Chain>,
    /// The handle of each installed chain.
    handles: Vec<Option<EntryHandle>>,
}

/// An invalid pipeline: the place and the mistake.
#[derive(Debug)]
pub enum Wrong {
    /// In the pipeline.
    Rmt(RmtError),
    /// In the chain at this position.
    Chain(usize, RmtError),
    /// In the destination of packets that no chain takes.
    Otherwise(RmtError),
}

/// The default pipeline.
fn prototype() -> RmtParams {
    let (metadata, registers, tables, chains) = Default::default();
    // Source: 6 (one stage); RTL (four hops in a descriptor).
    RmtParams { stages: 1, max_hops: 4, parser: Default::default(), metadata, registers, tables, chains }
}

impl Chain {
    /// A chain of an experiment with its tenant's defaults; `order` is its place among all.
    pub fn new(entry: &ChainEntry, (position, tenant): (usize, &Tenant), nic: &NicModel, order: u32) -> Chain {
        let params = ChainParams {
            name: entry.name.clone(),
            matches: entry.matches.clone(),
            queues: entry.queues.clone(),
            services: entry.services.clone(),
            class: Some(entry.class.unwrap_or(tenant.class)),
            priority: Some(entry.priority.unwrap_or(tenant.priority)),
            slack_cycles: Some(entry.slack_cycles.unwrap_or_else(|| tenant.slack_cycles(nic))),
            exit: entry.exit.clone(),
            repeat: entry.repeat,
            order,
        };
        Chain { params, tenant: position, is_installed: entry.installed }
    }
}

impl Chains {
    /// The pipeline with the chains that are installed at the start.
    pub fn new(
        params: Option<&RmtParams>,
        nic: &NicModel,
        chains: Vec<Chain>,
        otherwise: &str,
    ) -> Result<Chains, Wrong> {
        let (to_host, from_host) = super::nic::host_queues(nic);
        let card = Card {
            services: nic.services().into_iter().map(str::to_owned).collect(),
            n_classes: nic.n_classes() as u16,
            network_ports: nic.network_ports() as u8,
            // The pipeline has one number of queues for both directions. The baseline NICs have no transmit queues.
            host_queues: (if from_host == 0 { to_host } else { to_host.min(from_host) }) as u16,
        };
        let mut rmt = Rmt::new(&params.cloned().unwrap_or_else(prototype), &card).map_err(Wrong::Rmt)?;
        let mut handles = Vec::new();
        for (i, chain) in chains.iter().enumerate() {
            handles.push(Some(rmt.insert_chain(&chain.params).map_err(|error| Wrong::Chain(i, error))?));
        }
        if otherwise != "host" {
            let exit = [ActionParams::Exit(otherwise.to_owned())];
            rmt.set_otherwise(TABLE, &exit).map_err(Wrong::Otherwise)?;
        }
        let mut chains = Chains { rmt, chains, handles };
        for i in 0..chains.chains.len() {
            if !chains.chains[i].is_installed {
                chains.install(i, false);
            }
        }
        Ok(chains)
    }

    /// Installs a chain at its place among the others, or removes it.
    pub fn install(&mut self, chain: usize, is_there: bool) {
        let slot = &mut self.handles[chain];
        match (slot.take(), is_there) {
            (None, true) => {
                let inserted = self.rmt.insert_chain(&self.chains[chain].params);
                *slot = Some(inserted.expect("it existed when the experiment was checked"));
            }
            (Some(handle), false) => drop(self.rmt.remove(handle).expect("it is there")),
            (before, _) => *slot = before,
        }
    }

    /// Replaces all entries of a table.
    pub fn replace(&mut self, table: &str, entries: &[EntryParams]) -> Result<(), RmtError> {
        self.rmt.replace(table, entries)
    }

    /// The pipeline.
    pub fn rmt(&self) -> &Rmt {
        &self.rmt
    }

    /// All chains, installed or not.
    pub fn all(&self) -> &[Chain] {
        &self.chains
    }

    /// The chain that took the last packet; `None` if another entry of the pipeline took it, or no entry did.
    pub fn taken(&self) -> Option<usize> {
        let taken = self.rmt.taken()?;
        self.handles.iter().position(|&handle| handle == Some(taken))
    }
}

impl Classifier for Chains {
    fn classify(&mut self, now: Cycle, from: ExternalPort, packet: &mut Vec<u8>) -> Verdict {
        self.rmt.classify(now, from, packet)
    }
}
