//! What happened to each frame of the traffic, as counts that add up.

use super::card::WiredCard;
use serde::Serialize;

/// What happened to the frames of a direction. The counts add up to the frames of its traffic, unless the card sent some twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Fates {
    /// They came out of the card.
    pub through: u64,
    /// They are longer than the card takes and were not given to it.
    pub too_long: u64,
    /// The receiver dropped them: they are for another address.
    pub filtered: u64,
    /// The receiver dropped them: firmware had not enabled it.
    pub receiver_off: u64,
    /// The receiver dropped them: there was no room between line and memory.
    pub overrun: u64,
    /// The receiver dropped them: no buffer was free.
    pub no_buffer: u64,
    /// The receiver dropped them: no descriptor was free.
    pub no_descriptor: u64,
    /// The host got them with an error flag, and dropped them.
    pub damaged: u64,
    /// They did not come out, and no drop is counted: they are in the card, or its firmware dropped them.
    pub not_out: u64,
    /// The run ended before they were due; none of traffic without end.
    pub not_given: u64,
}

impl Fates {
    /// Frames that were given to the card.
    pub fn given(&self) -> u64 {
        self.through + self.dropped() + self.not_out
    }

    /// Frames that the card or its host dropped for a reason that is counted.
    pub fn dropped(&self) -> u64 {
        self.filtered + self.receiver_off + self.overrun + self.no_buffer + self.no_descriptor + self.damaged
    }
}

impl WiredCard {
    /// What happened to the frames that the host sent, and to those from the network.
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
            } else {
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
