use super::*;
use crate::testing::{scripted_requester, scripted_responder};
use expect_test::{Expect, expect};

/// Two banks of 32-bit words, 64 bytes from 0x100. Each text is the script of a requester; `>` is the onward memory.
fn check(requesters: &[&str], want: Expect) {
    check_when(0, requesters, want);
}

/// The same with requesters that accept no answer before `ready`.
fn check_when(ready: Cycle, requesters: &[&str], want: Expect) {
    let params = ScratchpadBanksParams {
        requesters: requesters.len(),
        banks: 2,
        word_bytes: 4,
        base: 0x100,
        bytes: 64,
        reference_bytes: 16,
        outstanding: 4,
        policy: Policy::RoundRobin {},
    };
    want.assert_eq(&testkit::bench(200, |bench| {
        let ports =
            requesters.iter().zip('a'..).map(|(text, name)| scripted_requester(bench, &name.to_string(), text, ready));
        let ports =
            ScratchpadBanksPorts { requesters: ports.collect(), onward: Some(scripted_responder(bench, ">", 2)) };
        let mut pad = ScratchpadBanks::new(params.clone(), ports);
        for (byte, place) in (0..).zip(pad.store_mut().get_mut(0x100, 64).expect("64 bytes")) {
            *place = byte;
        }
        bench.add("pad", pad);
        bench.log_counters();
    }));
}

#[test]
fn an_answer_takes_two_cycles_and_one_comes_each_cycle() {
    check(
        &["1 r 100+4; 1 r 104+4; 2 r 106+2; 3 r 108+1; 9 w 10a=ff; 9 r 108+4"],
        expect![[r#"
            3    a 0 00010203
            4    a 1 04050607
            5    a 2 0607
            6    a 3 08
            11   a 4 done
            12   a 5 0809ff0b
            pad.reads 5
            pad.requesters[0].reads 5
            pad.writes 1
            pad.requesters[0].writes 1
        "#]],
    );
}

#[test]
fn requesters_of_one_bank_take_turns_while_other_banks_proceed() {
    check(
        &["1 r 100+4; 1 r 100+4", "1 r 108+4; 1 r 10c+4", "1 r 104+4; 1 r 104+4"],
        expect![[r#"
            3    a 0 00010203
            3    c 0 04050607
            4    b 0 08090a0b, waited 1 ns
            4    c 1 04050607
            5    a 1 00010203, waited 1 ns
            5    b 1 0c0d0e0f
            pad.reads 6
            pad.requesters[0].reads 2
            pad.requesters[1].reads 2
            pad.requesters[2].reads 2
            pad.conflicts 2
            pad.requesters[0].conflicts 1
            pad.requesters[1].conflicts 1
        "#]],
    );
}

#[test]
fn a_long_reference_takes_one_transaction_per_word() {
    check(
        &["1 r 102+8; 1 w 104=0a0b0c0d0e0f; 1 r 104+8"],
        expect![[r#"
        5    a 0 0203040506070809
        7    a 1 done
        9    a 2 0a0b0c0d0e0f0a0b
        pad.reads 5
        pad.requesters[0].reads 5
        pad.writes 2
        pad.requesters[0].writes 2
    "#]],
    );
}

#[test]
fn other_addresses_go_onward_and_answers_stay_in_order() {
    check(
        &["1 r 100+4; 2 r 80+4; 3 r 84+4; 3 r 104+4; 3 r 88+4", "1 r 90+2"],
        expect![[r#"
            2    > r 90+2
            3    a 0 00010203
            5    > r 80+4
            6    b 0 9091
            8    > r 84+4
            9    a 1 80818283
            12   a 2 84858687, waited 2 ns
            13   > r 88+4
            13   a 3 04050607
            17   a 4 88898a8b
            pad.reads 2
            pad.requesters[0].reads 2
            pad.onward 4
            pad.requesters[0].onward 3
            pad.requesters[1].onward 1
        "#]],
    );
}

#[test]
fn bad_references_are_refused() {
    check(
        &["1 r 100+17; 1 r 13c+8; 1 r 100+0; 1 r ffffffffffffffff+4; 1 r 1ffffffff+4; 20 r 100+4294967295"],
        expect![[r#"
        3    a 0 a reference to 17 bytes at 0x100 is not possible
        4    a 1 nothing answers at 0x140
        5    > r ffffffffffffffff+4
        5    a 2 a reference to 0 bytes at 0x100 is not possible
        8    > r 1ffffffff+4
        9    a 3 nothing answers at 0xffffffffffffffff
        12   a 4 nothing answers at 0x1ffffffff
        22   a 5 a reference to 4294967295 bytes at 0x100 is not possible
        pad.onward 2
        pad.requesters[0].onward 2
    "#]],
    );
}

#[test]
fn unaccepted_answers_stall_only_their_requester() {
    check_when(
        12,
        &["1 r 100+4; 1 r 100+4; 1 r 100+4; 1 r 80+4; 1 r 100+4", "20 r 100+4"],
        expect![[r#"
        12   a 0 00010203
        13   a 1 00010203
        14   > r 80+4
        14   a 2 00010203
        18   a 3 80818283
        19   a 4 00010203
        22   b 0 00010203
        pad.reads 5
        pad.requesters[0].reads 4
        pad.requesters[1].reads 1
        pad.onward 1
        pad.requesters[0].onward 1
    "#]],
    );
}
