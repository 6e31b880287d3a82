use super::*;
use crate::nhi::NhiMap;
use crate::testing::{TestMemory, command, id, params};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use testkit::{Bench, bench};

/// Cycle, flow, address, length; the destination is 9.
type Send = (Cycle, u32, u32, u32);

fn set(bench: &mut Bench, cycles_per_beat: u32, script: &[Send], egress: impl Egress + 'static) {
    set_with(bench, cycles_per_beat, RtlMistakes::default(), script, egress);
}

fn set_with(
    bench: &mut Bench,
    cycles_per_beat: u32,
    mistakes: RtlMistakes,
    script: &[Send],
    egress: impl Egress + 'static,
) {
    set_all(bench, cycles_per_beat, |_| (), mistakes, script, egress);
}

fn set_all(
    bench: &mut Bench,
    cycles_per_beat: u32,
    change: impl FnOnce(&mut OutboundParams),
    mistakes: RtlMistakes,
    script: &[Send],
    egress: impl Egress + 'static,
) {
    let params = params();
    let mut outbound = OutboundParams { cycles_per_beat, ..params.outbound };
    change(&mut outbound);
    set_cut(bench, outbound, PAGE_BYTES, mistakes, script, egress);
}

/// Reads end at multiples of `fragment_bytes`.
fn set_cut(
    bench: &mut Bench,
    outbound: OutboundParams,
    fragment_bytes: u32,
    mistakes: RtlMistakes,
    script: &[Send],
    egress: impl Egress + 'static,
) {
    let commands = script.iter().enumerate().map(|(core, &(cycle, fid, addr, left))| {
        (cycle, command(id(core), CommandTarget::NicSend, &[9, fid, addr, 0, left]))
    });
    let params = params();
    let l2 = TestMemory::add(bench, "l2", 3);
    let l1s = ["l1[0]", "l1[1]", "l1[2]", "l1[3]"].map(|name| TestMemory::add(bench, name, 1));
    let ports = OutboundPorts {
        commands: bench.input("commands", 8, commands.collect()),
        responses: bench.output("response", 2, |_| true, |response: &CommandResponse| response.id.core.to_string()),
        nhi: NhiMaster::new(NhiMap::all(&params), l2, l1s.into())
            .with_silent_errors(mistakes.unmapped_commands_succeed),
    };
    let trace = bench.tracer("outbound");
    bench.add("outbound", Outbound::new(outbound, fragment_bytes, mistakes, ports, Box::new(egress), trace));
}

/// With changed parameters.
fn set_changed(
    bench: &mut Bench,
    change: impl FnOnce(&mut OutboundParams),
    script: &[Send],
    egress: impl Egress + 'static,
) {
    set_all(bench, 0, change, RtlMistakes::default(), script, egress);
}

/// The bytes of the packets that leave. Each byte of memory is the low byte of its address.
fn sent(mistakes: RtlMistakes, script: &[Send]) -> Vec<Vec<u8>> {
    let packets = Rc::new(RefCell::new(Vec::new()));
    bench(1_000, |bench| {
        packets.borrow_mut().clear();
        let packets = packets.clone();
        let egress = move |out: Departure| packets.borrow_mut().push(out.bytes.to_vec());
        set_with(bench, 0, mistakes, script, egress);
    });
    packets.take()
}

#[test]
fn a_packet_from_an_unaligned_source_begins_at_the_line_where_the_rtl_mistakes_it() {
    let mistakes = RtlMistakes { unaligned_sends: true, ..RtlMistakes::default() };
    let bytes = |from: u32, n: u32| (from..from + n).map(|addr| addr as u8).collect::<Vec<u8>>();
    let script = [(10, 0, 0x1c40_0050, 100), (50, 0, 0x1c40_0fd0, 100)];
    assert_eq!(sent(mistakes, &script), [bytes(0x40, 100), bytes(0xfc0, 100)]);
    assert_eq!(sent(RtlMistakes::default(), &script), [bytes(0x50, 100), bytes(0xfd0, 100)]);
}

#[test]
fn an_engine_with_registers_reads_and_answers_later() {
    let run = |start_cycles, response_cycles| {
        let log = bench(1_000, |bench| {
            let change = |params: &mut OutboundParams| {
                (params.start_cycles, params.response_cycles) = (start_cycles, response_cycles)
            };
            set_changed(bench, change, &[(10, 0, 0x1c40_0000, 64), (30, 0, 0x1c40_0000, 64)], |_: Departure| {});
        });
        let times = log.lines().filter(|line| line.contains("read") || line.contains("response"));
        times.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" ")
    };
    expect!["11 15 31 35"].assert_eq(&run(0, 0));
    expect!["13 20 33 40"].assert_eq(&run(2, 3));
}

/// The cycle in which each packet leaves, with the position of its command in the script. Reads of memory are cut at
/// multiples of `fragment_bytes`.
fn leave(fragment_bytes: u32, script: &[Send]) -> String {
    let leaves = Rc::new(RefCell::new(String::new()));
    bench(1_000, |bench| {
        leaves.borrow_mut().clear();
        let leaves = leaves.clone();
        let egress = move |out: Departure| *leaves.borrow_mut() += &format!("{}:{} ", out.cycle, out.cause.0);
        set_cut(bench, params().outbound, fragment_bytes, RtlMistakes::default(), script, egress);
    });
    leaves.take().trim_end().to_owned()
}

#[test]
fn a_short_packet_waits_for_one_read_of_a_long_one_if_reads_are_cut() {
    // 2,048 bytes are 32 beats. The command is seen in cycle 10 and read from 11 on; the first beat arrives 3 cycles
    // later. The short packet is seen in cycle 12: after the whole long packet, or after the read in progress.
    let script = [(10, 0, 0x1c40_0000, 2048), (12, 0, 0x1c40_1000, 64)];
    expect!["45:0 46:1"].assert_eq(&leave(4096, &script));
    expect!["22:1 46:0"].assert_eq(&leave(512, &script));
    expect!["16:1 46:0"].assert_eq(&leave(64, &script));
}

#[test]
fn packets_of_a_core_stay_in_order_if_reads_are_cut() {
    let of_one_core = |fragment_bytes| {
        let order = Rc::new(RefCell::new(Vec::new()));
        bench(1_000, |bench| {
            order.borrow_mut().clear();
            let order = order.clone();
            let egress = move |out: Departure| order.borrow_mut().push(out.bytes.len());
            // A put of 2,016 + 64 bytes: its second packet is short.
            let script = [(10, 7, 0x1c40_0000, 2080)];
            set_cut(bench, params().outbound, fragment_bytes, RtlMistakes::default(), &script, egress);
        });
        order.take()
    };
    assert_eq!([of_one_core(4096), of_one_core(64)], [[2048, 96], [2048, 96]]);
}

#[test]
fn the_header_of_a_put_is_zeros_behind_its_data_where_the_rtl_mistakes_it() {
    let mistakes = RtlMistakes { rdma_headers_behind: true, ..RtlMistakes::default() };
    let header = params().outbound.rdma_header_bytes as usize;
    let [packet] = &sent(mistakes, &[(10, 7, 0x1c40_0040, 64)])[..] else { panic!("one packet") };
    let data: Vec<u8> = (0x40..0x80).collect();
    assert_eq!((&packet[..64], &packet[64..]), (&data[..], &vec![0; header][..]));
}

fn check(cycles_per_beat: u32, script: &[Send], want: Expect) {
    let log = bench(1_000, |bench| {
        let log = bench.log.clone();
        let egress = move |out: Departure| {
            let text: String = out.bytes.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
            log.note(out.cycle, format!("packet of {}, {} bytes: {text}", out.cause.0, out.bytes.len()));
        };
        set(bench, cycles_per_beat, script, egress);
        bench.log_counters();
    });
    want.assert_eq(&log);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The sent bytes are those of the commands, in order within each command.
    #[test]
    fn every_byte_leaves(
        script in prop::collection::vec((0u64..100, 0u32..2, 0x1c40_0000u32..0x1c40_2000, 1u32..2049), 1..8),
        cycles_per_beat in 0u32..4,
    ) {
        let mut cycle = 1;
        let script: Vec<Send> = script.iter().map(|&(wait, fid, addr, size)| {
            cycle += wait;
            // A put may take several packets.
            (cycle, fid, addr, size * (1 + 4 * fid))
        }).collect();
        let sent = Rc::new(RefCell::new(Vec::new()));
        bench(100_000, |bench| {
            sent.borrow_mut().clear();
            let sent = sent.clone();
            set(bench, cycles_per_beat, &script, move |out: Departure| sent.borrow_mut().push(out));
        });
        for (core, &(_, fid, addr, size)) in script.iter().enumerate() {
            let of_command = sent.borrow().iter().filter(|out| out.cause.0 == core as u64).cloned().collect::<Vec<_>>();
            let header = 32 * fid as usize;
            prop_assert!(of_command.iter().all(|out| out.bytes.len() <= 2048 && out.fid == fid && out.nid == 9));
            prop_assert_eq!(of_command.len() as u32, size.div_ceil(2048 - header as u32));
            let payload: Vec<u8> = of_command.iter().flat_map(|out| out.bytes[header..].to_vec()).collect();
            prop_assert_eq!(payload, (addr..addr + size).map(|addr| addr as u8).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_packet_leaves_with_its_last_beat() {
    check(
        0,
        &[(10, 0, 0x1c40_0000, 64)],
        expect![[r#"
            11   l2: read 64 at 0x1c400000
            14   packet of 0, 64 bytes: 000102030405060708090a0b
            15   response 0
            outbound.commands 1
            outbound.packets 1
            outbound.bytes 64
            outbound.wire_cycles 1
            outbound.open_command_cycles 4
            outbound.queued_packet_cycles 4
            outbound.first_packet_cycle 14
            outbound.last_packet_cycle 14
        "#]],
    );
    check(
        0,
        &[(10, 0, 0x1c40_0000, 1024)],
        expect![[r#"
            11   l2: read 1024 at 0x1c400000
            29   packet of 0, 1024 bytes: 000102030405060708090a0b
            30   response 0
            outbound.commands 1
            outbound.packets 1
            outbound.bytes 1024
            outbound.wire_cycles 1
            outbound.open_command_cycles 19
            outbound.queued_packet_cycles 19
            outbound.first_packet_cycle 29
            outbound.last_packet_cycle 29
        "#]],
    );
    check(
        0,
        &[(10, 0, 0x1040_4400, 64)],
        expect![[r#"
            11   l1[1]: read 64 at 0x10404400
            12   packet of 0, 64 bytes: 000102030405060708090a0b
            13   response 0
            outbound.commands 1
            outbound.packets 1
            outbound.bytes 64
            outbound.wire_cycles 1
            outbound.open_command_cycles 2
            outbound.queued_packet_cycles 2
            outbound.first_packet_cycle 12
            outbound.last_packet_cycle 12
        "#]],
    );
}

#[test]
fn a_read_of_another_l1_waits_for_the_answer_to_the_one_before() {
    check(
        0,
        &[(10, 0, 0x1000_4400, 64), (10, 0, 0x1040_4400, 128), (10, 0, 0x1000_4440, 64), (10, 0, 0x1000_4480, 64)],
        expect![[r#"
            11   l1[0]: read 64 at 0x10004400
            12   packet of 0, 64 bytes: 000102030405060708090a0b
            13   l1[1]: read 128 at 0x10404400
            13   response 0
            15   packet of 1, 128 bytes: 000102030405060708090a0b
            16   l1[0]: read 64 at 0x10004440
            16   response 1
            17   l1[0]: read 64 at 0x10004480
            17   packet of 2, 64 bytes: 404142434445464748494a4b
            18   packet of 3, 64 bytes: 808182838485868788898a8b
            18   response 2
            19   response 3
            outbound.commands 4
            outbound.packets 4
            outbound.bytes 320
            outbound.wire_cycles 4
            outbound.open_command_cycles 16
            outbound.queued_packet_cycles 16
            outbound.first_packet_cycle 12
            outbound.last_packet_cycle 18
        "#]],
    );
}

#[test]
fn the_alias_of_an_l1_is_that_l1() {
    check(
        0,
        &[(10, 0, 0x1050_4400, 8)],
        expect![[r#"
            11   l1[1]: read 8 at 0x10404400
            12   packet of 0, 8 bytes: 0001020304050607
            13   response 0
            outbound.commands 1
            outbound.packets 1
            outbound.bytes 8
            outbound.wire_cycles 1
            outbound.open_command_cycles 2
            outbound.queued_packet_cycles 2
            outbound.first_packet_cycle 12
            outbound.last_packet_cycle 12
        "#]],
    );
}

#[test]
fn an_unaligned_packet_across_a_page_is_read_in_two_bursts() {
    check(
        0,
        &[(10, 0, 0x1c40_0ff1, 40)],
        expect![[r#"
            11   l2: read 15 at 0x1c400ff1
            12   l2: read 25 at 0x1c401000
            15   packet of 0, 40 bytes: f1f2f3f4f5f6f7f8f9fafbfc
            16   response 0
            outbound.commands 1
            outbound.packets 1
            outbound.bytes 40
            outbound.wire_cycles 1
            outbound.open_command_cycles 5
            outbound.queued_packet_cycles 5
            outbound.first_packet_cycle 15
            outbound.last_packet_cycle 15
        "#]],
    );
}

#[test]
fn an_rdma_put_is_cut_into_packets_with_headers() {
    check(
        0,
        &[(10, 5, 0x1c40_0000, 4040), (11, 0, 0x1c40_2000, 64)],
        expect![[r#"
            11   l2: read 2016 at 0x1c400000
            12   l2: read 2016 at 0x1c4007e0
            13   l2: read 64 at 0x1c402000
            14   l2: read 8 at 0x1c400fc0
            45   packet of 0, 2048 bytes: 090000000500000000000000
            77   packet of 0, 2048 bytes: 090000000500000000000000
            78   packet of 1, 64 bytes: 000102030405060708090a0b
            79   packet of 0, 40 bytes: 090000000500000000000000
            79   response 1
            80   response 0
            outbound.commands 2
            outbound.packets 4
            outbound.bytes 4200
            outbound.wire_cycles 4
            outbound.open_command_cycles 136
            outbound.queued_packet_cycles 233
            outbound.first_packet_cycle 45
            outbound.last_packet_cycle 79
        "#]],
    );
}

#[test]
fn the_wire_paces_packets() {
    check(
        2,
        &[(10, 0, 0x1c40_0000, 256), (10, 0, 0x1c40_0000, 63), (10, 0, 0x1c40_0000, 64)],
        expect![[r#"
            11   l2: read 256 at 0x1c400000
            12   l2: read 63 at 0x1c400000
            13   l2: read 64 at 0x1c400000
            17   packet of 0, 256 bytes: 000102030405060708090a0b
            18   response 0
            25   packet of 1, 63 bytes: 000102030405060708090a0b
            26   packet of 2, 64 bytes: 000102030405060708090a0b
            26   response 1
            27   response 2
            outbound.commands 3
            outbound.packets 3
            outbound.bytes 383
            outbound.wire_cycles 11
            outbound.open_command_cycles 35
            outbound.queued_packet_cycles 35
            outbound.first_packet_cycle 17
            outbound.last_packet_cycle 26
        "#]],
    );
}

#[test]
fn what_cannot_be_sent_ends_at_once() {
    let script = [(10, 0, 0x1c40_0000, 0), (10, 0, 0x1c40_0000, 2049), (10, 5, 0x1c7f_ffff, 2), (11, 0, 64, 64)];
    check(
        0,
        &script,
        expect![[r#"
            11   response 0
            12   response 1
            13   response 2
            14   response 3
            outbound.commands 4
            outbound.faults 4
        "#]],
    );
}

#[test]
fn an_empty_packet_never_ends_where_the_rtl_mistakes_it() {
    let script = [(10, 0, 0x1c40_0000, 0), (20, 0, 0x1c40_0000, 64)];
    let responses = |mistakes| {
        let log = bench(1_000, |bench| set_with(bench, 0, mistakes, &script, |_: Departure| ()));
        log.lines().filter(|line| line.contains("response")).map(str::to_owned).collect::<Vec<_>>()
    };
    let mistakes = RtlMistakes { empty_commands_hang: true, ..RtlMistakes::default() };
    assert_eq!(responses(mistakes), ["25   response 1"]);
    assert_eq!(responses(RtlMistakes::default()), ["11   response 0", "25   response 1"]);
}

#[test]
fn a_packet_from_unmapped_memory_is_a_pattern_where_the_rtl_mistakes_it() {
    let script = [(10, 0, 0x4000_0020, 96)];
    let mistakes = RtlMistakes { unmapped_commands_succeed: true, ..RtlMistakes::default() };
    let mut want = vec![0; 96];
    want[32..40].copy_from_slice(&0xca11_ab1e_badc_ab1e_u64.to_le_bytes());
    assert_eq!(sent(mistakes, &script), [want]);
    assert_eq!(sent(RtlMistakes::default(), &script), Vec::<Vec<u8>>::new());
}
