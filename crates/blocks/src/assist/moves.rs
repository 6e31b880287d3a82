//! Records of transfers, for the paths of frames: which bytes an assist moved, and the causes of the time that it took.

use kernel::{Clock, Cycle, Time};
use std::cell::RefCell;
use std::rc::Rc;

kernel::words! {
    /// Causes of a transfer's time.
    pub enum Wait {
        /// The assist works on transfers that firmware ordered before, or on frames that came before.
        Before = "transfer_before",
        /// The assist reads the descriptor of the transfer.
        Descriptor = "descriptor_read",
        /// The assist reads the bytes from the card's memory.
        MemoryRead = "memory_read",
        /// The assist writes the bytes to the card's memory.
        MemoryWrite = "memory_write",
        /// The assist reads the bytes from host memory.
        HostRead = "host_read",
        /// The assist writes the bytes to host memory.
        HostWrite = "host_write",
        /// The assist describes the frame in the card's memory, after its last byte.
        Describe = "descriptor_write",
        /// The transfer is done, and its report waits for reports of transfers before it, or for room on the way to the registers.
        Report = "report",
        /// The line carries other frames and gaps between them.
        LineBusy = "line_busy",
        /// The line carries the frame, at its rate.
        Line = "line",
    }
}

/// Ports of assists at which transfers take time.
pub const PORTS: [&str; 4] = ["memory", "descriptors", "host", "wire"];

impl Wait {
    /// The port at which the transfer waits; `None` if it waits in the assist.
    pub fn port(self) -> Option<&'static str> {
        match self {
            Wait::Before | Wait::Report => None,
            Wait::Descriptor | Wait::Describe => Some("descriptors"),
            Wait::MemoryRead | Wait::MemoryWrite => Some("memory"),
            Wait::HostRead | Wait::HostWrite => Some("host"),
            Wait::LineBusy | Wait::Line => Some("wire"),
        }
    }
}

/// The way of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// A frame of this number from the network to the card's memory.
    Receive(u64),
    /// A frame of this number from the network, which the assist dropped for this reason.
    Drop(u64, &'static str),
    /// From the card's memory to host memory.
    ToHost,
    /// From host memory to the card's memory.
    FromHost,
    /// A frame from the card's memory to the network.
    Send,
}

/// Bytes of a memory: address and number.
pub type Area = (u64, u64);

/// A transfer that an assist has finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Its way.
    pub route: Route,
    /// Bytes of the card's memory, in pieces that do not wrap.
    pub card: Vec<Area>,
    /// Bytes of host memory; none for network frames.
    pub host: Area,
    /// When the assist learned of the transfer, from firmware's order or from an arriving frame.
    pub ordered: Time,
    /// When the assist first used the bytes.
    pub begun: Time,
    /// Causes in order of time, each with its end. An end may be earlier than the end of the previous cause.
    pub steps: Vec<(Wait, Time)>,
}

impl Move {
    /// When it was finished.
    pub fn done(&self) -> Time {
        self.steps.iter().map(|&(_, end)| end).max().unwrap_or(self.ordered)
    }
}

/// Tracks since when a condition holds; `is_so` tells if it holds now. When the condition ends, returns the cycles for
/// which it held; otherwise 0.
pub(super) fn count_since(since: &mut Option<Cycle>, now: Cycle, is_so: bool) -> Cycle {
    if is_so {
        since.get_or_insert(now);
        return 0;
    }
    since.take().map_or(0, |since| now - since)
}

/// The log to which assists add the transfers that they have finished.
pub type MoveLog = Rc<RefCell<Vec<Move>>>;

/// Records the transfers of an assist.
pub(super) struct Recorder {
    clock: Clock,
    log: MoveLog,
    /// For each ring and entry: the cycle in which the assist learned that the entry is filled.
    ordered: Vec<Vec<Cycle>>,
}

impl Recorder {
    /// Records into `log`, for an assist on this clock with rings of these numbers of entries.
    pub fn new(clock: Clock, log: MoveLog, rings: &[u32]) -> Recorder {
        Recorder { clock, log, ordered: rings.iter().map(|&entries| vec![0; entries as usize]).collect() }
    }

    /// The entries of a ring from `from` to before `to` are filled now.
    pub fn order(&mut self, now: Cycle, ring: usize, from: u32, to: u32) {
        let Some(entries) = self.ordered.get_mut(ring).filter(|entries| !entries.is_empty()) else { return };
        let count = entries.len() as u32;
        let mut entry = from % count;
        while entry != to % count {
            entries[entry as usize] = now;
            entry = (entry + 1) % count;
        }
    }

    /// When an entry was filled.
    pub fn ordered(&self, ring: usize, entry: u32) -> Cycle {
        self.ordered.get(ring).and_then(|entries| entries.get(entry as usize)).copied().unwrap_or_default()
    }

    /// A transfer is finished; times are cycles of the assist's clock.
    pub fn note(
        &self,
        route: Route,
        card: Vec<Area>,
        host: Area,
        [ordered, begun]: [Cycle; 2],
        steps: &[(Wait, Cycle)],
    ) {
        let at = |cycle| self.clock.edge(cycle);
        let steps = steps.iter().map(|&(wait, end)| (wait, at(end))).collect();
        self.log.borrow_mut().push(Move { route, card, host, ordered: at(ordered), begun: at(begun), steps });
    }
}
