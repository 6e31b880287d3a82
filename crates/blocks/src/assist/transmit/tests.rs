use super::outgoing::{CONTINUES, INSERT_TAG};
use super::*;
use crate::assist::testing::{Shared, as_text, hex, memory};
use expect_test::{Expect, expect};
use kernel::Freq;
use testkit::bench;

/// 1 Gbit/s at the bench's 1 GHz: a byte takes 8 cycles.
fn params() -> MacTransmitParams {
    MacTransmitParams {
        link_bps: 1_000_000_000,
        ring_entries: 8,
        descriptors_ahead: 1,
        buffer_bytes: 4096,
        start_bytes: 4000,
        memory_burst_bytes: 8,
        memory_references: 4,
    }
}

/// Address of the ring in the scenes.
const RING: usize = 0x8000;

/// A scene: a memory whose byte at address a is the low byte of a, descriptor words, and orders by cycle.
fn scene(params: &MacTransmitParams, ring: &[[u32; 2]], orders: &[(Cycle, TransmitOrder)]) -> String {
    recorded_scene(params, ring, orders, None)
}

/// The same, with a log of the transfers.
fn recorded_scene(
    params: &MacTransmitParams,
    ring: &[[u32; 2]],
    orders: &[(Cycle, TransmitOrder)],
    moves: Option<&MoveLog>,
) -> String {
    bench(100_000, |bench| {
        let card: Shared = Shared::default();
        card.borrow_mut().extend((0..0x8800).map(|a| a as u8));
        for (i, words) in ring.iter().enumerate() {
            let bytes = words.map(u32::to_be_bytes).concat();
            card.borrow_mut()[RING + 8 * i..RING + 8 * i + 8].copy_from_slice(&bytes);
        }
        let base = [(1, TransmitOrder::Ring(RING as u64)), (1, TransmitOrder::Enable(true))];
        let show = |frame: &Frame| {
            let (start, end) = (&frame.bytes[..18], &frame.bytes[frame.bytes.len() - 4..]);
            let mark = if frame.is_intact { "" } else { " broken" };
            format!("#{} {} bytes {}..{}{mark}", frame.id, frame.bytes.len(), hex(start), hex(end))
        };
        let card_ports = CardPorts {
            orders: bench.input("orders", 16, base.iter().chain(orders).copied().collect()),
            progress: bench.output("progress", 2, |_| true, |progress| format!("{progress:?}")),
            memory: memory(bench, "card", &card, false),
            descriptors: None,
        };
        let ports = MacTransmitPorts { card: card_ports, wire: bench.output("wire", 2, |_| true, show) };
        let clock = Clock::new(Freq::mhz(1000).unwrap());
        let mut mac = MacTransmit::new(params.clone(), ports, clock);
        if let Some(moves) = moves {
            moves.borrow_mut().clear();
            mac.record(moves.clone());
        }
        bench.add("mac", mac);
        bench.log_counters();
    })
}

fn check(params: &MacTransmitParams, ring: &[[u32; 2]], orders: &[(Cycle, TransmitOrder)], want: Expect) {
    want.assert_eq(&scene(params, ring, orders));
}

#[test]
fn recorded_frames_name_their_bytes_and_the_causes_of_their_cycles() {
    // The first frame has two pieces. The buffer holds two frames, so the third waits for the line.
    let ring = [[0x100 | CONTINUES, 42], [0x800, 58], [0x1000, 100], [0x1100, 100]];
    let orders = [(1, TransmitOrder::Producer(3)), (20, TransmitOrder::Producer(4))];
    let (params, moves) = (MacTransmitParams { buffer_bytes: 208, ..params() }, MoveLog::default());
    let log = recorded_scene(&params, &ring, &orders, Some(&moves));
    assert_eq!(log, scene(&params, &ring, &orders), "recording changes nothing");
    expect![[r#"
        Send [(100, 2a), (800, 3a)] (0, 0) ordered@1 begun@4 transfer_before@1 descriptor_read@3 transfer_before@4 memory_read@20 line_busy@20 line@916
        Send [(1000, 64)] (0, 0) ordered@1 begun@19 transfer_before@11 descriptor_read@13 transfer_before@19 memory_read@34 line_busy@1012 line@1908
        Send [(1100, 64)] (0, 0) ordered@20 begun@33 transfer_before@20 descriptor_read@22 transfer_before@33 memory_read@47 line_busy@2004 line@2900
    "#]].assert_eq(&as_text(&moves));
}

#[test]
fn frames_of_1518_bytes_follow_each_other_after_1538_byte_times() {
    let ring = [[0x100, 1514], [0x800, 1514], [0x1000, 1514]];
    check(
        &params(),
        &ring,
        &[(1, TransmitOrder::Producer(3))],
        expect![[r#"
            196  progress Consumer(1, 1776)
            387  progress Consumer(2, 3568)
            3830 progress Consumer(3, 5616)
            12404 wire #0 1514 bytes 000102030405060708090a0b0c0d0e0f1011..e6e7e8e9
            24708 wire #1 1514 bytes 000102030405060708090a0b0c0d0e0f1011..e6e7e8e9
            37012 wire #2 1514 bytes 000102030405060708090a0b0c0d0e0f1011..e6e7e8e9
            mac.frames 3
            mac.bytes_with_fcs 4554
            mac.line_cycles 36912
        "#]],
    );
}

#[test]
fn short_frames_are_padded_and_follow_each_other_after_84_byte_times() {
    let ring = [[0x100, 18], [0x200, 59], [0x300, 60], [0x400, 61]];
    check(
        &params(),
        &ring,
        &[(1, TransmitOrder::Producer(4))],
        expect![[r#"
            9    progress Consumer(1, 280)
            18   progress Consumer(2, 576)
            27   progress Consumer(3, 832)
            35   progress Consumer(4, 1088)
            585  wire #0 60 bytes 000102030405060708090a0b0c0d0e0f1011..00000000
            1257 wire #1 60 bytes 000102030405060708090a0b0c0d0e0f1011..38393a00
            1929 wire #2 60 bytes 000102030405060708090a0b0c0d0e0f1011..38393a3b
            2609 wire #3 61 bytes 000102030405060708090a0b0c0d0e0f1011..393a3b3c
            mac.frames 4
            mac.bytes_with_fcs 257
            mac.line_cycles 2696
        "#]],
    );
}

#[test]
fn a_tag_is_inserted_after_the_addresses() {
    let ring = [[0x100 | INSERT_TAG, 0x2005_0000 | 60]];
    check(
        &params(),
        &ring,
        &[(1, TransmitOrder::Producer(1))],
        expect![[r#"
            13   progress Consumer(1, 320)
            621  wire #0 64 bytes 000102030405060708090a0b810020050c0d..38393a3b
            mac.frames 1
            mac.bytes_with_fcs 68
            mac.line_cycles 704
        "#]],
    );
}

#[test]
fn a_frame_may_consist_of_pieces_and_wrap() {
    let ring = [[0x100 | CONTINUES, 42], [0x3f8, 30]];
    let orders = [(1, TransmitOrder::Buffers(Buffers { base: 0x200, end: 0x400 })), (1, TransmitOrder::Producer(2))];
    check(
        &params(),
        &ring,
        &orders,
        expect![[r#"
            16   progress Consumer(2, 536)
            688  wire #0 72 bytes 000102030405060708090a0b0c0d0e0f1011..12131415
            mac.frames 1
            mac.bytes_with_fcs 76
            mac.line_cycles 768
        "#]],
    );
}

#[test]
fn a_memory_that_is_too_slow_breaks_the_frame() {
    // One reference at a time brings 8 bytes in 2 cycles: 32 Gbit/s at 1 GHz.
    let params = |link_bps| MacTransmitParams { link_bps, start_bytes: 64, memory_references: 1, ..params() };
    let ring = [[0x100, 200]];
    let orders = [(1, TransmitOrder::Producer(1))];
    check(
        &params(10_000_000_000),
        &ring,
        &orders,
        expect![[r#"
            54   progress Consumer(1, 456)
            190  wire #0 200 bytes 000102030405060708090a0b0c0d0e0f1011..c4c5c6c7
            mac.frames 1
            mac.bytes_with_fcs 204
            mac.line_cycles 180
        "#]],
    );
    check(
        &params(100_000_000_000),
        &ring,
        &orders,
        expect![[r#"
            28   progress Attention(Underrun)
            54   progress Consumer(1, 456)
            54   wire #0 200 bytes 000102030405060708090a0b0c0d0e0f1011..c4c5c6c7 broken
            mac.frames 1
            mac.bytes_with_fcs 204
            mac.line_cycles 18
            mac.underruns 1
        "#]],
    );
}

#[test]
fn a_full_buffer_is_refilled_as_the_line_empties_it() {
    let params = MacTransmitParams { buffer_bytes: 128, start_bytes: 64, ..params() };
    check(
        &params,
        &[[0x100, 200]],
        &[(1, TransmitOrder::Producer(1))],
        expect![[r#"
            655  progress Consumer(1, 456)
            1709 wire #0 200 bytes 000102030405060708090a0b0c0d0e0f1011..c4c5c6c7
            mac.frames 1
            mac.bytes_with_fcs 204
            mac.line_cycles 1792
        "#]],
    );
}

#[test]
fn an_empty_descriptor_and_a_bad_address_are_reported() {
    let ring = [[0x100, 0], [0xf000, 60], [0x100, 60]];
    check(
        &params(),
        &ring,
        &[(1, TransmitOrder::Producer(3))],
        expect![[r#"
            4    progress Attention(Descriptor)
            9    progress Attention(Memory(Nowhere(61440)))
            10   progress Attention(Memory(Nowhere(61448)))
            11   progress Attention(Memory(Nowhere(61456)))
            12   progress Attention(Memory(Nowhere(61464)))
            13   progress Attention(Memory(Nowhere(61472)))
            14   progress Attention(Memory(Nowhere(61480)))
            15   progress Attention(Memory(Nowhere(61488)))
            16   progress Attention(Memory(Nowhere(61496)))
            17   progress Consumer(2, 61504)
            24   progress Consumer(3, 320)
            592  wire #0 60 bytes 000000000000000000000000000000000000..00000000 broken
            1264 wire #1 60 bytes 000102030405060708090a0b0c0d0e0f1011..38393a3b
            mac.frames 2
            mac.bytes_with_fcs 128
            mac.line_cycles 1344
            mac.bad_descriptors 1
            mac.failures 8
        "#]],
    );
}

#[test]
fn a_disabled_transmitter_starts_nothing() {
    let ring = [[0x100, 60], [0x200, 60]];
    let orders = [
        (1, TransmitOrder::Enable(false)),
        (1, TransmitOrder::Producer(2)),
        (5000, TransmitOrder::Consumer(1)),
        (5000, TransmitOrder::Enable(true)),
    ];
    check(
        &params(),
        &ring,
        &orders,
        expect![[r#"
            5012 progress Consumer(2, 576)
            5588 wire #0 60 bytes 000102030405060708090a0b0c0d0e0f1011..38393a3b
            mac.frames 1
            mac.bytes_with_fcs 64
            mac.line_cycles 672
        "#]],
    );
}

#[test]
fn a_frame_announced_early_waits_for_its_bytes() {
    let ring = [[0x100, 60], [0x140, 60]];
    let orders = [
        (1, TransmitOrder::Buffers(Buffers { base: 0x100, end: 0x200 })),
        (1, TransmitOrder::BufferConsumer(0x100)),
        (1, TransmitOrder::BufferProducer(0x100)),
        (1, TransmitOrder::Producer(2)),
        (100, TransmitOrder::BufferProducer(0x13c)),
        (2000, TransmitOrder::BufferProducer(0x17c)),
    ];
    check(
        &params(),
        &ring,
        &orders,
        expect![[r#"
            110  progress Consumer(1, 320)
            686  wire #0 60 bytes 000102030405060708090a0b0c0d0e0f1011..38393a3b
            2010 progress Consumer(2, 384)
            2586 wire #1 60 bytes 404142434445464748494a4b4c4d4e4f5051..78797a7b
            mac.frames 2
            mac.bytes_with_fcs 128
            mac.line_cycles 1344
        "#]],
    );
}
