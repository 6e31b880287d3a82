use super::*;
use expect_test::expect;

fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}

fn one(route: Route, card: &[Area], host: Area, [ordered, begun]: [u64; 2], steps: &[(Wait, u64)]) -> Move {
    let steps = steps.iter().map(|&(wait, end)| (wait, ns(end))).collect();
    Move { route, card: card.to_vec(), host, ordered: ns(ordered), begun: ns(begun), steps }
}

fn text(frames: &[Traced], moves: Vec<Vec<Move>>, hosts: &[[Vec<HostPlace>; 2]]) -> String {
    let tracker = Tracker::new(frames, moves, hosts);
    let mut text = String::new();
    for (position, frame) in frames.iter().enumerate() {
        text += &format!("frame {}\n", frame.row);
        for step in &tracker.path(position, |at| at.ns()).steps {
            let (stage, place) = (STAGES[step.stage as usize], PLACES[step.at.place as usize]);
            let number = step.at.numbers[0].map_or(String::new(), |number| format!(" {number}"));
            let blocker = step.blocker.map_or(String::new(), |blocker| format!(" ({blocker})"));
            let cause = CAUSES[step.cause as usize].name;
            text += &format!("  {}-{} {stage} {place}{number} {cause}{blocker}\n", step.from, step.to);
        }
    }
    text
}

#[test]
fn received_frames_are_followed_to_the_host_by_their_addresses() {
    let frame = |row, given, out: Option<u64>| Traced {
        row,
        is_received: true,
        id: row,
        bytes: 60,
        given: ns(given),
        out: out.map(ns),
    };
    // The third frame is dropped, the fourth is still in the card's memory, and the fifth is known to no assist.
    let frames = [
        frame(0, 10, Some(200)),
        frame(1, 20, Some(210)),
        frame(2, 30, None),
        frame(3, 40, None),
        frame(4, 50, Some(90)),
    ];
    let stored = |id, card: &[Area], arrived, end| {
        let steps = [(Wait::MemoryWrite, end), (Wait::Describe, end + 2)];
        one(Route::Receive(id), card, (0, 0), [arrived, arrived], &steps)
    };
    let receive = vec![
        stored(0, &[(0x100, 64)], 12, 30),
        stored(1, &[(0x140, 32), (0x80, 32)], 22, 40),
        one(Route::Drop(2, "no_buffer"), &[], (0, 0), [33, 33], &[]),
        stored(3, &[(0x100, 64)], 170, 180), // In the buffer of the first frame, which has gone.
    ];
    let dma = |card, host, [ordered, begun, end]: [u64; 3]| {
        one(Route::ToHost, &[card], host, [ordered, begun], &[(Wait::Before, begun), (Wait::HostWrite, end)])
    };
    let to_host = vec![
        dma((0x100, 64), (0x9000, 64), [50, 60, 80]),
        dma((0x80, 32), (0xa000, 32), [70, 80, 100]),
        dma((0x500, 16), (0xf000, 16), [110, 110, 120]), // Both descriptors, from a place that firmware wrote.
    ];
    let taken =
        |frame, at, data, descriptor| HostPlace { frame, at: ns(at), data: vec![data], descriptors: vec![descriptor] };
    let places = vec![taken(0, 200, (0x9000, 64), (0xf000, 8)), taken(1, 210, (0xa000, 64), (0xf008, 8))];
    expect![[r#"
        frame 0
          10-12 receive network wire
          12-30 receive assist 6 memory_write
          30-32 receive assist 7 descriptor_write
          32-50 to_host firmware firmware
          50-60 to_host assist 0 transfer_before
          60-80 to_host assist 3 host_write
          80-110 return firmware coalescing
          110-120 return assist 3 host_write
          120-200 return driver driver
        frame 1
          20-22 receive network wire
          22-40 receive assist 6 memory_write
          40-42 receive assist 7 descriptor_write
          42-50 to_host firmware firmware_busy (0)
          50-70 to_host firmware firmware
          70-80 to_host assist 0 transfer_before (0)
          80-100 to_host assist 3 host_write
          100-110 return firmware coalescing
          110-120 return assist 3 host_write
          120-210 return driver driver
        frame 2
          30-33 receive network wire
        frame 3
          40-170 receive network wire
          170-180 receive assist 6 memory_write
          180-182 receive assist 7 descriptor_write
        frame 4
          50-90 receive card unrecorded
    "#]]
    .assert_eq(&text(&frames, vec![to_host, receive], &[[Vec::new(), places]]));
}

#[test]
fn posted_frames_are_followed_to_the_network_by_their_addresses() {
    let frame =
        |row, given, out| Traced { row, is_received: false, id: row, bytes: 60, given: ns(given), out: Some(ns(out)) };
    let frames = [frame(0, 10, 300), frame(1, 10, 400)];
    let posted =
        |frame, data, descriptor| HostPlace { frame, at: ns(10), data: vec![data], descriptors: vec![descriptor] };
    let places = vec![posted(0, (0x9000, 64), (0xf000, 16)), posted(1, (0xa000, 64), (0xf010, 16))];
    let dma = |host, card, [ordered, begun, end]: [u64; 3]| {
        one(Route::FromHost, &[card], host, [ordered, begun], &[(Wait::Before, begun), (Wait::HostRead, end)])
    };
    let from_host = vec![
        dma((0xf000, 32), (0x10, 32), [20, 22, 30]), // Both descriptors at once.
        dma((0x9000, 42), (0x100, 42), [50, 52, 60]),
        dma((0x902a, 22), (0x12a, 22), [50, 60, 70]),
        dma((0xa000, 64), (0x140, 64), [50, 70, 90]),
    ];
    let sent = |card, [ordered, begun, start, end]: [u64; 4]| {
        let steps = [(Wait::MemoryRead, begun + 5), (Wait::LineBusy, start), (Wait::Line, end)];
        one(Route::Send, &[card], (0, 0), [ordered, begun], &steps)
    };
    let send = vec![sent((0x100, 64), [80, 85, 90, 290]), sent((0x140, 64), [95, 95, 300, 390])];
    expect![[r#"
        frame 0
          10-20 announce firmware firmware
          20-22 announce assist 0 transfer_before
          22-30 announce assist 3 host_read
          30-50 from_host firmware firmware
          50-52 from_host assist 0 transfer_before
          52-60 from_host assist 3 host_read
          60-70 from_host assist 3 host_read
          70-80 send firmware firmware
          80-90 send assist 6 memory_read
          90-290 send assist 9 line
          290-300 send network wire
        frame 1
          10-20 announce firmware firmware
          20-22 announce assist 0 transfer_before
          22-30 announce assist 3 host_read
          30-50 from_host firmware firmware
          50-70 from_host assist 0 transfer_before (0)
          70-90 from_host assist 3 host_read
          90-95 send firmware firmware
          95-100 send assist 6 memory_read
          100-300 send assist 9 line_busy (0)
          300-390 send assist 9 line
          390-400 send network wire
    "#]]
    .assert_eq(&text(&frames, vec![from_host, send], &[[places, Vec::new()]]));
}

#[test]
fn bytes_have_the_owner_who_got_them_last() {
    let mut held = Held::new();
    held.give((10, 30), 'a');
    held.give((20, 5), 'b');
    held.give((38, 10), 'c');
    held.give((60, 0), 'd');
    assert_eq!(held.owners((0, 100)), ['a', 'b', 'c']);
    assert_eq!((held.owners((20, 5)), held.owners((25, 1)), held.owners((0, 10))), (vec!['b'], vec!['a'], vec![]));
    assert_eq!(
        held.areas.into_iter().collect::<Vec<_>>(),
        [(10, (20, 'a')), (20, (25, 'b')), (25, (38, 'a')), (38, (48, 'c'))]
    );
}
