//! The programmable part of the RMT pipeline: a parser, match-action tables in stages, and state. Source: 4.1.
//!
//! A packet from the network is parsed and then goes through the tables in order. In each table the first matching entry
//! decides the actions; later tables see their changes. A packet from a transmit queue skips the tables and takes the chain
//! bound to its queue (3, Transmitting). The pipeline is a function here; its latency belongs to the port in front of which it
//! sits.
//!
//! Differs: a hardware stage looks entries up by exact, ternary or range match in memories of fixed width. Here a match is an
//!          expression of any length. After an action changed a packet, it is parsed again before the next table, whereas
//!          hardware carries the parsed fields along.

mod action;
pub mod action_params;
pub mod chain;
mod chain_text;
pub mod counters;
pub mod error;
pub mod hash;
mod names;
pub mod params;
mod parser;
mod register;
pub mod rewrite;
mod run;
mod table;
mod tables;

#[cfg(test)]
mod tests;

pub use chain::ChainParams;
pub use counters::{EntryState, RmtCounters, Source, TableState};
pub use error::{ChainTextError, Problem, RmtError};
pub use params::{EntryParams, RmtParams, TableParams};

use crate::params::PanicParams;
use crate::protocol::Hop;
use crate::world::{Classifier, ExternalPort, Verdict};
use error::within;
use kernel::Cycle;
use names::{Exit, Names, known};
use params::RegisterParams;
use parser::{Parser, Seen};
use register::Register;
use run::Work;
use std::fmt;
use table::{Entry, Table};

/// Properties of the card that the pipeline needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Names of the services, in the scheduler's order.
    pub services: Vec<String>,
    /// Number of traffic classes, 1 to 256.
    pub n_classes: u16,
    /// Number of network ports, 1 to 255.
    pub network_ports: u8,
    /// Number of host queues in each direction, at least 1.
    pub host_queues: u16,
}

impl Card {
    /// The card with these parameters and `host_queues`.
    pub fn of(params: &PanicParams, host_queues: u16) -> Card {
        Card {
            services: params.services.iter().map(|service| service.name.clone()).collect(),
            // `Rmt::new` reports numbers out of range.
            n_classes: u16::try_from(params.n_classes).unwrap_or(u16::MAX),
            network_ports: u8::try_from(params.network_ports).unwrap_or(u8::MAX),
            host_queues,
        }
    }
}

/// Permanent handle of a table entry or chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct EntryHandle(pub u64);

impl fmt::Display for EntryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An RMT pipeline.
///
/// Tables may change between any two packets. A change takes effect with the next packet; a refused change has no effect. A
/// packet that no entry matches goes to the host's first queue with class 0.
#[derive(Clone, Debug)]
pub struct Rmt {
    names: Names,
    n_metadata: usize,
    stages: u32,
    parser: Parser,
    tables: Vec<Table>,
    /// True if the last table is the table of the chains.
    has_chains: bool,
    /// Chains of transmit queues.
    bound: Vec<Entry>,
    registers: Vec<Register>,
    next_handle: u64,
    /// The last entry that matched the latest packet.
    taken: Option<EntryHandle>,
    /// Buffer for the parsed fields.
    seen: Seen,
    counters: RmtCounters,
}

impl Rmt {
    /// Builds a pipeline with all names resolved and checked.
    pub fn new(params: &RmtParams, card: &Card) -> Result<Rmt, RmtError> {
        within("services of the card", card.services.len() as u64, 0, 256)?;
        within("classes of the card", card.n_classes.into(), 1, 256)?;
        within("network ports of the card", card.network_ports.into(), 1, 255)?;
        within("host queues of the card", card.host_queues.into(), 1, 65535)?;
        within("stages", params.stages.into(), 1, 32)?;
        within("max_hops", params.max_hops.into(), 1, 255)?;
        within("metadata", params.metadata.len() as u64, 0, 64)?;
        within("registers", params.registers.len() as u64, 0, 64)?;
        if params.tables.len() > params.stages as usize {
            let tables = format!("{} tables", params.tables.len());
            return Err(Problem::Stages { tables, stages: params.stages }.at("tables"));
        }
        let mut names = Names::new(card, params.max_hops);
        for (i, name) in params.metadata.iter().enumerate() {
            names.add_metadata(name).map_err(|problem| problem.at(format!("metadata[{i}]")))?;
        }
        let mut registers = Vec::new();
        for (i, register) in params.registers.iter().enumerate() {
            check_register(register).map_err(|error| error.below(&format!("registers[{i}]")))?;
            names.add_register(register).map_err(|problem| problem.at(format!("registers[{i}].name")))?;
            registers.push(Register::new(register));
        }
        let parser = Parser::new(&params.parser, &mut names)?;
        let mut rmt = Rmt {
            names,
            n_metadata: params.metadata.len(),
            stages: params.stages,
            parser,
            tables: Vec::new(),
            has_chains: params.tables.len() < params.stages as usize,
            bound: Vec::new(),
            registers,
            next_handle: 0,
            taken: None,
            seen: Seen::default(),
            counters: RmtCounters::default(),
        };
        rmt.fill(params)?;
        Ok(rmt)
    }

    /// Counters since it was built.
    pub fn counters(&self) -> RmtCounters {
        self.counters
    }

    /// The last entry, or the chain, that matched the latest packet.
    pub fn taken(&self) -> Option<EntryHandle> {
        self.taken
    }
}

fn check_register(params: &RegisterParams) -> Result<(), RmtError> {
    match *params {
        RegisterParams::Words { size, .. } => within("size", size.into(), 1, 65536),
        RegisterParams::Meter { size, bytes_per_1000_cycles, .. } => {
            within("size", size.into(), 1, 65536)?;
            within("bytes_per_1000_cycles", bytes_per_1000_cycles.into(), 1, 1 << 30)
        }
    }
}

impl Classifier for Rmt {
    fn classify(&mut self, now: Cycle, from: ExternalPort, packet: &mut Vec<u8>) -> Verdict {
        let Rmt { names, parser, tables, bound, registers, seen, counters, taken, .. } = self;
        counters.packets += 1;
        let bytes = packet.len();
        let (port, exit) = match from {
            ExternalPort::Network(port) => (Some(port), Exit::Host(0)),
            ExternalPort::Host(_) => (None, Exit::Network(0)),
        };
        let card = &names.card;
        let (is_changed, hops) = (false, Default::default());
        let mut work = Work { now, card, parser, registers, counters, seen, packet, is_changed, hops, exit };
        work.begin(names.known.len(), self.n_metadata, port);
        *taken = None;
        match from {
            ExternalPort::Host(queue) => {
                work.counters.from_host += 1;
                let takes = |entry: &&mut Entry| entry.state.source.is_bound_to(queue);
                if let Some(entry) = bound.iter_mut().find(takes) {
                    *taken = Some(entry.state.handle);
                    entry.count(bytes);
                    work.run(&entry.actions);
                }
            }
            ExternalPort::Network(_) => {
                for table in tables {
                    if work.is_changed {
                        work.look();
                    }
                    let (takes, actions) = table.look_up(work.packet, work.seen, bytes);
                    *taken = takes.or(*taken);
                    if !work.run(actions) {
                        break;
                    }
                }
            }
        }
        if work.is_changed {
            work.look();
        }
        work.counters.unmatched += u64::from(taken.is_none());
        work.counters.dropped += u64::from(work.exit == Exit::Drop);
        work.verdict()
    }
}

impl Work<'_> {
    fn verdict(self) -> Verdict {
        let known = |place: usize| self.seen.known[place].unwrap_or(0);
        let (class, priority) = (known(known::CLASS) as u8, known(known::PRIORITY) as u32);
        let mut fields = self.seen.fields;
        fields.hash = known(known::HASH) as u32;
        let hops = self.hops.iter().map(|hop| Hop {
            service: hop.service,
            class: hop.class.unwrap_or(class),
            priority: hop.priority.unwrap_or(priority),
            metadata: hop.metadata,
            push_to: None,
        });
        Verdict {
            chain: hops.collect(),
            exit: match self.exit {
                Exit::Drop => None,
                Exit::Host(queue) => Some(ExternalPort::Host(queue)),
                Exit::Network(port) => Some(ExternalPort::Network(port)),
            },
            flow: known(known::FLOW) as u32,
            class,
            slack_cycles: known(known::SLACK) as u64,
            fields,
        }
    }
}
