use super::*;
use crate::tengig::testing::port;
use expect_test::{Expect, expect};
use kernel::Freq;

/// Two processors and the host, and the assists' reports by cycle.
fn check(
    cpus: [&str; 2],
    host: &str,
    read: &[(Cycle, DmaProgress)],
    receive: &[(Cycle, ReceiveProgress)],
    want: Expect,
) {
    want.assert_eq(&scene(cpus, host, read, receive, None));
}

/// As `check`, with or without an event queue that posts slots.
fn scene(
    cpus: [&str; 2],
    host: &str,
    read: &[(Cycle, DmaProgress)],
    receive: &[(Cycle, ReceiveProgress)],
    posted: Option<&[(Cycle, PostedSlots)]>,
) -> String {
    testkit::bench(5000, |bench| {
        let read_orders = bench.output("read", 2, |_| true, |order| format!("{order:?}"));
        let write_orders = bench.output("write", 2, |_| true, |order| format!("{order:?}"));
        let transmit_orders = bench.output("transmit", 2, |_| true, |order| format!("{order:x?}"));
        let receive_orders = bench.output("receive", 2, |_| true, |order| format!("{order:x?}"));
        let ports = TengigRegistersPorts {
            cpus: [("a", cpus[0]), ("b", cpus[1])].map(|(name, text)| port(bench, name, text)).into(),
            host: port(bench, "host", host),
            interrupt: bench.output("interrupt", 2, |_| true, |line: &InterruptLine| line.is_raised.to_string()),
            dma_read: (read_orders, bench.input("read?", 2, read.to_vec())),
            dma_write: (write_orders, bench.input("write?", 2, vec![])),
            mac_transmit: (transmit_orders, bench.input("transmit?", 2, vec![])),
            mac_receive: (receive_orders, bench.input("receive?", 2, receive.to_vec())),
            sources: posted.map(|_| bench.output("sources", 2, |_| true, |source| format!("{source:?}"))),
            posted: posted.map(|posted| bench.input("posted", 2, posted.to_vec())),
        };
        let clock = Clock::new(Freq::mhz(200).expect("200 MHz must be valid"));
        bench.add("registers", TengigRegisters::new(TengigRegistersParams { cpus: 2 }, ports, clock));
        bench.log_counters();
    })
}

#[test]
fn registers_answer_all_ports_in_one_cycle() {
    check(
        ["1 0; 2 4; 5 14=9; 6 14; 400 8", "1 c0000000; 6 14; 7 402"],
        "1 0; 7 14; 8 10=1",
        &[],
        &[],
        expect![[r#"
            2    a 0 0
            2    b 0 1
            2    host 0 ffffffff
            3    a 1 2
            6    a 2 done
            7    a 3 9
            7    b 1 9
            8    b 2 a reference to 4 bytes at 0x402 is not possible
            8    host 1 9
            9    host 2 done
            401  a 4 2
            registers.accesses 11
            registers.faults 1
        "#]],
    );
}

#[test]
fn one_of_several_readers_gets_a_free_lock() {
    check(
        ["1 100; 2 100; 9 100=0; 10 100; 20 17c; 21 180", "1 100; 2 104; 8 100; 10 100; 11 100=0; 12 100"],
        "",
        &[],
        &[],
        expect![[r#"
            2    a 0 1
            2    b 0 0
            3    a 1 1
            3    b 1 0
            9    b 2 1
            10   a 2 done
            11   a 3 0
            11   b 3 1
            12   b 4 done
            13   b 5 0
            21   a 4 0
            22   a 5 0
            registers.accesses 12
            registers.contended_locks 4
        "#]],
    );
}

#[test]
fn pointers_keep_counting_when_ring_positions_wrap() {
    let done = |cycle, place| (cycle, DmaProgress::Consumer(0, place, 0, 0));
    check(
        ["1 80=4000; 3 84=ff; 9 84=101; 21 88; 31 88; 41 88", ""],
        "",
        &[done(20, 255), done(30, 1), done(40, 1)],
        &[],
        expect![[r#"
            2    a 0 done
            3    read Ring(0, 16384)
            4    a 1 done
            4    read Enable(true)
            5    read Producer(0, 255)
            10   a 2 done
            11   read Producer(0, 1)
            22   a 3 ff
            32   a 4 101
            42   a 5 101
            registers.accesses 6
        "#]],
    );
}

#[test]
fn the_receiver_is_enabled_with_its_area_and_drops_are_counted() {
    let attention = |cycle, what| (cycle, ReceiveProgress::Attention(what));
    check(
        ["1 b0=8000; 2 c0=10100000; 3 c4=100000; 9 c8=10100040; 9 b8=201", ""],
        "",
        &[],
        &[attention(5, blocks::assist::Attention::RingFull), attention(6, blocks::assist::Attention::Descriptor)],
        expect![[r#"
            2    a 0 done
            3    a 1 done
            3    receive Ring(8000)
            4    a 2 done
            5    receive Buffers(Buffers { base: 10100000, end: 10200000 })
            6    receive Enable(true)
            10   a 3 done
            11   a 4 done
            11   receive BufferConsumer(10100040)
            12   receive Consumer(1)
            registers.accesses 5
            registers.receive_attentions 1
            registers.dropped_frames 1
        "#]],
    );
}

#[test]
fn writes_change_the_interrupt_line() {
    check(
        ["1 48=1; 2 48=1; 10 48=1", "10 48=0"],
        "5 48=0; 20 48",
        &[],
        &[],
        expect![[r#"
        2    a 0 done
        2    interrupt true
        3    a 1 done
        6    host 0 done
        6    interrupt false
        11   a 2 done
        11   b 0 done
        11   interrupt true
        12   interrupt false
        21   host 1 0
        registers.accesses 6
        registers.interrupts 2
    "#]],
    );
}

#[test]
fn an_event_queue_gets_pointers_and_posts_slots() {
    let done = |cycle, place| (cycle, DmaProgress::Consumer(0, place, 0, 0));
    let posted = [(20, PostedSlots { ring: 0, producer: 7 }), (20, PostedSlots { ring: 1, producer: 3 })];
    let log = scene(["1 1c=32; 2 40=4; 3 44=9", ""], "", &[done(4, 5)], &[], Some(&posted));
    expect![[r#"
        2    a 0 done
        2    sources TickEvery(50)
        3    a 1 done
        3    sources Pointer(0, 4)
        4    a 2 done
        4    sources Pointer(1, 9)
        5    sources Pointer(2, 5)
        22   read Producer(0, 7)
        22   write Producer(0, 3)
        registers.accesses 3
    "#]]
    .assert_eq(&log);
}
