//! The common parts of the baseline NICs: clock, network ports, host.

use crate::crossbar::Crossbar;
use crate::egress::Egress;
use crate::entry::{Entry, Nodes, Sender};
use crate::ingress::{Ingress, IngressParams, IngressWiring};
use crate::model::Nic;
use crate::nic::Outside;
use crate::protocol::{Flit, NodeId};
use crate::unit::riscv::{Image, Program};
use crate::unit::{EngineParams, EngineSite};
use crate::world::SharedOutlet;
use blocks::checks;
use blocks::mhz::Mhz;
use kernel::{ClockId, Component, Rx, SystemBuilder, Tx};
use std::rc::Rc;

/// Parameters common to all baseline NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardParams {
    /// The clock of everything except engines with a clock of their own.
    pub clock_mhz: Mhz,
    /// Width of all paths, in bytes per cycle.
    pub flit_bytes: u32,
    /// The longest packet, in bytes.
    pub longest_bytes: u32,
    /// Number of traffic classes, 1 to 256; drops are counted by class.
    pub n_classes: usize,
    /// Number of network ports, 1 to 8.
    pub network_ports: u32,
    /// Latency of a flit from one component to the next.
    pub hop_cycles: u32,
    /// Input of each network port.
    pub ingress: IngressParams,
}

impl CardParams {
    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        checks::within("card.clock_mhz", self.clock_mhz, Mhz::LEAST, Mhz::MOST)?;
        checks::within("card.flit_bytes", self.flit_bytes, 8, 256)?;
        checks::within("card.longest_bytes", self.longest_bytes, 64, 1 << 16)?;
        checks::within("card.n_classes", self.n_classes, 1, 256)?;
        checks::within("card.network_ports", self.network_ports, 1, 8)?;
        checks::within("card.hop_cycles", self.hop_cycles, 1, 1024)?;
        let (longest, flit_bytes) = (self.longest_bytes as usize, self.flit_bytes as usize);
        self.ingress.check(longest, flit_bytes).map_err(|error| format!("card.ingress.{error}"))
    }
}

/// Checks an engine for packets of up to `longest` bytes.
pub(super) fn check_engine(at: &str, engine: &EngineParams, longest: u32) -> Result<(), String> {
    let checked = engine.check().and_then(|()| engine.check_longest(longest as usize));
    checked.map_err(|error| format!("{at}: engine: {error}"))
}

/// Checks that service names are not empty and that none occurs twice.
pub(super) fn check_names<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let names: Vec<&str> = names.collect();
    checks::within(&format!("{key}s"), names.len(), 0, 255)?;
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("{key}[{i}].name is empty; must be the name that chains use"));
        }
        if names[..i].contains(name) {
            return Err(format!(
                "{key}[{i}].name is `{name}`, which names another {key} too; must be a name of its own"
            ));
        }
    }
    Ok(())
}

/// A baseline NIC during wiring.
pub(super) struct Card {
    pub params: CardParams,
    pub system: SystemBuilder,
    pub clock: ClockId,
    pub nodes: Nodes,
    pub outlet: SharedOutlet,
    programs: Vec<(usize, Rc<Image>)>,
    running: Vec<(String, Program)>,
}

impl Card {
    /// Adds the network ports' inputs; returns the flits that each receives.
    pub fn new(params: CardParams, seed: u64, nodes: Nodes, outside: Outside) -> (Card, Vec<Rx<Flit>>) {
        assert_eq!(outside.networks.len(), params.network_ports as usize, "each network port needs a packet source");
        assert!(outside.policies.is_empty(), "baseline NICs have no PIFOs and so no policies");
        assert!(outside.transmits.is_empty(), "the host of a baseline NIC only receives");
        let mut system = SystemBuilder::new(seed);
        let clock = system.clock(params.clock_mhz.freq().expect("the clock must be in its range"));
        let mut card = Card {
            params,
            system,
            clock,
            nodes,
            outlet: outside.outlet,
            programs: outside.programs,
            running: Vec::new(),
        };
        let mut lanes = Vec::new();
        for (number, source) in outside.networks.into_iter().enumerate() {
            let node = card.nodes.network[number];
            let (to, lane) = card.lane(&format!("from network {number}"));
            let flit_bytes = params.flit_bytes as usize;
            let wires = IngressWiring {
                node: (node, number as u8),
                flit_bytes,
                clock_hz: params.clock_mhz.hz(),
                source,
                classifier: outside.classifier.clone(),
                outlet: card.outlet.clone(),
                entry: Entry::without_notes(card.nodes.clone()),
                sender: Sender::new(node, flit_bytes, to),
            };
            card.add(&format!("network[{number}].ingress"), Ingress::new(params.ingress, wires));
            lanes.push(lane);
        }
        (card, lanes)
    }

    /// Adds a component on the card's clock.
    pub fn add(&mut self, path: &str, component: impl Component + 'static) {
        self.system.add(path, self.clock, component);
    }

    /// Adds a channel between two components, one flit a cycle.
    pub fn lane(&mut self, name: &str) -> (Tx<Flit>, Rx<Flit>) {
        let cycles = self.params.hop_cycles;
        self.system.channel(name, 1 + cycles as usize, cycles.into())
    }

    /// Adds a service's engine with room for one longest packet in front of it; returns the channels to it and from it.
    pub fn engine(
        &mut self,
        path: &str,
        node: NodeId,
        service: usize,
        engine: &EngineParams,
        n_services: usize,
    ) -> (Tx<Flit>, Rx<Flit>) {
        let (longest, flit_bytes) = (self.params.longest_bytes as usize, self.params.flit_bytes as usize);
        let room = crate::protocol::n_flits(longest, flit_bytes);
        let (to_engine, input) = self.system.channel(&format!("{path}.scratchpad"), room, 1);
        let (output, from_engine) = self.system.channel(&format!("{path}.out"), room, 1);
        let image = self.programs.iter().find(|(of, _)| *of == service).map(|(_, image)| image.clone());
        let program = image.map(Program::new);
        if let Some(program) = &program {
            self.running.push((path.to_owned(), program.clone()));
        }
        let (system, clock, path) = (&mut self.system, self.clock, &format!("{path}.engine"));
        engine.add(EngineSite { system, path, clock, node, flit_bytes, longest, n_services, program, input, output });
        (to_engine, from_engine)
    }

    /// Adds the exits and the crossbar in front of them. `exits` begins at the DMA engine's node; `inner` are the nodes below
    /// it.
    pub fn finish(mut self, inputs: Vec<Rx<Flit>>, inner: Vec<Tx<Flit>>, above: Vec<Tx<Flit>>, limit: usize) -> Nic {
        let mut outputs = inner;
        assert_eq!(outputs.len(), usize::from(self.nodes.dma.0), "nodes below the DMA engine must be inner nodes");
        let exits = [("dma".to_owned(), self.nodes.dma)]
            .into_iter()
            .chain(self.nodes.network.iter().enumerate().map(|(i, &node)| (format!("network[{i}].egress"), node)));
        for (path, node) in exits.collect::<Vec<_>>() {
            assert_eq!(outputs.len(), usize::from(node.0), "nodes must be numbered without gaps");
            let (to, end) = self.lane(&format!("to {path}"));
            outputs.push(to);
            let exit = Egress::new(node, end, self.outlet.clone());
            let line = self.params.ingress.line_out(self.params.clock_mhz);
            self.add(&path, if node == self.nodes.dma { exit } else { exit.on(line) });
        }
        outputs.extend(above);
        let crossbar = Crossbar::new(inputs, outputs).with_limit(limit);
        self.add("interconnect", crossbar);
        let Card { system, clock, nodes, running: programs, .. } = self;
        let system = system.build().unwrap_or_else(|error| panic!("the NIC must be wired: {error}"));
        Nic { system, clock, nodes, programs }
    }
}
