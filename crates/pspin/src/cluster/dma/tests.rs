use super::*;
use crate::cluster::wide::WidePorts;
use crate::map::{L1_BASE, L2_HANDLER_BASE, L2_PACKET_BASE};
use crate::protocol::{Burst, BurstReply};
use crate::testing::{Store, TestMemory, byte, params};
use expect_test::{Expect, expect};
use kernel::{Activity, Component, Rx, Tx};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use testkit::{Bench, Log, bench};

const L1_BYTES: u32 = 0x1_0000;

/// Cycles from a request until L2's data arrive, as in the published machine: two cycles to L2, and three back
/// including one of the channel.
const L2_LATENCY: u64 = 4;

/// The events to log, in addition to requests to L2 and finished transfers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    Ends,
    Beats,
    Launches,
}

/// Source, destination, bytes.
type Transfer = (u32, u32, u32);

/// Initial value of a byte of L1.
fn l1_byte(offset: u32) -> u8 {
    (offset ^ offset >> 8).wrapping_mul(7) as u8
}

/// The engine of cluster 0 with its L1. `nhi` requests beats at the other port of L1.
struct Set {
    launches: Rx<Transfer>,
    dma: Dma,
    l1: L1,
    wide: WidePorts,
    nhi: fn(Cycle) -> BeatRequests,
    has_company: bool,
    shows: Shows,
    log: Log,
    /// The next cycle in which the engine has work.
    next: Cycle,
    /// Content of L1 when the last transfer was done.
    seen: Rc<RefCell<Vec<u8>>>,
}

impl Set {
    /// Adds a set with an L2 that answers after `latency` cycles. Returns the final content of L2 and L1.
    fn add(
        bench: &mut Bench,
        transfers: &[Transfer],
        latency: u64,
        nhi: fn(Cycle) -> BeatRequests,
        shows: Shows,
    ) -> (Store, Rc<RefCell<Vec<u8>>>) {
        let store = Store::default();
        let l2 = TestMemory::with_store(bench, "l2", latency, store.clone());
        let seen = Set::before(bench, transfers, (l2.requests, l2.replies), nhi, shows);
        (store, seen)
    }

    /// Adds a set before an L2. Returns the final content of L1.
    fn before(
        bench: &mut Bench,
        transfers: &[Transfer],
        l2: (Tx<Burst>, Rx<BurstReply>),
        nhi: fn(Cycle) -> BeatRequests,
        shows: Shows,
    ) -> Rc<RefCell<Vec<u8>>> {
        Set::told_late(bench, transfers, l2, Vec::new(), nhi, shows)
    }

    /// Like [`Set::before`], but some beats arrive later than the answers say: `late` lists report cycle and beat cycle.
    fn told_late(
        bench: &mut Bench,
        transfers: &[Transfer],
        l2: (Tx<Burst>, Rx<BurstReply>),
        late: Vec<(Cycle, Cycle)>,
        nhi: fn(Cycle) -> BeatRequests,
        shows: Shows,
    ) -> Rc<RefCell<Vec<u8>>> {
        let seen = Rc::default();
        let launches = bench.input("launches", 64, transfers.iter().map(|&transfer| (10, transfer)).collect());
        let mut params = params();
        params.cluster.l1_bytes = L1_BYTES;
        let mut l1 = L1::new(L1_BYTES, params.cluster.l1_banks);
        l1.write(0, &(0..L1_BYTES).map(l1_byte).collect::<Vec<u8>>());
        let held = bench.output("held", 4, |_| true, |held: &u32| held.to_string());
        let ports = DmaPorts { requests: l2.0, replies: l2.1, held, late: bench.input("late", 4, late) };
        let dma = Dma::new(0, &params, ports);
        let (wide, log) = (WidePorts::default(), bench.log.clone());
        let has_company = !std::ptr::fn_addr_eq(nhi, nobody as fn(Cycle) -> BeatRequests);
        let next = Cycle::MAX;
        bench.add("dma", Set { launches, dma, l1, wide, nhi, has_company, shows, log, next, seen: Rc::clone(&seen) });
        seen
    }

    /// Simulates one cycle. Returns true if a transfer ends in it.
    fn live(&mut self, at: Cycle) -> bool {
        let (finished, requests) = self.dma.tick(at, &self.l1);
        let granted = self.wide.grant(at, &mut self.l1, (self.nhi)(at), requests).dma;
        if let Some(side) = granted {
            if self.shows == Shows::Beats {
                let offset = if side == BeatRequester::Read { requests.read } else { requests.write };
                self.log.note(at, format!("{side:?} {:#x}", offset.expect("a granted side has a request")));
            }
            self.dma.granted(at, side, &mut self.l1);
        }
        // The arbiter's turn depends on the requests of the other port in each cycle.
        self.next = if self.has_company { at + 1 } else { self.dma.next_event(at) };
        finished.is_some()
    }
}

impl Component for Set {
    /// As in a cluster, cycles without a visible effect are simulated later, except in [`kernel::Mode::TickAll`].
    fn tick(&mut self, now: Cycle) -> Activity {
        while self.next < now {
            let has_ended = self.live(self.next);
            assert!(!has_ended, "a transfer ends in a cycle with visible effects");
        }
        if self.dma.is_busy() && self.live(now) {
            self.log.note(now, "done".to_owned());
            let mut seen = self.seen.borrow_mut();
            seen.clear();
            self.l1.read(0, L1_BYTES, &mut seen);
        }
        if self.dma.accepts(now)
            && let Some((src, dst, size)) = self.launches.take()
        {
            self.dma.launch(now, Owner::Public, src, dst, size);
            if self.shows == Shows::Launches {
                self.log.note(now, "launched".to_owned());
            }
        }
        if !self.dma.is_busy() {
            self.next = Cycle::MAX;
            return if self.launches.has_item() { Activity::Busy } else { Activity::Idle };
        }
        let (next, shows) = self.dma.plan(now, !self.has_company, false);
        self.next = if self.has_company { now + 1 } else { next };
        match shows {
            _ if self.launches.has_item() => Activity::Busy,
            Cycle::MAX => Activity::Idle,
            at if at == now + 1 => Activity::Busy,
            at => Activity::Until(at),
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("launches", &self.launches);
        self.dma.ports(ports);
    }
}

fn nobody(_: Cycle) -> BeatRequests {
    BeatRequests::default()
}

fn check(transfers: &[Transfer], shows: Shows, want: Expect) {
    want.assert_eq(&bench(10_000, |bench| {
        Set::add(bench, transfers, L2_LATENCY, nobody, shows);
    }));
}

#[test]
fn a_packet_of_one_beat_comes_to_l1_in_ten_cycles_and_is_done_after_twelve() {
    check(
        &[(L2_PACKET_BASE, L1_BASE + 0x4400, 64)],
        Shows::Beats,
        expect![[r#"
        14   l2: read 64 at 0x1c400000
        20   Write 0x4400
        22   done
    "#]],
    );
}

/// Handler memory has a register more on the way back than packet memory: its answer comes in the cycle before the first beat.
#[test]
fn beats_come_when_the_answer_says_also_if_there_is_one() {
    let answered = |reads: u32| {
        bench(100, |bench| {
            let data = vec![0; 64 * reads as usize].into();
            let answer = BurstReply::Data { tag: 0, data, last: 17 + Cycle::from(reads) };
            let l2 = (
                bench.output("read", 2, |_| true, |_: &Burst| String::new()),
                bench.input("answer", 4, vec![(17, answer)]),
            );
            Set::before(bench, &[(L2_HANDLER_BASE, L1_BASE, 64 * reads)], l2, nobody, Shows::Beats);
        })
    };
    // The answer to the read of cycle 14 comes in cycle 17, and the first beat in cycle 18. It is written two cycles later.
    let want = expect![[r#"
        14   read
        20   Write 0x0
        22   done
    "#]];
    want.assert_eq(&answered(1));
    let want = expect![[r#"
        14   read
        20   Write 0x0
        21   Write 0x40
        23   done
    "#]];
    want.assert_eq(&answered(2));
}

/// Beats that the memories report as late, before and after the answer to their read.
#[test]
fn a_late_beat_comes_a_cycle_later_and_those_behind_it_as_told() {
    let log = bench(100, |bench| {
        let answer = BurstReply::Data { tag: 0, data: vec![0; 256].into(), last: 21 };
        let l2 = (
            bench.output("read", 2, |_| true, |_: &Burst| String::new()),
            bench.input("answer", 4, vec![(18, answer)]),
        );
        // The second and third beat were due in cycles 19 and 20. The third is late twice.
        let late = vec![(17, 20), (17, 19), (18, 21), (18, 21)];
        Set::told_late(bench, &[(L2_PACKET_BASE, L1_BASE, 256)], l2, late, nobody, Shows::Beats);
    });
    expect![[r#"
        14   read
        20   Write 0x0
        22   Write 0x40
        24   Write 0x80
        25   Write 0xc0
        27   done
    "#]]
    .assert_eq(&log);
}

/// The other port takes a superbank in every cycle, so that L1 takes fewer beats than arrive. First the lanes and the
/// register behind them fill. Then beats stay in the register in front of them, and the engine reports to L2 how many.
#[test]
fn beats_that_the_lanes_do_not_take_are_held_and_told() {
    let log = bench(10_000, |bench| {
        let takes = |_| BeatRequests { write: Some(0), ..BeatRequests::default() };
        Set::add(bench, &[(L2_PACKET_BASE, L1_BASE, 4096)], L2_LATENCY, takes, Shows::Ends);
    });
    expect![[r#"
        14   l2: read 4096 at 0x1c400000
        29   held 1
        31   held 0
        34   held 1
        36   held 0
        39   held 1
        41   held 0
        44   held 1
        46   held 0
        49   held 1
        51   held 0
        54   held 1
        56   held 0
        59   held 1
        61   held 0
        64   held 1
        66   held 0
        69   held 1
        71   held 0
        74   held 1
        76   held 0
        79   held 1
        81   held 0
        84   held 1
        86   held 0
        89   held 1
        91   held 0
        94   held 1
        95   held 0
        101  done
    "#]]
    .assert_eq(&log);
}

#[test]
fn a_page_moves_at_a_beat_a_cycle_each_way_and_within_l1_at_half_of_that() {
    check(
        &[(L2_PACKET_BASE, L1_BASE, 4096)],
        Shows::Ends,
        expect![[r#"
        14   l2: read 4096 at 0x1c400000
        85   done
    "#]],
    );
    check(
        &[(L1_BASE, L2_HANDLER_BASE, 4096)],
        Shows::Ends,
        expect![[r#"
            18   l2: write 4096 at 0x1c000000
            85   done
        "#]],
    );
    check(
        &[(L1_BASE, L1_BASE + 0x2000, 4096)],
        Shows::Ends,
        expect![[r#"
        143  done
    "#]],
    );
}

/// Reads are cut at the pages of the source, and writes at those of the destination.
#[test]
fn a_page_of_one_side_cuts_only_the_bursts_of_that_side() {
    check(
        &[(L2_PACKET_BASE, L1_BASE + PAGE_BYTES - 128, 256), (L2_PACKET_BASE + PAGE_BYTES - 64, L1_BASE, 128)],
        Shows::Beats,
        expect![[r#"
        14   l2: read 256 at 0x1c400000
        16   l2: read 64 at 0x1c400fc0
        17   l2: read 64 at 0x1c401000
        20   Write 0xf80
        21   Write 0xfc0
        22   Write 0x1000
        23   Write 0x1040
        24   Write 0x0
        25   Write 0x40
        25   done
        27   done
    "#]],
    );
    check(
        &[(L1_BASE + PAGE_BYTES - 128, L2_HANDLER_BASE, 256), (L1_BASE, L2_HANDLER_BASE + PAGE_BYTES - 64, 128)],
        Shows::Ends,
        expect![[r#"
        18   l2: write 256 at 0x1c000000
        22   l2: write 64 at 0x1c000fc0
        25   done
        26   l2: write 64 at 0x1c001000
        30   done
    "#]],
    );
}

#[test]
fn a_destination_earlier_in_its_beat_than_the_source_needs_two_beats_for_its_first() {
    check(
        &[(L2_PACKET_BASE + 32, L1_BASE, 128)],
        Shows::Beats,
        expect![[r#"
        14   l2: read 128 at 0x1c400020
        21   Write 0x0
        22   Write 0x40
        24   done
    "#]],
    );
}

/// Eleven beats wait between L1's reads and writes: three in the lanes, two in each register around them, four in the
/// converter before L1. The third write to L2 waits for the response to the first, and writes to L1 wait for the
/// response to the third.
#[test]
fn reads_stop_when_eleven_beats_wait() {
    let to_l2 = |i: u32| (L1_BASE + 64 * i, L2_HANDLER_BASE + 64 * i, 64);
    let within = (L1_BASE + 0x1000, L1_BASE + 0x2000, 1024);
    let log = bench(10_000, |bench| {
        Set::add(bench, &[to_l2(0), to_l2(1), to_l2(2), within], L2_LATENCY, nobody, Shows::Beats);
    });
    // The cycle of each line, and the hexadecimal number at its end.
    let lines = |what: &str| -> Vec<(Cycle, u32)> {
        let lines = log.lines().filter_map(|line| line.split_once(' ')).filter(|(_, text)| text.contains(what));
        let number =
            |text: &str| text.rsplit_once("0x").map_or(0, |(_, n)| u32::from_str_radix(n, 16).expect("a number"));
        lines.map(|(cycle, text)| (cycle.parse().expect("a cycle"), number(text))).collect()
    };
    let (reads, writes, done) = (lines("Read"), lines("Write"), lines("done"));
    let offsets = |beats: &[(Cycle, u32)]| beats.iter().map(|(_, offset)| *offset).collect::<Vec<_>>();
    assert_eq!(offsets(&reads), [0, 0x40, 0x80].into_iter().chain((0x1000..0x1400).step_by(64)).collect::<Vec<_>>());
    assert_eq!(offsets(&writes), (0x2000..0x2400).step_by(64).collect::<Vec<_>>());
    // Three beats for L2 and eleven waiting beats are read without a gap; the next read follows the first writes.
    let before = reads.iter().take_while(|(cycle, _)| *cycle < writes[0].0).count();
    assert_eq!(before, 3 + 11, "{log}");
    assert!(reads[..before].windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "{log}");
    // L1 has one port for this engine, so a cycle reads or writes. At most eleven beats wait.
    for (n, (cycle, _)) in reads[3..].iter().enumerate() {
        let written = writes.iter().filter(|(at, _)| at <= cycle).count();
        assert!(n + 1 - written <= 11 && writes.iter().all(|(at, _)| at != cycle), "{log}");
    }
    // The response to a write arrives `L2_LATENCY` cycles after it, and ends a transfer to L2. A transfer to L1 ends
    // two cycles after its last write.
    let to_l2 = lines("l2: write");
    assert_eq!(to_l2[2].0, to_l2[0].0 + L2_LATENCY + 1);
    let ends = [to_l2[0], to_l2[1], to_l2[2]].map(|(cycle, _)| cycle + L2_LATENCY);
    assert_eq!(done.iter().map(|(cycle, _)| *cycle).collect::<Vec<_>>(), [&ends[..], &[writes[15].0 + 2]].concat());
    assert!(writes[0].0 > ends[2]);
}

#[test]
fn writes_of_one_beat_to_l1_take_two_cycles_each() {
    let transfers: Vec<Transfer> = (0..4).map(|i| (L1_BASE + 64 * i, L1_BASE + 0x1000 + 64 * i, 64)).collect();
    check(
        &transfers,
        Shows::Beats,
        expect![[r#"
        14   Read 0x0
        15   Read 0x40
        16   Read 0x80
        17   Read 0xc0
        18   Write 0x1000
        20   Write 0x1040
        20   done
        22   Write 0x1080
        22   done
        24   Write 0x10c0
        24   done
        26   done
    "#]],
    );
}

#[test]
fn the_other_port_delays_a_beat_and_what_is_behind_it() {
    let log = bench(10_000, |bench| {
        let two = |now| BeatRequests { write: (20..22).contains(&now).then_some(0), ..BeatRequests::default() };
        Set::add(bench, &[(L2_PACKET_BASE, L1_BASE, 256)], L2_LATENCY, two, Shows::Beats);
    });
    expect![[r#"
        14   l2: read 256 at 0x1c400000
        21   Write 0x0
        22   Write 0x40
        23   Write 0x80
        24   Write 0xc0
        26   done
    "#]]
    .assert_eq(&log);
}

/// Twelve transfers are in the emitters, one in the reshaper, twelve in the FIFO. A transfer across pages has an entry
/// for each part in the emitters, and one entry in the FIFO.
#[test]
fn the_fifo_is_full_behind_25_transfers_and_shows_room_two_cycles_after_a_beat_has_left() {
    let mut transfers = vec![(L2_PACKET_BASE, L1_BASE, 64); 27];
    transfers[20] = (L2_PACKET_BASE, L1_BASE, 3 * PAGE_BYTES);
    let log = bench(10_000, |bench| {
        Set::add(bench, &transfers, 100, nobody, Shows::Launches);
    });
    let cycles = |what: &str| {
        let lines = log.lines().filter(|line| line.ends_with(what));
        lines.map(|line| line.split(' ').next().expect("a cycle").parse().expect("a number")).collect::<Vec<u64>>()
    };
    let (launched, done) = (cycles("launched"), cycles("done"));
    assert_eq!(launched[..25], (10..35).collect::<Vec<u64>>());
    // A beat that leaves the buffer is written in the next cycle, and its transfer is done two cycles after that. The
    // second beat leaves directly after the first.
    let left = done[0] - 3;
    assert_eq!([launched[25], launched[26]], [left + 2, left + 3]);
    assert_eq!(done.len(), 27);
}

/// Requests beats of both sides in most cycles. The superbank depends on the cycle.
fn a_crowd(now: Cycle) -> BeatRequests {
    let request = |n: u64| (!n.is_multiple_of(5)).then_some((n * n % 7) as u32 * 64);
    BeatRequests { write: request(now), read: request(now / 3) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// All transfers end, in order, and all bytes arrive. This holds for all sources and destinations, for any latency
    /// of L2, and with other requests to L1. A line takes at most two beats at each end, and each beat waits for its
    /// turn.
    #[test]
    fn every_byte_arrives(
        transfers in prop::collection::vec((any::<bool>(), any::<bool>(), 0u32..3000, 0u32..3000, 1u32..6000), 1..4),
        latency in 1u64..30, is_crowded in any::<bool>(),
    ) {
        let place = |in_l1: bool, at: u32| at + if in_l1 { L1_BASE } else { L2_PACKET_BASE };
        // Each transfer has 10 KiB of its own at each end.
        let transfer = |(i, &(from_l1, to_l1, from, to, size)): (u32, &(bool, bool, u32, u32, u32))| {
            (place(from_l1, 0x2800 * i + from), place(to_l1, 0x2800 * (i + 3) + to), size)
        };
        let transfers: Vec<Transfer> = (0..).zip(&transfers).map(transfer).collect();
        let ends = RefCell::new(None);
        let nhi = if is_crowded { a_crowd } else { nobody };
        let log = bench(20_000, |bench| { ends.replace(Some(Set::add(bench, &transfers, latency, nhi, Shows::Ends))); });
        prop_assert_eq!(log.matches("done").count(), transfers.len());
        let (store, seen) = ends.take().expect("it ran");
        let wrong = transfers.iter().find_map(|&(src, dst, size)| {
            let source = |i: u32| if src < L2_HANDLER_BASE { l1_byte(src - L1_BASE + i) } else { (src + i) as u8 };
            let found = |i: u32| match dst < L2_HANDLER_BASE {
                true => seen.borrow()[(dst - L1_BASE + i) as usize],
                false => byte(&store, (dst + i).into()),
            };
            (0..size).find(|&i| source(i) != found(i)).map(|i| (src, dst, size, i))
        });
        prop_assert_eq!(wrong, None);
    }
}
