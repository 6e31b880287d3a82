//! Resolves the connections of a file to ports and checks them.

use super::design::{Connection, Design, DesignPart, PortId};
use super::elaborate::{Elaboration, Instance, Item};
use super::endpoint::{Endpoint, Range, Selector};
use super::expression::Scope;
use super::module::{PortSide, PortSpec};
use super::problem::{FilePlace, Problems};
use super::text::WireText;
use diagnostics::near::{listed, suggestion};
use std::collections::BTreeMap;

/// Maximum capacity and latency of a connection.
const MOST: u64 = 1_000_000;
/// Default capacity in items, for each direction.
const ROOM: u64 = 2;
/// Default latency in cycles.
const LATENCY: u64 = 1;
/// Maximum number of ports that all connections together name: more than any card has; limits hostile files.
const MOST_NAMED: usize = 1_000_000;

/// The connections collected so far.
#[derive(Default)]
pub(super) struct Wiring {
    wires: Vec<(FilePlace, PortId, PortId, u64, u64)>,
    /// Ports of connections that already have an error: do not also report them as unconnected.
    excused: Vec<PortId>,
    n_named: usize,
}

/// The ports that one side of a connection names.
pub(super) struct ResolvedPorts {
    pub ports: Vec<PortId>,
    /// True if written as a list, even a list of one.
    pub is_list: bool,
    /// True for an open range, which takes as many ports as the other side has.
    as_many: bool,
}

impl Elaboration<'_> {
    pub(super) fn wire(&mut self, text: &WireText, instances: &BTreeMap<&str, Instance>, scope: &Scope) {
        let from = self.resolve(&text.from, instances, scope, &text.place);
        let to = self.resolve(&text.to, instances, scope, &text.place);
        let room = text.room.as_ref().map_or(Some(ROOM), |node| self.whole_number(node, "room", 1..=MOST, scope));
        let latency =
            text.latency.as_ref().map_or(Some(LATENCY), |node| self.whole_number(node, "latency", 1..=MOST, scope));
        let (mut from, mut to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            (one, other) => {
                self.wiring.excused.extend(one.into_iter().chain(other).flat_map(|resolved| resolved.ports));
                return;
            }
        };
        match (from.as_many, to.as_many) {
            (true, true) => {
                let problem = "both sides have an open range; one of them must say how many";
                self.problems.add(&text.place, problem);
                return;
            }
            (true, false) => from.ports.truncate(to.ports.len()),
            (false, true) => to.ports.truncate(from.ports.len()),
            (false, false) => {}
        }
        if from.ports.len() != to.ports.len() {
            let side = |endpoint: &Endpoint, resolved: &ResolvedPorts| match resolved.ports.len() {
                1 => format!("`{}` is 1 port", endpoint.text),
                n => format!("`{}` is {n} ports", endpoint.text),
            };
            let problem =
                format!("{}, {}; both sides must have the same number", side(&text.from, &from), side(&text.to, &to));
            self.problems.add(&text.place, problem);
            self.wiring.excused.extend(from.ports.into_iter().chain(to.ports));
            return;
        }
        let (room, latency) = (room.unwrap_or(ROOM), latency.unwrap_or(LATENCY));
        let wires = from.ports.into_iter().zip(to.ports);
        self.wiring.wires.extend(wires.map(|(from, to)| (text.place.clone(), from, to, room, latency)));
    }

    /// The ports that `endpoint` names, row by row. `None` if there is an error, which is then already reported.
    pub(super) fn resolve(
        &mut self,
        endpoint: &Endpoint,
        instances: &BTreeMap<&str, Instance>,
        scope: &Scope,
        place: &FilePlace,
    ) -> Option<ResolvedPorts> {
        let place = &place.of(&endpoint.text);
        let name = endpoint.instance.name.as_str();
        let Some(instance) = instances.get(name) else {
            let near = suggestion(name, instances.keys().copied());
            let resolved = diagnostics::near::nearest(name, instances.keys().copied());
            resolved.iter().for_each(|resolved| self.wiring.excuse(&instances[resolved].items));
            let hint = if near.is_empty() { format!("; here are {}", listed(instances.keys().copied())) } else { near };
            self.problems.add(place, format!("`{}`: there is no instance `{name}`{hint}", endpoint.text));
            return None;
        };
        let found = endpoint.instance.range(scope).and_then(|range| Ok((range, endpoint.port.range(scope)?)));
        let found = found.and_then(|(which, range)| Ok((which, range, items(instance, &endpoint.instance, which)?)));
        let (which, range, items) = match found {
            Ok(found) => found,
            Err(problem) => {
                self.wiring.excuse(&instance.items);
                self.problems.add(place, problem);
                return None;
            }
        };
        let mut ports = Vec::new();
        let mut is_sound = instance.is_array || !items.is_empty();
        for item in items {
            let Some(known) = &item.ports else {
                is_sound = false;
                continue;
            };
            match ports_of(item, known, &endpoint.port, range) {
                Ok(found) => ports.extend(found),
                Err(problem) => {
                    is_sound = false;
                    self.wiring.excuse(std::slice::from_ref(item));
                    self.problems.add(place, problem);
                }
            }
        }
        self.wiring.n_named += ports.len();
        if self.wiring.n_named > MOST_NAMED {
            self.problems.add(
                place,
                format!("the connections name {} ports, must be at most {MOST_NAMED}", self.wiring.n_named),
            );
            return None;
        }
        if !is_sound {
            self.wiring.excused.extend(ports);
            return None;
        }
        let as_many = matches!(range, Range::From(_)) || matches!(which, Range::From(_));
        let is_list = as_many || [which, range].iter().any(|range| matches!(range, Range::All | Range::Between(..)));
        Some(ResolvedPorts { ports, is_list, as_many })
    }
}

/// The parts of an instance that a selector names.
fn items<'a>(instance: &'a Instance, selector: &Selector, range: Range) -> Result<&'a [Item], String> {
    let (name, items) = (&selector.name, &instance.items[..]);
    match (instance.is_array, range) {
        (false, _) if items.is_empty() => return Ok(items),
        (false, Range::Plain) => return Ok(items),
        (false, _) => return Err(format!("`{name}` is one part, must be without brackets")),
        (true, Range::Plain) => {
            return Err(format!(
                "`{name}` is {} parts, must be with brackets such as `{name}[*]` or `{name}[0]`",
                items.len()
            ));
        }
        _ => {}
    }
    let (first, last) = match range {
        Range::One(one) => (one, one.saturating_add(1)),
        Range::Between(first, last) => (first, last),
        Range::From(first) => (first, items.len().max(first)),
        Range::All | Range::Plain => (0, items.len()),
    };
    items.get(first..last).ok_or_else(|| match items.len() {
        0 => format!("`{name}` has 0 parts (its `count`), must have at least 1"),
        n => format!("there is no `{name}[{}]`; the range is {name}[0] to {name}[{}]", (last - 1).max(first), n - 1),
    })
}

/// The ports of a part that a selector names.
fn ports_of(
    item: &Item,
    known: &BTreeMap<String, PortId>,
    selector: &Selector,
    range: Range,
) -> Result<Vec<PortId>, String> {
    let name = &selector.name;
    let numbered = |i: usize| known.get(&format!("{name}[{i}]")).copied();
    let one = known.get(name).copied();
    let from = |first| (first..).map_while(numbered).collect::<Vec<_>>();
    let n = from(0).len();
    let path = format!("{}.{name}", item.path);
    if one.is_none() && n == 0 {
        let names = bases(known.keys().map(String::as_str));
        let near = suggestion(name, names.iter().map(String::as_str));
        let names = listed(names.iter().map(String::as_str));
        return Err(format!("`{}` ({}) has no port `{name}`; its ports: {names}{near}", item.path, item.module));
    }
    let missing = |i: usize| format!("there is no `{path}[{i}]`; the range is [0] to [{}]", n - 1);
    match (range, one) {
        (Range::Plain, Some(port)) => Ok(vec![port]),
        (Range::Plain, None) => {
            Err(format!("`{path}` is {n} ports, must be with brackets such as `{name}[*]` or `{name}[0]`"))
        }
        (_, Some(_)) => Err(format!("`{path}` is one port, must be without brackets")),
        (Range::All, None) => Ok(from(0)),
        (Range::From(first), None) => Ok(from(first)),
        (Range::One(i), None) => numbered(i).map(|port| vec![port]).ok_or_else(|| missing(i)),
        (Range::Between(first, last), None) => (first..last).map(|i| numbered(i).ok_or_else(|| missing(i))).collect(),
    }
}

/// Port names as errors list them: `inputs[0]` and `inputs[1]` become `inputs[0..2]`.
fn bases<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for name in names {
        let base = name.split('[').next().unwrap_or(name);
        match found.iter_mut().find(|(known, _)| known == base) {
            Some((_, n)) => *n += 1,
            None => found.push((base.to_owned(), usize::from(name.contains('[')))),
        }
    }
    found.into_iter().map(|(base, n)| if n == 0 { base } else { format!("{base}[0..{n}]") }).collect()
}

impl Wiring {
    /// Marks all ports of `items`, so that they are not also reported as unconnected.
    fn excuse(&mut self, items: &[Item]) {
        self.excused.extend(items.iter().filter_map(|item| item.ports.as_ref()).flat_map(|ports| ports.values()));
    }

    /// Checks every connection and every port. Returns the valid connections.
    pub fn finish(self, parts: &[DesignPart], is_full: bool, problems: &mut Problems) -> Vec<Connection> {
        let mut taken: BTreeMap<PortId, &FilePlace> = BTreeMap::new();
        let mut excused: std::collections::BTreeSet<PortId> = self.excused.into_iter().collect();
        let spec = |id: PortId| -> &PortSpec { &parts[id.part].ports[id.port] };
        let path = |id| Design::path_of(parts, id);
        let mut found = Vec::new();
        let mut misfits = Vec::new();
        for (place, from, to, room, latency) in &self.wires {
            let is_twice = [*from, *to].map(|id| (id, taken.insert(id, place)));
            for (id, earlier) in is_twice {
                if let Some(earlier) = earlier {
                    let there = format!("{}, line {}", earlier.file(), earlier.line());
                    problems.add(
                        place,
                        format!("`{}` is already connected, in {there}; a port takes one connection", path(id)),
                    );
                }
            }
            let (left, right) = (spec(*from), spec(*to));
            if (left.side, right.side) != (PortSide::From, PortSide::To) || left.protocol != right.protocol {
                misfits.push((place, *from, *to));
                excused.extend([*from, *to]);
                continue;
            }
            let room = usize::try_from(*room).expect("a million fits");
            let (protocol, latency, ends) = (left.protocol, *latency, [*from, *to]);
            found.push(Connection { from: path(*from), to: path(*to), protocol, room, latency, ends });
        }
        let is_open = |id: &PortId| !taken.contains_key(id) || excused.contains(id);
        let all =
            || (0..parts.len()).flat_map(|part| (0..parts[part].ports.len()).map(move |port| PortId { part, port }));
        let partners = |id: PortId| {
            let fits =
                |other: &PortId| spec(*other).protocol == spec(id).protocol && spec(*other).side != spec(id).side;
            let open: Vec<String> =
                all().filter(|other| other.part != id.part && is_open(other) && fits(other)).map(path).collect();
            match open.is_empty() {
                true => "fits no free port".to_owned(),
                false => format!("may connect to {}", listed(bases_of_paths(&open).iter().map(String::as_str))),
            }
        };
        for (place, from, to) in misfits.into_iter().take(100) {
            problems.add(place, misfit(&path(from), spec(from), &path(to), spec(to), &partners(from)));
        }
        if is_full {
            return found;
        }
        // Report the unconnected ports of one array together.
        let mut left_over: BTreeMap<(&FilePlace, &str, &str), Vec<PortId>> = BTreeMap::new();
        for id in all().filter(|id| !spec(*id).is_optional && !taken.contains_key(id) && !excused.contains(id)) {
            let base = spec(id).name.split('[').next().unwrap_or_default();
            left_over.entry((&parts[id.part].place, &parts[id.part].path, base)).or_default().push(id);
        }
        for ((place, ..), ids) in left_over.into_iter().take(100) {
            let (first, n) = (ids[0], ids.len());
            let (others, are) = match n {
                1 => (String::new(), "is"),
                n => (format!(" and {} more like it", n - 1), "are"),
            };
            let text = format!(
                "`{}`{others} ({}) {are} not connected; it {}",
                path(first),
                sides(spec(first)),
                partners(first)
            );
            problems.add(place, text);
        }
        found
    }
}

/// Paths of ports, with the indices of one array combined: `sram.requesters[4..8]`.
fn bases_of_paths(paths: &[String]) -> Vec<String> {
    let mut found: Vec<(String, usize, usize)> = Vec::new();
    for path in paths {
        let numbered = path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
        let Some((base, index)) = numbered.and_then(|(base, index)| Some((base, index.parse::<usize>().ok()?))) else {
            found.push((path.clone(), usize::MAX, 0));
            continue;
        };
        match found.last_mut() {
            Some((last, _, end)) if last == base && *end == index => *end += 1,
            _ => found.push((base.to_owned(), index, index + 1)),
        }
    }
    let text = |(base, first, end): (String, usize, usize)| match (first, end) {
        (usize::MAX, _) => base,
        (first, end) if first + 1 == end => format!("{base}[{first}]"),
        (first, end) => format!("{base}[{first}..{end}]"),
    };
    found.into_iter().map(text).collect()
}

/// Protocol and side of a port, for errors: `memory, left of an arrow`.
fn sides(spec: &PortSpec) -> String {
    match spec.side {
        PortSide::From => format!("{}, left of an arrow", spec.protocol),
        PortSide::To => format!("{}, right of an arrow", spec.protocol),
    }
}

fn misfit(from: &str, left: &PortSpec, to: &str, right: &PortSpec, partners: &str) -> String {
    match (left.side, right.side) {
        _ if left.protocol != right.protocol => {
            format!("`{from}` speaks {}, `{to}` speaks {}; `{from}` {partners}", left.protocol, right.protocol)
        }
        (PortSide::To, PortSide::From) => format!("the arrow is the wrong way round, write `{to} -> {from}`"),
        (PortSide::From, _) => format!("`{from}` and `{to}` both stand left of an arrow; `{from}` {partners}"),
        (PortSide::To, _) => format!("`{from}` and `{to}` both stand right of an arrow; `{from}` {partners}"),
    }
}
