//! Devices and shorthands for the tests.

use kernel::Time;
use net::address::Directory;
use net::device::{Attached, Departure, Device};
use net::digest::fold;
use net::frame::Arrival;
use net::line::{Framing, Rate};
use net::link::{Direction, Link};
use net::network::{Network, Options};
use net::node::{Node, NodeFailure};
use net::observe::Row;
use net::plan::{NodePlan, Plan};
use net::routes::Graph;
use net::switch::Switch;
use net::switch::params::SwitchParams;
use net::{NodeId, PortId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use wire::eth::{EthHeader, HEADER_LEN, ether_type};
use wire::faults::Faults;
use wire::ipv4::Ipv4Header;

/// 100 Gbit/s: a byte takes 80 ps.
pub const RATE: u64 = 100_000_000_000;

/// A device that sends frames at given times, and keeps what arrives.
#[derive(Default)]
pub struct Script {
    pub to_send: VecDeque<(Time, Vec<u8>)>,
    pub departures: Vec<Departure>,
    /// Head, tail, and origin of each frame that arrived.
    pub arrived: Vec<Arrival>,
    /// Sends each frame back when it has arrived.
    pub echoes: bool,
    pub waiting: VecDeque<Arrival>,
    pub hash: u64,
    /// Panics at this time.
    pub panic_at: Option<Time>,
    /// Fails at this time.
    pub fail_at: Option<Time>,
}

impl Script {
    pub fn sending(frames: impl IntoIterator<Item = (Time, Vec<u8>)>) -> Self {
        Script { to_send: frames.into_iter().collect(), ..Self::default() }
    }
}

impl Device for Script {
    fn receive(&mut self, _port: PortId, arrival: Arrival) {
        self.hash = fold(self.hash, arrival.tail.fs() ^ arrival.frame.hash);
        if self.echoes {
            let at = self.waiting.partition_point(|other| other.tail <= arrival.tail);
            self.waiting.insert(at, arrival.clone());
        }
        self.arrived.push(arrival);
    }

    fn run_until(&mut self, until: Time) -> Result<(), NodeFailure> {
        if self.fail_at.is_some_and(|at| at <= until) {
            return Err("the card burns".into());
        }
        assert!(self.panic_at.is_none_or(|at| at > until), "a bug in the card");
        while self.to_send.front().is_some_and(|&(at, _)| at <= until) {
            let (at, bytes) = self.to_send.pop_front().unwrap();
            self.departures.push(Departure { at, port: PortId(0), bytes: bytes.into(), class: None, message: None });
        }
        while self.waiting.front().is_some_and(|arrival| arrival.tail <= until) {
            let Arrival { tail, frame, .. } = self.waiting.pop_front().unwrap();
            let mut bytes = frame.bytes.to_vec();
            let (dst, src) = (bytes[30..34].to_vec(), bytes[26..30].to_vec());
            bytes[30..34].copy_from_slice(&src);
            bytes[26..30].copy_from_slice(&dst);
            self.departures.push(Departure {
                at: tail,
                port: PortId(0),
                bytes: bytes.into(),
                class: None,
                message: None,
            });
        }
        self.departures.sort_by_key(|departure| departure.at);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        let sends = self.to_send.front().map(|&(at, _)| at);
        let echo = self.waiting.front().map(|arrival| arrival.tail);
        [sends, echo, self.panic_at, self.fail_at].into_iter().flatten().min()
    }

    fn take_departures(&mut self, departures: &mut Vec<Departure>) {
        departures.append(&mut self.departures);
    }

    fn digest(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

/// An IPv4 packet of `len` bytes, Ethernet header included, between nodes with addresses by rule. `number` is in its payload.
pub fn packet(from: u32, to: u32, len: usize, number: u32) -> Vec<u8> {
    let directory = Directory::by_rule(1 << 16);
    let mut bytes = vec![0; len];
    let (dst, src) = (directory.mac(NodeId(to)), directory.mac(NodeId(from)));
    EthHeader { dst, src, ether_type: ether_type::IPV4 }.emit(&mut bytes).unwrap();
    let header = Ipv4Header {
        dscp_ecn: 2,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: 253,
        src: directory.ip(NodeId(from)),
        dst: directory.ip(NodeId(to)),
        options: wire::format::HeaderOptions::NONE,
        payload_len: (len - HEADER_LEN - 20) as u16,
    };
    header.emit(&mut bytes[HEADER_LEN..]).unwrap();
    bytes[34..38].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub fn direction(rate: u64, delay_ns: u64, faults: &str) -> Direction {
    Direction {
        rate: Rate::bps(rate),
        delay: Time::from_ns(delay_ns),
        framing: Framing::Ethernet,
        max_frame: 9018,
        faults: faults.parse::<Faults>().unwrap(),
        longest_hold: Time::from_ns(10_000),
    }
}

pub fn link(name: &str, from: (u32, u16), to: (u32, u16), direction: Direction) -> Link {
    let ends = [from, to].map(|(node, port)| (NodeId(node), PortId(port)));
    Link { name: name.into(), ends, directions: [direction; 2], pause_reaction: [Time::ZERO; 2] }
}

/// A node of one port.
pub fn device(name: &str, script: impl FnOnce() -> Script + Send + 'static) -> NodePlan {
    NodePlan {
        name: name.into(),
        n_ports: 1,
        build: Box::new(move |place| Ok(Box::new(Attached::new(script(), place)) as Box<dyn Node>)),
    }
}

pub fn plan(nodes: Vec<NodePlan>, links: Vec<Link>) -> Plan {
    let directory = Directory::by_rule(nodes.len() as u32);
    Plan { nodes, links, directory, seed: 7 }
}

pub fn build(plan: Plan, threads: usize) -> Network {
    Network::build(plan, Options { threads, ..Options::default() }).unwrap()
}

/// The same, with the rows of the run.
pub fn observed(plan: Plan, threads: usize) -> (Network, Arc<Mutex<Vec<Row>>>) {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let observer = move |new: &[Row]| {
        sink.lock().unwrap().extend_from_slice(new);
        Ok(())
    };
    let options = Options { threads, observer: Some(Box::new(observer)), ..Options::default() };
    (Network::build(plan, options).unwrap(), rows)
}

/// Head and tail of what arrived at a device, in picoseconds.
pub fn arrived(network: &mut Network, node: u32) -> Vec<(u64, u64)> {
    let act = |node: &mut dyn Node| {
        let attached = node.as_any().downcast_mut::<Attached<Script>>().unwrap();
        attached.device().arrived.iter().map(|arrival| (arrival.head.ps(), arrival.tail.ps())).collect()
    };
    network.with_node(NodeId(node), act).unwrap()
}

/// Adds switches behind the devices, with `n_ports` ports each, and routes over all links.
pub fn switched(mut nodes: Vec<NodePlan>, switches: &[(u16, SwitchParams)], links: Vec<Link>) -> Plan {
    let is_switch = (0..nodes.len() + switches.len()).map(|node| node >= nodes.len()).collect();
    let routes = Graph::new(&links, is_switch).routes();
    for (i, (n_ports, params)) in switches.iter().enumerate() {
        let (params, routes) = (params.clone(), routes[nodes.len()].clone().unwrap());
        nodes.push(NodePlan {
            name: format!("sw{i}"),
            n_ports: *n_ports,
            build: Box::new(move |place| Ok(Box::new(Switch::new(params, place, routes, None)) as Box<dyn Node>)),
        });
    }
    plan(nodes, links)
}

/// Devices around one switch; device `i` is at its port `i`.
pub fn star(scripts: Vec<Script>, params: SwitchParams, direction: Direction) -> Plan {
    let n = scripts.len();
    let links = (0..n).map(|i| link(&format!("l{i}"), (i as u32, 0), (n as u32, i as u16), direction)).collect();
    let nodes = scripts.into_iter().enumerate().map(|(i, script)| device(&format!("n{i}"), || script)).collect();
    switched(nodes, &[(n as u16, params)], links)
}

/// Counters of a switch.
pub fn counts(network: &mut Network, node: u32) -> net::switch::SwitchCounts {
    let act = |node: &mut dyn Node| node.as_any().downcast_mut::<Switch>().unwrap().counts();
    network.with_node(NodeId(node), act).unwrap()
}

/// Origin and number of the frames that arrived at a device.
pub fn origins(network: &mut Network, node: u32) -> Vec<(u32, u64)> {
    let act = |node: &mut dyn Node| {
        let attached = node.as_any().downcast_mut::<Attached<Script>>().unwrap();
        attached.device().arrived.iter().map(|arrival| (arrival.frame.id.node.0, arrival.frame.id.number)).collect()
    };
    network.with_node(NodeId(node), act).unwrap()
}
