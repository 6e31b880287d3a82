//! PCIe between a card and host memory, for cards with a wide interconnect.
//!
//! A [`Transport`] is a plain struct. The component that owns it passes write beats and read bursts, ticks it each
//! cycle, and provides an [`Ends`] for access to host memory and to the initiators. That component also arbitrates
//! between initiators and translates addresses. Times are cycles of its clock.

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

/// The surroundings of a [`Transport`]: host memory and initiators.
pub trait Ends {
    /// Writes a beat to host memory in cycle `at`.
    fn store(&mut self, at: Cycle, addr: u64, bytes: &[u8]);

    /// Reads up to 64 bytes of host memory in cycle `at`.
    fn load(&mut self, at: Cycle, addr: u64, bytes: &mut [u8]);

    /// Reports to initiator `from` that its oldest write burst is done; returns false if there is no room for the
    /// report.
    fn respond(&mut self, from: usize) -> bool;

    /// Returns true if initiator `from` accepts read data.
    fn takes_data(&self, from: usize) -> bool;

    /// Delivers the next bytes read by initiator `from`; `last` ends its burst.
    fn give(&mut self, from: usize, bytes: Bytes, last: bool);
}

/// The transport between card and host.
pub struct Transport(Model);

enum Model {
    /// Beats without packets: ideal, with gaps, or at a fixed rate.
    Sink(Sink),
    /// Transaction layer packets.
    Link(Link),
}

impl Transport {
    /// A transport with these parameters, which must have passed [`PcieParams::check`], in a clock of `clock_hz`.
    pub fn new(clock_hz: u64, params: &PcieParams) -> Transport {
        Transport(match params.model {
            PcieModel::Tlp => Model::Link(Link::new(clock_hz, params)),
            PcieModel::Ideal | PcieModel::FixedRate => Model::Sink(Sink::new(clock_hz, params)),
        })
    }

    /// Numbers of accepted write beats and read bursts that have not started. The owner must keep each at or below
    /// [`PcieParams::buffer_beats`].
    #[inline]
    pub fn waiting(&self) -> (usize, usize) {
        match &self.0 {
            Model::Sink(sink) => sink.waiting(),
            Model::Link(link) => link.waiting(),
        }
    }

    /// Accepts a write beat. The beats of a burst must be consecutive, without beats of other bursts between.
    #[inline]
    pub fn write(&mut self, write: Write) {
        match &mut self.0 {
            Model::Sink(sink) => sink.write(write),
            Model::Link(link) => link.write(write),
        }
    }

    /// Returns true if [`Transport::write_run`] can begin in cycle `now`.
    pub fn takes_run(&self, now: Cycle) -> bool {
        match &self.0 {
            Model::Sink(sink) => sink.takes_run(now),
            Model::Link(_) => false,
        }
    }

    /// Accepts `n` beats of 64 bytes, one a cycle from `now` on, which do not end their burst. The owner stores them itself:
    /// nothing may read them before they arrive. Until the run ends, it may write nothing else.
    pub fn write_run(&mut self, now: Cycle, n: usize) {
        match &mut self.0 {
            Model::Sink(sink) => sink.write_run(now, n),
            Model::Link(_) => unreachable!("a link takes no runs"),
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

    /// Simulates one cycle.
    pub fn tick(&mut self, now: Cycle, ends: &mut impl Ends) -> Activity {
        match &mut self.0 {
            Model::Sink(sink) => sink.tick(now, ends),
            Model::Link(link) => link.tick(now, ends),
        }
    }

    /// Beats and bytes of both directions, and counters of the model.
    pub fn counters(&self, counters: &mut CounterList) {
        match &self.0 {
            Model::Sink(sink) => sink.counters(counters),
            Model::Link(link) => link.counters(counters),
        }
    }
}
