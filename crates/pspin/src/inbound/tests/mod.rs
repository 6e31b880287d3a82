use super::*;
use crate::delivery::Delivery;
use crate::nhi::NhiMap;
use crate::protocol::Context;
use crate::testing::{TestMemory, context, params};
use crate::world::PacketDone;
use expect_test::{Expect, expect};
use std::rc::Rc;
use testkit::bench;

mod full;

/// The packets of a script. A word has the form `message^e:bytes@earliest+gap!`, in which all but `bytes` is optional. The
/// default message is 3. `^` marks the first packet of a message, `e` a packet that can be marked, `!` the last packet.
fn arrivals(script: &str, delivery: Delivery) -> Vec<Arrival> {
    let context = Rc::new(Context { delivery, ..Context::clone(&context("p")) });
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let arrival = |word: &str| {
        let (front, word) = word.split_once(':').unwrap_or(("3", word));
        let som = front.contains('^').then_some(true);
        let msgid = number(front.trim_end_matches(['^', 'e'])) as u16;
        let (word, eom) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
        let (word, gap) = word.split_once('+').map_or((word, 0), |(word, gap)| (word, number(gap)));
        let (size, earliest) = word.split_once('@').map_or((word, 0), |(size, at)| (size, number(at)));
        let (size, tenant) = (number(size), u32::from(msgid / 100));
        let context = Rc::new(Context { tenant, ..Context::clone(&context) });
        let mut bytes: Box<[u8]> = vec![7; size as usize].into();
        if front.contains('e') {
            bytes[12..16].copy_from_slice(&[8, 0, 0x45, 0x02]);
            bytes[16..18].copy_from_slice(&(size as u16 - 14).to_be_bytes());
        }
        Arrival { earliest, gap, bytes, msgid, som, eom, xfer_size: size as u32, context, evicts: None, user: 0 }
    };
    script.split_whitespace().map(arrival).collect()
}

/// All clusters are active from cycle 5 on; `feedback` is words of `cycle:offset`.
fn check(ring_bytes: u32, script: &str, feedback: &str, want: Expect) {
    check_with(Delivery::default(), ring_bytes, script, feedback, want);
}

/// The same for a context with these delivery options.
fn check_with(delivery: Delivery, ring_bytes: u32, script: &str, feedback: &str, want: Expect) {
    want.assert_eq(&run(delivery, ring_bytes, script, feedback));
}

/// The log of a script, with the preset's ingress parameters.
fn run(delivery: Delivery, ring_bytes: u32, script: &str, feedback: &str) -> String {
    run_through(params().ingress, delivery, ring_bytes, script, feedback)
}

/// The log of a script. It contains the events of packets unless the delivery options are those of the RTL.
fn run_through(ingress: IngressParams, delivery: Delivery, ring_bytes: u32, script: &str, feedback: &str) -> String {
    bench(60_000, |bench| {
        let active = [3, 5].map(|cycle| bench.input(&format!("active {cycle}"), 1, vec![(cycle, ClusterActive)]));
        let released = feedback.split_whitespace().map(|word| {
            let (cycle, offset) = word.split_once(':').expect("a colon");
            let pkt_addr = L2_PACKET_BASE + offset.parse::<u32>().expect("an offset");
            (cycle.parse().expect("a cycle"), Release { packet: PacketId(0), taken: 7, pkt_addr, dropped: None })
        });
        let show = |request: &Request| match request {
            Request::Her(her) => format!("{} at {:#x} of {}{}", her.packet.0, her.addr, her.size, mark(her.eom)),
            Request::Kill(kill) => format!("kills {}", kill.msgid),
            Request::End(msgid) => format!("ends {msgid}"),
        };
        let ports = InboundPorts {
            active: active.into(),
            requests: bench.output("her", 2, |_| true, show),
            released: bench.input("released", 2, released.collect()),
            more: bench.input("more", 1, Vec::new()),
            kills: bench.input("kills", 1, Vec::new()),
            tenants: bench.input("tenants", 1, vec![(1, TenantsServed(1 + u32::from(script.contains("101:"))))]),
            nhi: NhiMaster::new(NhiMap::l2(&params()), TestMemory::add(bench, "l2", 3), Vec::new()),
            addresses: bench.output("address", 4, |_| true, |_| String::new()),
        };
        let log = bench.log.clone();
        let done = move |done: PacketDone| {
            let PacketDone { packet, nic_arrival, her, feedback, .. } = done;
            log.note(feedback, format!("packet {} done, stored from {nic_arrival}, her {her}", packet.0));
        };
        let params = InboundParams {
            ring_bytes,
            share_bytes: ring_bytes / 2,
            frees_copied: false,
            max_xfer_bytes: 16_384,
            fills_words: false,
            ingress,
        };
        let trace = bench.tracer("inbound");
        let source = Box::new(arrivals(script, delivery).into_iter());
        bench.add("inbound", Inbound::new(params, ports, source, Box::new(done), trace));
        if delivery != Delivery::default() {
            bench.log_events();
        }
        bench.log_counters();
    })
}

fn mark(eom: bool) -> &'static str {
    if eom { "!" } else { "" }
}

#[test]
fn a_request_follows_the_last_beat_by_four_cycles() {
    check(
        4096,
        "64!",
        "40:0",
        expect![[r#"
            6    address
            6    l2: write 64 at 0x1c400000
            10   her 0 at 0x1c400000 of 64!
            39   packet 0 done, stored from 5, her 7
            inbound.packets 1
            inbound.bytes 64
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
            inbound.occupied_byte_cycles 2240
            inbound.line_cycles 1
        "#]],
    );
    check(
        4096,
        "1024!",
        "40:0",
        expect![[r#"
            6    address
            6    l2: write 1024 at 0x1c400000
            25   her 0 at 0x1c400000 of 1024!
            39   packet 0 done, stored from 5, her 7
            inbound.packets 1
            inbound.bytes 1024
            inbound.done 1
            inbound.latency_cycles 34
            inbound.latency_min 34
            inbound.latency_max 34
            inbound.first_done_cycle 39
            inbound.last_done_cycle 39
            inbound.occupied_byte_cycles 35840
            inbound.line_cycles 1
        "#]],
    );
}

#[test]
fn packets_are_written_one_beat_a_cycle() {
    check(
        4096,
        "64 64 512 512 64+20 64@90!",
        "",
        expect![[r#"
            6    address
            6    l2: write 64 at 0x1c400000
            7    address
            7    l2: write 64 at 0x1c400040
            8    address
            8    l2: write 512 at 0x1c400080
            9    address
            10   address
            10   her 0 at 0x1c400000 of 64
            11   her 1 at 0x1c400040 of 64
            16   l2: write 512 at 0x1c400280
            19   her 2 at 0x1c400080 of 512
            24   l2: write 64 at 0x1c400480
            27   her 3 at 0x1c400280 of 512
            28   her 4 at 0x1c400480 of 64
            91   address
            91   l2: write 64 at 0x1c4004c0
            95   her 5 at 0x1c4004c0 of 64!
            inbound.packets 6
            inbound.bytes 1280
            inbound.occupied_byte_cycles 76786560
            inbound.line_cycles 6
        "#]],
    );
}

#[test]
fn a_packet_above_a_page_is_written_in_bursts() {
    check(
        16_384,
        "64 9000!",
        "",
        expect![[r#"
            6    address
            6    l2: write 64 at 0x1c400000
            7    address
            7    l2: write 4032 at 0x1c400040
            8    address
            9    address
            10   her 0 at 0x1c400000 of 64
            70   l2: write 4096 at 0x1c401000
            134  l2: write 872 at 0x1c402000
            151  her 1 at 0x1c400040 of 9000!
            inbound.packets 2
            inbound.bytes 9064
            inbound.occupied_byte_cycles 545234624
            inbound.line_cycles 2
        "#]],
    );
}

#[test]
fn a_full_ring_waits_for_its_oldest_packet() {
    check(
        256,
        "100 64 64 10!",
        "40:128 50:0",
        expect![[r#"
            6    address
            6    l2: write 100 at 0x1c400000
            7    address
            8    address
            8    l2: write 64 at 0x1c400080
            9    l2: write 64 at 0x1c4000c0
            11   her 0 at 0x1c400000 of 100
            12   her 1 at 0x1c400080 of 64
            13   her 2 at 0x1c4000c0 of 64
            39   packet 1 done, stored from 6, her 7
            49   packet 0 done, stored from 5, her 7
            51   address
            51   l2: write 10 at 0x1c400000
            55   her 3 at 0x1c400000 of 10!
            inbound.packets 4
            inbound.bytes 238
            inbound.stall_cycles 42
            inbound.done 2
            inbound.latency_cycles 77
            inbound.latency_min 33
            inbound.latency_max 44
            inbound.first_done_cycle 39
            inbound.last_done_cycle 49
            inbound.occupied_byte_cycles 7685056
            inbound.line_cycles 4
        "#]],
    );
}

#[test]
fn what_never_fits_is_dropped() {
    check(
        32_768,
        "0 40000 20000 64!",
        "",
        expect![[r#"
            9    address
            9    l2: write 64 at 0x1c400000
            13   her 3 at 0x1c400000 of 64!
            inbound.packets 1
            inbound.bytes 64
            inbound.dropped_empty 1
            inbound.dropped_too_large 1
            inbound.dropped_transfer_too_large 1
            inbound.occupied_byte_cycles 3839552
            inbound.line_cycles 4
        "#]],
    );
}

#[test]
fn the_end_of_a_message_is_told_although_its_last_packet_is_dropped() {
    // The previous packet is still here: its request reports that. Then that packet has gone.
    check(
        32_768,
        "64 40000! 64@30 40000@60!",
        "",
        expect![[r#"
            6    address
            6    l2: write 64 at 0x1c400000
            10   her 0 at 0x1c400000 of 64!
            31   address
            31   l2: write 64 at 0x1c400040
            35   her 2 at 0x1c400040 of 64
            61   her ends 3
            inbound.packets 2
            inbound.bytes 128
            inbound.dropped_too_large 2
            inbound.occupied_byte_cycles 7677888
            inbound.line_cycles 4
        "#]],
    );
}

#[test]
fn a_source_that_had_nothing_is_asked_again_when_there_may_be_more() {
    let show = |request: &Request| match request {
        Request::Her(her) => format!("{} from {:#x}", her.packet.0, her.addr),
        Request::Kill(kill) => format!("kills {}", kill.msgid),
        Request::End(msgid) => format!("ends {msgid}"),
    };
    let log = bench(1_000, |bench| {
        let ports = InboundPorts {
            active: vec![bench.input("active", 1, vec![(5, ClusterActive)])],
            requests: bench.output("her", 2, |_| true, show),
            released: bench.input("released", 2, Vec::new()),
            more: bench.input("more", 4, [3, 50, 60, 61].map(|cycle| (cycle, MorePackets)).into()),
            kills: bench.input("kills", 1, Vec::new()),
            tenants: bench.input("tenants", 1, Vec::new()),
            nhi: NhiMaster::new(NhiMap::l2(&params()), TestMemory::add(bench, "l2", 3), Vec::new()),
            addresses: bench.output("address", 4, |_| true, |_| String::new()),
        };
        // The source has no packet before cycle 60, although it is called earlier.
        struct Late(std::vec::IntoIter<Arrival>);
        impl PacketSource for Late {
            fn next(&mut self, now: Cycle) -> Option<Arrival> {
                if now < 60 { None } else { Iterator::next(&mut self.0) }
            }
        }
        let params = InboundParams {
            ring_bytes: 4096,
            share_bytes: 4096,
            frees_copied: false,
            max_xfer_bytes: 16_384,
            fills_words: false,
            ingress: params().ingress,
        };
        let trace = bench.tracer("inbound");
        let source = Box::new(Late(arrivals("64", Delivery::default()).into_iter()));
        bench.add("inbound", Inbound::new(params, ports, source, Box::new(|_: PacketDone| {}), trace));
    });
    expect![[r#"
        61   address
        61   l2: write 64 at 0x1c400000
        65   her 0 from 0x1c400000
    "#]]
    .assert_eq(&log);
}
