//! Register tests: accesses of cores and host, their answers, and the messages that they cause.

use super::*;
use blocks::assist::Attention;
use blocks::bus::{Requester, Responder};
use expect_test::{Expect, expect};
use kernel::{Clock, Freq};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::{Bench, bench};

mod dma;
mod mac;

/// Parses accesses: `3 r 060; 5 w 0f0=12e808` reads a register in cycle 3 and writes one in cycle 5.
fn script(text: &str, to_bytes: fn(u32) -> [u8; 4]) -> Vec<(Cycle, Reference)> {
    let lines = text.split(';').map(str::trim).filter(|line| !line.is_empty());
    let read = |(id, line): (u32, &str)| {
        let words: Vec<&str> = line.split([' ', '=']).collect();
        let hex = |text: &str| u32::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{line}`"));
        let access = match words[1] {
            "r" => Access::Read(4),
            _ => Access::Write(Data::from_slice(&to_bytes(hex(words[3])))),
        };
        (words[0].parse().unwrap(), Reference { id, addr: hex(words[2]).into(), access })
    };
    (0..).zip(lines).map(read).collect()
}

fn asks(bench: &mut Bench, name: &str, text: &str, to_bytes: fn(u32) -> [u8; 4]) -> Responder {
    let show = move |reply: &Reply| match &reply.result {
        Ok(data) if data.is_empty() => "done".to_owned(),
        Ok(data) => {
            // The byte order of this port: `to_bytes` encodes a word.
            let is_little = to_bytes(1)[0] == 1;
            let bytes = data.iter().copied();
            let value = if is_little { bytes.rev().collect::<Vec<_>>() } else { bytes.collect() };
            format!("{:08x}", word(&value))
        }
        Err(error) => error.to_string(),
    };
    let references = bench.input(&format!("{name}?"), 2, script(text, to_bytes));
    Responder { references, replies: bench.output(name, 2, |_| true, show) }
}

/// The card's memory, which answers in the cycle in which it sees an access.
struct Memory(Responder, Rc<RefCell<Vec<u8>>>);

impl Component for Memory {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if !self.0.references.has_item() || !self.0.replies.has_room() {
            return Activity::Idle;
        }
        let Reference { id, addr, access } = self.0.references.take().expect("an access must be there");
        let (mut bytes, from) = (self.1.borrow_mut(), addr as usize);
        let result = match access {
            Access::Read(len) => Data::from_slice(&bytes[from..from + len as usize]),
            Access::Write(data) => {
                bytes[from..from + data.len()].copy_from_slice(&data);
                Data::new()
            }
            Access::Linked(_) => unreachable!("nobody links"),
        };
        self.0.replies.send(Reply::new(id, Ok(result)));
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.0.port("port", ports);
    }
}

/// Accesses and reports of a test.
#[derive(Clone, Copy, Default)]
struct Scene<'a> {
    cpus: [&'a str; 2],
    host: &'a str,
    dma_read: &'a [(Cycle, DmaProgress)],
    dma_write: &'a [(Cycle, DmaProgress)],
    transmit: &'a [(Cycle, TransmitProgress)],
    receive: &'a [(Cycle, ReceiveProgress)],
    status: &'a [(Cycle, bool)],
    shows_counters: bool,
}

impl Scene<'_> {
    /// Two CPUs, a host, a memory of 8 KB whose byte at address a is the low byte of a, and a receiver for each kind of order.
    /// 1 GHz: the timer ticks every 1000 cycles.
    fn run(&self) -> String {
        bench(20_000, |bench| {
            let bytes = Rc::new(RefCell::new((0..0x2000).map(|a| a as u8).collect()));
            let (references, requests) = bench.channel("sram?", 2, 1);
            let (answers, replies) = bench.channel("sram!", 2, 1);
            bench.add("sram", Memory(Responder { references: requests, replies: answers }, bytes));
            let cpus: Vec<_> = ["A", "B"]
                .into_iter()
                .zip(self.cpus)
                .map(|(name, text)| asks(bench, name, text, u32::to_be_bytes))
                .collect();
            let (host, sram) = (asks(bench, "host", self.host, u32::to_le_bytes), Requester { references, replies });
            let status =
                |&(cycle, is_halted): &(Cycle, bool)| (cycle, CpuStatus { is_halted, pc: 0x4000, registers: None });
            let statuses = vec![Some(bench.input("status", 2, self.status.iter().map(status).collect())), None];
            let dma_read = Some(bench.input("dma_read.progress", 2, self.dma_read.to_vec()));
            let dma_write = Some(bench.input("dma_write.progress", 2, self.dma_write.to_vec()));
            let transmit = Some(bench.input("transmit.progress", 2, self.transmit.to_vec()));
            let receive = Some(bench.input("receive.progress", 2, self.receive.to_vec()));
            if self.shows_counters {
                bench.log_counters();
            }
            let ports = Tigon2RegistersPorts {
                cpus,
                controls: vec![hears(bench, "control A"), hears(bench, "control B")],
                statuses,
                host,
                sram,
                interrupt: hears(bench, "interrupt"),
                dma_read: (hears(bench, "dma_read"), dma_read),
                dma_write: (hears(bench, "dma_write"), dma_write),
                mac_transmit: (hears(bench, "transmit"), transmit),
                mac_receive: (hears(bench, "receive"), receive),
            };
            bench.add("registers", registers(ports));
        })
    }

    fn check(&self, want: Expect) {
        want.assert_eq(&self.run());
    }
}

/// The registers of a card with the address 00:60:cf:00:00:01, at 1 GHz.
fn registers(ports: Tigon2RegistersPorts) -> Tigon2Registers {
    let (cpus, mac_address) = (ports.cpus.len(), "00:60:cf:00:00:01".to_owned());
    let params = Tigon2RegistersParams { cpus, buffers_end: 0x20_0000, mac_address };
    params.check().expect("the parameters must be valid");
    Tigon2Registers::new(params, ports, Clock::new(Freq::mhz(1000).unwrap()))
}

fn hears<T: std::fmt::Debug + 'static>(bench: &mut Bench, name: &str) -> Option<Tx<T>> {
    Some(bench.output(name, 4, |_| true, |item| format!("{item:x?}")))
}

/// A test in which only the cores act.
fn cores(a: &str, b: &str, want: Expect) {
    Scene { cpus: [a, b], ..Scene::default() }.check(want);
}

#[test]
fn a_register_answers_in_a_cycle() {
    // The access is seen in cycle 5; its answer is available in cycle 6.
    cores(
        "5 r 040; 6 w 208=1234; 7 r 208",
        "",
        expect![[r#"
            6    A 60000000
            7    A done
            7    receive Filter(Filter { address: [12, 34, 0, 0, 0, 0], groups: 0, is_promiscuous: false })
            8    A 00001234
        "#]],
    );
}

#[test]
fn the_timer_event_comes_with_its_microsecond() {
    // The timer shows 2 from cycle 2000 on; a later reference clears the event.
    cores(
        "1 w 058=2; 1998 r 060; 1999 r 060; 2000 r 060; 2001 w 058=3; 2002 r 060; 2999 r 060; 3000 r 060",
        "2000 r 070; 2000 r 054",
        expect![[r#"
            2    A done
            1999 A 00000000
            2000 A 00000000
            2001 A 10000000
            2001 B 10000000
            2002 A done
            2002 B 00000002
            2003 A 00000000
            3000 A 00000000
            3001 A 10000000
        "#]],
    );
}

#[test]
fn soft_events_are_kept_and_levels_cannot_be_written() {
    cores(
        "1 w 058=7fffffff; 2 w 060=ffffffff; 3 r 060; 4 w 060=8; 5 r 060",
        "6 r 070",
        expect![[r#"
        2    A done
        3    A done
        4    A e9a73fbf
        5    A done
        6    A 00000008
        7    B 10000000
    "#]],
    );
}

#[test]
fn only_one_of_two_cores_gets_the_semaphore() {
    cores(
        "5 w 048=1; 6 r 048; 20 w 048=1; 21 r 048",
        "5 w 04c=1; 6 r 04c; 10 w 04c=1; 11 r 04c; 22 w 04c=1; 23 r 04c",
        expect![[r#"
            6    A done
            6    B done
            7    A 00000001
            7    B 00000000
            11   B done
            12   B 00000000
            21   A done
            22   A 00000000
            23   B done
            24   B 00000001
        "#]],
    );
}

#[test]
fn a_mailbox_event_follows_its_write_to_memory() {
    Scene {
        host: "10 w 514=11; 30 w 518=22; 50 r 514",
        cpus: ["1 w 058=7fffffff; 12 r 060; 13 r 060; 14 r 060; 20 r 064; 21 w 064=4; 22 r 060; 40 r 064", "20 r 074"],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        13   A 00000000
        13   host done
        14   A 00400000
        15   A 00400000
        21   A 00000004
        21   B 00000004
        22   A done
        23   A 00000000
        33   host done
        41   A 00000000
        53   host 00000011
    "#]]);
}

#[test]
fn the_host_sees_memory_through_its_windows() {
    Scene {
        host: "1 r 480; 10 w 068=1804; 20 r 800; 30 w ffc=a1b2c3d4; 40 r ffc; 50 r 06c; 60 r fff",
        ..Scene::default()
    }
    .check(expect![[r#"
        4    host 80818283
        11   host done
        23   host 00010203
        33   host done
        43   host a1b2c3d4
        53   host 04050607
        61   host a reference to 4 bytes at 0xfff is not possible
    "#]]);
}

#[test]
fn an_interrupt_stays_until_the_host_acknowledges_it() {
    Scene {
        cpus: ["5 w 044=204; 6 r 044; 7 r 040; 40 r 040; 50 w 044=204", ""],
        host: "20 w 504=0; 60 w 040=2; 70 w 040=40",
        ..Scene::default()
    }
    .check(expect![[r#"
        6    A done
        6    interrupt InterruptLine { is_raised: true }
        7    A 00800200
        8    A 60000001
        23   host done
        23   interrupt InterruptLine { is_raised: false }
        41   A 60000000
        51   A done
        51   interrupt InterruptLine { is_raised: true }
        61   host done
        61   interrupt InterruptLine { is_raised: false }
        71   host done
    "#]]);
    // While it is masked, the line stays low.
    Scene { cpus: ["10 w 044=204; 11 r 040", ""], host: "5 w 040=40; 20 w 040=0", ..Scene::default() }.check(expect![
        [r#"
            6    host done
            11   A done
            12   A 60000041
            21   host done
            21   interrupt InterruptLine { is_raised: true }
        "#]
    ]);
}

#[test]
fn state_registers_halt_cores() {
    Scene {
        host: "1 w 244=4034; 2 w 250=c0ffee; 3 w 240=0; 10 r 240; 11 w 240=10000; 20 r 140; 40 r 140; 41 r 144; 50 w 140=1",
        status: &[(30, false)],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    control B SetPc(4034)
        2    host done
        3    control B StackOffset(c0ffee)
        3    host done
        4    control B Run
        4    host done
        11   host 00000000
        12   control B Halt
        12   host done
        21   host 00010000
        41   host 00000000
        42   host 00004000
        51   control A Reset
        51   host done
    "#]]);
}

#[test]
fn register_bytes_are_big_endian() {
    let byte = |id, addr, access| (2 + Cycle::from(id), Reference { id, addr, access });
    let log = bench(100, |bench| {
        let references = vec![
            byte(0, 0x209, Access::Write(Data::from_slice(&[0xab]))),
            byte(1, 0x208, Access::Read(2)),
            byte(2, 0x20a, Access::Read(4)),
            byte(3, 0xc000_0208, Access::Read(4)),
        ];
        let replies = bench.output("A", 2, |_| true, |reply: &Reply| format!("{:x?}", reply.result));
        let cpus = vec![Responder { references: bench.input("A?", 4, references), replies }];
        let (references, requests) = bench.channel("sram?", 2, 1);
        let (answers, replies) = bench.channel("sram!", 2, 1);
        bench.add("sram", Memory(Responder { references: requests, replies: answers }, Rc::default()));
        let ports = Tigon2RegistersPorts {
            cpus,
            controls: vec![None],
            statuses: vec![None],
            host: asks(bench, "host", "", u32::to_le_bytes),
            sram: Requester { references, replies },
            interrupt: None,
            dma_read: (None, None),
            dma_write: (None, None),
            mac_transmit: (None, None),
            mac_receive: (hears(bench, "receive"), None),
        };
        bench.add("registers", registers(ports));
    });
    expect![[r#"
        3    A Ok([])
        3    receive Filter(Filter { address: [0, 0, 0, 0, 0, 0], groups: 0, is_promiscuous: false })
        4    A Ok([0, ab])
        5    A Err(Length(20a, 4))
        6    A Ok([0, ab, 0, 0])
    "#]]
    .assert_eq(&log);
}

#[test]
fn unmodeled_registers_store_values_and_are_counted() {
    let cpus = ["1 w 218=7; 2 r 218; 3 r 17c; 4 w 208=1", ""];
    Scene { cpus, shows_counters: true, ..Scene::default() }.check(expect![[r#"
        2    A done
        3    A 00000007
        4    A 00000000
        5    A done
        5    receive Filter(Filter { address: [0, 1, 0, 0, 0, 0], groups: 0, is_promiscuous: false })
        registers.reads 2
        registers.writes 2
        registers.surprises.0x17c 1
        registers.surprises.0x218 2
    "#]]);
}

#[test]
fn parameters_out_of_bounds_are_named() {
    let with = |cpus, mac: &str| {
        Tigon2RegistersParams { cpus, buffers_end: 0x20_0000, mac_address: mac.to_owned() }
            .check()
            .err()
            .unwrap_or_default()
    };
    expect!["cpus is 5, must be 1 to 4"].assert_eq(&with(5, "00:60:cf:00:00:01"));
    expect!["mac_address is `00:60:cf:00:00`, must be six hexadecimal bytes, for example `00:60:cf:00:00:01`"]
        .assert_eq(&with(2, "00:60:cf:00:00"));
}
