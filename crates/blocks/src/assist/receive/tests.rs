use super::*;
use crate::assist::testing::{Shared, as_text, hex, memory};
use expect_test::{Expect, expect};
use kernel::Freq;
use testkit::bench;

/// 1 Gbit/s at the bench's 1 GHz: a byte takes 8 cycles.
fn params() -> MacReceiveParams {
    MacReceiveParams {
        link_bps: 1_000_000_000,
        ring_entries: 4,
        buffer_bytes: 2048,
        is_paced: false,
        memory_burst_bytes: 8,
        memory_references: 4,
    }
}

/// Addresses of the ring and the buffers in the scenes.
const RING: usize = 0x100;
const BUFFERS: Buffers = Buffers { base: 0x200, end: 0x2a8 };

/// A scene: frame lengths by cycle (`-len` for a frame with a wrong check sequence), and orders by cycle. Returns the
/// log and the final contents of the card's memory.
fn scene(
    params: &MacReceiveParams,
    frames: &[(Cycle, i32)],
    orders: &[(Cycle, ReceiveOrder)],
    is_logged: bool,
) -> (String, Vec<u8>) {
    recorded_scene(params, frames, orders, is_logged, None)
}

/// The same, with a log of the transfers.
fn recorded_scene(
    params: &MacReceiveParams,
    frames: &[(Cycle, i32)],
    orders: &[(Cycle, ReceiveOrder)],
    is_logged: bool,
    moves: Option<&MoveLog>,
) -> (String, Vec<u8>) {
    let card: Shared = Shared::default();
    let log = bench(100_000, |bench| {
        *card.borrow_mut() = vec![0; 0x1000];
        let base = [
            (1, ReceiveOrder::Ring(RING as u64)),
            (1, ReceiveOrder::Buffers(BUFFERS)),
            (1, ReceiveOrder::Enable(true)),
        ];
        let frame = |(id, &(cycle, len)): (u64, &(Cycle, i32))| {
            let bytes: Vec<u8> = (0..len.unsigned_abs()).map(|i| (i as u8) ^ 16 * (id as u8 + 1)).collect();
            (cycle, Frame { id, bytes: bytes.into(), is_intact: len > 0 })
        };
        let card_ports = CardPorts {
            orders: bench.input("orders", 16, base.iter().chain(orders).copied().collect()),
            progress: bench.output("progress", 2, |_| true, |progress| format!("{progress:x?}")),
            memory: memory(bench, "card", &card, is_logged),
            descriptors: None,
        };
        let ports =
            MacReceivePorts { card: card_ports, wire: bench.input("wire", 2, (0..).zip(frames).map(frame).collect()) };
        let clock = Clock::new(Freq::mhz(1000).unwrap());
        let mut mac = MacReceive::new(params.clone(), ports, clock);
        if let Some(moves) = moves {
            moves.borrow_mut().clear();
            mac.record(moves.clone());
        }
        bench.add("mac", mac);
        bench.log_counters();
    });
    (log, card.take())
}

fn check(
    params: &MacReceiveParams,
    frames: &[(Cycle, i32)],
    orders: &[(Cycle, ReceiveOrder)],
    is_logged: bool,
    want: Expect,
) {
    want.assert_eq(&scene(params, frames, orders, is_logged).0);
}

#[test]
fn recorded_frames_name_their_bytes_and_the_causes_of_their_cycles() {
    // The third frame finds no buffer. A byte takes 8 cycles on the line of a paced receiver.
    for (is_paced, want) in [
        (
            false,
            expect![[r#"
                Drop(2, "no_buffer") [] (0, 0) ordered@14 begun@14
                Receive(0) [(200, 40)] (0, 0) ordered@10 begun@10 transfer_before@10 line@10 memory_write@19 descriptor_write@20 report@20
                Receive(1) [(240, 4a)] (0, 0) ordered@12 begun@19 transfer_before@19 line@19 memory_write@30 descriptor_write@31 report@31
            "#]],
        ),
        (
            true,
            expect![[r#"
                Drop(2, "no_buffer") [] (0, 0) ordered@14 begun@14
                Receive(0) [(200, 40)] (0, 0) ordered@10 begun@74 transfer_before@10 line@522 memory_write@524 descriptor_write@525 report@525
                Receive(1) [(240, 4a)] (0, 0) ordered@12 begun@586 transfer_before@522 line@1114 memory_write@1116 descriptor_write@1117 report@1117
            "#]],
        ),
    ] {
        let (params, moves) = (MacReceiveParams { is_paced, ..params() }, MoveLog::default());
        let frames = [(10, 60), (12, 70), (14, 60)];
        let (log, _) = recorded_scene(&params, &frames, &[], true, Some(&moves));
        assert_eq!(log, scene(&params, &frames, &[], true).0, "recording changes nothing");
        want.assert_eq(&as_text(&moves));
    }
}

#[test]
fn a_frame_is_stored_with_its_check_sequence_and_a_descriptor() {
    check(
        &params(),
        &[(10, 60)],
        &[],
        true,
        expect![[r#"
            11   card w 200=1011121314151617
            12   card w 208=18191a1b1c1d1e1f
            13   card w 210=0001020304050607
            14   card w 218=08090a0b0c0d0e0f
            15   card w 220=3031323334353637
            16   card w 228=38393a3b3c3d3e3f
            17   card w 230=2021222324252627
            18   card w 238=28292a2b5b5957a7
            19   card w 100=0000020000000040
            21   progress Producer(1, 240)
            mac.frames 1
            mac.bytes_with_fcs 64
            mac.buffered_cycles 38996490
        "#]],
    );
}

#[test]
fn paced_bytes_are_written_at_the_rate_of_the_line() {
    check(
        &MacReceiveParams { is_paced: true, ..params() },
        &[(10, 60)],
        &[],
        true,
        expect![[r#"
            75   card w 200=1011121314151617
            139  card w 208=18191a1b1c1d1e1f
            203  card w 210=0001020304050607
            267  card w 218=08090a0b0c0d0e0f
            331  card w 220=3031323334353637
            395  card w 228=38393a3b3c3d3e3f
            459  card w 230=2021222324252627
            523  card w 238=28292a2b5b5957a7
            524  card w 100=0000020000000040
            526  progress Producer(1, 240)
            mac.frames 1
            mac.bytes_with_fcs 64
            mac.buffered_cycles 38996490
        "#]],
    );
}

#[test]
fn broken_and_short_frames_are_marked() {
    let (log, card) = scene(&params(), &[(10, -60), (100, 20)], &[], false);
    expect![[r#"
        21   progress Producer(1, 240)
        106  progress Producer(2, 258)
        mac.frames 2
        mac.bytes_with_fcs 88
        mac.buffered_cycles 53582036
    "#]]
    .assert_eq(&log);
    expect!["00000200000100400000024000400018"].assert_eq(&hex(&card[RING..RING + 16]));
}

#[test]
fn the_buffers_wrap() {
    // 168 bytes: two frames of 64 bytes, then one that is split in 40 and 24 bytes, after the first two were freed.
    let orders = [(200, ReceiveOrder::BufferConsumer(0x280))];
    let (log, card) = scene(&params(), &[(10, 60), (100, 60), (300, 60)], &orders, false);
    expect![[r#"
        21   progress Producer(1, 240)
        111  progress Producer(2, 280)
        311  progress Producer(3, 218)
        mac.frames 3
        mac.bytes_with_fcs 192
        mac.buffered_cycles 38996490
    "#]]
    .assert_eq(&log);
    assert_eq!(hex(&card[0x280..0x284]), "30313233");
    assert_eq!(card[0x200], 40 ^ 0x30);
}

#[test]
fn without_room_a_frame_is_dropped() {
    // One of 168 bytes always stays free: two frames of 64 bytes leave 39.
    check(
        &params(),
        &[(10, 60), (100, 60), (200, 60), (300, 35)],
        &[],
        false,
        expect![[r#"
            21   progress Producer(1, 240)
            111  progress Producer(2, 280)
            201  progress Attention(BufferFull)
            301  progress Attention(BufferFull)
            mac.frames 2
            mac.bytes_with_fcs 128
            mac.dropped.buffer_full 2
            mac.buffered_cycles 77957880
        "#]],
    );
}

#[test]
fn without_a_descriptor_a_frame_is_dropped() {
    let orders = [(1, ReceiveOrder::Consumer(2)), (250, ReceiveOrder::Consumer(3))];
    check(
        &params(),
        &[(10, 60), (200, 20), (300, 20)],
        &orders,
        false,
        expect![[r#"
            21   progress Producer(1, 240)
            201  progress Attention(RingFull)
            306  progress Producer(2, 258)
            mac.frames 2
            mac.bytes_with_fcs 88
            mac.dropped.ring_full 1
            mac.buffered_cycles 53552836
        "#]],
    );
}

#[test]
fn a_full_fifo_and_a_disabled_receiver_drop() {
    let params = MacReceiveParams { buffer_bytes: 64, is_paced: true, link_bps: 1_000_000_000_000, ..params() };
    let orders = [(2000, ReceiveOrder::Enable(false))];
    check(
        &params,
        &[(10, 60), (12, 60), (2100, 60)],
        &orders,
        false,
        expect![[r#"
            13   progress Attention(Overrun)
            22   progress Producer(1, 240)
            mac.frames 1
            mac.bytes_with_fcs 64
            mac.dropped.disabled 1
            mac.dropped.overrun 1
            mac.buffered_cycles 38996490
        "#]],
    );
}

#[test]
fn frames_for_others_and_frames_without_room_are_counted_in_memory() {
    // The first digit of frame n is n + 1. Counters are updated when no frame needs the memory.
    let filter = Filter { address: [0x10, 0x11, 0x12, 0x13, 0x14, 0x15], groups: 0, is_promiscuous: false };
    let to_all = Filter { is_promiscuous: true, ..filter };
    let orders =
        [(1, ReceiveOrder::Filter(filter)), (1, ReceiveOrder::Statistics(0x80)), (250, ReceiveOrder::Filter(to_all))];
    let (log, card) = scene(&params(), &[(10, 60), (100, 60), (200, 60), (300, 200)], &orders, false);
    expect![[r#"
        21   progress Producer(1, 240)
        301  progress Attention(BufferFull)
        mac.frames 1
        mac.bytes_with_fcs 64
        mac.dropped.filtered 2
        mac.dropped.buffer_full 1
        mac.buffered_cycles 38996490
    "#]]
    .assert_eq(&log);
    expect!["00000002000000000000000000000001"].assert_eq(&hex(&card[0xe0..0xf0]));
}

#[test]
fn a_paced_frame_may_be_longer_than_the_buffer() {
    // 74 bytes at 8 cycles each; a frame close behind is written afterwards.
    let params = MacReceiveParams { buffer_bytes: 72, is_paced: true, ..params() };
    check(
        &params,
        &[(10, 70), (100, 60)],
        &[],
        false,
        expect![[r#"
            606  progress Producer(1, 250)
            1118 progress Producer(2, 290)
            mac.frames 2
            mac.bytes_with_fcs 138
            mac.buffered_cycles 87657007
        "#]],
    );
}
