//! Reads on their way into a port of an L2 memory.

use crate::arbiter::LockingTree;
use crate::pe::PeRequest;
use crate::protocol::Burst;
use kernel::Cycle;
use std::collections::VecDeque;

/// Addresses that the register in front of the demultiplexer holds. Source: PsPIN RTL a49fec8, `spill_register.sv`.
const REGISTER: usize = 2;
/// Identities behind the remapper. Source: the same, `l2_xbar.sv`, `nhi_xbar.sv`, AxiSlvPortMaxUniqIds.
const IDENTITIES: usize = 8;
/// Number of reads with even identities, or with odd ones, at which the demultiplexer is full. Source: the same,
/// `axi_to_mem_banked_mp.sv`, AxiLookBits and MaxTrans; `axi_demux.sv`, a counter of two bits.
const FULL: u32 = 3;
/// Cycles from a read's last beat in the bank until the demultiplexer stops counting the read: one in the memory, one in
/// the counter.
const LAST_TO_COUNT: Cycle = 2;
/// Cycles from the last beat in the bank until the remapper can use the identity again: one more register, and the one
/// in front of the demultiplexer.
const LAST_TO_IDENTITY: Cycle = 4;

/// Target of a read.
pub(super) enum Read {
    /// A burst of an initiator.
    Burst(usize, Burst),
    /// An access of a core of a cluster.
    Single(usize, PeRequest),
}

/// A read that requests a bank: a single access, or the next beat of the bursts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Requester {
    Single,
    Beat,
}

/// The converter of reads: it chooses the read that requests a bank in each cycle.
///
/// Order:   single accesses before beats. A read that its bank refused is repeated before all others. In the first cycle
///          in which it is repeated, the converter chooses the next read, which keeps its place even if a single access arrives.
/// Source:  PsPIN RTL a49fec8, `axi_to_mem.sv`, i_rd_ft_reg, and i_ft_reg of `mem_to_banks`.
#[derive(Default)]
struct Converter {
    /// The read that requests a bank in this cycle, or requested one in the last cycle that was simulated.
    requester: Option<Requester>,
    refused: Option<Requester>,
    /// The next read of this converter, and the earliest cycle of its request. If that cycle was not simulated, no other read
    /// competed for the bank.
    chosen: Option<(Cycle, Requester)>,
}

impl Converter {
    /// The read that requests a bank in this cycle, given the numbers of single accesses and of beats.
    fn request(&mut self, now: Cycle, n_singles: usize, n_beats: Cycle) -> Option<Requester> {
        let choose = |n_singles: usize, n_beats: Cycle| match (n_singles, n_beats) {
            (0, 0) => None,
            (0, _) => Some(Requester::Beat),
            _ => Some(Requester::Single),
        };
        let chosen = self.chosen.take().filter(|&(at, _)| at == now).map(|(_, requester)| requester);
        self.requester = match self.refused {
            Some(refused) => {
                let (singles, beats) = match refused {
                    Requester::Single => (n_singles - 1, n_beats),
                    Requester::Beat => (n_singles, n_beats - 1),
                };
                self.chosen = chosen.or_else(|| choose(singles, beats)).map(|requester| (now + 1, requester));
                Some(refused)
            }
            None => chosen.or_else(|| choose(n_singles, n_beats)),
        };
        self.requester
    }
}

/// A read with its identity behind the remapper.
struct Named {
    read: Read,
    identity: usize,
}

/// Reads of a port from the multiplexer on until the memory's converter takes them, and the counts of those under way.
///
/// Timing:  a read passes the register and the demultiplexer without an extra cycle while neither is full.
/// Order:   bursts are read one after the other. Single accesses have priority and pass between their beats.
/// Source:  PsPIN RTL a49fec8, `axi_demux.sv`, `axi_id_remap.sv`, `axi_to_mem.sv`.
#[derive(Default)]
pub(super) struct Reads {
    register: VecDeque<Named>,
    /// The last cycle in which a read left the register; its place can be used two cycles later.
    left_at: Option<Cycle>,
    bursts: VecDeque<Named>,
    singles: VecDeque<Named>,
    converter: Converter,
    /// The turn at the multiplexer, and the identity of the read that the multiplexer shows.
    pub(super) turn: LockingTree,
    shown: Option<usize>,
    /// Owner of each identity, and its number of reads.
    identities: [Option<(usize, u32)>; IDENTITIES],
    /// Reads that the demultiplexer counts, of even and of odd identities.
    counts: [u32; 2],
    /// A cycle, and true if the demultiplexer is open in it.
    open: (Cycle, bool),
    /// The cycle of the last beat and the identity of reads: `counted` for reads that are counted, `named` for reads whose
    /// identity is in use.
    counted: VecDeque<(Cycle, usize)>,
    named: VecDeque<(Cycle, usize)>,
}

impl Reads {
    /// Removes ended reads from the counts.
    fn settle(&mut self, now: Cycle) {
        while let Some(&(last, identity)) = self.counted.front()
            && last + LAST_TO_COUNT <= now
        {
            self.counted.pop_front();
            self.counts[identity % 2] -= 1;
        }
        while let Some(&(last, identity)) = self.named.front()
            && last + LAST_TO_IDENTITY <= now
        {
            self.named.pop_front();
            let slot = &mut self.identities[identity];
            *slot = slot.filter(|&(_, n)| n > 1).map(|(who, n)| (who, n - 1));
        }
    }

    /// Returns true if the multiplexer may forward a read in this cycle.
    pub(super) fn has_room(&mut self, now: Cycle) -> bool {
        self.settle(now);
        self.register_has_room(now) && self.identities.iter().any(Option::is_none)
    }

    fn register_has_room(&self, now: Cycle) -> bool {
        let leaving = self.left_at.is_some_and(|at| at + 1 == now);
        self.register.len() + usize::from(leaving) < REGISTER
    }

    /// The multiplexer shows a read to the remapper, which gives it an identity as soon as one is free. Returns true if the read
    /// passes in this cycle; otherwise the multiplexer shows it again in the next cycle.
    pub(super) fn show(&mut self, who: usize, now: Cycle) -> bool {
        if self.shown.is_none() {
            self.shown = self.name(who, now);
        }
        self.shown.is_some() && self.register_has_room(now)
    }

    /// The identity of a read of this requester, which counts from now on.
    fn name(&mut self, who: usize, now: Cycle) -> Option<usize> {
        self.settle(now);
        let of_who = self.identities.iter().position(|slot| slot.is_some_and(|(other, _)| other == who));
        let identity = of_who.or_else(|| self.identities.iter().position(Option::is_none))?;
        let n = self.identities[identity].map_or(0, |(_, n)| n);
        self.identities[identity] = Some((who, n + 1));
        Some(identity)
    }

    /// A read passes the multiplexer and the remapper.
    pub(super) fn push(&mut self, who: usize, read: Read, now: Cycle) {
        let identity = self.shown.take().or_else(|| self.name(who, now)).expect("there is room");
        self.register.push_back(Named { read, identity });
    }

    /// Returns true if the demultiplexer lets addresses pass in this cycle: one of a read and one of a write. Its counts from
    /// before this cycle decide.
    pub(super) fn is_open(&mut self, now: Cycle) -> bool {
        if self.open.0 != now {
            self.settle(now);
            self.open = (now, self.counts.iter().all(|&count| count < FULL));
        }
        self.open.1
    }

    /// The oldest read in the register passes the demultiplexer if it may.
    pub(super) fn pass(&mut self, now: Cycle) {
        if self.register.is_empty() || !self.is_open(now) {
            return;
        }
        let named = self.register.pop_front().expect("just seen");
        self.left_at = Some(now);
        self.counts[named.identity % 2] += 1;
        match named.read {
            Read::Burst(..) => self.bursts.push_back(named),
            Read::Single(..) => self.singles.push_back(named),
        }
    }

    /// The read that requests its bank in this cycle. `n_beats` is the number of beats of the current burst.
    pub(super) fn request(&mut self, now: Cycle, n_beats: Cycle) -> Option<Requester> {
        let n_beats = n_beats + Cycle::from(!self.bursts.is_empty());
        self.converter.request(now, self.singles.len(), n_beats)
    }

    /// Records whether the bank refused the read that requested: a single access or a beat.
    pub(super) fn end_cycle(&mut self, single_is_refused: bool, beat_is_refused: bool) {
        self.converter.refused = self.converter.requester.take().filter(|requester| match requester {
            Requester::Single => single_is_refused,
            Requester::Beat => beat_is_refused,
        });
    }

    /// The address of the oldest single access.
    pub(super) fn single(&self) -> Option<u32> {
        self.singles.front().map(|named| match &named.read {
            Read::Single(_, request) => request.addr,
            Read::Burst(..) => unreachable!("single accesses are stored here"),
        })
    }

    /// Removes the oldest single access, which passes. Returns it with its cluster.
    pub(super) fn take_single(&mut self, now: Cycle) -> (usize, PeRequest) {
        let Named { read, identity } = self.singles.pop_front().expect("an access that was seen");
        self.end(now, identity);
        let Read::Single(cluster, request) = read else { unreachable!("single accesses are kept here") };
        (cluster, request)
    }

    /// The next burst, its initiator and its identity.
    pub(super) fn take_burst(&mut self) -> Option<(usize, Burst, usize)> {
        let Named { read, identity } = self.bursts.pop_front()?;
        let Read::Burst(initiator, burst) = read else { unreachable!("bursts are kept here") };
        Some((initiator, burst, identity))
    }

    /// The last beat of a read with this identity passes its bank.
    pub(super) fn end(&mut self, last: Cycle, identity: usize) {
        self.counted.push_back((last, identity));
        self.named.push_back((last, identity));
    }

    /// The last beat of a read waits in front of the register behind its bank, instead of passing it in this cycle.
    pub(super) fn last_waits(&mut self, now: Cycle) {
        self.counted.iter_mut().filter(|(last, _)| *last + LAST_TO_COUNT == now).for_each(|(last, _)| *last += 1);
    }

    /// The beat that was due at its cluster in cycle `at` is one cycle late.
    pub(super) fn beat_is_late(&mut self, at: Cycle) {
        self.named.iter_mut().filter(|(last, _)| *last + LAST_TO_IDENTITY == at).for_each(|(last, _)| *last += 1);
    }

    /// Returns true if anything waits here.
    pub(super) fn is_waiting(&self) -> bool {
        !self.register.is_empty() || !self.bursts.is_empty() || !self.singles.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind of read that requests in each cycle: `s` for a single access, `b` for a beat, upper case if it is
    /// refused. There is a long burst, a single access arrives in each cycle of `singles`, and the bank refuses in the
    /// cycles `refused`.
    fn order(singles: &[Cycle], refused: &[Cycle]) -> String {
        let (mut converter, mut n_singles, mut n_beats) = (Converter::default(), 0, 100);
        let mut order = String::new();
        for now in 0..8 {
            n_singles += singles.iter().filter(|&&at| at == now).count();
            let requester = converter.request(now, n_singles, n_beats).expect("a beat at least requests its bank");
            let is_refused = refused.contains(&now);
            converter.refused = Some(requester).filter(|_| is_refused);
            let letter = match requester {
                Requester::Single => 's',
                Requester::Beat => 'b',
            };
            order.push(if is_refused { letter.to_ascii_uppercase() } else { letter });
            match requester {
                _ if is_refused => {}
                Requester::Single => n_singles -= 1,
                Requester::Beat => n_beats -= 1,
            }
        }
        order
    }

    #[test]
    fn a_refused_beat_requests_again_before_a_single_access() {
        assert_eq!(order(&[2], &[]), "bbsbbbbb");
        // The beat is refused in cycle 1. It requests again in 2, where the single access is chosen.
        assert_eq!(order(&[2], &[1]), "bBbsbbbb");
        // In cycle 2 the next beat is chosen, so the single access that comes in 3 waits for it.
        assert_eq!(order(&[3], &[1]), "bBbbsbbb");
        // The next one is chosen once, however often the first is refused.
        assert_eq!(order(&[3], &[1, 2, 3]), "bBBBbbsb");
        assert_eq!(order(&[1, 1], &[1]), "bSssbbbb");
    }
}
