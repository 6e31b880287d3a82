//! The host against a scripted card.

use super::scripted_card::{CardFault, ScriptedCard};
use super::*;
use crate::hosts::Host;
use blocks::bus::{Requester, Responder};
use blocks::feeders::{
    Acknowledgements, Checker, Datagrams, FrameSink, FrameSinkParams, FrameTraffic, Frames, Pace, PacketFeeder,
    PacketFeederParams, PacketFeederPorts, Station,
};
use expect_test::{Expect, expect};
use kernel::Freq;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use testkit::{Bench, bench};

fn params() -> Tigon2HostParams {
    Tigon2HostParams {
        memory_base: 0x12_3456_7000,
        mac: "02:00:00:00:00:01".to_owned(),
        mtu: 1518,
        mode: 0x56,
        local_control: 0x200,
        pci_state: 0x7602_0000,
        link: 0x400c_0000,
        dma_config: 0x100,
        transmit_ratio_64ths: 21,
        clear_end: 0x6000,
        boot_timeout_us: 20,
        watchdog_us: 10,
        promiscuous: false,
        groups: Vec::new(),
        send: SendParams { ring: SendRing::Host, entries: 128, header_bytes: 42, batch_frames: 2, frames_ahead: 4 },
        receive: ReceiveParams {
            standard_buffers: 8,
            mini_buffers: 0,
            jumbo_buffers: 0,
            batch_buffers: 3,
            return_entries: 1024,
            tells_consumer: false,
        },
        coalescing: Coalescing {
            receive_us: 30,
            send_us: 40,
            statistics_us: 0,
            receive_descriptors: 5,
            send_descriptors: 6,
        },
        interrupts: Interrupts::Acknowledge,
        interrupt_latency_ns: 100,
        frame_ns: 0,
        kept_times: 100,
    }
}

fn station(last: u8) -> Station {
    Station { mac: Mac([2, 0, 0, 0, 0, last]), ip: Ipv4Addr::new(10, 0, 0, last), port: 9 }
}

fn datagrams(count: u64, sizes: &[u32], from: u8, to: u8) -> Frames {
    let datagram_bytes = sizes.to_vec();
    Frames::Datagrams(Datagrams { count: Some(count), datagram_bytes, from: station(from), to: station(to) })
}

struct Scene {
    params: Tigon2HostParams,
    send: FrameTraffic,
    receive: FrameTraffic,
    replies: Option<Acknowledgements>,
    fault: CardFault,
    /// True if every access of the host is logged.
    accesses: bool,
}

impl Default for Scene {
    fn default() -> Scene {
        let nothing = FrameTraffic::default();
        Scene {
            params: params(),
            send: nothing.clone(),
            receive: nothing,
            replies: None,
            fault: CardFault::None,
            accesses: false,
        }
    }
}

impl Scene {
    fn wire(&self, bench: &mut Bench) -> (Rc<RefCell<Tigon2Host>>, Rc<RefCell<FrameSink>>) {
        let clock = Clock::new(Freq::mhz(1000).expect("1 GHz must be valid"));
        let memory = |bench: &mut Bench, name: &str| {
            let (references, requests) = bench.channel(&format!("{name} references"), 2, 1);
            let (answers, replies) = bench.channel(&format!("{name} replies"), 2, 1);
            (Requester { references, replies }, Responder { references: requests, replies: answers })
        };
        let ((dma, host_memory), (bus, card_window)) = (memory(bench, "dma"), memory(bench, "bus"));
        let (raise, interrupt) = bench.channel("interrupt", 8, 1);
        let (go, may_go) = bench.channel("go", 1, 1);
        let (wire_out, sink_in) = bench.channel("wire out", 2, 1);
        let (feeder_out, wire_in) = bench.channel("wire in", 64, 1);
        let (network, host) = (self.receive.clone(), self.send.clone());
        let offered = Offered { network, host, replies: self.replies, ..Offered::default() };
        let image = FirmwareImage::raw((0..0x1000u32).map(|n| n as u8).collect(), 0x4000, 0x4008);
        let ports = Tigon2HostPorts { memory: host_memory, bus, interrupt, go: Some(go) };
        let image = Rc::new(image.expect("an image"));
        let host = Rc::new(RefCell::new(Tigon2Host::new(self.params.clone(), ports, clock, image, &offered)));
        bench.add("host", host.clone());
        let log = if self.accesses { bench.log.clone() } else { Default::default() };
        let card = ScriptedCard::new((card_window, dma, raise), (wire_out, wire_in), self.fault, log);
        bench.add("card", card);
        let line = PacketFeederParams { line_bps: 1_000_000_000, kept_times: 0 };
        bench.add(
            "network",
            PacketFeeder::new(line, PacketFeederPorts { wire: feeder_out, go: Some(may_go) }, clock, offered.network),
        );
        let checker = Checker::new(offered.host.frames);
        let replies = self.replies.map(|replies| Checker::new(Frames::Acknowledgements(replies)));
        let sink = FrameSinkParams { kept_times: 0, kept_frames: 0 };
        let sink = Rc::new(RefCell::new(FrameSink::new(sink, sink_in, clock, checker).with_replies(replies)));
        bench.add("sink", sink.clone());
        (host, sink)
    }

    /// The log and the results: a line for each direction, one for the host's processor, then the faults.
    fn run(&self) -> String {
        let parts = RefCell::new(None);
        let log = bench(2_000_000, |bench| *parts.borrow_mut() = Some(self.wire(bench)));
        let mut text = without_zeros(&log);
        let (host, sink) = parts.into_inner().expect("the test must have run");
        let (host, sink) = (host.borrow(), sink.borrow());
        for (name, checker) in [("sent", sink.checker()), ("received", host.checker())] {
            let (good, lost, late, unknown) = (checker.good(), checker.lost(), checker.late(), checker.unknown());
            text += &format!("{name}: {good} good, {lost} lost, {late} late, {unknown} unknown\n");
        }
        text.extend(
            sink.replies().map(|replies| format!("replies: {} good, {} lost\n", replies.good(), replies.lost())),
        );
        let (reads, writes) = host.bus.totals();
        let (interrupts, spurious) = (host.interrupts, host.spurious_interrupts);
        text += &format!("{interrupts} interrupts, {spurious} spurious, {reads} reads, {writes} writes\n");
        let errors = receive::ERRORS.iter().zip(host.receive_errors).filter(|(_, total)| *total > 0);
        text.extend(errors.map(|(name, total)| format!("{total} x {name}\n")));
        text.extend(host.diagnosis().map(|diagnosis| format!("{diagnosis}\n")));
        let faults = Faults::NAMES.iter().zip(host.faults().counts()).filter(|(_, total)| *total > 0);
        text.extend(faults.map(|(name, total)| format!("{total} {name}\n")));
        text.extend(host.faults().kept().iter().take(2).map(|(at, _, text)| format!("{at}: {text}\n")));
        text.extend(
            host.checker()
                .mismatches()
                .iter()
                .map(|mismatch| format!("{}: expected {}, {:?}\n", mismatch.at, mismatch.expected, mismatch.verdict)),
        );
        text
    }

    fn check(&self, want: Expect) {
        want.assert_eq(&self.run());
    }

    /// Twenty frames in each direction, short and long alternating.
    fn both_ways() -> Scene {
        let send = FrameTraffic { frames: datagrams(20, &[1472, 18], 1, 2), ..FrameTraffic::default() };
        let receive = FrameTraffic { frames: datagrams(20, &[18, 1472], 2, 1), ..FrameTraffic::default() };
        Scene { send, receive, ..Scene::default() }
    }

    fn with(self, change: impl FnOnce(&mut Tigon2HostParams)) -> Scene {
        let mut params = self.params;
        change(&mut params);
        params.validate().expect("the parameters must be valid");
        Scene { params, ..self }
    }

    fn fault(fault: CardFault) -> Scene {
        Scene { fault, ..Scene::both_ways() }
    }
}

/// Condenses three or more consecutive writes of 0 into one line.
fn without_zeros(log: &str) -> String {
    let is_zero = |line: &&str| line.ends_with(" 00000000") && line.contains(" write ");
    let lines: Vec<&str> = log.lines().collect();
    let runs = lines.chunk_by(|a, b| is_zero(a) && is_zero(b));
    let shown = runs.flat_map(|run| match run {
        [first, .., last] if run.len() > 2 => {
            let last = last.split(' ').rev().nth(1).expect("the line must have an offset before the value");
            vec![format!("{first} to {last}\n")]
        }
        _ => run.iter().map(|line| format!("{line}\n")).collect(),
    });
    shown.collect()
}

#[test]
fn start_up_is_done_in_order() {
    Scene { accesses: true, ..Scene::default() }.check(expect![[r#"
        1     write 040 08000008
        5002  write 040 32000032
        5003  read 040
        5005  read 140
        5007  write 140 00010000
        5008  read 240
        5010  write 240 00010000
        5011  write 504 00000000
        5012  write 044 00000200
        5013  write 050 00100000
        5014  write 618 00000056
        5015  write 600 00000200
        5016  write 604 00000001
        5017  write 05c 76020000
        5018  read 140
        5020  write 068 00002000
        10150   5120 words from 0x2000
        10150  write 608 00000012
        10151  write 60c 34567000
        10152  write 61c 00000100
        10153  write 620 00000100
        10154  write 624 00000015
        10155  write 628 00000000
        10156  write 62c 00000000
        10157  write 630 0000001e
        10158  write 634 00000028
        10159  write 638 00000000
        10160  write 63c 00000006
        10161  write 640 00000005
        10162  write 644 00000000
        10163  write 648 400c0000
        10164  write 64c 400c0000
        10165  write 65c 00000001
        10166  write 660 000005ee
        10167  write 664 00000000 to 504
        10265  write 144 00004008
        10266  write 11c 00000001
        10267  read 140
        10269  write 140 00000000
        10269 firmware starts
        10377  read 040
        10379  write 504 00000000
        10380  read 504
        10382  write 628 00000001
        10383  write 51c 00000008
        10384  write 700 01001000
        10385  write 50c 00000001
        10385 command 01001000
        10386  read 62c
        10491  read 040
        10493  write 504 00000000
        10494  read 504
        10496  write 628 00000002
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        2 interrupts, 0 spurious, 10 reads, 5266 writes
    "#]]);
}

#[test]
fn frames_go_both_ways() {
    Scene::both_ways().check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        27 interrupts, 0 spurious, 60 reads, 5307 writes
    "#]]);
}

#[test]
fn a_ring_in_card_memory_takes_five_writes_a_descriptor() {
    Scene::both_ways().with(|params| params.send.ring = SendRing::Card).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        26 interrupts, 0 spurious, 58 reads, 5467 writes
    "#]]);
}

#[test]
fn rings_of_every_size_wrap() {
    for (entries, ring) in [(128, SendRing::Card), (256, SendRing::Card), (512, SendRing::Card), (256, SendRing::Host)]
    {
        let send = FrameTraffic { frames: datagrams(300, &[18], 1, 2), ..FrameTraffic::default() };
        let scene = Scene { send, ..Scene::default() };
        let scene = scene.with(|params| (params.send.entries, params.send.ring) = (entries, ring));
        let text = scene.run();
        assert!(text.contains("sent: 300 good, 0 lost, 0 late, 0 unknown"), "{entries} {ring:?}: {text}");
    }
}

#[test]
fn short_and_long_frames_use_separate_rings() {
    let receive = FrameTraffic { frames: datagrams(20, &[18, 1472, 8000], 2, 1), ..FrameTraffic::default() };
    let scene = Scene { receive, ..Scene::default() }.with(|params| {
        (params.mtu, params.receive.mini_buffers, params.receive.jumbo_buffers) = (9018, 8, 8);
    });
    scene.check(expect![[r#"
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        22 interrupts, 0 spurious, 50 reads, 5294 writes
    "#]]);
}

#[test]
fn interrupts_are_masked_or_polled() {
    Scene::both_ways().with(|params| params.interrupts = Interrupts::Mask).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        26 interrupts, 1 spurious, 59 reads, 5332 writes
    "#]]);
}

#[test]
fn the_hosts_processor_limits_the_rate() {
    let slow = |params: &mut Tigon2HostParams| (params.frame_ns, params.interrupt_latency_ns) = (2000, 5000);
    Scene::both_ways().with(slow).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        15 interrupts, 0 spurious, 36 reads, 5295 writes
    "#]]);
}

#[test]
fn paced_frames_are_sent_at_their_times() {
    let send =
        FrameTraffic { frames: datagrams(4, &[18], 1, 2), pace: Pace::Every(Time::from_ns(5000)), start: Time::ZERO };
    let scene = Scene { send, accesses: true, ..Scene::default() };
    let text = scene.run();
    let announced: Vec<&str> = text.lines().filter(|line| line.contains("write 514")).collect();
    expect![[r#"
        10497  write 514 00000002
        15497  write 514 00000004
        20497  write 514 00000006
        25497  write 514 00000008"#]]
    .assert_eq(&announced.join("\n"));
}

#[test]
fn a_host_that_reacts_acknowledges_what_it_receives() {
    let replies = Some(Acknowledgements { every: 2, from: station(1), to: station(2) });
    Scene { replies, ..Scene::both_ways() }.check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        replies: 10 good, 0 lost
        37 interrupts, 0 spurious, 80 reads, 5327 writes
    "#]]);
}

#[test]
fn a_card_that_does_not_start_is_diagnosed() {
    Scene::fault(CardFault::Revision).check(expect![[r#"
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        0 interrupts, 0 spurious, 1 reads, 2 writes
        5004 ns: expected the revision of a Tigon-2 (0x6 in bits 31:28 of 0x040); the word at 0x040 is 0x40000000
    "#]]);
    Scene::fault(CardFault::Silent).check(expect![[r#"
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        0 interrupts, 0 spurious, 5 reads, 5259 writes
        30269 ns: firmware did not report that it runs within 20 us after its start
    "#]]);
    Scene::fault(CardFault::IgnoresCommands).check(expect![[r#"
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        1 interrupts, 0 spurious, 18 reads, 5264 writes
        20407 ns: firmware does not take commands (command ring: producer 1, consumer 0, unchanged since 10385 ns)
    "#]]);
    Scene::fault(CardFault::LinkDown).check(expect![[r#"
        sent: 0 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        1 interrupts, 0 spurious, 8 reads, 5264 writes
        30387 ns: firmware did not report that the link is up within 20 us after it took the commands
    "#]]);
}

#[test]
fn an_unserved_ring_is_diagnosed() {
    Scene::fault(CardFault::StopsAfter(5)).check(expect![[r#"
        sent: 5 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        24 interrupts, 0 spurious, 54 reads, 5298 writes
        20730 ns: the card has not sent for 10 us though frames wait (send ring: producer 16, consumer 10, unchanged since 10730 ns)
    "#]]);
}

#[test]
fn corrupted_and_lost_frames_are_found() {
    Scene::fault(CardFault::Corrupts(3)).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 19 good, 1 lost, 0 late, 1 unknown
        27 interrupts, 0 spurious, 60 reads, 5307 writes
        36468 ns: expected 3, Unknown
    "#]]);
    Scene::fault(CardFault::Drops(3)).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 19 good, 1 lost, 0 late, 0 unknown
        26 interrupts, 0 spurious, 58 reads, 5306 writes
    "#]]);
    Scene::fault(CardFault::Stray).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 20 unknown
        27 interrupts, 0 spurious, 60 reads, 5307 writes
        20 stray_dma
        11077 ns: 60 bytes at 0x11234574580
        23381 ns: 1514 bytes at 0x11234574b80
        11081 ns: expected 0, Unknown
        23492 ns: expected 0, Unknown
        24164 ns: expected 0, Unknown
        36468 ns: expected 0, Unknown
    "#]]);
    Scene::fault(CardFault::Errors).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        27 interrupts, 0 spurious, 60 reads, 5307 writes
        20 x crc
        20 x truncated
    "#]]);
}

#[test]
fn invalid_indices_and_entries_are_counted() {
    Scene::fault(CardFault::Overruns).check(expect![[r#"
        sent: 4 good, 0 lost, 0 late, 0 unknown
        received: 20 good, 0 lost, 0 late, 0 unknown
        23 interrupts, 0 spurious, 52 reads, 5295 writes
        20496 ns: the card has not sent for 10 us though frames wait (send ring: producer 8, consumer 0, unchanged since 10496 ns)
        1 bad_ring_entries
        10613 ns: the send consumer went from 0 to 72, beyond the producer 8
    "#]]);
    Scene::fault(CardFault::WrongBuffer).check(expect![[r#"
        sent: 20 good, 0 lost, 0 late, 0 unknown
        received: 0 good, 0 lost, 0 late, 0 unknown
        15 interrupts, 0 spurious, 36 reads, 5289 writes
        8 bad_ring_entries
        11081 ns: return entry 0 is standard receive buffer 1, expected 0
        23492 ns: return entry 1, standard receive buffer 2: address 0x1234574b80, mark 0x10001, posted were 0x1234575180, 0x10002
    "#]]);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let error = |change: fn(&mut Tigon2HostParams)| {
        let mut params = params();
        change(&mut params);
        params.validate().expect_err("the parameters must be refused")
    };
    let errors = [
        error(|params| params.mac = "02:00".to_owned()),
        error(|params| params.groups = vec!["01:00:5e:00:00:fb".into(), "02:00:00:00:00:01".into()]),
        error(|params| params.groups = vec!["01:00:5e:00:00:fb".into(); 65]),
        error(|params| params.mode = 0x40),
        error(|params| params.mtu = 9018),
        error(|params| params.memory_base = 12),
        error(|params| params.send.entries = 100),
        error(|params| params.send.frames_ahead = 64),
        error(|params| params.send.batch_frames = 5),
        error(|params| params.receive.batch_buffers = 9),
        error(|params| params.receive.return_entries = 512),
    ];
    expect![[r#"
        mac is `02:00`, must be an address, for example 02:00:00:00:00:01, or `eeprom`
        groups has `02:00:00:00:00:01`, must be group addresses, for example 01:00:5e:00:00:fb
        groups has 65 addresses, must be at most 64
        mode is 0x40, must have the bits 0x16
        mtu is 9018, must be 64 to 1518
        memory_base is 0xc, must be a multiple of 4096 below 2^63
        send.entries is 100, must be one of [128, 256, 512]
        send.frames_ahead is 64, must be 1 to 63
        send.batch_frames is 5, must be 1 to 4
        receive.batch_buffers is 9, must be 1 to 8
        receive.return_entries is 512, must be one of [1024, 2048]"#]]
    .assert_eq(&errors.join("\n"));
}
