use super::*;
use crate::testing::{scripted_requester, show_reference};
use expect_test::{Expect, expect};

/// A mailbox of a ring of 8, in steps of 2, with its consumer at 0x1000 and at most 3 uncompleted events.
fn mailbox() -> Mailbox {
    let (at, consumer) = (0x500, 0x1000);
    Mailbox { at, consumer, step: 2, modulus: 8, events: 5, share: 1, ahead: 3, batch: 1, every_cycles: 1 }
}

fn params() -> NicFeederParams {
    NicFeederParams {
        memory_base: 0x1000,
        memory_bytes: 0x100,
        contents: vec![Contents { at: 0x1010, words: vec![0x0102_0304, 5] }],
        overhead_cycles: 3,
        bytes_per_cycle: 4,
        script: Vec::new(),
        mailboxes: Vec::new(),
    }
}

/// `dma` is the script of the card's references.
fn check(dma: &str, params: NicFeederParams, want: Expect) {
    params.check().expect("parameters that are allowed");
    let log = testkit::bench(1000, |bench| {
        let memory = scripted_requester(bench, "dma", dma, 0);
        let references = bench.output("card", 2, |_| true, show_reference);
        let bus = Requester { references, replies: bench.input("card!", 2, Vec::new()) };
        bench.add("feeder", NicFeeder::new(params.clone(), NicFeederPorts { memory, bus }));
        bench.log_counters();
    });
    want.assert_eq(&log);
}

#[test]
fn a_reference_takes_overhead_and_data_cycles() {
    check(
        "10 r 1010+8; 11 w 10fc=aabbccdd; 40 r 10fe+4; 50 r 1011+1",
        params(),
        expect![[r#"
            16   dma 0 0102030400000005
            20   dma 1 done
            45   dma 2 nothing answers at 0x10fe
            55   dma 3 02
            feeder.read_bytes 9
            feeder.written_bytes 4
            feeder.busy_cycles 17
            feeder.stray_bytes 4
        "#]],
    );
}

#[test]
fn the_script_waits_for_cycles_and_words() {
    let word = After::Word { at: 0x1020, mask: 0xff, value: 1 };
    let script = vec![
        Write { after: After::Cycle(5), at: 0x40, value: 8 },
        Write { after: After::Cycle(5), at: 0x44, value: 9 },
        Write { after: word, at: 0x48, value: 10 },
    ];
    check(
        "20 w 1020=00000002; 30 w 1020=00000301",
        NicFeederParams { script, ..params() },
        expect![[r#"
        6    card w 40=00000008
        7    card w 44=00000009
        25   dma 0 done
        35   card w 48=0000000a
        35   dma 1 done
        feeder.written_bytes 8
        feeder.busy_cycles 8
    "#]],
    );
}

#[test]
fn a_mailbox_stays_within_its_limit_ahead_of_the_consumer() {
    let mailboxes = vec![mailbox()];
    check(
        "30 w 1000=00000002; 50 w 1000=00000006",
        NicFeederParams { mailboxes, ..params() },
        expect![[r#"
        1    card w 500=00000002
        2    card w 500=00000004
        3    card w 500=00000006
        35   card w 500=00000000
        35   dma 0 done
        55   card w 500=00000002
        55   dma 1 done
        feeder.written_bytes 8
        feeder.busy_cycles 8
        feeder.mailboxes[0].events 5
        feeder.mailboxes[0].writes 5
        feeder.mailboxes[0].done 3
    "#]],
    );
}

#[test]
fn events_are_batched_and_have_a_rate() {
    let one = Mailbox { batch: 2, every_cycles: 10, ..mailbox() };
    let mailboxes = vec![Mailbox { ahead: 5, modulus: 64, ..one }];
    check(
        "",
        NicFeederParams { mailboxes, ..params() },
        expect![[r#"
        11   card w 500=00000004
        31   card w 500=00000008
        41   card w 500=0000000a
        feeder.mailboxes[0].events 5
        feeder.mailboxes[0].writes 3
    "#]],
    );
}

#[test]
fn mailboxes_keep_their_shares() {
    let sends = Mailbox { modulus: 64, events: 6, ahead: 6, share: 1, ..mailbox() };
    let receives = Mailbox { at: 0x508, consumer: 0x1004, events: 6, share: 2, ..sends.clone() };
    let mailboxes = vec![sends, receives];
    check(
        "",
        NicFeederParams { mailboxes, ..params() },
        expect![[r#"
        1    card w 500=00000002
        2    card w 508=00000002
        3    card w 508=00000004
        4    card w 500=00000004
        5    card w 508=00000006
        6    card w 508=00000008
        7    card w 500=00000006
        8    card w 508=0000000a
        9    card w 508=0000000c
        10   card w 500=00000008
        11   card w 500=0000000a
        12   card w 500=0000000c
        feeder.mailboxes[0].events 6
        feeder.mailboxes[0].writes 6
        feeder.mailboxes[1].events 6
        feeder.mailboxes[1].writes 6
    "#]],
    );
}

#[test]
fn parameters_out_of_range_are_refused() {
    let error = |change: fn(&mut NicFeederParams)| {
        let mut params = NicFeederParams { mailboxes: vec![mailbox()], ..params() };
        change(&mut params);
        params.check().expect_err("it is wrong")
    };
    let errors = [
        error(|params| params.memory_bytes = 0),
        error(|params| params.bytes_per_cycle = 0),
        error(|params| params.contents[0].at = 0x10fc),
        error(|params| params.mailboxes[0].consumer = 0),
        error(|params| params.mailboxes[0].share = 0),
        error(|params| params.mailboxes[0].ahead = 4),
        error(|params| params.mailboxes[0].batch = 4),
    ];
    expect![[r#"
        bytes is 0, must be 1 to 1073741824
        bytes_per_cycle is 0, must be 1 to 4096
        contents[0].at is 0x10fc, must lie in memory, 0x1000 to 0x1100
        mailboxes[0].consumer is 0x0, must lie in memory, 0x1000 to 0x1100
        mailboxes[0].share is 0, must be 1 to 65536
        mailboxes[0].ahead is 4, must be 1 to 3
        mailboxes[0].batch is 4, must be 1 to 3"#]]
    .assert_eq(&errors.join("\n"));
}
