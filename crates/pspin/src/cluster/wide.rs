//! The two wide ports of L1, beat by beat.

use super::l1::L1;
use crate::protocol::{BEAT_BYTES, beats};
use blocks::policy::RoundRobinTree;
use kernel::Cycle;
use std::collections::VecDeque;

/// The wide ports, in the order of a superbank's arbiter. Each moves 64 bytes a cycle, in a read or in a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WidePort {
    /// The NIC-host interconnect: outbound and off-cluster DMA.
    Nhi,
    /// The cluster's DMA engine.
    Dma,
}

/// A requester of beats at a port, in the order of its arbiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeatRequester {
    /// The converter of writes.
    Write,
    /// The converter of reads.
    Read,
}

/// The beats that the sides of a port request in a cycle, as offsets in L1.
#[derive(Clone, Copy, Default, Debug)]
pub struct BeatRequests {
    /// The beat of the oldest write.
    pub write: Option<u32>,
    /// The beat of the oldest read.
    pub read: Option<u32>,
}

/// For each port, the side whose beat is granted in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Granted {
    /// The requester at the port of the NIC-host interconnect.
    pub nhi: Option<BeatRequester>,
    /// The requester at the port of the DMA engine.
    pub dma: Option<BeatRequester>,
}

/// Input of a port's arbiter besides the two [`BeatRequester`]s: the clearing of stacks, which the RTL does not do.
const CLEARING: u32 = 2;

/// Arbitrates the wide ports.
///
/// Timing:   a beat is granted in the cycle of its request, if no other request goes first.
/// Fairness: the two sides of a port take turns if both request a beat, and so do the ports if both request the same
///           superbank. A request is granted in the fifth cycle at the latest, if no stack is being cleared.
/// Source:   PsPIN RTL a49fec8, `axi_to_mem_interleaved.sv`, `tcdm_superbank_mux.sv`.
#[derive(Default)]
pub struct WidePorts {
    ports: [RoundRobinTree; 2],
    superbanks: [RoundRobinTree; 4],
    /// The ranges to clear: offset, and number of beats.
    clearing: VecDeque<(u32, u32)>,
}

impl WidePorts {
    /// Zeroes bytes of L1. From the next cycle on, requests the beats for them at the port of the DMA engine.
    pub fn clear(&mut self, l1: &mut L1, offset: u32, bytes: u32) {
        l1.clear(offset, bytes);
        self.clearing.push_back((offset, beats(offset, bytes)));
    }

    /// Returns true if a beat is being cleared.
    #[inline]
    pub fn is_clearing(&self) -> bool {
        !self.clearing.is_empty()
    }

    /// The earliest cycle in which the last beat of the oldest stack can be cleared; `Cycle::MAX` if no stack is being
    /// cleared.
    pub fn clears_at(&self, now: Cycle) -> Cycle {
        self.clearing.front().map_or(Cycle::MAX, |&(_, left)| now + Cycle::from(left))
    }

    /// Arbitrates the requested beats. `l1` serves the granted ones in this cycle.
    #[inline]
    pub fn grant(&mut self, now: Cycle, l1: &mut L1, nhi: BeatRequests, dma: BeatRequests) -> Granted {
        if self.is_clearing() {
            return self.arbitrate(now, l1, nhi, dma);
        }
        // Almost always there is one request or none.
        match [nhi.write, nhi.read, dma.write, dma.read] {
            [None, None, None, None] => Granted::default(),
            [Some(offset), None, None, None] => {
                self.grant_alone(now, l1, WidePort::Nhi, BeatRequester::Write, offset);
                Granted { nhi: Some(BeatRequester::Write), dma: None }
            }
            [None, Some(offset), None, None] => {
                self.grant_alone(now, l1, WidePort::Nhi, BeatRequester::Read, offset);
                Granted { nhi: Some(BeatRequester::Read), dma: None }
            }
            [None, None, Some(offset), None] => {
                self.grant_alone(now, l1, WidePort::Dma, BeatRequester::Write, offset);
                Granted { nhi: None, dma: Some(BeatRequester::Write) }
            }
            [None, None, None, Some(offset)] => {
                self.grant_alone(now, l1, WidePort::Dma, BeatRequester::Read, offset);
                Granted { nhi: None, dma: Some(BeatRequester::Read) }
            }
            _ => self.arbitrate(now, l1, nhi, dma),
        }
    }

    /// Does the same as [`WidePorts::arbitrate`] if one side of one port requests a beat.
    #[inline]
    fn grant_alone(&mut self, now: Cycle, l1: &mut L1, port: WidePort, side: BeatRequester, offset: u32) {
        let superbank = l1.superbank(offset);
        self.ports[port as usize].grant_alone(side as u32);
        self.superbanks[superbank as usize].grant_alone(port as u32);
        l1.serve_beats(now, 1 << superbank);
    }

    /// Does the same for a read of the NIC-host interconnect: `n` lines from `offset` on, one a cycle.
    pub fn serve_reads(&mut self, at: Cycle, l1: &mut L1, offset: u32, n: u32) {
        // Each arbiter stores only its last grant, so earlier grants are only counted.
        let first = n.saturating_sub(self.superbanks.len() as u32);
        l1.count_beats(offset, first);
        for beat in first..n {
            let at = at + Cycle::from(beat);
            self.grant_alone(at, l1, WidePort::Nhi, BeatRequester::Read, offset + beat * BEAT_BYTES);
        }
    }

    #[inline(never)]
    fn arbitrate(&mut self, now: Cycle, l1: &mut L1, nhi: BeatRequests, dma: BeatRequests) -> Granted {
        let clearing = self.clearing.front().map(|&(offset, _)| offset);
        let requests = [[nhi.write, nhi.read, None], [dma.write, dma.read, clearing]];
        let set =
            requests.map(|port| port.iter().zip(0..).fold(0, |set, (who, i)| set | u64::from(who.is_some()) << i));
        let chosen = [0, 1].map(|port| self.ports[port].choose(set[port]));
        let superbank =
            |port: usize| chosen[port].map(|who| l1.superbank(requests[port][who as usize].expect("a request")));
        let wanted = [superbank(0), superbank(1)];
        let wins = match wanted {
            [Some(a), Some(b)] if a == b => {
                let winner = self.superbanks[a as usize].take(0b11);
                [winner == Some(0), winner == Some(1)]
            }
            _ => {
                for (port, superbank) in (0..).zip(wanted) {
                    if let Some(superbank) = superbank {
                        self.superbanks[superbank as usize].grant_alone(port);
                    }
                }
                wanted.map(|superbank| superbank.is_some())
            }
        };
        let mut served = 0;
        for port in [0, 1].into_iter().filter(|&port| wins[port]) {
            self.ports[port].grant(set[port]);
            served |= 1 << wanted[port].expect("a winner has a request");
        }
        if served != 0 {
            l1.serve_beats(now, served);
        }
        if wins[1] && chosen[1] == Some(CLEARING) {
            self.one_is_clear();
        }
        let side = |port: usize| match chosen[port].filter(|_| wins[port]) {
            Some(0) => Some(BeatRequester::Write),
            Some(1) => Some(BeatRequester::Read),
            _ => None,
        };
        Granted { nhi: side(WidePort::Nhi as usize), dma: side(WidePort::Dma as usize) }
    }

    fn one_is_clear(&mut self) {
        let (offset, left) = self.clearing.front_mut().expect("a range is being cleared");
        (*offset, *left) = (*offset + BEAT_BYTES, *left - 1);
        if *left == 0 {
            self.clearing.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Each of the four streams requests one beat for each digit of its text, one after the other. A digit is a
    /// superbank; `.` skips a cycle. The result shows which superbank each stream is granted in which cycle.
    fn check(streams: [&str; 4], want: Expect) {
        want.assert_eq(&run(streams.map(str::to_owned), WidePorts::grant).join("\n"));
    }

    /// An arbitration function.
    type Decide = fn(&mut WidePorts, Cycle, &mut L1, BeatRequests, BeatRequests) -> Granted;

    fn run(streams: [String; 4], decide: Decide) -> [String; 4] {
        let (mut l1, mut wide) = (L1::new(0x8000, 64), WidePorts::default());
        let mut left = streams.map(|stream| stream.into_bytes().into_iter().collect::<VecDeque<u8>>());
        let mut shown = [const { String::new() }; 4];
        for now in 0.. {
            let request = |stream: &VecDeque<u8>| {
                let superbank = stream.front().filter(|&&c| c != b'.');
                superbank.map(|c| u32::from(c - b'0') * 64)
            };
            let requests = left.each_ref().map(request);
            let of_port = |port: usize| BeatRequests { write: requests[2 * port], read: requests[2 * port + 1] };
            let granted = decide(&mut wide, now, &mut l1, of_port(0), of_port(1));
            for (stream, side) in [BeatRequester::Write, BeatRequester::Read].into_iter().cycle().take(4).enumerate() {
                let of_port = if stream < 2 { granted.nhi } else { granted.dma };
                let is_granted = of_port == Some(side);
                let waits = left[stream].front() == Some(&b'.');
                let c = if is_granted { left[stream][0] as char } else { '.' };
                shown[stream].push(c);
                if is_granted || waits {
                    left[stream].pop_front();
                }
            }
            if left.iter().all(VecDeque::is_empty) {
                break;
            }
            assert!(now < 10_000, "everything drains");
        }
        shown
    }

    #[test]
    fn a_port_moves_a_beat_a_cycle() {
        check(
            ["", "", "", "0123012"],
            expect![[r#"
            .......
            .......
            .......
            0123012"#]],
        );
    }

    #[test]
    fn reads_and_writes_of_a_port_take_turns() {
        check(
            ["0123", "2301", "", ""],
            expect![[r#"
            0.1.2.3.
            .2.3.0.1
            ........
            ........"#]],
        );
    }

    #[test]
    fn ports_that_meet_in_a_superbank_take_turns_and_go_on_one_behind_the_other() {
        check(
            ["0123012", "", "", "0123012"],
            expect![[r#"
            0123012.
            ........
            ........
            .0123012"#]],
        );
        check(
            ["0000", "", "0000", ""],
            expect![[r#"
            0.0.0.0.
            ........
            .0.0.0.0
            ........"#]],
        );
    }

    #[test]
    fn a_stack_is_cleared_in_turn() {
        let (mut l1, mut wide) = (L1::new(0x8000, 64), WidePorts::default());
        l1.store(0x1bc, 7, u32::MAX);
        wide.clear(&mut l1, 0x100, 0xc0);
        assert_eq!(l1.load(0x1bc), 0);
        let read = BeatRequests { read: Some(0), ..BeatRequests::default() };
        let reads =
            (0..8).map(|now| wide.grant(now, &mut l1, BeatRequests::default(), read).dma == Some(BeatRequester::Read));
        assert_eq!(reads.collect::<Vec<bool>>(), [true, true, false, true, false, true, false, true]);
        assert!(!wide.is_clearing());
    }

    #[test]
    fn lines_read_at_once_leave_behind_what_lines_one_by_one_do() {
        for (first, n) in (0..4).flat_map(|first| (1..10).map(move |n| (first * BEAT_BYTES, n))) {
            let [mut at_once, mut one_by_one] = [0, 1].map(|_| (L1::new(0x8000, 64), WidePorts::default()));
            for (l1, wide) in [&mut at_once, &mut one_by_one] {
                let dma = BeatRequests { write: Some(first), ..BeatRequests::default() };
                wide.grant(9, l1, BeatRequests::default(), dma);
            }
            at_once.1.serve_reads(10, &mut at_once.0, first, n);
            for beat in 0..n {
                let read = BeatRequests { read: Some(first + beat * BEAT_BYTES), ..BeatRequests::default() };
                one_by_one.1.grant(10 + Cycle::from(beat), &mut one_by_one.0, read, BeatRequests::default());
            }
            let [a, b] = [at_once, one_by_one].map(|(mut l1, wide)| {
                let last = 9 + Cycle::from(n);
                let blocked = [last, last + 1].map(|cycle| l1.blocked(cycle));
                format!("{:?} {:?} {blocked:x?} {:?}", wide.ports, wide.superbanks, l1.beats_by_superbank())
            });
            assert_eq!(a, b, "{n} lines from {first:#x}");
        }
    }

    proptest! {
        /// Every stream gets all its beats, in order. No superbank and no port moves two beats in a cycle. A request is
        /// granted in the fifth cycle at the latest.
        #[test]
        fn all_streams_drain_in_turn(streams in prop::array::uniform4("[0-3.]{0,40}")) {
            let shown = run(streams.clone(), WidePorts::grant);
            prop_assert_eq!(&shown, &run(streams.clone(), WidePorts::arbitrate), "a single request is treated differently");
            for (stream, shown) in streams.iter().zip(&shown) {
                prop_assert_eq!(stream.replace('.', ""), shown.replace('.', ""));
            }
            for cycle in 0..shown[0].len() {
                let now: Vec<char> = shown.iter().map(|stream| stream.as_bytes()[cycle] as char).collect();
                prop_assert!(now[..2].contains(&'.') && now[2..].contains(&'.'), "two at one port: {:?}", now);
                let mut superbanks: Vec<char> = now.into_iter().filter(|&c| c != '.').collect();
                superbanks.sort_unstable();
                let n = superbanks.len();
                superbanks.dedup();
                prop_assert_eq!(superbanks.len(), n, "two in one superbank");
            }
            for (stream, shown) in streams.iter().zip(&shown) {
                let mut next = 0;
                let mut waits = 0;
                for c in shown.bytes() {
                    if next == stream.len() { break; }
                    if stream.as_bytes()[next] == b'.' || c != b'.' {
                        (next, waits) = (next + 1, 0);
                    } else {
                        waits += 1;
                        prop_assert!(waits < 5, "{} waits in {}", stream, shown);
                    }
                }
            }
        }
    }
}
