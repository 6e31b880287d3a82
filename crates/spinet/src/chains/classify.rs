//! Which packets take which chain.

use super::experiment::ChainEntry;
use super::tenants::Tenant;
use kernel::Cycle;
use panic::params::PanicParams;
use panic::protocol::{Fields, Hop};
use panic::world::{Classifier, Side, Verdict};
use smallvec::SmallVec;
use wire::expr::{ExprError, Matcher};
use wire::layers::Layers;
use wire::near::nearest;

/// A chain, looked up.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// What it takes; `None` is everything.
    pub matcher: Option<Matcher>,
    /// The services.
    pub hops: SmallVec<[Hop; 4]>,
    /// Where packets go then.
    pub exit: Option<Side>,
    /// Position of the tenant.
    pub tenant: usize,
    /// Its traffic class.
    pub class: u8,
    /// Cycles that packets may wait.
    pub slack_cycles: u64,
    /// Whether it is there from the start.
    pub installed: bool,
}

/// A chain that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum NotAChain {
    #[error("the name is empty, must be what reports call the chain")]
    NoName,
    #[error("`{found}` is the name of two chains, each must have its own")]
    Name { found: String },
    #[error(transparent)]
    Match(#[from] ExprError),
    #[error("there is no service `{found}`, must be one of {known}{}",
            near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    Service { found: String, known: String, near: Option<String> },
    #[error("class is {found}, must be 0 to {most}")]
    Class { found: u8, most: usize },
    #[error(
        "`{found}` is no exit, must be `host`, `host:QUEUE`, `network`, `network:PORT` with one of {n_ports} ports, or `drop`"
    )]
    Exit { found: String, n_ports: u32 },
}

impl NotAChain {
    /// The key of a chain that is wrong.
    pub fn key(&self) -> &'static str {
        match self {
            NotAChain::NoName | NotAChain::Name { .. } => "name",
            NotAChain::Match(_) => "match",
            NotAChain::Service { .. } | NotAChain::Class { .. } => "services",
            NotAChain::Exit { .. } => "exit",
        }
    }
}

impl Chain {
    /// Looks up what an entry names.
    pub fn check(
        entry: &ChainEntry,
        nic: &PanicParams,
        tenant: &Tenant,
        position: usize,
        before: &[Chain],
    ) -> Result<Chain, NotAChain> {
        if entry.name.is_empty() {
            return Err(NotAChain::NoName);
        }
        if before.iter().any(|other| other.name == entry.name) {
            return Err(NotAChain::Name { found: entry.name.clone() });
        }
        let matcher = entry.matches.as_deref().map(Matcher::parse).transpose()?;
        let hop = |hop: &super::experiment::HopEntry| {
            let names = || nic.services.iter().map(|service| service.name.as_str());
            let service = names().position(|name| name == hop.service);
            let known = || names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let near = || nearest(&hop.service, names()).map(Into::into);
            let missing = || NotAChain::Service { found: hop.service.clone(), known: known(), near: near() };
            let class = hop.class.unwrap_or(tenant.class);
            if usize::from(class) >= nic.n_classes {
                return Err(NotAChain::Class { found: class, most: nic.n_classes - 1 });
            }
            Ok(Hop {
                service: service.ok_or_else(missing)? as u8,
                class,
                priority: hop.priority.unwrap_or(tenant.priority),
                metadata: hop.metadata.unwrap_or(0),
                push_to: None,
            })
        };
        Ok(Chain {
            name: entry.name.clone(),
            matcher,
            hops: entry.services.iter().map(|said| hop(&said.0)).collect::<Result<_, _>>()?,
            exit: exit(&entry.exit, nic)?,
            tenant: position,
            class: tenant.class,
            slack_cycles: tenant.slack_cycles(nic),
            installed: entry.installed,
        })
    }
}

/// What an exit means on this NIC; `None` is a drop.
pub fn exit(text: &str, nic: &PanicParams) -> Result<Option<Side>, NotAChain> {
    let refuse = || NotAChain::Exit { found: text.into(), n_ports: nic.network_ports };
    let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
    match kind.trim() {
        "drop" if kind == text => Ok(None),
        "host" => number.trim().parse().map(|queue| Some(Side::Host(queue))).map_err(|_| refuse()),
        "network" => {
            let port = number.trim().parse::<u8>().ok().filter(|&port| u32::from(port) < nic.network_ports);
            port.map(|port| Some(Side::Network(port))).ok_or_else(refuse)
        }
        _ => Err(refuse()),
    }
}

/// The chains that are there.
pub struct Chains {
    chains: Vec<Chain>,
    otherwise: Option<Side>,
    /// The chain that the packet looked at last takes.
    taken: Option<usize>,
}

impl Chains {
    /// Chains of an experiment, of which some are there from the start.
    pub fn new(chains: &[Chain], otherwise: Option<Side>) -> Chains {
        Chains { chains: chains.to_vec(), otherwise, taken: None }
    }

    /// A chain comes or goes.
    pub fn install(&mut self, chain: usize, is_there: bool) {
        self.chains[chain].installed = is_there;
    }

    /// The chain that the packet looked at last takes.
    pub fn taken(&self) -> Option<usize> {
        self.taken
    }
}

impl Classifier for Chains {
    fn classify(&mut self, _now: Cycle, _from: Side, packet: &mut Vec<u8>) -> Verdict {
        let layers = Layers::parse(packet);
        let takes = |chain: &Chain| {
            chain.installed && chain.matcher.as_ref().is_none_or(|matcher| matcher.matches_layers(packet, &layers))
        };
        self.taken = self.chains.iter().position(takes);
        let mut verdict = Verdict {
            chain: SmallVec::new(),
            exit: self.otherwise,
            flow: 0,
            class: 0,
            slack_cycles: 0,
            fields: Fields { payload: u16::try_from(layers.payload().start).unwrap_or(0), ..Fields::default() },
        };
        if let Some(chain) = self.taken.map(|taken| &self.chains[taken]) {
            let (hops, exit) = (chain.hops.clone(), chain.exit);
            let (class, slack_cycles) = (chain.class, chain.slack_cycles);
            verdict = Verdict { chain: hops, exit, class, slack_cycles, ..verdict };
        }
        verdict
    }
}
