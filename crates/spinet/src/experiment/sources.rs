//! Sources of packets: their places on a card, and their kinds.

use super::Traffic;
use super::check::Problem;
use super::common::{Common, SourceSpec};
use super::text::Span;
use crate::kinds::{self, Kind};
use crate::run::Port;
use kernel::Time;
use std::path::Path;
use wire::pacing::Pacing;

/// A source with parsed texts.
#[derive(Clone, Debug)]
pub struct CheckedSource {
    /// The packets.
    pub traffic: Traffic,
    /// The times of the packets.
    pub pacing: Pacing,
    /// Largest number of packets that it gives.
    pub count: u64,
    /// Time of its first packet; `None` for as soon as the card is ready.
    pub start: Option<Time>,
}

impl CheckedSource {
    /// Number of its packets, if it is known before the run.
    pub fn total(&self) -> Option<u64> {
        match &self.traffic {
            Traffic::Generator(spec) => Some(spec.count.min(self.count)),
            Traffic::Capture(..) => None,
        }
    }
}

impl SourceSpec {
    /// Parses its texts; paths become absolute. An error comes with its key, which is empty for the source itself.
    pub fn check(&mut self, seed: u64, base_dir: &Path) -> Result<CheckedSource, KeyProblem> {
        let traffic = Traffic::read(&mut self.source, self.snapped, seed, base_dir).map_err(|problem| ("", problem))?;
        let pacing = self.pacing.parse::<Pacing>().map_err(|problem| ("pacing", problem.into()))?;
        let count = self.count.unwrap_or(u64::MAX);
        Ok(CheckedSource { traffic, pacing, count, start: self.start.map(Span::time) })
    }
}

/// A key of a source, and its fault.
pub type KeyProblem = (&'static str, Problem);

/// The ports of a card to which sources can belong.
pub struct Ends {
    /// The kind of the card.
    pub kind: &'static Kind,
    /// Number of network ports.
    pub ports: u32,
    /// Number of transmit queues of the host.
    pub queues: u32,
}

impl Ends {
    /// The port to which a source of `traffic`, or of `send`, belongs.
    fn port_of(&self, is_sent: bool, spec: &SourceSpec) -> Result<Port, KeyProblem> {
        let allowed =
            |n: u32, only: &str| if n == 1 { format!("0, the only {only}") } else { format!("0 to {}", n - 1) };
        let (port, queue) = (spec.port.unwrap_or(0), spec.queue.unwrap_or(0));
        match is_sent {
            _ if spec.gap_cycles.is_some() && self.kind.name == kinds::CHAINS.name => {
                Err(("gap_cycles", Problem::NoGap))
            }
            true if spec.gap_cycles.is_some() => Err(("gap_cycles", Problem::GapOfSend)),
            false if spec.queue.is_some() => Err(("queue", Problem::QueueOfTraffic)),
            true if spec.port.is_some() => Err(("port", Problem::PortOfSend)),
            false if u32::from(port) >= self.ports => {
                Err(("port", Problem::Port { found: port, allowed: allowed(self.ports, "port") }))
            }
            true if u32::from(queue) >= self.queues => {
                Err(("queue", Problem::Queue { found: queue, allowed: allowed(self.queues, "queue") }))
            }
            false => Ok(Port::Network(port)),
            true => Ok(Port::Host(queue)),
        }
    }
}

impl Common {
    /// Reads each source with `read`, which gets its port. An error comes with the path of its key.
    pub fn read_sources<T>(
        &mut self,
        ends: &Ends,
        mut read: impl FnMut(&mut SourceSpec, Port) -> Result<T, KeyProblem>,
    ) -> Result<Vec<T>, (Vec<String>, Problem)> {
        if !self.send.is_empty() && ends.queues == 0 {
            return Err((vec!["send".into()], Problem::NoSend));
        }
        let mut all = Vec::new();
        for (key, specs) in [("traffic", &mut self.traffic), ("send", &mut self.send)] {
            let n = specs.len();
            for (i, spec) in specs.iter_mut().enumerate() {
                let source = ends.port_of(key == "send", spec).and_then(|port| read(spec, port));
                all.push(source.map_err(|(inner, problem)| {
                    // A single source may stand without a list around it.
                    let number = (n > 1).then(|| i.to_string());
                    let inner = Some(inner.to_owned()).filter(|inner| !inner.is_empty());
                    ([key.to_owned()].into_iter().chain(number).chain(inner).collect(), problem)
                })?);
            }
        }
        Ok(all)
    }
}
