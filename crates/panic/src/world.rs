//! The NIC's edge: where its packets come from and go to, and who says what is done with them.
//!
//! These are the only ways in and out of the model. They are called within the tick of the component that owns them, so what
//! they answer must depend on their arguments and their own state alone.

use crate::drops::DropReason;
use crate::protocol::{Fields, Hop, Message};
use kernel::Cycle;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// A packet on its way into the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Its number; no two packets of a run have the same.
    pub id: u64,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// Where the packets of a network port, or of a transmit queue, come from.
pub trait PacketSource {
    /// The next packet, if it is there in cycle `now`.
    fn next(&mut self, now: Cycle) -> Option<Arrival>;

    /// After `None`: the first cycle in which there may be a packet; none, if no more will come.
    fn next_at(&mut self) -> Option<Cycle>;
}

/// Where a packet came in, or goes out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The network port of this number.
    Network(u8),
    /// The host; into the NIC, its transmit queue of this number.
    Host(u16),
}

/// What is to be done with a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Services to visit, in order; `push_to` is the scheduler's.
    pub chain: SmallVec<[Hop; 4]>,
    /// Where it goes then; none drops it at once.
    pub exit: Option<Side>,
    /// Flow, for affinity.
    pub flow: u32,
    /// Traffic class of the whole packet, which drops before the scheduler count for.
    pub class: u8,
    /// Cycles that it may wait in all.
    pub slack_cycles: u64,
    /// What was found in it.
    pub fields: Fields,
}

/// Says what is done with each packet that comes in, and may change it: the programmable part of the RMT pipeline.
pub trait Classifier {
    /// Looks at a packet; asked once for each, in order of arrival, in the cycle in which its first bytes come.
    fn classify(&mut self, now: Cycle, from: Side, packet: &mut Vec<u8>) -> Verdict;
}

/// Takes what leaves the NIC.
pub trait Outlet {
    /// A packet's last bytes have left at `side` in cycle `now`; its trail ends with that.
    fn leave(&mut self, now: Cycle, side: Side, message: Message);

    /// A packet is dropped, wherever it is.
    fn drop(&mut self, now: Cycle, message: Message, reason: DropReason);
}

/// An outlet that several parts of the NIC share.
pub type SharedOutlet = Rc<RefCell<dyn Outlet>>;
/// A classifier that the network ports and the host share, and that others may change between two runs.
pub type SharedClassifier = Rc<RefCell<dyn Classifier>>;
