//! A switch: it routes by destination, queues at its outputs, marks congestion, and pauses its senders.
//!
//! A frame is admitted, with all its bytes, when its first bit comes in: at that time it gets its output and its room, or is
//! dropped. It joins the output's queue when it may leave. Its room is free again when its last bit has left.

mod buffer;
mod output;
pub mod params;

use crate::PortId;
use crate::agenda::Agenda;
use crate::digest::{fold, mix};
use crate::frame::{Arrival, Frame, N_CLASSES};
use crate::node::{Node, NodeFailure, Origin, Output, Place, PortPlace};
use crate::observe::{DropReason, Tally, What};
use crate::pause::{LONGEST, Pause, QUANTUM_BITS};
use crate::routes::SwitchRoutes;
use buffer::{Buffer, Request};
use kernel::{RandomStream, Time};
use output::{OutPort, Queued};
use params::{Choice, Forwarding, SwitchParams};
use std::any::Any;
use std::sync::Arc;
use wire::ecn;
use wire::expr::Matcher;

/// Frames that match leave through a port, to a card in the switch. Frames from this port are routed as usual.
#[derive(Clone, Debug)]
pub struct Divert {
    /// Selects frames.
    pub matcher: Matcher,
    /// The port of the card.
    pub port: PortId,
}

/// Name of a counter: the use of the buffer of a switch, summed over time, in picoseconds. Half full for 2 ps counts 1 ps.
pub const BUFFER_FULL_PS: &str = "buffer_full_ps";

/// Counters of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Frames that left.
    pub forwarded: u64,
    /// Frames marked with congestion.
    pub marked: u64,
    /// Pauses sent, without repetitions.
    pub pauses: u64,
    /// Maximum bytes in use at a time, without headroom.
    pub peak_buffer: u64,
    /// Maximum bytes of headroom in use at a time, of one input and class.
    pub peak_headroom: u64,
    /// Maximum bytes in one output queue.
    pub peak_queue: u64,
}

/// Something to do at a time. The order of variants is the order at one time.
enum Kind {
    /// The last bit of a frame has left: its room is free. With an observer, `frame` is for its row.
    Release { output: usize, input: usize, class: u8, bytes: u64, frame: Option<Frame> },
    /// A pause frame holds from now on.
    Order { port: usize, pause: Pause },
    /// A frame's first bit comes in.
    Head { port: usize, arrival: Arrival },
    /// A frame may leave.
    Ready { output: usize, queued: Queued },
    /// Send again a pause that would run out.
    Refresh { port: usize, class: u8 },
    /// The output may be free.
    Free { output: usize },
}

impl Kind {
    fn rank(&self) -> (u8, u32) {
        let (rank, port) = match self {
            Kind::Release { output, .. } => (0, output),
            Kind::Order { port, .. } => (1, port),
            Kind::Head { port, .. } => (2, port),
            Kind::Ready { output, .. } => (3, output),
            Kind::Refresh { port, .. } => (4, port),
            Kind::Free { output } => (5, output),
        };
        (rank, *port as u32)
    }
}

/// A switch.
pub struct Switch {
    params: SwitchParams,
    place: Vec<Option<PortPlace>>,
    routes: Arc<SwitchRoutes>,
    divert: Option<Divert>,
    outputs: Vec<Option<OutPort>>,
    buffer: Buffer,
    events: Agenda<(u8, u32), Kind>,
    /// Makes pause frames.
    origin: Origin,
    mac: wire::eth::Mac,
    random: RandomStream,
    /// Makes the choices of ECMP differ between switches.
    salt: u64,
    inside: Tally,
    hash: u64,
    counts: SwitchCounts,
}

impl Switch {
    /// A switch at its place. The parameters are checked.
    pub fn new(params: SwitchParams, place: &Place, routes: Arc<SwitchRoutes>, divert: Option<Divert>) -> Self {
        let n_inputs = place.ports.len();
        let output = |port: &Option<PortPlace>| port.as_ref().map(|port| OutPort::new(port.line(), &params, n_inputs));
        let mut random = RandomStream::new(place.seed, &format!("{}.routing", place.name));
        Switch {
            outputs: place.ports.iter().map(output).collect(),
            buffer: Buffer::new(&params, n_inputs),
            place: place.ports.clone(),
            routes,
            divert,
            events: Agenda::default(),
            origin: place.origin(),
            mac: place.directory.mac(place.node),
            salt: random.next_u64(),
            random: RandomStream::new(place.seed, &format!("{}.marking", place.name)),
            params,
            inside: Tally::default(),
            hash: 0,
            counts: SwitchCounts::default(),
        }
    }

    /// Its counters.
    pub fn counts(&self) -> SwitchCounts {
        let (peak_buffer, peak_headroom) = (self.buffer.peak_used, self.buffer.peak_headroom);
        let peak_queue = self.outputs.iter().flatten().map(|port| port.peak).max().unwrap_or(0);
        SwitchCounts { peak_buffer, peak_headroom, peak_queue, ..self.counts }
    }

    fn schedule(&mut self, at: Time, kind: Kind) {
        self.events.push(at, kind.rank(), kind);
    }

    fn act(&mut self, now: Time, kind: Kind, out: &mut Output) {
        self.buffer.pass(now);
        match kind {
            Kind::Head { port, arrival } => self.admit(port, arrival, out),
            Kind::Ready { output, queued } => {
                if let Some(port) = &mut self.outputs[output] {
                    port.push(queued);
                }
                self.serve(output, now, out);
            }
            Kind::Release { output, input, class, bytes, frame } => {
                if let Some(port) = &mut self.outputs[output] {
                    let depth = &mut port.depth[usize::from(class)];
                    *depth -= bytes;
                    if let Some(frame) = frame {
                        let what = What::Depth { port: PortId(output as u16), class, bytes: *depth };
                        out.row(now, &frame, what);
                    }
                }
                if self.buffer.release(input, class, bytes) {
                    self.pause(input, class, 0, now, out);
                }
            }
            Kind::Order { port, pause } => {
                if let Some(output) = &mut self.outputs[port] {
                    output.pauses.apply(now, &pause, output.line.rate());
                }
                self.serve(port, now, out);
            }
            Kind::Refresh { port, class } => {
                if self.buffer.is_paused(port, class) {
                    self.counts.pauses -= 1;
                    self.pause(port, class, LONGEST, now, out);
                }
            }
            Kind::Free { output } => {
                if let Some(port) = &mut self.outputs[output] {
                    port.wake = port.wake.filter(|&at| at > now);
                }
                self.serve(output, now, out);
            }
        }
    }

    /// Gives a frame its output and its room, or drops it.
    fn admit(&mut self, input: usize, arrival: Arrival, out: &mut Output) {
        let Arrival { head, tail, mut frame } = arrival;
        let drop = |this: &mut Self, frame: &Frame, reason, out: &mut Output| {
            this.inside.frames -= 1;
            this.inside.bytes -= frame.len() as u64;
            this.hash = fold(fold(this.hash, head.fs()), frame.hash ^ reason as u64);
            out.dropped(head, frame, reason);
        };
        let output = match self.route(input, &frame) {
            Ok(output) => output,
            Err(reason) => return drop(self, &frame, reason, out),
        };
        let Some(port) = &mut self.outputs[output] else { return drop(self, &frame, DropReason::Unreachable, out) };
        let (class, bytes) = (frame.class, frame.len() as u64);
        let queued = port.depth[usize::from(class)];
        let (admitted, pauses) = self.buffer.admit(Request { input, class, bytes, queued });
        if pauses {
            self.pause(input, class, LONGEST, head, out);
        }
        if let Err(reason) = admitted {
            return drop(self, &frame, reason, out);
        }
        if self.is_congested(queued) {
            let mut marked = frame.bytes.to_vec();
            if ecn::mark(&mut marked) {
                self.counts.marked += 1;
                frame = frame.with_bytes(marked);
                out.row(head, &frame, What::Marked);
            }
        }
        let Some(port) = &mut self.outputs[output] else { return };
        port.depth[usize::from(class)] += bytes;
        let depth = port.depth[usize::from(class)];
        port.peak = port.peak.max(depth);
        if out.is_observed() {
            out.row(head, &frame, What::Depth { port: PortId(output as u16), class, bytes: depth });
        }
        let latency = self.params.latency();
        let ready = match self.params.forwarding {
            Forwarding::StoreAndForward => tail + latency,
            Forwarding::CutThrough => {
                let last = tail + latency;
                let length = port.line.start_to_tail(frame.len());
                (head + latency).max(Time::from_fs(last.fs().saturating_sub(length.fs())))
            }
        };
        self.schedule(ready, Kind::Ready { output, queued: Queued { input, frame } });
    }

    /// The output of a frame.
    fn route(&self, input: usize, frame: &Frame) -> Result<usize, DropReason> {
        if let Some(divert) = &self.divert {
            let port = usize::from(divert.port.0);
            if port != input && divert.matcher.matches(&frame.bytes) {
                return Ok(port);
            }
        }
        let ports = self.routes.ports(frame.dest.ok_or(DropReason::UnknownAddress)?);
        if ports.is_empty() {
            return Err(DropReason::Unreachable);
        }
        let first = (mix(frame.flow ^ self.salt) % ports.len() as u64) as usize;
        let chosen = match self.params.choice {
            Choice::Ecmp => ports[first],
            Choice::Adaptive => {
                let load = |port: PortId| self.outputs[usize::from(port.0)].as_ref().map_or(u64::MAX, OutPort::load);
                let in_turn = (0..ports.len()).map(|i| ports[(first + i) % ports.len()]);
                in_turn.min_by_key(|&port| load(port)).unwrap_or(ports[first])
            }
        };
        Ok(usize::from(chosen.0))
    }

    /// Draws if a frame that finds `queued` bytes in its output queue is marked.
    fn is_congested(&mut self, queued: u64) -> bool {
        let Some(ecn) = &self.params.ecn else { return false };
        if queued <= ecn.k_min_bytes {
            return false;
        }
        if queued >= ecn.k_max_bytes {
            return true;
        }
        // The probability is p_max * (queued - k_min) / (k_max - k_min).
        let top = u128::from(ecn.p_max.top) * u128::from(queued - ecn.k_min_bytes);
        let bottom = u128::from(ecn.p_max.bottom) * u128::from(ecn.k_max_bytes - ecn.k_min_bytes);
        u128::from(self.random.next_u64()) < (top << 64) / bottom
    }

    /// Sends a pause of `quanta` to the sender of a port; 0 ends the pause.
    fn pause(&mut self, port: usize, class: u8, quanta: u16, now: Time, out: &mut Output) {
        let frame = self.origin.frame(Pause::of(class, quanta).emit(self.mac), Some(7));
        let is_on = quanta > 0;
        self.counts.pauses += u64::from(is_on);
        out.row(now, &frame, What::Paused { port: PortId(port as u16), class, is_on });
        let rate = self.place[port].as_ref().map(|place| place.peer_rate);
        if let Some(rate) = rate.filter(|rate| is_on && rate.in_bps().is_some()) {
            // assumed: half of the longest pause, so that one lost repetition does no harm
            let again = rate.time(u64::from(LONGEST) * QUANTUM_BITS / 2);
            self.schedule(now + again, Kind::Refresh { port, class });
        }
        if let Some(output) = &mut self.outputs[port] {
            output.control.push_back(frame);
        }
        self.serve(port, now, out);
    }

    /// Sends frames of an output while its line is free.
    fn serve(&mut self, output: usize, now: Time, out: &mut Output) {
        while let Some(port) = &mut self.outputs[output] {
            let free = port.line.free_at();
            if free > now {
                return self.wake(output, free);
            }
            let number = PortId(output as u16);
            if let Some(frame) = port.control.pop_front() {
                let slot = port.line.send(now, frame.len());
                out.transmit(number, slot, frame);
                continue;
            }
            let Some(class) = port.choose(now) else {
                if let Some(at) = port.next_pause_end().filter(|&at| at > now && at < Time::MAX) {
                    self.wake(output, at);
                }
                return;
            };
            let Some(Queued { input, frame }) = port.pop(class) else { return };
            let bytes = frame.len() as u64;
            let slot = port.line.send(now, frame.len());
            let kept = out.is_observed().then(|| frame.clone());
            self.inside.frames -= 1;
            self.inside.bytes -= bytes;
            self.counts.forwarded += 1;
            self.hash = fold(fold(self.hash, now.fs() ^ output as u64), frame.hash);
            out.transmit(number, slot, frame);
            self.schedule(slot.tail, Kind::Release { output, input, class: class as u8, bytes, frame: kept });
        }
    }

    /// Looks at an output again at `at`.
    fn wake(&mut self, output: usize, at: Time) {
        if let Some(port) = &mut self.outputs[output]
            && port.wake.is_none_or(|planned| at < planned)
            && port.has_frames()
        {
            port.wake = Some(at);
            self.schedule(at, Kind::Free { output });
        }
    }
}

impl Node for Switch {
    fn receive(&mut self, port: PortId, arrival: Arrival, _out: &mut Output) {
        let port = usize::from(port.0);
        if arrival.frame.is_control {
            let reaction = self.place[port].as_ref().map_or(Time::ZERO, |place| place.pause_reaction);
            if let Some(pause) = Pause::parse(&arrival.frame.bytes) {
                self.schedule(arrival.tail + reaction, Kind::Order { port, pause });
            }
            return;
        }
        self.inside.add(&arrival.frame);
        self.schedule(arrival.head, Kind::Head { port, arrival });
    }

    fn run_until(&mut self, until: Time, out: &mut Output) -> Result<(), NodeFailure> {
        while let Some((at, kind)) = self.events.pop_until(until) {
            self.act(at, kind, out);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.events.next()
    }

    fn inside(&self) -> Tally {
        self.inside
    }

    fn digest(&self) -> String {
        format!("{:016x}", self.hash)
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let SwitchCounts { forwarded, marked, pauses, peak_buffer, peak_headroom, peak_queue } = self.counts();
        let list = [
            ("forwarded", forwarded),
            ("marked", marked),
            ("pauses", pauses),
            ("peak_buffer_bytes", peak_buffer),
            ("peak_headroom_bytes", peak_headroom),
            ("peak_queue_bytes", peak_queue),
            (BUFFER_FULL_PS, self.buffer.full_ps()),
        ];
        let mut list = list.map(|(name, count)| (name.to_owned(), count)).to_vec();
        for (number, port) in self.outputs.iter().enumerate() {
            list.extend(port.as_ref().map(|port| (format!("port[{number}].peak_queue_bytes"), port.peak)));
        }
        list
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Bytes of headroom that never overflow: the bytes that can still arrive after the frame that triggers the pause.
///
/// The pause frame may have to wait on the line of `own` for one frame and for the pauses of the other classes. It crosses
/// the link, and the sender obeys it after `reaction`. Frames that the sender began before that still arrive. `own` is the
/// port that sends the pause, and `delay_back` is the delay from the sender to this port.
pub fn safe_headroom(own: &PortPlace, sender_longest: usize, delay_back: Time, reaction: Time) -> u64 {
    let wait = own.rate.time(own.framing.line_bits(own.max_frame) + N_CLASSES as u64 * own.framing.line_bits(60));
    let open = wait + own.delay + reaction + delay_back;
    let longest = sender_longest as u64;
    match own.peer_rate.in_bps() {
        Some(bps) => {
            let bytes = u128::from(open.fs()) * u128::from(bps) / 8_000_000_000_000_000;
            // One frame is on the line when the pause arrives, one more crosses the threshold.
            bytes as u64 + 2 * longest
        }
        None => u64::MAX,
    }
}
