//! The fates of the traffic's frames, as counts that add up.

use super::card::WiredCard;
use serde::Serialize;
use std::collections::BTreeMap;

/// Frames of a direction by what happened to them. The counts add up to the frames of its traffic, unless the card sent some twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Fates {
    /// Came out of the card.
    pub through: u64,
    /// Longer than the card accepts, not given to it. Only for captures; a generator with such frames is refused.
    pub too_long: u64,
    /// Dropped by the receiver: for another address.
    pub filtered: u64,
    /// Dropped by the receiver: firmware had not enabled it.
    pub receiver_off: u64,
    /// Dropped by the receiver: its FIFO was full.
    pub overrun: u64,
    /// Dropped by the receiver: no buffer was free.
    pub no_buffer: u64,
    /// Dropped by the receiver: no descriptor was free.
    pub no_descriptor: u64,
    /// Lost on the line while `[[at]]` had the network down.
    pub link_down: u64,
    /// Reached the host with an error flag; the host dropped them.
    pub damaged: u64,
    /// Did not come out, without a counted drop: still in the card, or dropped by its firmware.
    pub not_out: u64,
    /// Not yet due when the run ended; 0 for endless traffic.
    pub not_given: u64,
}

impl Fates {
    /// Frames that were given to the card.
    pub fn given(&self) -> u64 {
        self.through + self.dropped() + self.not_out
    }

    /// Frames that the card, its host or the line dropped for a reason that is counted.
    pub fn dropped(&self) -> u64 {
        self.reasons().iter().map(|(_, count)| count).sum()
    }

    /// The same by reason.
    pub fn reasons(&self) -> [(&'static str, u64); 7] {
        [
            ("filtered", self.filtered),
            ("receiver_off", self.receiver_off),
            ("overrun", self.overrun),
            ("no_buffer", self.no_buffer),
            ("no_descriptor", self.no_descriptor),
            ("link_down", self.link_down),
            ("damaged", self.damaged),
        ]
    }
}

impl Fates {
    /// Dropped frames of both directions by reason.
    pub(super) fn reasons_of(ways: [Fates; 2]) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for (reason, count) in ways.iter().flat_map(Fates::reasons) {
            *sums.entry(reason).or_default() += count;
        }
        sums
    }
}

/// The reasons for which wired cards drop frames, with the documentation of their counts.
pub fn drops() -> Vec<(&'static str, String)> {
    let schema = schemars::schema_for!(Fates);
    let about = |name| schema.pointer(&format!("/properties/{name}/description"))?.as_str();
    let reasons = Fates::default().reasons();
    reasons.into_iter().map(|(name, _)| (name, about(name).unwrap_or_default().to_owned())).collect()
}

impl WiredCard {
    /// The fates of the frames that the host sent, and of those from the network.
    pub(super) fn fates(&self) -> [Fates; 2] {
        let (mut sent, mut received) = (Fates::default(), Fates::default());
        let (mut posted, mut came) = (0, 0);
        for host in &self.hosts {
            let host = host.borrow();
            received.through += host.checker().good() + host.checker().late();
            received.damaged += host.damaged();
            posted += host.posted().frames();
        }
        for sink in &self.sinks {
            let sink = sink.borrow();
            if self.hosts.is_empty() {
                received.through += sink.log().frames(); // Such a card only passes frames on.
                received.link_down += sink.lost();
            } else {
                sent.link_down += sink.lost();
                sent.through += sink.checker().good() + sink.checker().late();
            }
        }
        for receiver in &self.receivers {
            let dropped = receiver.borrow().dropped();
            received.filtered += dropped.filtered;
            received.receiver_off += dropped.disabled;
            received.overrun += dropped.overruns;
            received.no_buffer += dropped.buffer_full;
            received.no_descriptor += dropped.ring_full;
        }
        for feeder in &self.feeders {
            came += feeder.borrow().log().frames();
            received.link_down += feeder.borrow().lost();
        }
        let sides = [(&mut sent, &self.sides.host, posted), (&mut received, &self.sides.network, came)];
        for (fates, side, given) in sides {
            fates.too_long = side.too_long;
            fates.not_out = given.saturating_sub(fates.given());
            fates.not_given = side.traffic.count().map_or(0, |count| count.saturating_sub(given));
        }
        [sent, received]
    }
}
