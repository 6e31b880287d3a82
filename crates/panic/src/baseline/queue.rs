//! A drop-tail buffer, as in all baseline NICs (2.2.2, 7.3).

use crate::drops::{ClassDropCounts, DropReason};
use crate::protocol::{Flit, Message, NodeId, PacketStep};
use crate::scheduler::buffer::Bank;
use crate::world::SharedOutlet;
use kernel::trace::{Counter, Level};
use kernel::{CounterList, Cycle, Ports, Rx};

/// Limits of an [`Intake`].
pub(super) struct Limits {
    /// Its node in trails.
    pub node: NodeId,
    /// Size of the buffer.
    pub bytes: u32,
    pub flit_bytes: u32,
    pub longest_bytes: u32,
    /// Number of services.
    pub n_services: usize,
    pub n_classes: usize,
}

/// Accepts packets into a buffer, one flit a cycle from each input. Drops a packet that does not fit as a whole, or whose
/// service or class does not exist.
///
/// It never stalls an input, so packets that recirculate cannot block those in front of them.
pub(super) struct Intake {
    limits: Limits,
    inputs: Vec<Rx<Flit>>,
    receiving: Vec<Receiving>,
    bank: Bank,
    /// Occupied flits, and the capacity.
    used: usize,
    n_flits: usize,
    buffered: Level,
    outlet: SharedOutlet,
    entered: Counter,
    drops: ClassDropCounts,
}

#[derive(Clone, Copy)]
enum Receiving {
    Nothing,
    Into(usize),
    Away,
}

impl Intake {
    /// An empty buffer.
    pub fn new(limits: Limits, inputs: Vec<Rx<Flit>>, outlet: SharedOutlet) -> Intake {
        let n_flits = (limits.bytes / limits.flit_bytes) as usize;
        Intake {
            receiving: vec![Receiving::Nothing; inputs.len()],
            inputs,
            bank: Bank::new(n_flits),
            used: 0,
            n_flits,
            buffered: Level::default(),
            outlet,
            entered: Counter::default(),
            drops: ClassDropCounts::new(
                &[DropReason::Full, DropReason::TooLong, DropReason::BadDescriptor],
                limits.n_classes,
            ),
            limits,
        }
    }

    /// Takes the available flits. Calls `begun` for each packet that starts and fits, with its place in the buffer. Returns
    /// true if there were any flits.
    pub fn receive(&mut self, now: Cycle, mut begun: impl FnMut(usize, &Message)) -> bool {
        let mut has_received = false;
        for which in 0..self.inputs.len() {
            let Some(flit) = self.inputs[which].take() else { continue };
            has_received = true;
            let is_last = flit == Flit::Tail;
            match (flit, self.receiving[which]) {
                (Flit::Head(message), _) => {
                    self.receiving[which] = Receiving::Away;
                    if let Some(place) = self.admit(now, message) {
                        begun(place, self.bank.message(place).0);
                        self.receiving[which] = Receiving::Into(place);
                    }
                }
                (_, Receiving::Into(place)) => self.bank.write(place, is_last),
                (_, Receiving::Away) => {}
                (_, Receiving::Nothing) => panic!("a message must begin with its descriptor"),
            }
            if is_last {
                self.receiving[which] = Receiving::Nothing;
            }
        }
        has_received
    }

    fn admit(&mut self, now: Cycle, mut message: Box<Message>) -> Option<usize> {
        let Limits { n_services, n_classes, longest_bytes, flit_bytes, node, .. } = self.limits;
        let descriptor = &message.descriptor;
        let class = usize::from(descriptor.hop().map_or(descriptor.class, |hop| hop.class));
        let n = message.data.len().div_ceil(flit_bytes as usize).max(1);
        let rest = &descriptor.chain[descriptor.next..];
        let reason = if rest.iter().any(|hop| usize::from(hop.service) >= n_services) || class >= n_classes {
            DropReason::BadDescriptor
        } else if message.data.len() > longest_bytes as usize {
            DropReason::TooLong
        } else if self.used + n > self.n_flits {
            DropReason::Full
        } else {
            message.descriptor.trail.mark(now, PacketStep::Queued, node);
            self.entered.add(1);
            self.used += n;
            self.buffered.set(now, self.used as u64);
            return Some(self.bank.begin(message, now));
        };
        self.drops.add(reason, class);
        self.outlet.borrow_mut().drop(now, *message, reason);
        None
    }

    /// Returns true if the next flit of the packet at `place` has arrived.
    pub fn has_flit(&self, now: Cycle, place: usize) -> bool {
        self.bank.next(place, now) == Some(now)
    }

    /// Reads the next flit of the packet at `place`, which must have arrived, and frees its room.
    pub fn read(&mut self, now: Cycle, place: usize) -> Flit {
        let mut flit = self.bank.read(place);
        match &mut flit {
            Flit::Head(message) => message.descriptor.trail.mark(now, PacketStep::Scheduled, self.limits.node),
            _ => {
                self.used -= 1;
                self.buffered.set(now, self.used as u64);
            }
        }
        flit
    }

    /// Names the ports.
    pub fn ports(&self, ports: &mut Ports) {
        ports.inputs("in", &self.inputs);
    }

    /// Names the counters.
    pub fn counters(&self, counters: &mut CounterList) {
        counters.add("entered", self.entered.total());
        let units = self.n_flits as u64;
        counters.held("buffered_flit_cycles", &self.buffered, units, "the buffer for packets that wait");
        self.drops.counters(counters);
    }
}
