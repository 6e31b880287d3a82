use super::*;
use crate::assist::testing::{Shared, as_text, hex, memory};
use crate::netlist::Module;
use expect_test::{Expect, expect};
use kernel::Freq;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use testkit::bench;

fn params(direction: Direction) -> DmaAssistParams {
    DmaAssistParams {
        direction,
        ring_entries: 4,
        high_ring_entries: 4,
        descriptor_bytes: 32,
        descriptors_ahead: 1,
        buffer_bytes: 64,
        memory_burst_bytes: 8,
        memory_references: 4,
        host_burst_bytes: 16,
        host_references: 2,
    }
}

/// Addresses of the rings in the scenes.
const RING: usize = 0x100;
const HIGH: usize = 0x200;

/// `host local bytes state checksum_at` of the ring's first entries.
fn put_ring(card: &Shared, at: usize, entries: &[[u32; 5]]) {
    for (i, &[host, local, bytes, state, checksum_at]) in entries.iter().enumerate() {
        for (j, word) in [0, host, local, bytes, state, checksum_at].into_iter().enumerate() {
            let at = at + 32 * i + 4 * j;
            card.borrow_mut()[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// A scene: memories whose byte at address a is the low byte of a, the ring contents, and orders by cycle. Returns
/// the log and the final contents of both memories.
fn scene(
    params: &DmaAssistParams,
    rings: &[(usize, &[[u32; 5]])],
    orders: &[(Cycle, DmaOrder)],
    logged: &str,
) -> (String, Vec<u8>, Vec<u8>) {
    recorded_scene(params, rings, orders, logged, None)
}

/// The same, with a log of the transfers.
fn recorded_scene(
    params: &DmaAssistParams,
    rings: &[(usize, &[[u32; 5]])],
    orders: &[(Cycle, DmaOrder)],
    logged: &str,
    moves: Option<&MoveLog>,
) -> (String, Vec<u8>, Vec<u8>) {
    let fill = |len: usize| (0..len).map(|a| a as u8).collect::<Vec<_>>();
    let (card, host): (Shared, Shared) = Default::default();
    let log = bench(4000, |bench| {
        (*card.borrow_mut(), *host.borrow_mut()) = (fill(0x1000), fill(0x1000));
        rings.iter().for_each(|(at, entries)| put_ring(&card, *at, entries));
        let base = [(1, DmaOrder::Ring(0, RING as u64)), (1, DmaOrder::Ring(1, HIGH as u64))];
        let orders = base.iter().chain(orders).copied().collect();
        let card_ports = CardPorts {
            orders: bench.input("orders", 16, orders),
            progress: bench.output("progress", 2, |_| true, |progress| format!("{progress:?}")),
            memory: memory(bench, "card", &card, logged.contains("card")),
            descriptors: None,
        };
        let ports = DmaAssistPorts { card: card_ports, host: memory(bench, "host", &host, logged.contains("host")) };
        let mut dma = DmaAssist::new(params.clone(), ports);
        if let Some(moves) = moves {
            moves.borrow_mut().clear();
            dma.record(Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency")), moves.clone());
        }
        bench.add("dma", dma);
    });
    (log, card.take(), host.take())
}

#[test]
fn recorded_transfers_name_their_bytes_and_the_causes_of_their_cycles() {
    let entries: &[[u32; 5]] = &[[0x40, 0x304, 20, 0, 0], [0x60, 0x338, 16, 0, 0], [0x80, 0x308, 48, 0, 0]];
    let orders = [
        (1, DmaOrder::Buffers(Buffers { base: 0x300, end: 0x340 })),
        (1, DmaOrder::Enable(true)),
        (2, DmaOrder::Producer(0, 2)),
        (9, DmaOrder::Producer(0, 3)),
    ];
    // The sink takes 8 bytes in 2 cycles, and the buffer holds 32 bytes: the source waits for it.
    let moves = MoveLog::default();
    let slow = DmaAssistParams { memory_references: 1, buffer_bytes: 32, ..params(Direction::Read) };
    let (log, ..) = recorded_scene(&slow, &[(RING, entries)], &orders, "card host", Some(&moves));
    assert_eq!(log, scene(&slow, &[(RING, entries)], &orders, "card host").0, "recording changes nothing");
    expect![[r#"
        FromHost [(304, 14)] (40, 14) ordered@2 begun@10 transfer_before@2 descriptor_read@10 transfer_before@10 host_read@13 memory_write@24 report@24
        FromHost [(338, 8), (300, 8)] (60, 10) ordered@2 begun@18 transfer_before@10 descriptor_read@18 transfer_before@18 host_read@20 memory_write@36 report@36
        FromHost [(308, 30)] (80, 30) ordered@9 begun@32 transfer_before@24 descriptor_read@32 transfer_before@32 host_read@36 memory_write@48 report@48
    "#]].assert_eq(&as_text(&moves));
}

fn check(params: &DmaAssistParams, rings: &[(usize, &[[u32; 5]])], orders: &[(Cycle, DmaOrder)], want: Expect) {
    want.assert_eq(&scene(params, rings, orders, "card host").0);
}

#[test]
fn a_descriptor_is_split_into_references() {
    let entries: &[[u32; 5]] = &[[0x40, 0x304, 20, 0, 0]];
    let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Producer(0, 1))];
    check(
        &params(Direction::Read),
        &[(RING, entries)],
        &orders,
        expect![[r#"
            3    card r 100+8
            4    card r 108+8
            5    card r 110+8
            6    card r 118+8
            8    host r 40+16
            9    host r 50+4
            10   card w 304=40414243
            11   card w 308=4445464748494a4b
            12   card w 310=4c4d4e4f50515253
            14   progress Consumer(0, 1, 0, 792)
        "#]],
    );
}

#[test]
fn a_write_waits_for_whole_bursts() {
    let entries: &[[u32; 5]] = &[[0x4c, 0x300, 20, 0, 0]];
    let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Producer(0, 1))];
    check(
        &params(Direction::Write),
        &[(RING, entries)],
        &orders,
        expect![[r#"
            3    card r 100+8
            4    card r 108+8
            5    card r 110+8
            6    card r 118+8
            8    card r 300+8
            9    card r 308+8
            10   card r 310+4
            10   host w 4c=00010203
            12   host w 50=0405060708090a0b0c0d0e0f10111213
            14   progress Consumer(0, 1, 0, 788)
        "#]],
    );
}

#[test]
fn a_disabled_assist_starts_nothing() {
    let orders = [(2, DmaOrder::Producer(0, 1)), (90, DmaOrder::Enable(true))];
    let (log, ..) = scene(&params(Direction::Read), &[(RING, &[[0x40, 0x300, 8, 0, 0]])], &orders, "host");
    expect![[r#"
        96   host r 40+8
        100  progress Consumer(0, 1, 0, 776)
    "#]]
    .assert_eq(&log);
}

#[test]
fn single_transfers_go_first_and_then_the_high_ring() {
    let rings: [(usize, &[[u32; 5]]); 2] = [
        (RING, &[[0x40, 0x300, 4, 0, 0], [0x44, 0x304, 4, 0, 0], [0x48, 0x308, 4, 0, 0]]),
        (HIGH, &[[0x80, 0x400, 4, 0, 0]]),
    ];
    let single = Transfer { host: 0xc0, local: 0x500, bytes: 4, ..Transfer::default() };
    let orders = [
        (1, DmaOrder::Enable(true)),
        (2, DmaOrder::Producer(0, 3)),
        (9, DmaOrder::Producer(1, 1)),
        (9, DmaOrder::Single(single)),
    ];
    let (log, ..) = scene(&params(Direction::Read), &rings, &orders, "host");
    expect![[r#"
        8    host r 40+4
        13   host r 44+4
        14   host r c0+4
        14   progress Consumer(0, 1, 0, 772)
        17   progress Consumer(0, 2, 0, 776)
        18   progress SingleDone(33669, 1284)
        22   host r 80+4
        27   host r 48+4
        28   progress Consumer(1, 1, 0, 1028)
        31   progress Consumer(0, 3, 0, 780)
    "#]]
    .assert_eq(&log);
}

#[test]
fn a_ring_wraps() {
    let entry = [0x40, 0x300, 4, 0, 0];
    let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Consumer(0, 3)), (2, DmaOrder::Producer(0, 1))];
    let (log, ..) = scene(&params(Direction::Read), &[(RING, &[entry; 4])], &orders, "");
    expect![[r#"
        14   progress Consumer(0, 0, 0, 772)
        17   progress Consumer(0, 1, 0, 772)
    "#]]
    .assert_eq(&log);
}

#[test]
fn words_keep_their_value_if_the_descriptor_says_so() {
    let entries: &[[u32; 5]] = &[[0x41, 0x302, 9, Transfer::KEEPS_WORDS, 0]];
    let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Producer(0, 1))];
    // The byte from host address a goes to the address whose two low bits are inverted.
    let (_, card, _) = scene(&params(Direction::Read), &[(RING, entries)], &orders, "");
    assert_eq!(hex(&card[0x302..0x30b]), "424140474645444b4a");
    let entries: &[[u32; 5]] = &[[0x41, 0x322, 9, Transfer::KEEPS_WORDS, 0]];
    let (_, _, host) = scene(&params(Direction::Write), &[(RING, entries)], &orders, "");
    assert_eq!(hex(&host[0x40..0x4c]), "242322432827262548492a29");
}

#[test]
fn the_checksum_is_stored_after_the_data() {
    let entries: &[[u32; 5]] = &[[0x40, 0x300, 5, 0xa00, 0x116]];
    let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Producer(0, 1))];
    let (log, card, _) = scene(&params(Direction::Read), &[(RING, entries)], &orders, "card");
    expect![[r#"
        3    card r 100+8
        4    card r 108+8
        5    card r 110+8
        6    card r 118+8
        10   card w 300=4041424344
        11   card w 116=c684
        13   progress Consumer(0, 1, 2560, 773)
    "#]]
    .assert_eq(&log);
    // 0x4041 + 0x4243 + 0x4400
    assert_eq!(hex(&card[0x116..0x118]), "c684");
}

#[test]
fn transfers_wrap_at_the_end_of_the_buffers() {
    let entries: &[[u32; 5]] = &[[0x40, 0x3f8, 20, 0, 0]];
    let buffers = Buffers { base: 0x380, end: 0x400 };
    let orders = [(1, DmaOrder::Enable(true)), (1, DmaOrder::Buffers(buffers)), (2, DmaOrder::Producer(0, 1))];
    let (log, card, _) = scene(&params(Direction::Read), &[(RING, entries)], &orders, "");
    expect![[r#"
        14   progress Consumer(0, 1, 0, 908)
    "#]]
    .assert_eq(&log);
    assert_eq!(hex(&card[0x3f8..0x400]), "4041424344454647");
    assert_eq!(hex(&card[0x380..0x38c]), "48494a4b4c4d4e4f50515253");
}

#[test]
fn an_error_stops_the_assist_until_it_is_reset() {
    let entries: &[[u32; 5]] = &[[0x4000, 0x300, 4, 0, 0], [0x40, 0x300, 4, 0, 0]];
    let orders = [
        (1, DmaOrder::Enable(true)),
        (2, DmaOrder::Producer(0, 2)),
        (90, DmaOrder::Reset),
        (91, DmaOrder::Consumer(0, 1)),
        (91, DmaOrder::Producer(0, 2)),
    ];
    let (log, ..) = scene(&params(Direction::Read), &[(RING, entries)], &orders, "host");
    expect![[r#"
        8    host r 4000+4
        10   progress Failed(Nowhere(16384))
        97   host r 40+4
        101  progress Consumer(0, 2, 0, 772)
    "#]]
    .assert_eq(&log);
}

#[test]
fn parameters_out_of_bounds_are_named() {
    let with = |change: fn(&mut DmaAssistParams)| {
        let mut params = params(Direction::Read);
        change(&mut params);
        params.check().err().unwrap_or_default()
    };
    expect!["descriptor_bytes is 24, must be a power of two from 16 to 256"]
        .assert_eq(&with(|params| params.descriptor_bytes = 24));
    expect!["buffer_bytes (at least memory_burst_bytes and host_burst_bytes) is 23, must be 24 to 1048576"]
        .assert_eq(&with(|params| params.buffer_bytes = 23));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Transfers of any address and length arrive complete, in order, and touch nothing else.
    #[test]
    fn every_byte_arrives(
        moves in prop::collection::vec((0u32..64, 0u32..64, 0u32..80), 1..4),
        is_write: bool,
        memory_burst in 2u32..6,
        host_burst in 2u32..7,
        ahead in 0usize..3,
    ) {
        let direction = if is_write { Direction::Write } else { Direction::Read };
        let mut params = params(direction);
        params.descriptors_ahead = ahead;
        (params.memory_burst_bytes, params.host_burst_bytes) = (1 << memory_burst, 1 << host_burst);
        params.buffer_bytes = params.memory_burst_bytes + params.host_burst_bytes;
        let entries: Vec<_> = (0..).zip(&moves)
            .map(|(i, &(host, local, bytes))| [0x400 + 0x100 * i + host, 0x800 + 0x100 * i + local, bytes, 0, 0])
            .collect();
        let orders = [(1, DmaOrder::Enable(true)), (2, DmaOrder::Producer(0, moves.len() as u32))];
        let (log, card, host) = scene(&params, &[(RING, &entries)], &orders, "");
        prop_assert_eq!(log.lines().count(), moves.len());
        let (mut want_card, mut want_host): (Vec<u8>, Vec<u8>) =
            ((0..0x1000).map(|a| a as u8).collect(), (0..0x1000).map(|a| a as u8).collect());
        let shared: Shared = Rc::new(RefCell::new(want_card));
        put_ring(&shared, RING, &entries);
        want_card = shared.take();
        for [to_host, to_card, bytes, ..] in entries {
            for i in 0..bytes as usize {
                let (host, card) = (to_host as usize + i, to_card as usize + i);
                if is_write { want_host[host] = want_card[card] } else { want_card[card] = want_host[host] }
            }
        }
        prop_assert_eq!(card, want_card);
        prop_assert_eq!(host, want_host);
    }
}
