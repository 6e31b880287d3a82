//! From a [`NetworkSpec`] to a checked design, and on to the plan of a network.

use crate::address::Directory;
use crate::line::{Framing, Rate};
use crate::link::{Direction, Link};
use crate::node::{BuildNode, Node};
use crate::plan::{NodePlan, Plan};
use crate::routes::{Graph, SwitchRoutes};
use crate::spec::{DeviceSpec, LinkParams, LinkSpec, NetworkSpec, SwitchChoice};
use crate::switch::params::SwitchParams;
use crate::switch::{Divert, Switch};
use crate::topology::{End, MAX_DEVICES, MAX_PORTS, Shape};
use crate::{NodeId, PortId};
use diagnostics::near::{listed, suggestion};
use diagnostics::param::{ParamError, must, within};
use kernel::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::eth::Mac;
use wire::expr::Matcher;
use wire::faults::Faults;

/// Rate of links that state none.
const RATE: u64 = 100_000_000_000; // assumed: the rate of most cards of the last years
/// Delay of links that state none.
const DELAY: Time = Time::from_ns(500); // assumed: about 100 m of fibre
/// Delay of a metre of fibre.
const METRE: Time = Time::from_ps(4_900); // source: ITU-T G.652 fibre has a group index of about 1.468, so 4.9 ns/m
/// Longest frame of links that state none.
const MAX_FRAME: u32 = 9018; // assumed: jumbo frames, 9,000 bytes and a VLAN-tagged Ethernet header

/// A node of a design.
#[derive(Clone, Debug)]
pub struct DesignNode {
    /// Its name.
    pub name: String,
    /// Device or switch.
    pub kind: DesignKind,
    /// Number of its ports.
    pub n_ports: u16,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub enum DesignKind {
    /// A device.
    Device(DeviceSpec),
    /// A switch, with its routes and the card in it.
    Switch(Box<SwitchParams>, Arc<SwitchRoutes>, Option<Divert>),
}

/// A checked network. Devices come first, then switches.
#[derive(Clone, Debug)]
pub struct Design {
    /// Its nodes; positions are numbers.
    pub nodes: Vec<DesignNode>,
    /// Number of devices.
    pub n_devices: u32,
    /// Its links.
    pub links: Vec<Link>,
    /// Addresses of the devices.
    pub directory: Directory,
    /// Seed.
    pub seed: u64,
}

impl Design {
    /// Number of the node with a name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|number| NodeId(number as u32))
    }

    /// The plan, with devices that `device` builds.
    pub fn plan<E>(self, mut device: impl FnMut(NodeId, &str, &DeviceSpec) -> Result<BuildNode, E>) -> Result<Plan, E> {
        let mut nodes = Vec::new();
        for (number, node) in self.nodes.into_iter().enumerate() {
            let build: BuildNode = match node.kind {
                DesignKind::Device(spec) => device(NodeId(number as u32), &node.name, &spec)?,
                DesignKind::Switch(params, routes, divert) => {
                    Box::new(move |place| Ok(Box::new(Switch::new(*params, place, routes, divert)) as Box<dyn Node>))
                }
            };
            nodes.push(NodePlan { name: node.name, n_ports: node.n_ports, build });
        }
        Ok(Plan { nodes, links: self.links, directory: self.directory, seed: self.seed })
    }
}

impl NetworkSpec {
    /// Checks everything. `devices` are the kinds of devices that exist; `is_file` accepts others that name files.
    pub fn design(&self, devices: &[&str], is_file: impl Fn(&str) -> bool) -> Result<Design, ParamError> {
        let shape = match &self.topology {
            Some(topology) => topology.shape().map_err(|error| error.inside("topology"))?,
            None => Shape::default(),
        };
        let mut draft = Draft::new(self, shape)?;
        draft.check_devices(devices, is_file)?;
        let links = draft.links()?;
        draft.finish(links)
    }
}

/// The ends of a link: nodes, and ports if they are stated.
type Ends = [(u32, Option<u16>); 2];

/// A network under construction.
struct Draft<'a> {
    spec: &'a NetworkSpec,
    shape: Shape,
    names: Vec<String>,
    /// Node by name.
    numbers: BTreeMap<String, u32>,
    n_devices: u32,
    devices: Vec<(String, DeviceSpec)>,
    directory: Directory,
    switches: Vec<SwitchParams>,
    /// Ports in use by each node, with the name of the link.
    ports: Vec<BTreeMap<u16, String>>,
}

impl<'a> Draft<'a> {
    fn new(spec: &'a NetworkSpec, shape: Shape) -> Result<Self, ParamError> {
        let has_topology = spec.topology.is_some();
        let mut names: Vec<String> = (0..shape.n_devices).map(|i| format!("n{i}")).collect();
        if has_topology {
            for (i, node) in spec.nodes.iter().enumerate() {
                known(&format!("nodes[{i}].name"), &node.name, &names, "a node of the topology")?;
            }
        } else {
            names = spec.nodes.iter().map(|node| node.name.clone()).collect();
        }
        let n_devices = names.len() as u32;
        within("number of nodes", names.len() as u64, 1, MAX_DEVICES)?;
        let switch_names: Vec<String> = match has_topology {
            true => shape.switches.clone(),
            false => spec.switches.iter().map(|switch| switch.name.clone()).collect(),
        };
        if has_topology {
            for (i, switch) in spec.switches.iter().enumerate() {
                known(&format!("switches[{i}].name"), &switch.name, &switch_names, "a switch of the topology")?;
            }
        }
        within("number of switches", switch_names.len() as u64, 0, MAX_DEVICES)?;
        let mut switches = vec![params_of(&spec.switch, "switch")?; switch_names.len()];
        for (i, switch) in spec.switches.iter().enumerate() {
            let at = switch_names.iter().position(|name| *name == switch.name);
            if let (Some(at), Some(choice)) = (at, &switch.params) {
                switches[at] = params_of(choice, &format!("switches[{i}].params"))?;
            }
        }
        names.extend(switch_names);
        let mut numbers = BTreeMap::new();
        for (number, name) in names.iter().enumerate() {
            must("name", format!("`{name}`"), !name.is_empty() && !name.contains(':'), || "a name without `:`".into())?;
            let other = numbers.insert(name.clone(), number as u32);
            must("name", format!("`{name}`"), other.is_none(), || {
                "different from all other nodes and switches".into()
            })?;
        }
        let mut devices: Vec<(String, DeviceSpec)> =
            vec![("device.kind".into(), spec.device.clone()); n_devices as usize];
        let mut directory = Directory::by_rule(n_devices);
        for (i, node) in spec.nodes.iter().enumerate() {
            let number = numbers[&node.name];
            if let Some(device) = &node.device {
                devices[number as usize] = (format!("nodes[{i}].device.kind"), device.clone());
            }
            let id = NodeId(number);
            let ip = node.ip.unwrap_or(directory.ip(id));
            let mac = match &node.mac {
                None => directory.mac(id),
                Some(text) => text.parse::<Mac>().ok().filter(|mac| !mac.is_multicast()).ok_or_else(|| ParamError {
                    key: format!("nodes[{i}].mac"),
                    found: format!("`{text}`"),
                    allowed: "the MAC address of a node, such as 02:00:00:00:00:01; bit 0 of the first byte is 0"
                        .into(),
                })?,
            };
            must(&format!("nodes[{i}].ip"), ip.to_string(), !ip.is_multicast() && !ip.is_broadcast(), || {
                "the address of a node, not of a group of nodes".into()
            })?;
            if node.ip.is_some() || node.mac.is_some() {
                directory.assign(id, ip, mac).map_err(|holder| ParamError {
                    key: format!("nodes[{i}].ip or mac"),
                    found: format!("{ip} and {mac}"),
                    allowed: format!(
                        "addresses that no other node has; `{}` has one of them",
                        names[holder.0 as usize]
                    ),
                })?;
            }
        }
        let ports = vec![BTreeMap::new(); names.len()];
        Ok(Draft { spec, shape, names, numbers, n_devices, devices, directory, switches, ports })
    }

    fn check_devices(&self, kinds: &[&str], is_file: impl Fn(&str) -> bool) -> Result<(), ParamError> {
        for (key, DeviceSpec { kind, .. }) in &self.devices {
            if !kinds.contains(&kind.as_str()) && !is_file(kind) {
                let allowed =
                    format!("one of {}{}", listed(kinds.iter().copied()), suggestion(kind, kinds.iter().copied()));
                return Err(ParamError { key: key.clone(), found: format!("`{kind}`"), allowed });
            }
        }
        Ok(())
    }

    /// All links, with the properties of all levels.
    fn links(&mut self) -> Result<Vec<Link>, ParamError> {
        let mut drafts: Vec<(Ends, Option<usize>)> = Vec::new();
        let n_devices = self.n_devices;
        let number = |end: End| match end {
            End::Device(i) => i,
            End::Switch(i) => n_devices + i,
        };
        for &(one, other) in &self.shape.links {
            drafts.push(([(number(one), None), (number(other), None)], None));
        }
        let n_shape = drafts.len();
        for (i, link) in self.spec.links.iter().enumerate() {
            let ends =
                [self.end(&format!("links[{i}].from"), &link.from)?, self.end(&format!("links[{i}].to"), &link.to)?];
            let is_same = |draft: &Ends| {
                let pair = [draft[0].0, draft[1].0];
                pair == [ends[0].0, ends[1].0] || pair == [ends[1].0, ends[0].0]
            };
            let has_ports = ends.iter().any(|(_, port)| port.is_some());
            // An entry without ports between ends that have a link in the topology changes that link.
            let own = drafts[..n_shape].iter().position(|(draft, by)| by.is_none() && !has_ports && is_same(draft));
            match own {
                Some(at) => drafts[at] = (ends, Some(i)),
                None => drafts.push((ends, Some(i))),
            }
        }
        // Links with a named port get it first; the others take the free ports in order.
        for (ends, entry) in &drafts {
            for (side, &(node, port)) in ends.iter().enumerate() {
                if let (Some(port), Some(i)) = (port, entry) {
                    let key = format!("links[{i}].{}", ["from", "to"][side]);
                    let name = format!("links[{i}]");
                    if let Some(other) = self.ports[node as usize].insert(port, name) {
                        let found = format!("port {port} of `{}`", self.names[node as usize]);
                        return Err(ParamError {
                            key,
                            found,
                            allowed: format!("a port without a link; {other} has it"),
                        });
                    }
                }
            }
        }
        let mut links = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut next_free = vec![0u16; self.names.len()];
        for (ends, entry) in drafts {
            let spec = entry.map(|i| (i, &self.spec.links[i]));
            let mut placed = [(NodeId(0), PortId(0)); 2];
            for (place, (node, port)) in placed.iter_mut().zip(ends) {
                let used = &mut self.ports[node as usize];
                let port = port.unwrap_or_else(|| {
                    let next = &mut next_free[node as usize];
                    while used.contains_key(next) {
                        *next += 1;
                    }
                    used.insert(*next, String::new());
                    *next
                });
                *place = (NodeId(node), PortId(port));
            }
            let name = spec.and_then(|(_, spec)| spec.name.clone()).unwrap_or_else(|| {
                let pair = format!("{}-{}", self.names[ends[0].0 as usize], self.names[ends[1].0 as usize]);
                let n = known.entry(pair.clone()).or_default();
                *n += 1;
                if *n == 1 { pair } else { format!("{pair}#{n}") }
            });
            links.push(self.link(name, placed, spec)?);
        }
        Ok(links)
    }

    /// Reads `name` or `name:port`.
    fn end(&self, key: &str, text: &str) -> Result<(u32, Option<u16>), ParamError> {
        let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
        let Some(&number) = self.numbers.get(name) else {
            known(key, name, &self.names, "a node or switch")?;
            return Err(ParamError { key: key.into(), found: format!("`{name}`"), allowed: "a node or switch".into() });
        };
        let port = match port {
            None => None,
            Some(port) => {
                let read = port.parse::<u16>().ok().filter(|&port| u32::from(port) < MAX_PORTS);
                must(key, format!("`{text}`"), read.is_some(), || {
                    format!("a name and a port from 0 to {}", MAX_PORTS - 1)
                })?;
                read
            }
        };
        Ok((number, port))
    }

    fn link(
        &self,
        name: String,
        ends: [(NodeId, PortId); 2],
        spec: Option<(usize, &LinkSpec)>,
    ) -> Result<Link, ParamError> {
        let (key, own) = match spec {
            Some((i, spec)) => (format!("links[{i}].with"), spec.with.clone()),
            None => ("link".into(), LinkParams::default()),
        };
        if ends[0].0 == ends[1].0 {
            let found = format!("a link from `{}` to itself", self.names[ends[0].0.0 as usize]);
            return Err(ParamError { key: key.replace(".with", ""), found, allowed: "two nodes".into() });
        }
        let all = &self.spec.link;
        let rate = own.rate.or(all.rate).map_or(Rate::bps(RATE), |rate| rate.0.map_or(Rate::INFINITE, Rate::bps));
        let back = own.rate_back.or(if own.rate.is_some() { None } else { all.rate_back });
        let rate_back = back.map_or(rate, |rate| rate.0.map_or(Rate::INFINITE, Rate::bps));
        let delay = |params: &LinkParams, key: &str| match (params.delay, params.length_m) {
            (Some(_), Some(_)) => Err(ParamError {
                key: format!("{key}.length_m"),
                found: "given with `delay`".into(),
                allowed: "given alone".into(),
            }),
            (Some(delay), None) => Ok(Some(delay.time())),
            (None, Some(metres)) => {
                within(&format!("{key}.length_m"), metres, 1, 100_000_000)?;
                Ok(Some(Time::from_fs(u64::from(metres) * METRE.fs())))
            }
            (None, None) => Ok(None),
        };
        let delay = delay(&own, &key)?.or(delay(all, "link")?).unwrap_or(DELAY);
        within(&format!("{key}.delay"), delay.ns(), 0, 10_000_000_000).map_err(|error| error.because("in ns"))?;
        let max_frame = own.max_frame_bytes.or(all.max_frame_bytes).unwrap_or(MAX_FRAME);
        within(&format!("{key}.max_frame_bytes"), max_frame, 60, 65_535)?;
        let faults = |text: Option<&String>, field: &str| {
            let read = text.map_or(Ok(Faults::NONE), |text| text.parse());
            read.map_err(|error| ParamError {
                key: format!("{key}.{field}"),
                found: format!("`{}`", text.map_or("", String::as_str)),
                allowed: error
                    .to_string()
                    .split_once("must be ")
                    .map_or_else(String::new, |(_, allowed)| allowed.to_owned()),
            })
        };
        let there = faults(own.faults.as_ref().or(all.faults.as_ref()), "faults")?;
        let back = own.faults_back.as_ref().or(if own.faults.is_some() { None } else { all.faults_back.as_ref() });
        let faults_back = back.map_or(Ok(there), |text| faults(Some(text), "faults_back"))?;
        let framing = own.framing.or(all.framing).unwrap_or(Framing::Ethernet);
        let reaction = own.pause_reaction.or(all.pause_reaction).map_or(Time::ZERO, |span| span.time());
        let direction = |rate: Rate, faults: Faults| Direction {
            rate,
            delay,
            framing,
            max_frame: max_frame as usize,
            faults,
            // assumed: ten delays, plus the line time of `faults.distance` frames of the maximum length
            longest_hold: Time::from_fs(
                delay.fs() * 10 + rate.time(framing.line_bits(max_frame as usize) * u64::from(faults.distance)).fs(),
            ),
        };
        let directions = [direction(rate, there), direction(rate_back, faults_back)];
        Ok(Link { name, ends, directions, pause_reaction: [reaction; 2] })
    }

    /// The card in a switch.
    fn divert(&self, switch: usize, links: &[Link]) -> Result<Option<Divert>, ParamError> {
        let specs = self.spec.switches.iter().enumerate();
        let Some((i, compute)) = specs
            .filter(|(_, spec)| spec.name == self.names[switch])
            .find_map(|(i, spec)| Some((i, spec.compute.as_ref()?)))
        else {
            return Ok(None);
        };
        let matcher = Matcher::parse(&compute.matching).map_err(|error| ParamError {
            key: format!("switches[{i}].compute.match"),
            found: format!("`{}`", compute.matching),
            allowed: format!("an expression ({error})"),
        })?;
        let ends = links.iter().flat_map(|link| [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])]);
        let here = ends.filter(|((node, _), _)| node.0 as usize == switch);
        let neighbours: Vec<(PortId, &str)> = here
            .filter(|(_, (peer, _))| peer.0 < self.n_devices)
            .map(|((_, port), (peer, _))| (port, self.names[peer.0 as usize].as_str()))
            .collect();
        let port = neighbours.iter().find(|(_, name)| *name == compute.card).map(|&(port, _)| port);
        let names = || neighbours.iter().map(|&(_, name)| name);
        port.map(|port| Some(Divert { matcher, port })).ok_or_else(|| ParamError {
            key: format!("switches[{i}].compute.card"),
            found: format!("`{}`", compute.card),
            allowed: format!(
                "a node with a link to the switch: {}{}",
                listed(names()),
                suggestion(&compute.card, names())
            ),
        })
    }

    /// Computes the routes, and checks that all devices reach each other.
    fn finish(self, links: Vec<Link>) -> Result<Design, ParamError> {
        let (n, n_devices) = (self.names.len(), self.n_devices as usize);
        for (node, ports) in self.ports.iter().enumerate() {
            let is_device = node < n_devices;
            let links = || format!("a list without node `{}`", self.names[node]);
            must("links", links(), !is_device || !ports.is_empty(), || "one in which each node has a link".into())?;
        }
        let graph = Graph::new(&links, (0..n).map(|node| node >= n_devices).collect());
        if let Some((NodeId(from), NodeId(to))) = graph.parted() {
            let (from, to) = (&self.names[from as usize], &self.names[to as usize]);
            let found = format!("no path from `{from}` to `{to}`");
            let allowed = "links and switches that join all nodes (nodes that are not switches pass nothing on)".into();
            return Err(ParamError { key: "links".into(), found, allowed });
        }
        let routes = graph.routes();
        let mut longest = vec![0u64; n];
        for link in &links {
            for (end, direction) in link.directions.iter().enumerate() {
                let node = link.ends[1 - end].0.0 as usize;
                longest[node] = longest[node].max(direction.max_frame as u64);
            }
        }
        for (i, params) in self.switches.iter().enumerate() {
            let node = n_devices + i;
            let own = self.spec.switches.iter().position(|one| one.name == self.names[node] && one.params.is_some());
            let key = own.map_or_else(|| "switch".to_owned(), |own| format!("switches[{own}].params"));
            let refuse = |error: ParamError| error.inside(&key);
            params.check(longest[node].max(60)).map_err(refuse)?;
        }
        let has_pfc = self.switches.iter().any(|params| params.pfc.is_some());
        let cycle = if has_pfc && !self.spec.may_deadlock { graph.waiting_cycle(&routes) } else { None };
        if let Some(cycle) = cycle {
            let path: Vec<&str> = cycle.iter().map(|switch| self.names[switch.0 as usize].as_str()).collect();
            let found = format!("priority flow control on routes that wait in a circle: {}", path.join(" -> "));
            let allowed = "routes without circles, or no `pfc`, or `may_deadlock = true`".into();
            return Err(ParamError { key: "switch".into(), found, allowed });
        }
        let n_ports = |node: usize| self.ports[node].keys().next_back().map_or(0, |last| last + 1);
        let mut nodes = Vec::new();
        for (node, (_, device)) in self.devices.iter().enumerate() {
            let kind = DesignKind::Device(device.clone());
            nodes.push(DesignNode { name: self.names[node].clone(), kind, n_ports: n_ports(node) });
        }
        for (i, params) in self.switches.iter().enumerate() {
            let node = n_devices + i;
            let divert = self.divert(node, &links)?;
            let kind = DesignKind::Switch(Box::new(params.clone()), routes[node].clone().unwrap_or_default(), divert);
            nodes.push(DesignNode { name: self.names[node].clone(), kind, n_ports: n_ports(node) });
        }
        let (directory, seed) = (self.directory, self.spec.seed);
        Ok(Design { nodes, n_devices: self.n_devices, links, directory, seed })
    }
}

/// Checks that a name is in a list.
fn known(key: &str, name: &str, names: &[String], what: &str) -> Result<(), ParamError> {
    let all = || names.iter().map(String::as_str);
    must(key, format!("`{name}`"), names.iter().any(|known| known == name), || {
        format!("{what}: {}{}", listed(all()), suggestion(name, all()))
    })
}

fn params_of(choice: &SwitchChoice, key: &str) -> Result<SwitchParams, ParamError> {
    match choice {
        SwitchChoice::Params(params) => Ok((**params).clone()),
        SwitchChoice::Preset(name) => SwitchParams::preset(name).ok_or_else(|| {
            let near = suggestion(name, SwitchParams::PRESETS);
            let allowed = format!("a table of parameters, or one of {}{near}", listed(SwitchParams::PRESETS));
            ParamError { key: key.into(), found: format!("`{name}`"), allowed }
        }),
    }
}
