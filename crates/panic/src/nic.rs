//! The whole PANIC NIC with its wiring.

use crate::cells::Cells;
use crate::dma::{Dma, DmaWiring};
use crate::egress::Egress;
use crate::entry::{Entry, Nodes, Sender};
use crate::ingress::{Ingress, IngressWiring};
use crate::params::{PanicParams, ServiceSpec};
use crate::policy::Policy;
use crate::protocol::{CreditNote, Flit, NodeId, n_flits};
use crate::scheduler::{Scheduler, SchedulerPort};
use crate::unit::riscv::{Image, Program};
use crate::unit::{EngineSite, TrafficManager, TrafficManagerParams, TrafficManagerWiring};
use crate::world::{PortSource, SharedClassifier, SharedOutlet};
use kernel::{Clock, ClockId, Rx, System, SystemBuilder, Tx};
use std::rc::Rc;

/// Everything outside a NIC.
pub struct Outside {
    /// One packet source for each network port.
    pub networks: Vec<Box<dyn PortSource>>,
    /// One packet source for each transmit queue of the host, from queue 0 on; queues without a source stay idle.
    pub transmits: Vec<Box<dyn PortSource>>,
    /// The match-action program.
    pub classifier: SharedClassifier,
    /// Receives packets that leave or are dropped.
    pub outlet: SharedOutlet,
    /// The user's own policies: each replaces the policy of the service with this index.
    pub policies: Vec<(usize, Box<dyn Policy>)>,
    /// Programs for services whose units are cores: service index and checked image.
    pub programs: Vec<(usize, Rc<Image>)>,
}

impl Outside {
    /// The outside of a NIC with no transmit queues, own policies or programs.
    pub fn new(networks: Vec<Box<dyn PortSource>>, classifier: SharedClassifier, outlet: SharedOutlet) -> Outside {
        let (transmits, policies, programs) = Default::default();
        Outside { networks, transmits, classifier, outlet, policies, programs }
    }
}

/// A PANIC NIC.
///
/// Source: paper, Figure 2; RTL for the numbers of the nodes.
pub struct Panic {
    /// Its components and clocks.
    pub system: System,
    /// The NIC's clock.
    pub clock: ClockId,
    nodes: Nodes,
    running: Vec<(String, Program)>,
}

struct Wiring<'a> {
    params: &'a PanicParams,
    system: SystemBuilder,
    clock: ClockId,
    nodes: Nodes,
    /// The allocator, if packets hold a cell from entry to exit.
    cells: Option<Cells>,
    /// The interconnect's output at each node, until a component takes it.
    ends: Vec<Option<Rx<Flit>>>,
    /// The interconnect's inputs and their nodes.
    inputs: Vec<(NodeId, Rx<Flit>)>,
    /// The interconnect's output channel to each node.
    outputs: Vec<Tx<Flit>>,
    /// The units' programs, by unit.
    running: Vec<(String, Program)>,
}

impl Panic {
    /// Builds the NIC at time 0. The parameters must have passed their check.
    pub fn new(params: &PanicParams, seed: u64, outside: Outside) -> Panic {
        params.check().unwrap_or_else(|error| panic!("the parameters must have passed their check: {error}"));
        assert_eq!(outside.networks.len(), params.network_ports as usize, "each network port needs a packet source");
        assert!(outside.transmits.len() <= params.dma.tx_queues as usize, "each transmit source needs a queue");
        let mut system = SystemBuilder::new(seed);
        let clock = system.clock(params.clock_mhz.freq().expect("the clock must be in its range"));
        let nodes = params.nodes();
        let (inputs, outputs, ends, running) = Default::default();
        let cells = params.cells(&nodes);
        let mut wiring = Wiring { params, system, clock, nodes, cells, ends, inputs, outputs, running };
        wiring.add_ends();
        let Outside { networks, transmits, classifier, outlet, policies, programs } = outside;
        let mut bank_notes = Vec::new();
        for (number, network) in networks.into_iter().enumerate() {
            bank_notes.push(wiring.add_network(number, network, &classifier, &outlet));
        }
        bank_notes.push(wiring.add_host(transmits, &classifier, &outlet));
        let mut notes = Vec::new();
        for (i, service) in params.services.iter().enumerate() {
            let image = programs.iter().find(|(of, _)| *of == i).map(|(_, image)| image);
            notes.extend((0..service.units as usize).map(|unit| wiring.add_unit(service, image, i, unit)));
        }
        wiring.add_scheduler(notes, bank_notes, policies, outlet);
        let Wiring { mut system, nodes, inputs, outputs, running, .. } = wiring;
        params.interconnect.topology.add(&mut system, clock, inputs, outputs);
        let system = system.build().unwrap_or_else(|error| panic!("the NIC must be wired: {error}"));
        Panic { system, clock, nodes, running }
    }

    /// The nodes of the interconnect, by role.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The units' programs, by unit.
    pub fn programs(&self) -> &[(String, Program)] {
        &self.running
    }

    /// The NIC's clock.
    pub fn edges(params: &PanicParams) -> Clock {
        Clock::new(params.clock_mhz.freq().expect("the clock must be in its range"))
    }
}

impl Wiring<'_> {
    fn add_ends(&mut self) {
        let shape = self.params.interconnect;
        for node in 0..self.nodes.count() {
            let room = shape.output_flits as usize;
            let (output, end) = self.system.channel(&format!("to node {node}"), room, shape.output_cycles.into());
            self.outputs.push(output);
            self.ends.push(Some(end));
        }
    }

    /// Takes the interconnect's output at a node.
    fn take_end(&mut self, node: NodeId) -> Rx<Flit> {
        self.ends[usize::from(node.0)].take().expect("a node must have one component")
    }

    /// Adds an input of the interconnect.
    fn add_lane(&mut self, node: NodeId, name: &str) -> Tx<Flit> {
        let shape = self.params.interconnect;
        let (lane, input) = self.system.channel(name, shape.input_flits as usize, shape.input_cycles.into());
        self.inputs.push((node, input));
        lane
    }

    /// Adds a network port: ingress and egress. Returns the channel on which the scheduler sends bank notes.
    fn add_network(
        &mut self,
        number: usize,
        source: Box<dyn PortSource>,
        classifier: &SharedClassifier,
        outlet: &SharedOutlet,
    ) -> Tx<crate::entry::BankNote> {
        let node = self.nodes.network[number];
        let (from, to) = (self.take_end(node), self.add_lane(node, &format!("from node {}", node.0)));
        let flit_bytes = self.params.flit_bytes as usize;
        let room = 2 * self.nodes.scheduler.len();
        let (bank_notes, notes_rx) = self.system.channel(&format!("network[{number}].bank_notes"), room, 1);
        let wires = IngressWiring {
            node: (node, number as u8),
            flit_bytes,
            clock_hz: self.params.clock_mhz.hz(),
            source,
            classifier: classifier.clone(),
            outlet: outlet.clone(),
            entry: Entry::new(self.nodes.clone(), notes_rx).with_cells(self.cells.clone(), number as u32),
            sender: Sender::new(node, flit_bytes, to),
        };
        let path = format!("network[{number}]");
        self.system.add(&format!("{path}.ingress"), self.clock, Ingress::new(self.params.ingress, wires));
        let line = self.params.ingress.line_out(self.params.clock_mhz);
        let egress = Egress::new(node, from, outlet.clone()).with_cells(self.cells.clone()).on(line);
        self.system.add(&format!("{path}.egress"), self.clock, egress);
        bank_notes
    }

    /// Adds the DMA engine and the host. Returns the channel on which the scheduler sends bank notes.
    fn add_host(
        &mut self,
        sources: Vec<Box<dyn PortSource>>,
        classifier: &SharedClassifier,
        outlet: &SharedOutlet,
    ) -> Tx<crate::entry::BankNote> {
        let node = self.nodes.dma;
        let (input, to) = (self.take_end(node), self.add_lane(node, &format!("from node {}", node.0)));
        let flit_bytes = self.params.flit_bytes as usize;
        let (bank_notes, notes_rx) = self.system.channel("dma.bank_notes", 2 * self.nodes.scheduler.len(), 1);
        let wires = DmaWiring {
            node,
            flit_bytes,
            clock_hz: self.params.clock_mhz.hz(),
            input,
            sources,
            classifier: classifier.clone(),
            outlet: outlet.clone(),
            entry: Entry::new(self.nodes.clone(), notes_rx).with_cells(self.cells.clone(), self.params.network_ports),
            sender: Sender::new(node, flit_bytes, to),
            cells: self.cells.clone(),
        };
        self.system.add("dma", self.clock, Dma::new(&self.params.dma, wires));
        bank_notes
    }

    /// Adds a unit: its traffic manager and its engine. Returns its channel of credit notes.
    fn add_unit(
        &mut self,
        service: &ServiceSpec,
        image: Option<&Rc<Image>>,
        number: usize,
        unit: usize,
    ) -> Rx<CreditNote> {
        let node = self.nodes.units[number][unit];
        let (input, output) = (self.take_end(node), self.add_lane(node, &format!("from node {}", node.0)));
        let path = format!("{}[{unit}]", service.name);
        let flit_bytes = self.params.flit_bytes as usize;
        let longest = n_flits(self.params.longest(), flit_bytes);
        let detours = self.add_lane(node, &format!("{path}.detours"));
        // Source: RTL: 24 flits per credit into the engine and 24 out of it; the descriptor adds one.
        let scratchpad = longest * service.credits as usize;
        let (to_engine, engine_in) = self.system.channel(&format!("{path}.scratchpad"), scratchpad, 1);
        let (engine_out, from_engine) = self.system.channel(&format!("{path}.out"), longest, 1);
        let note_cycles = self.params.scheduler.note_cycles;
        let (notes, notes_rx) =
            self.system.channel(&format!("{path}.notes"), 3 + note_cycles as usize, note_cycles.into());
        let engine = format!("{path}.engine");
        let program = image.map(|image| Program::new(image.clone()));
        if let Some(program) = &program {
            self.running.push((path.clone(), program.clone()));
        }
        service.engine.add(EngineSite {
            system: &mut self.system,
            path: &engine,
            clock: self.clock,
            node,
            flit_bytes,
            longest: self.params.longest(),
            n_services: self.params.services.len(),
            program,
            input: engine_in,
            output: engine_out,
        });
        let params = TrafficManagerParams {
            credits: service.credits,
            flit_bytes: self.params.flit_bytes,
            detour_flits: longest as u32,
        };
        let wires = TrafficManagerWiring { input, output, detours, to_engine, from_engine, notes };
        self.system.add(&path, self.clock, TrafficManager::new(params, wires));
        notes_rx
    }

    fn add_scheduler(
        &mut self,
        notes: Vec<Rx<CreditNote>>,
        bank_notes: Vec<Tx<crate::entry::BankNote>>,
        policies: Vec<(usize, Box<dyn Policy>)>,
        outlet: SharedOutlet,
    ) {
        let ports = self.nodes.scheduler.clone().into_iter().map(|node| {
            let (input, output) = (self.take_end(node), self.add_lane(node, &format!("from node {}", node.0)));
            SchedulerPort { node, input, output }
        });
        let ports = ports.collect();
        let tracer = self.system.tracer("scheduler", self.clock);
        let scheduler = Scheduler::new(self.params.scheduler(), ports, notes, tracer);
        let scheduler = scheduler.with_outlet(outlet).with_bank_notes(bank_notes).with_cells(self.cells.clone());
        let with_policy = |scheduler: Scheduler, (service, policy)| scheduler.with_policy(service, policy);
        self.system.add("scheduler", self.clock, policies.into_iter().fold(scheduler, with_policy));
    }
}
