//! The path of a packet through PANIC or a baseline, from its trail.

use crate::chains::trail::{Part, part_before};
use crate::paths::{self, At, Cause, Path, Step};
use crate::tracks::{Group, Scenery, Track};
use kernel::Cycle;
use panic::protocol::{PacketStep, Trail};
use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

/// Stages of a path.
pub const STAGES: [&str; 3] = ["ingress", "chain", "egress"];

kernel::words! {
    /// Kinds of places of a path.
    enum Place {
        /// The network port and the RMT pipeline.
        Ingress = "ingress",
        /// The interconnect, on the way to a node.
        Interconnect = "interconnect",
        /// The scheduler; `index` is the service that the packet waits for.
        Scheduler = "scheduler",
        /// A unit of a service.
        Unit = "unit",
        /// A node outside services, such as a core that forwards packets.
        Node = "node",
        /// The network port or the host's queue.
        Egress = "egress",
    }
}

/// Names of the places.
pub const PLACES: [&str; Place::NAMES.len()] = Place::NAMES;

kernel::words! {
    /// Causes of time.
    enum Why {
        /// The packet arrives, and the RMT pipeline looks at it.
        Ingress = "ingress",
        /// The packet crosses the interconnect, and waits for its links.
        Interconnect = "interconnect",
        /// The packet waits in the scheduler for its turn and for a credit of a unit.
        Queueing = "queueing",
        /// A unit had no room and refused the packet, which goes back to the scheduler or to another unit.
        Detour = "detour",
        /// The unit has the packet, and its engine works on others.
        EngineBusy = "engine_busy",
        /// The engine works on the packet.
        Service = "service",
        /// The engine is done, and the packet waits until it can leave the unit.
        UnitOutput = "unit_output",
        /// The packet leaves the card, at the rate of the line.
        Egress = "egress",
    }
}

/// All causes.
pub static CAUSES: LazyLock<Vec<Cause>> = LazyLock::new(|| {
    let resource = |why: Why| match why {
        Why::EngineBusy | Why::Service => "{name}[{1}].engine.*",
        Why::Queueing => "{name}[*].*",
        Why::Interconnect => "interconnect.flits[{0}]",
        _ => "",
    };
    let cause = |why: Why| Cause { name: why.word(), about: Why::ABOUT[why as usize], resource: resource(why) };
    Why::ALL.into_iter().map(cause).collect()
});

/// Words for the numbers of a column.
pub fn words(column: &str) -> Vec<&'static str> {
    paths::words(column, &STAGES, &PLACES, &CAUSES)
}

/// How paths become slices, on a card with these services. `chains` has the names of chains; packets without a chain
/// follow them.
pub fn scenery(services: Vec<String>, chains: impl Iterator<Item = String>) -> Scenery {
    let runs = |chain: String| vec![STAGES[0].to_owned(), chain, STAGES[2].to_owned()];
    Scenery {
        stages: &STAGES,
        causes: &CAUSES,
        track: Box::new(move |step| track(step, &services)),
        runs: chains.chain(["no chain".to_owned()]).map(runs).collect(),
        has_messages: false,
        memory: "bytes inside",
    }
}

/// The track of a step.
fn track(step: &Step, services: &[String]) -> Track {
    let number = |which: usize| step.at.numbers[which].unwrap_or(0);
    let unit = || format!("{}[{}]", services[number(0) as usize], number(1));
    let unit_rank = (number(0) << 8) + number(1);
    let (group, rank, name) = match Place::ALL[step.at.place as usize] {
        Place::Ingress => (Group::Links, 0, "ingress".to_owned()),
        Place::Interconnect => (Group::Links, 2 + number(0), format!("interconnect to node {}", number(0))),
        Place::Egress => (Group::Links, 1, "egress".to_owned()),
        Place::Scheduler => match step.at.numbers[0] {
            Some(service) => (Group::Queues, 0, format!("for {}", services[service as usize])),
            None => (Group::Queues, 0, "scheduler".to_owned()),
        },
        Place::Unit if step.cause == Why::Service as u8 => (Group::Cores, unit_rank, unit()),
        Place::Unit => (Group::Queues, 1 + unit_rank, format!("in {}", unit())),
        Place::Node => (Group::Software, number(0), format!("node {}", number(0))),
    };
    Track { group, rank, name }
}

/// A packet in a unit.
#[derive(Clone, Copy)]
struct InUnit {
    begun: Cycle,
    done: Cycle,
    packet: u64,
}

/// Packets that were in each unit, so that paths can name the packets that blocked others. A packet is noted when it leaves
/// the card, so paths never name one that is still inside.
#[derive(Default)]
pub struct InUnits(BTreeMap<u8, VecDeque<InUnit>>);

/// Maximum number of packets that are kept for each unit.
const MOST_KEPT: usize = 1 << 10;

impl InUnits {
    /// Notes a packet that has left the card.
    pub fn note(&mut self, packet: u64, trail: &Trail) {
        let mut begun = None;
        for mark in trail.marks() {
            match mark.step {
                PacketStep::Begun => begun = Some(mark.at),
                PacketStep::Done => {
                    let Some(begun) = begun.take() else { continue };
                    let known = self.0.entry(mark.node.0).or_default();
                    let at = known.partition_point(|one| one.done <= mark.at);
                    known.insert(at, InUnit { begun, done: mark.at, packet });
                    if known.len() > MOST_KEPT {
                        known.pop_front();
                    }
                }
                _ => {}
            }
        }
    }

    /// The last packet that left a unit in this time.
    fn last_to_leave(&self, node: u8, from: Cycle, to: Cycle) -> Option<u64> {
        let known = self.0.get(&node)?;
        let at = known.partition_point(|one| one.done <= to).checked_sub(1)?;
        known.get(at).filter(|one| one.done > from).map(|one| one.packet)
    }

    /// The packet on which the engine of a unit worked in this time; of several packets, the one that began last.
    fn last_begun(&self, node: u8, from: Cycle, to: Cycle) -> Option<u64> {
        let there = self.0.get(&node)?.iter().rev().filter(|one| one.begun < to && one.done > from);
        there.max_by_key(|one| one.begun).map(|one| one.packet)
    }
}

/// The path of a packet with this trail, up to its last mark. `units` has the service of each node, and the node's
/// position in that service.
pub fn path(trail: &Trail, units: &BTreeMap<u8, (usize, usize)>, in_units: &InUnits) -> Path {
    let marks = trail.marks();
    let mut path = Path::from(marks.first().map_or(0, |mark| mark.at));
    let (mut is_detoured, mut stage) = (false, 0);
    for (position, (last, mark)) in marks.iter().zip(marks.iter().skip(1)).enumerate() {
        let node = match units.get(&last.node.0) {
            Some(&(service, unit)) => {
                At { place: Place::Unit as u8, numbers: [Some(service as u32), Some(unit as u32)] }
            }
            None => At::one(Place::Node as u8, last.node.0.into()),
        };
        let only = |place: Place| At::only(place as u8);
        // The unit to which the scheduler sends the packet.
        let next =
            marks[position + 1..].iter().find(|mark| matches!(mark.step, PacketStep::Taken | PacketStep::Refused));
        let service = next.and_then(|mark| units.get(&mark.node.0)).map(|&(service, _)| service as u32);
        let link = At::one(Place::Interconnect as u8, mark.node.0.into());
        let (at, why) = match part_before(Some(last.step), is_detoured, mark.step) {
            None if mark.step == PacketStep::Left => (only(Place::Egress), Why::Egress),
            None | Some(Part::Ingress) => (only(Place::Ingress), Why::Ingress),
            Some(Part::Detours) => (link, Why::Detour),
            Some(Part::Queueing) => (At { place: Place::Scheduler as u8, numbers: [service, None] }, Why::Queueing),
            Some(Part::UnitWait) if mark.step == PacketStep::Done => (node, Why::UnitOutput),
            Some(Part::UnitWait) => (node, Why::EngineBusy),
            Some(Part::Service) => (node, Why::Service),
            Some(Part::Interconnect) => (link, Why::Interconnect),
        };
        stage = match mark.step {
            PacketStep::Left => 2,
            PacketStep::Arrived | PacketStep::Entered | PacketStep::Unserved => stage,
            _ => 1,
        };
        let blocker = match (why, next) {
            (Why::Queueing, Some(next)) => in_units.last_to_leave(next.node.0, last.at, mark.at),
            (Why::EngineBusy, _) => in_units.last_begun(last.node.0, last.at, mark.at),
            _ => None,
        };
        path.until(mark.at, stage, at, why as u8, blocker);
        match mark.step {
            PacketStep::Refused => is_detoured = true,
            PacketStep::Taken => is_detoured = false,
            _ => {}
        }
    }
    path
}
