//! The edge of the NIC: packet sources, the match-action program and packet sinks.
//!
//! All data enters and leaves the model through these traits. The owning component calls them within its tick, so their answers
//! must depend only on their arguments and their own state.

use crate::drops::DropReason;
use crate::protocol::{Fields, Hop, Message};
use kernel::Cycle;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// A packet that enters the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Packet number, unique within a run.
    pub id: u64,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// Packets of a network port or of a transmit queue.
pub trait PortSource {
    /// The next packet, if it has arrived by cycle `now`.
    fn next(&mut self, now: Cycle) -> Option<Arrival>;

    /// Called after `next` returned `None`: the first cycle in which a packet may arrive, or `None` if no more will come.
    fn next_at(&mut self) -> Option<Cycle>;
}

/// Where a packet enters or leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ExternalPort {
    /// The network port of this number.
    Network(u8),
    /// The host. On entry, the number is the transmit queue.
    Host(u16),
}

/// The match-action program's decision about a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Services to visit, in order; the scheduler sets `push_to`.
    pub chain: SmallVec<[Hop; 4]>,
    /// Exit after the last service; `None` drops the packet at once.
    pub exit: Option<ExternalPort>,
    /// Flow, for flow affinity.
    pub flow: u32,
    /// Traffic class of the packet as a whole, under which drops before the scheduler are counted.
    pub class: u8,
    /// Slack: total cycles that the packet may wait.
    pub slack_cycles: u64,
    /// Header offsets and hash.
    pub fields: Fields,
}

impl Verdict {
    /// Visits these services and leaves at `exit`. Flow, class and slack are 0, and no fields are parsed.
    pub fn along(chain: impl IntoIterator<Item = Hop>, exit: Option<ExternalPort>) -> Verdict {
        let chain = chain.into_iter().collect();
        Verdict { chain, exit, flow: 0, class: 0, slack_cycles: 0, fields: Fields::default() }
    }
}

/// The match-action program: decides what happens to each packet that enters, and may modify it.
pub trait Classifier {
    /// Classifies a packet. Called once for each packet, in order of arrival, in the cycle of its first bytes.
    fn classify(&mut self, now: Cycle, from: ExternalPort, packet: &mut Vec<u8>) -> Verdict;
}

/// The sink of packets that leave the NIC.
pub trait Outlet {
    /// The packet's last bytes left at `side` in cycle `now`; its trail is complete.
    fn leave(&mut self, now: Cycle, side: ExternalPort, message: Message);

    /// The packet was dropped, anywhere in the NIC.
    fn drop(&mut self, now: Cycle, message: Message, reason: DropReason);
}

/// An outlet that several components share.
pub type SharedOutlet = Rc<RefCell<dyn Outlet>>;
/// A classifier that the network ports and the host share. It may be changed between two runs.
pub type SharedClassifier = Rc<RefCell<dyn Classifier>>;
