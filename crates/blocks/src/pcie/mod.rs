//! PCIe between a card and the memory of its host, for cards that put beats of a wide interconnect on it.
//!
//! A [`Transport`] is a plain struct: the component that holds it hands it write beats and read bursts, lets it live through each
//! cycle, and gives it an [`Ends`], by which it reaches host memory and those who asked. Who asks, who goes first and what an
//! address means are that component's affair. Times are cycles of its clock.

mod beats;
mod link;
mod params;
mod sink;
mod traffic;
mod wire;

pub use beats::{BEAT_BYTES, Bytes, Read, Write, to_line_end};
pub use params::{LinkParams, PcieModel, PcieParams};

use kernel::{Activity, CounterList, Cycle};
use link::Link;
use sink::Sink;

/// What a [`Transport`] deals with besides itself.
pub trait Ends {
    /// A write beat is in host memory in cycle `at`.
    fn store(&mut self, at: Cycle, addr: u64, bytes: &[u8]);

    /// The host reads up to 64 bytes of its memory in cycle `at`.
    fn load(&mut self, at: Cycle, addr: u64, bytes: &mut [u8]);

    /// Tells initiator `from` that its oldest write burst is done; says whether it could be told.
    fn respond(&mut self, from: usize) -> bool;

    /// Whether initiator `from` takes read data.
    fn takes_data(&self, from: usize) -> bool;

    /// The next bytes that initiator `from` has read; `last` ends its burst.
    fn give(&mut self, from: usize, bytes: Bytes, last: bool);
}

/// How bytes get from the card to the host and back.
pub struct Transport(Model);

enum Model {
    /// Beats, at once, with gaps or at a fixed rate.
    Sink(Sink),
    /// Transaction layer packets.
    Link(Link),
}

impl Transport {
    /// As `params` say, which must pass [`PcieParams::check`], for a clock of `clock_hz`.
    pub fn new(clock_hz: u64, params: &PcieParams) -> Transport {
        Transport(match params.model {
            PcieModel::Tlp => Model::Link(Link::new(clock_hz, params)),
            PcieModel::Ideal | PcieModel::FixedRate => Model::Sink(Sink::new(clock_hz, params)),
        })
    }

    /// Beats and bursts that are accepted and have not started: writes, reads. Who accepts more than
    /// [`PcieParams::buffer_beats`] of each gives it more room than it has.
    #[inline]
    pub fn waiting(&self) -> (usize, usize) {
        match &self.0 {
            Model::Sink(sink) => sink.waiting(),
            Model::Link(link) => link.waiting(),
        }
    }

    /// Accepts a write beat. The beats of a burst come one after the other, without those of other bursts between.
    #[inline]
    pub fn write(&mut self, write: Write) {
        match &mut self.0 {
            Model::Sink(sink) => sink.write(write),
            Model::Link(link) => link.write(write),
        }
    }

    /// Accepts a read burst.
    #[inline]
    pub fn read(&mut self, read: Read) {
        match &mut self.0 {
            Model::Sink(sink) => sink.read(read),
            Model::Link(link) => link.read(read),
        }
    }

    /// Lives through a cycle.
    pub fn tick(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        match &mut self.0 {
            Model::Sink(sink) => sink.tick(now, ends),
            Model::Link(link) => link.tick(now, ends),
        }
    }

    /// Beats and bytes of both directions, and what the model counts of its own.
    pub fn counters(&self, counters: &mut CounterList) {
        match &self.0 {
            Model::Sink(sink) => sink.counters(counters),
            Model::Link(link) => link.counters(counters),
        }
    }
}
