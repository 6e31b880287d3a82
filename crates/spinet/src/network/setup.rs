//! Checks an experiment with a network and makes the plan of the network: cards, links and switches.

use super::device::{CardDevice, HostFrames, HostSide};
use super::experiment::{HostSourceSpec, NetworkError, NetworkExperiment, NetworkProblem, NodeSpec};
use super::keys::check_keys;
use super::plain::{PLAIN, PlainCard};
use super::progress::NodeProgress;
use super::schedule::Ranks;
use crate::experiment::{self, CheckedSource, ExperimentError, Traffic, gives};
use crate::kinds::{self, Kind, OwnPolicies, Text};
use crate::run::{Card, RunError, Wanted};
use crate::streams::Stream;
use crate::toml_text::Format;
use crate::tracks::NetworkTracks;
use diagnostics::near::nearest;
use diagnostics::param::ParamError;
use kernel::Time;
use net::NodeId;
use net::address::Directory;
use net::design::Design;
use net::device::Attached;
use net::error::NetError;
use net::host::{BuildProgram, Sink};
use net::node::{BuildNode, Node, NodeFailure, Place};
use net::plain::params::PlainParams;
use net::plan::Plan;
use net::spec::{DeviceSpec, NetworkSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::faults::Faults;
use wire::traffic::TrafficSpec;

/// Maximum number of nodes of one entry. assumed: more would be a mistake; a thousand nodes are a large experiment.
const MOST_COUNT: u32 = 1 << 16;

/// A node with its card.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Its name.
    pub name: String,
    /// Its card: a preset, or the path of its file.
    pub nic: String,
    /// The kind of its card; `None` for a plain NIC.
    pub kind: Option<&'static Kind>,
    /// The position of its entry in `[[nodes]]`, if it has one.
    pub entry: Option<usize>,
    /// The experiment for its card, as JSON.
    text: String,
    /// Packets of its host that bypass the card.
    sends: Vec<CheckedSource>,
    /// Parameters of its host's messages.
    messages: Option<PlainParams>,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A checked experiment with a network.
#[derive(Clone, Debug)]
pub struct Setup {
    /// As it was written, with defaults filled in.
    pub experiment: NetworkExperiment,
    /// Its nodes; their positions are their numbers.
    pub nodes: Vec<NodeSetup>,
    /// The schedule that hosts run.
    pub(super) ranks: Option<Ranks>,
    pub(super) design: Design,
    file: String,
    base_dir: PathBuf,
}

/// The path of a key, and its fault.
pub(super) type Fault = (Vec<String>, NetworkProblem);

/// The name of a node, and the entry of `[[nodes]]` that describes it.
type Named = (String, Option<usize>);

pub(super) fn fault(path: &[&str], problem: NetworkProblem) -> Fault {
    (path.iter().map(|&part| part.to_owned()).collect(), problem)
}

impl Setup {
    /// Reads an experiment with a network. Checks everything except properties that only a built card can check.
    pub fn read(text: &Text<'_>) -> Result<Setup, NetworkError> {
        let Text { text, file, base_dir, format } = *text;
        let read = experiment::read(text, file, format);
        let mut experiment: NetworkExperiment = read.map_err(ExperimentError::from)?;
        let at = |(path, problem): Fault| ExperimentError::at((text, file, format), &path, Box::new(problem));
        let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
        check_keys(&experiment).map_err(at)?;
        complete(&mut experiment, file, &base_dir)?;
        Ok(Self::check(experiment, file, base_dir).map_err(at)?)
    }

    fn check(mut experiment: NetworkExperiment, file: &str, base_dir: PathBuf) -> Result<Setup, Fault> {
        for (key, specs) in [("traffic", &experiment.common.traffic), ("send", &experiment.common.send)] {
            if !specs.is_empty() {
                return Err(fault(&[key], NetworkProblem::Packets));
            }
        }
        if !experiment.common.faults.is_none() {
            return Err(fault(&["faults"], NetworkProblem::Faults));
        }
        let entries = entries(&experiment)?;
        let design = spec_of(&experiment, &entries).design(&[PLAIN], |_| false).map_err(design_fault)?;
        let numbers: BTreeMap<String, usize> =
            entries.iter().enumerate().map(|(number, (name, _))| (name.clone(), number)).collect();
        let mut nodes = Vec::new();
        for (number, (name, entry)) in entries.into_iter().enumerate() {
            let mut node = node_of(&experiment, entry, name);
            if let Some(params) = &node.messages {
                let own = entry.filter(|&entry| experiment.nodes[entry].messages.is_some());
                let inside = |error: ParamError| {
                    let error = error.inside("messages");
                    own.map_or(error.clone(), |entry| error.inside(&format!("nodes[{entry}]")))
                };
                params.check().map_err(|error| design_fault(inside(error)))?;
            }
            let seed = seed_of(experiment.common.seed, number);
            let sends = entry.map(|entry| (entry, experiment.nodes[entry].send.clone()));
            if let Some((entry, mut specs)) = sends {
                let n_sends = specs.len();
                for (i, spec) in specs.iter_mut().enumerate() {
                    let source = checked(spec, number, seed, &numbers, &design.directory, &base_dir);
                    let at = |(key, problem): (&str, _)| {
                        // A single source may stand without a list around it.
                        let i = if n_sends > 1 { i.to_string() } else { String::new() };
                        let entry = entry.to_string();
                        let mut path = vec!["nodes", &entry, "send", &i, key];
                        path.retain(|part| !part.is_empty());
                        fault(&path, problem)
                    };
                    node.sends.push(source.map_err(at)?);
                }
                // The checked sources have absolute paths.
                experiment.nodes[entry].send = specs;
            }
            nodes.push(node);
        }
        let ranks = Ranks::read(&experiment, &base_dir, nodes.len());
        let ranks = ranks.map_err(|(key, problem)| fault(&[key], problem))?;
        Ok(Setup { experiment, nodes, ranks, design, file: file.to_owned(), base_dir })
    }

    /// The timeline and the waveforms that the run writes.
    pub(super) fn timeline(&self, wanted: &Wanted) -> Result<Option<NetworkTracks>, NetworkError> {
        let Some(spec) = &wanted.tracks else { return Ok(None) };
        let refuse = |key: &str, found: &str, allowed: &str| NetError::Plan {
            key: key.into(),
            found: found.into(),
            allowed: allowed.into(),
        };
        if wanted.ranks.is_some() {
            let key = if spec.timeline.is_some() { "timeline" } else { "waves" };
            return Err(refuse(key, "run by several processes", "run by one process").into());
        }
        Ok(Some(NetworkTracks::create(spec, &self.design)?))
    }

    /// The address of a node.
    pub fn ip(&self, node: usize) -> Ipv4Addr {
        self.design.directory.ip(NodeId(node as u32))
    }

    /// Number of packets that hosts send, if it is known.
    pub fn offered(&self) -> Option<u64> {
        self.nodes.iter().flat_map(|node| &node.sends).map(CheckedSource::total).sum()
    }

    /// Checks that programs of hosts are for nodes that exist.
    pub fn check_hosts(&self, wanted: &Wanted) -> Result<(), NetworkError> {
        let names = || self.nodes.iter().map(|node| node.name.as_str());
        let known: BTreeSet<&str> = names().collect();
        let ranks = self.ranks.as_ref().map_or(0, Ranks::n_ranks);
        if let Some(name) = names().take(ranks).find(|name| wanted.hosts.contains_key(*name)) {
            return Err(NetworkError::TwoPrograms { name: name.to_owned() });
        }
        match wanted.hosts.keys().find(|name| !known.contains(name.as_str())) {
            None => Ok(()),
            Some(found) => {
                Err(NetworkError::Host { found: found.clone(), near: nearest(found, names()).map(str::to_owned) })
            }
        }
    }

    /// The network to build. Cards are built on the threads that run them.
    pub fn plan(&self, wanted: &Wanted, progress: &[Arc<NodeProgress>]) -> Plan {
        let seed = self.experiment.common.seed;
        let mut seen = BTreeSet::new();
        let device = |id: NodeId, _: &str, _: &DeviceSpec| {
            let number = id.0 as usize;
            let node = self.nodes[number].clone();
            let rank = || self.ranks.as_ref().and_then(|ranks| ranks.program(number));
            let program = wanted.hosts.get(&node.name).cloned().or_else(rank);
            let builder = Builder {
                file: self.file.clone(),
                base_dir: self.base_dir.clone(),
                wanted: of_node(wanted, &node, number, program.is_some()),
                is_first: seen.insert(node.entry),
                program,
                node,
                seed: seed_of(seed, number),
                progress: progress[number].clone(),
            };
            Ok::<_, Infallible>(builder.build())
        };
        match self.design.clone().plan(device) {
            Ok(plan) => plan,
            Err(never) => match never {},
        }
    }
}

/// Checks the experiments of the nodes' cards, and makes paths absolute.
fn complete(experiment: &mut NetworkExperiment, file: &str, base_dir: &Path) -> Result<(), NetworkError> {
    let absolute = |path: &mut String| *path = base_dir.join(&*path).display().to_string();
    experiment.schedule.iter_mut().for_each(absolute);
    experiment.nodes.iter_mut().filter_map(|node| node.host_program.as_mut()).for_each(absolute);
    for entry in 0..experiment.nodes.len() {
        let spec = &experiment.nodes[entry];
        let (name, has_nic) = (spec.name.clone(), spec.card.contains_key("nic"));
        let node = node_of(experiment, Some(entry), name.clone());
        let Some(kind) = node.kind else { continue };
        let text = Text { text: &node.text, file, base_dir, format: Format::Json };
        let wanted = Wanted { lines: true, ..Wanted::default() };
        let failed = |error: RunError| NetError::Build { name: name.clone(), failure: Arc::new(error) };
        let mut checked = (kind.check)(&text, &wanted).map_err(failed)?;
        drop_nulls(&mut checked);
        let table = toml::Table::try_from(&checked).map_err(|error| failed(RunError::new(error)))?;
        // Keeps only keys that the user gave: `may_sleep` refuses cards with other keys, even if these have their default values.
        let given = &experiment.nodes[entry].card;
        let is_kept = |key: &String| given.contains_key(key) || key == "nic";
        let mut table: toml::Table = table.into_iter().filter(|(key, _)| is_kept(key)).collect();
        if !has_nic && !experiment.common.nic.preset.is_empty() {
            let preset = table.remove("nic").and_then(|nic| Some(nic.get("preset")?.as_str()?.to_owned()));
            experiment.common.nic.preset = preset.unwrap_or_default();
        }
        experiment.nodes[entry].card = table;
    }
    Ok(())
}

/// Removes keys with the value null, which TOML does not have.
fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// All nodes, each with its entry.
fn entries(experiment: &NetworkExperiment) -> Result<Vec<Named>, Fault> {
    match &experiment.topology {
        None => named(&experiment.nodes),
        Some(topology) => {
            let shape = topology.shape().map_err(|error| design_fault(error.inside("topology")))?;
            chosen(&experiment.nodes, shape.n_devices)
        }
    }
}

/// The nodes that entries name.
fn named(specs: &[NodeSpec]) -> Result<Vec<Named>, Fault> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    for (entry, spec) in specs.iter().enumerate() {
        let at = |key, problem| fault(&["nodes", &entry.to_string(), key], problem);
        let names = names(spec).map_err(|problem| at("name", problem))?;
        if names.len() > 1 && (spec.ip.is_some() || spec.mac.is_some()) {
            return Err(at("count", NetworkProblem::AddressOfSeveral));
        }
        for name in names {
            if !known.insert(name.clone()) {
                return Err(at("name", NetworkProblem::Name { found: name }));
            }
            all.push((name, Some(entry)));
        }
    }
    Ok(all)
}

/// The nodes of a topology, each with the first entry that matches its name.
fn chosen(specs: &[NodeSpec], n_nodes: u32) -> Result<Vec<Named>, Fault> {
    let mut all: Vec<Named> = (0..n_nodes).map(|i| (format!("n{i}"), None)).collect();
    for (entry, spec) in specs.iter().enumerate() {
        let at = |key, problem| fault(&["nodes", &entry.to_string(), key], problem);
        if spec.count.is_some() {
            return Err(at("count", NetworkProblem::CountOfTopology));
        }
        if spec.name.contains('*') && (spec.ip.is_some() || spec.mac.is_some()) {
            return Err(at("name", NetworkProblem::AddressOfSeveral));
        }
        let mut fits = all.iter_mut().filter(|(name, _)| matches(&spec.name, name)).peekable();
        if fits.peek().is_none() {
            let last = format!("n{}", n_nodes - 1);
            return Err(at("name", NetworkProblem::NoSuchNodes { found: spec.name.clone(), last }));
        }
        let mut is_used = false;
        for (_, found) in fits {
            is_used |= *found.get_or_insert(entry) == entry;
        }
        if !is_used {
            return Err(at("name", NetworkProblem::Shadowed { found: spec.name.clone() }));
        }
    }
    Ok(all)
}

/// True if a name matches a pattern, in which `*` stands for any text.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).filter(|&at| tail.is_char_boundary(at)).any(|at| matches(rest, &tail[at..]))
        }),
    }
}

/// The network without its cards.
fn spec_of(experiment: &NetworkExperiment, entries: &[Named]) -> NetworkSpec {
    let NetworkExperiment { topology, link, switch, switches, links, may_deadlock, .. } = experiment.clone();
    let node = |(name, entry): &Named| {
        let spec = entry.map(|entry| &experiment.nodes[entry]);
        let (ip, mac) = spec.map_or((None, None), |spec| (spec.ip, spec.mac.clone()));
        net::spec::NodeSpec { name: name.clone(), device: None, ip, mac }
    };
    NetworkSpec {
        seed: experiment.common.seed,
        topology,
        device: DeviceSpec::default(),
        link,
        switch,
        nodes: entries.iter().map(node).collect(),
        switches,
        links,
        may_deadlock,
    }
}

/// The fault of a network's value, whose key is a text such as `links[3].with.rate`.
fn design_fault(error: ParamError) -> Fault {
    let ParamError { key, found, allowed } = error;
    let parts = key.split(['.', '[']).map(|part| part.trim_end_matches(']').to_owned());
    (parts.collect(), NetworkProblem::Design { found, allowed })
}

/// The seed of a node: nodes with equal cards draw different numbers.
fn seed_of(seed: u64, node: usize) -> u64 {
    // Numbers in TOML have 63 bits and a sign.
    net::digest::fold(seed, node as u64) >> 1
}

/// The records that the card of a node keeps.
fn of_node(wanted: &Wanted, node: &NodeSetup, number: usize, has_program: bool) -> Wanted {
    let prefix = node.entry.map(|entry| format!("{entry}/")).unwrap_or_default();
    let mine = |(name, path): (&String, &PathBuf)| Some((name.strip_prefix(&prefix)?.to_owned(), path.clone()));
    let is_kept = keeps(wanted, &node.name);
    Wanted {
        programs: wanted.programs.iter().filter_map(mine).collect(),
        lines: true,
        host: node.messages.is_some() || has_program,
        tables: wanted.tables && is_kept,
        profile: wanted.profile && is_kept,
        paths: wanted.paths && is_kept,
        tracks: wanted
            .tracks
            .as_ref()
            .filter(|_| is_kept)
            .map(|spec| NetworkTracks::of_node(spec, &node.name, number as u32)),
        ..Wanted::default()
    }
}

/// Most characters of a node's name. File systems take 255 in the name of a folder, and `count` adds a number.
const MOST_NAME: usize = 200;

/// Returns true if the records of a node are kept.
pub(super) fn keeps(wanted: &Wanted, name: &str) -> bool {
    wanted.keep_nodes.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| matches(pattern, name)))
}

fn names(spec: &NodeSpec) -> Result<Vec<String>, NetworkProblem> {
    let name = &spec.name;
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_good) {
        return Err(NetworkProblem::BadName { found: name.clone() });
    }
    if name.len() > MOST_NAME {
        return Err(NetworkProblem::LongName { found: name.len(), most: MOST_NAME });
    }
    match spec.count {
        None => Ok(vec![name.clone()]),
        Some(count) if (1..=MOST_COUNT).contains(&count) => Ok((0..count).map(|i| format!("{name}{i}")).collect()),
        Some(found) => Err(NetworkProblem::Count { found, most: MOST_COUNT }),
    }
}

pub(super) fn node_of(experiment: &NetworkExperiment, entry: Option<usize>, name: String) -> NodeSetup {
    let mut table = entry.map(|entry| experiment.nodes[entry].card.clone()).unwrap_or_default();
    let default = &experiment.common.nic;
    if !table.contains_key("nic") && !default.preset.is_empty() {
        let nic = toml::Value::try_from(default).expect("a card's name and settings are TOML");
        table.insert("nic".into(), nic);
    }
    let nic = table.get("nic").and_then(|nic| nic.as_str().or_else(|| nic.get("preset")?.as_str()));
    let text = serde_json::to_string(&table).expect("a TOML table is JSON");
    let kind = match nic {
        Some(PLAIN) => None,
        None if table.is_empty() => None,
        _ => Some(kinds::of_experiment(&text, Path::new(""), Format::Json)),
    };
    let nic = nic.unwrap_or(kind.map_or(PLAIN, |kind| kind.example)).to_owned();
    let own = entry.and_then(|entry| experiment.nodes[entry].messages.clone());
    let messages = own.or_else(|| experiment.messages.clone());
    NodeSetup { name, nic, kind, entry, text, sends: Vec::new(), messages }
}

fn checked(
    spec: &mut HostSourceSpec,
    node: usize,
    seed: u64,
    numbers: &BTreeMap<String, usize>,
    directory: &Directory,
    base_dir: &Path,
) -> Result<CheckedSource, (&'static str, NetworkProblem)> {
    let text = spec.source.source.clone();
    let mut source = spec.source.check(seed, base_dir).map_err(|(key, problem)| (key, problem.into()))?;
    let to = spec.to.as_ref().map(|to| find(to, numbers).map_err(|problem| ("to", problem))).transpose()?;
    if let Traffic::Generator(generated) = &mut source.traffic {
        address(generated, &text, node, to, directory);
        // Restores the user's text, to which the check has added default addresses.
        spec.source.source = text;
    }
    Ok(source)
}

/// Gives generated packets the addresses of their nodes, where the text does not state others.
fn address(spec: &mut TrafficSpec, text: &str, from: usize, to: Option<usize>, directory: &Directory) {
    let id = |node: usize| NodeId(node as u32);
    if !gives(text, "src") {
        spec.src = directory.ip(id(from)).into();
    }
    if !gives(text, "src_mac") {
        spec.src_mac = directory.mac(id(from));
    }
    let Some(to) = to else { return };
    if !gives(text, "dst") {
        spec.dst = directory.ip(id(to)).into();
    }
    if !gives(text, "dst_mac") {
        spec.dst_mac = directory.mac(id(to));
    }
}

fn find(name: &str, numbers: &BTreeMap<String, usize>) -> Result<usize, NetworkProblem> {
    let near = || nearest(name, numbers.keys().map(String::as_str)).map(str::to_owned);
    numbers.get(name).copied().ok_or_else(|| NetworkProblem::NoNode { found: name.into(), near: near() })
}

/// Builds the card of a node, on the node's thread.
struct Builder {
    file: String,
    base_dir: PathBuf,
    wanted: Wanted,
    node: NodeSetup,
    /// True for the first node of its entry.
    is_first: bool,
    /// The program of its host.
    program: Option<BuildProgram>,
    seed: u64,
    progress: Arc<NodeProgress>,
}

impl Builder {
    fn build(self) -> BuildNode {
        Box::new(move |place| {
            let device = self.device(place)?;
            device.check_ports(place)?;
            Ok(Box::new(Attached::new(device, place)) as Box<dyn Node>)
        })
    }

    /// The experiment for the card, with the node's seed.
    fn text(&self) -> String {
        let mut table: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&self.node.text).expect("the text was made from a table");
        table.insert("seed".into(), self.seed.into());
        serde_json::Value::Object(table).to_string()
    }

    /// Builds a card of this kind.
    fn card(&self, kind: &Kind) -> Result<Box<dyn Card>, RunError> {
        let text = Text { text: &self.text(), file: &self.file, base_dir: &self.base_dir, format: Format::Json };
        Ok((kind.start)(&text, &self.wanted, OwnPolicies::default())?.card)
    }

    /// Returns true if the card does nothing before a packet reaches it: it runs handlers, and its experiment has no timed actions.
    fn may_sleep(&self) -> bool {
        let keys: BTreeMap<String, serde_json::Value> = serde_json::from_str(&self.node.text).unwrap_or_default();
        let is_passive = |key: &String| ["nic", "program", "context"].contains(&key.as_str());
        let is_alone = self.program.is_none() && self.node.messages.is_none();
        is_alone && self.node.kind.is_some_and(|kind| kind.name == kinds::HANDLERS.name) && keys.keys().all(is_passive)
    }

    fn device(self, place: &Place) -> Result<CardDevice, NodeFailure> {
        let NodeSetup { kind, sends, .. } = &self.node;
        let open = |source: &CheckedSource| {
            let CheckedSource { traffic, pacing, count, start } = source;
            let stream = Stream::open(traffic, *pacing, *count, (Faults::NONE, self.seed), None);
            Ok::<_, RunError>((stream.map_err(RunError::new)?, start.unwrap_or(Time::ZERO)))
        };
        let host = sends.iter().map(open).collect::<Result<Vec<_>, RunError>>()?;
        let host = HostFrames::new(host).map_err(RunError::new)?;
        let (card, has_lines) = match *kind {
            None => (Box::<PlainCard>::default() as Box<dyn Card>, false),
            // The first card of an entry is built at once, so that mistakes in the entry are found.
            Some(kind) if !self.is_first && self.may_sleep() => {
                let progress = self.progress.clone();
                return Ok(CardDevice::sleeping(Box::new(move || self.card(kind)), host, progress));
            }
            Some(kind) => (self.card(kind)?, kind.has_lines),
        };
        let program = match (&self.program, &self.node.messages) {
            (Some(program), _) => program.build(place)?,
            (None, Some(_)) => Box::new(Sink),
            (None, None) => return Ok(CardDevice::new(card, has_lines, host, self.progress.clone())),
        };
        let is_plain = kind.is_none();
        let params = self.node.messages.clone().unwrap_or_default();
        let side = HostSide::new(params, place, program, (!is_plain).then_some(&*card))?;
        Ok(CardDevice::new(card, has_lines, host, self.progress.clone()).with_program(side, is_plain))
    }
}
