//! An exit of the NIC: takes packets off the interconnect.

use crate::cells::Cells;
use crate::protocol::{Flit, Leg, Message, NodeId, PacketStep};
use crate::world::SharedOutlet;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};

/// The outgoing line of a network port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EgressLine {
    /// Bits per second.
    pub bps: u64,
    /// Bytes of line time that each packet takes in addition to its own.
    pub overhead_bytes: u32,
    /// Clock of the exit, in whole Hz.
    pub clock_hz: u64,
}

/// Cycles up to `now` in which a line of `bps` carried packets: `busy`, minus the time after cycle `now` and before `free`.
/// `busy` and `free` are in cycles times `bps`.
pub(crate) fn line_cycles(now: Cycle, bps: u64, busy: u128, free: u128) -> Cycle {
    let to_come = free.saturating_sub(u128::from(now + 1) * u128::from(bps));
    Cycle::try_from(busy.saturating_sub(to_come) / u128::from(bps)).unwrap_or(Cycle::MAX)
}

/// Passes packets to the outlet, at the rate of a line if it has one, otherwise one flit a cycle.
///
/// Ports:  `in`.
/// Timing: a flit is taken in the cycle in which it is available; a packet has left when its tail is taken. On a line a packet
///         begins in the cycle of its descriptor, or after the previous packet and its overhead. Its tail is taken when the
///         line has sent all its bytes.
/// Source: RTL, whose test bench takes output at once. assumed: a line sends as fast as it receives, and its MAC buffers one
///         packet.
pub struct Egress {
    node: NodeId,
    input: Rx<Flit>,
    outlet: SharedOutlet,
    cells: Option<Cells>,
    line: Option<EgressLine>,
    message: Option<Box<Message>>,
    /// When the line has finished the current packet, and when the next may begin. In cycles times `bps`, so that no rounding
    /// error accumulates.
    sent_at: u128,
    line_free: u128,
    /// How long packets have been on the line, in the same unit.
    line_busy: u128,
    packets: Counter,
    bytes: Counter,
}

impl Egress {
    /// An exit at `node` without a line.
    pub fn new(node: NodeId, input: Rx<Flit>, outlet: SharedOutlet) -> Egress {
        let (cells, line, message, sent_at, line_free, line_busy, packets, bytes) = Default::default();
        Egress { node, input, outlet, cells, line, message, sent_at, line_free, line_busy, packets, bytes }
    }

    /// Returns the cells of packets that leave.
    pub fn with_cells(self, cells: Option<Cells>) -> Egress {
        Egress { cells, ..self }
    }

    /// Sends on a line.
    pub fn on(self, line: EgressLine) -> Egress {
        Egress { line: Some(line), ..self }
    }

    /// The first cycle in which the next flit may be taken.
    fn due(&self) -> Cycle {
        let (Some(line), Some(flit)) = (&self.line, self.input.peek()) else { return 0 };
        let at = match &*flit {
            Flit::Head(message) if !matches!(message.leg, Leg::Dropped(_)) => self.line_free,
            Flit::Tail => self.sent_at,
            Flit::Head(_) | Flit::Body => 0,
        };
        Cycle::try_from(at.div_ceil(line.bps.into())).unwrap_or(Cycle::MAX)
    }

    /// Starts a packet of `bytes` on the line.
    fn begin(&mut self, now: Cycle, bytes: usize) {
        let Some(EgressLine { bps, overhead_bytes, clock_hz }) = self.line else { return };
        let (now, bps, clock_hz) = (u128::from(now), u128::from(bps), u128::from(clock_hz));
        // A packet that waited for the line follows without a gap, if need be in the middle of a cycle.
        let begun = if self.line_free.div_ceil(bps) == now { self.line_free } else { now * bps };
        self.sent_at = begun + 8 * bytes as u128 * clock_hz;
        self.line_free = self.sent_at + 8 * u128::from(overhead_bytes) * clock_hz;
        self.line_busy += self.line_free - begun;
    }
}

impl Component for Egress {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.due() > now {
            return Activity::Until(self.due());
        }
        if self.input.is_due(now) && self.input.has_run() {
            self.input.take_run(now, usize::MAX);
            return Activity::Idle; // `input` wakes the exit when the next flit can be taken.
        }
        match self.input.take_due(now) {
            None => return Activity::Idle,
            Some(Flit::Head(mut message)) => {
                message.descriptor.trail.mark(now, PacketStep::Leaving, self.node);
                if let Some(cells) = &self.cells {
                    cells.leaves(now, &message);
                }
                match message.leg {
                    Leg::Dropped(_) => self.sent_at = 0,
                    _ => self.begin(now, message.data.len()),
                }
                self.message = Some(message);
            }
            Some(Flit::Body) => {}
            Some(Flit::Tail) => {
                let mut message = self.message.take().expect("a message must begin with its descriptor");
                if let Leg::Dropped(reason) = message.leg {
                    self.outlet.borrow_mut().drop(now, *message, reason);
                    return Activity::Busy;
                }
                message.descriptor.trail.mark(now, PacketStep::Left, self.node);
                self.packets.add(1);
                self.bytes.add(message.data.len() as u64);
                let side = message.descriptor.side;
                self.outlet.borrow_mut().leave(now, side, *message);
            }
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("packets", self.packets.total());
        counters.add("bytes", self.bytes.total());
        if let Some(EgressLine { bps, .. }) = self.line {
            let cycles = line_cycles(counters.now(), bps, self.line_busy, self.line_free);
            counters.busy("line_cycles", cycles, 1, &format!("the line out: {} Gbit/s", bps as f64 / 1e9));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flits;
    use crate::world::{ExternalPort, Outlet};
    use expect_test::{Expect, expect};
    use std::cell::RefCell;
    use std::rc::Rc;
    use testkit::Log;

    /// Logs each packet that leaves and the cycle of its first bytes.
    struct Left(Log);

    impl Outlet for Left {
        fn leave(&mut self, now: Cycle, _side: ExternalPort, message: Message) {
            let marks = message.descriptor.trail.marks();
            let begun = marks
                .iter()
                .find(|mark| mark.step == PacketStep::Leaving)
                .expect("a packet that left must have begun")
                .at;
            self.0.note(now, format!("#{} since {begun}", message.descriptor.id));
        }

        fn drop(&mut self, _now: Cycle, _message: Message, _reason: crate::drops::DropReason) {}
    }

    /// Packets at an exit of 1 GHz and 64 bytes a cycle; `line` is its bytes a cycle and its overhead.
    fn check(line: Option<(u64, u32)>, input: &str, want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let outlet = Rc::new(RefCell::new(Left(bench.log.clone())));
            let exit = Egress::new(NodeId(2), bench.input("in", 8, flits(input)), outlet);
            let clock_hz = 1_000_000_000;
            let line =
                line.map(|(bytes, overhead_bytes)| EgressLine { bps: 8 * bytes * clock_hz, overhead_bytes, clock_hz });
            bench.add("it", line.into_iter().fold(exit, Egress::on));
        }));
    }

    const PACKETS: &str = "1 1 0 256; 1 2 0 64; 1 3 0 100; 60 4 0 64";

    #[test]
    fn without_a_line_one_flit_leaves_each_cycle() {
        check(
            None,
            PACKETS,
            expect![[r#"
            5    #1 since 1
            7    #2 since 6
            10   #3 since 8
            61   #4 since 60
        "#]],
        );
    }

    #[test]
    fn a_line_as_wide_as_the_flits_adds_no_delay() {
        check(
            Some((64, 0)),
            PACKETS,
            expect![[r#"
            5    #1 since 1
            7    #2 since 6
            10   #3 since 8
            61   #4 since 60
        "#]],
        );
    }

    #[test]
    fn a_line_charges_bytes_and_overhead_without_rounding() {
        // 256, 64 and 100 bytes with 24 each, at 10 a cycle: 28, 8.8 and 12.4 cycles.
        check(
            Some((10, 24)),
            PACKETS,
            expect![[r#"
            27   #1 since 1
            36   #2 since 29
            48   #3 since 38
            67   #4 since 60
        "#]],
        );
    }
}
