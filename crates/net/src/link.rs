//! Links: two directions, each with delay, faults, a longest frame, and counters.

use crate::capture::Captured;
use crate::digest::fold;
use crate::frame::{Arrival, Frame};
use crate::line::{Framing, Rate, Slot};
use crate::node::{Output, Transmission};
use crate::observe::{DropReason, Tally, What};
use crate::{LinkId, NodeId, PortId};
use kernel::Time;
use wire::faults::{FaultCounts, FaultDraws, Faults};

/// Fixed properties of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct Direction {
    /// Rate of the transmitter at its begin.
    pub rate: Rate,
    /// Time that a bit takes to the other end; at least 1 fs.
    pub delay: Time,
    /// Bits that the line adds to frames.
    pub framing: Framing,
    /// Longest frame that it carries, without FCS, in bytes.
    pub max_frame: usize,
    /// Losses, copies, late frames. Pause frames have none.
    pub faults: Faults,
    /// Longest time that a late frame is held back when no frames follow it.
    pub longest_hold: Time,
}

/// A link between two ports. `ends[0]` sends with `directions[0]`.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name, for errors and captures.
    pub name: String,
    /// Its ends.
    pub ends: [(NodeId, PortId); 2],
    /// Its directions: from end 0, and from end 1.
    pub directions: [Direction; 2],
    /// The reaction time of each end's transmitter to pause frames.
    pub pause_reaction: [Time; 2],
}

/// Counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LinkCounts {
    /// Frames that began to cross it. Pause frames are not counted here.
    pub sent: Tally,
    /// Frames that arrived, copies included.
    pub arrived: Tally,
    /// Frames that are too long for it.
    pub too_long: u64,
    /// Faults.
    pub faults: FaultCounts,
    /// Pause frames, those that end a pause included.
    pub pauses: u64,
    /// Time that frames and pause frames took on the line, gaps excluded, in femtoseconds.
    pub busy_fs: u64,
}

/// A frame on its way to the other end of a link.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The node that it goes to.
    pub node: NodeId,
    /// Its port there.
    pub port: PortId,
    /// The link.
    pub link: LinkId,
    /// Number among the frames that cross this direction of the link.
    pub number: u64,
    /// The frame and its times.
    pub arrival: Arrival,
}

/// One direction of a link at run time.
pub(crate) struct Wire {
    link: LinkId,
    to: (NodeId, PortId),
    direction: Direction,
    draws: Option<FaultDraws>,
    /// Late frames, each with the number of frames that must cross before it, and with the latest time of its release.
    late: Vec<(u32, Time, Frame)>,
    number: u64,
    hash: u64,
    last: Slot,
    counts: LinkCounts,
    /// The captures of its begin and of its end.
    pub taps: [Option<u32>; 2],
    /// Frames that began, for the order in captures.
    begun: u64,
}

impl Wire {
    /// The direction of `link` that begins at `end`.
    pub fn new(id: LinkId, link: &Link, end: usize, seed: u64) -> Self {
        let direction = link.directions[end];
        let has_faults = direction.faults != Faults::NONE;
        let name = format!("links.{}.{end}.faults", link.name);
        Wire {
            link: id,
            to: link.ends[1 - end],
            draws: has_faults.then(|| FaultDraws::new(direction.faults, seed, &name)),
            direction,
            late: Vec::new(),
            number: 0,
            hash: 0,
            last: Slot { start: Time::ZERO, head: Time::ZERO, tail: Time::ZERO },
            counts: LinkCounts::default(),
            taps: [None; 2],
            begun: 0,
        }
    }

    pub fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// Hash of everything that crossed it, with the times.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns true if it can hold frames back.
    pub fn has_faults(&self) -> bool {
        self.draws.is_some()
    }

    /// Frames that it holds back.
    pub fn held(&self) -> Tally {
        let mut sum = Tally::default();
        self.late.iter().for_each(|(_, _, frame)| sum.add(frame));
        sum
    }

    /// The time at which it must release a late frame.
    pub fn next_event(&self) -> Option<Time> {
        self.late.iter().map(|&(_, until, ..)| until).min()
    }

    /// Carries a frame. Frames that arrive at the other end are added to `deliveries`.
    pub fn carry(&mut self, transmission: Transmission, out: &mut Output, deliveries: &mut Vec<Delivery>) {
        let Transmission { slot, mut frame, .. } = transmission;
        self.counts.busy_fs += (slot.tail - slot.start).fs();
        out.row(
            slot.start,
            &frame,
            What::Crossed {
                link: self.link,
                head: slot.head + self.direction.delay,
                tail: slot.tail + self.direction.delay,
                is_pause: frame.is_control,
            },
        );
        if let Some(tap) = self.taps[0] {
            out.captured.push(Captured { key: (slot.head, tap, false, self.begun), frame: frame.clone() });
        }
        self.begun += 1;
        frame.hops += 1;
        self.last = slot;
        if frame.is_control {
            self.counts.pauses += 1;
            self.arrive(frame, out, deliveries);
            return;
        }
        self.counts.sent.add(&frame);
        if frame.len() > self.direction.max_frame {
            self.counts.too_long += 1;
            out.dropped(slot.start, &frame, DropReason::TooLong);
            return;
        }
        let Some(fate) = self.draws.as_mut().map(FaultDraws::next_fate) else {
            self.arrive(frame, out, deliveries);
            return;
        };
        if fate.is_lost {
            self.counts.faults.lost += 1;
            out.dropped(slot.start, &frame, DropReason::Lost);
            return;
        }
        self.late.iter_mut().for_each(|(left, ..)| *left -= 1);
        let copy = fate.is_double.then(|| frame.clone());
        match fate.late_by {
            Some(by) => {
                self.counts.faults.reordered += 1;
                self.late.push((by, slot.start + self.direction.longest_hold, frame));
            }
            None => self.arrive(frame, out, deliveries),
        }
        if let Some(copy) = copy {
            self.counts.faults.duplicated += 1;
            out.copied(&copy);
            out.row(slot.start, &copy, What::Copied { link: self.link });
            self.arrive(copy, out, deliveries);
        }
        while let Some(at) = self.late.iter().position(|&(left, ..)| left == 0) {
            let (_, _, frame) = self.late.remove(at);
            self.arrive(frame, out, deliveries);
        }
    }

    /// Releases the late frames that have waited for the longest time.
    pub fn release(&mut self, until: Time, out: &mut Output, deliveries: &mut Vec<Delivery>) {
        while let Some(at) = self.late.iter().position(|&(_, latest, ..)| latest <= until) {
            let (_, latest, frame) = self.late.remove(at);
            let (head, tail) = (latest.max(self.last.head), latest.max(self.last.tail));
            self.last = Slot { start: latest, head, tail };
            self.arrive(frame, out, deliveries);
        }
    }

    /// Lets a frame arrive with the times of the last one that crossed.
    fn arrive(&mut self, frame: Frame, out: &mut Output, deliveries: &mut Vec<Delivery>) {
        let (head, tail) = (self.last.head + self.direction.delay, self.last.tail + self.direction.delay);
        for word in [head.fs(), tail.fs(), frame.hash, frame.id.number, u64::from(frame.id.node.0)] {
            self.hash = fold(self.hash, word);
        }
        if !frame.is_control {
            self.counts.arrived.add(&frame);
        }
        let (node, port) = self.to;
        let number = self.number;
        self.number += 1;
        if let Some(tap) = self.taps[1] {
            out.captured.push(Captured { key: (head, tap, true, number), frame: frame.clone() });
        }
        deliveries.push(Delivery { node, port, link: self.link, number, arrival: Arrival { head, tail, frame } });
    }
}
