//! Timing of instructions and doorbells, and cache behavior.

use super::*;

#[test]
fn a_packet_is_taken_and_sent() {
    check(
        &format!("{TAKE}{SEND}-16"),
        "100 1 0 128; 300 2 0",
        expect![[r#"
            123  out #1 to 0 Entry 128 bytes [01, 01, 01, 01]
            124  out =
            125  out |
            322  out #2 to 0 Entry 64 bytes [02, 02, 02, 02]
            323  out |
        "#]],
    );
}

#[test]
fn instructions_have_their_documented_latency() {
    let cases = [
        ("a sum", "add 5 6 7"),
        ("a sum of a sum", "add 5 6 7\nadd 5 5 5"),
        ("a branch forward, not taken", "bne 0 0 0 8\nadd 5 6 7"),
        ("a branch forward, taken", "beq 0 0 0 8\nadd 5 6 7"),
        ("a jump", "jal 0 0 0 4"),
        ("a fence", "fence"),
        ("a load, used behind two others", "auipc 6 0\nlw 5 6 0\nadd 7 6 6\nadd 7 6 6\nadd 7 5 5"),
        ("a load, used behind one other", "auipc 6 0\nlw 5 6 0\nadd 7 6 6\nadd 7 5 5"),
        ("a load, used at once", "auipc 6 0\nlw 5 6 0\nadd 7 5 5"),
        ("four stores", "sw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0"),
        ("five stores", "sw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0"),
        ("a flush", "flush"),
        ("a load after a flush of its line", "auipc 6 0\nflush 0 6\nlw 5 6 0"),
    ];
    let table: String = cases.iter().map(|(name, body)| format!("{name}: {}\n", cost(body))).collect();
    expect![[r#"
        a sum: 1
        a sum of a sum: 2
        a branch forward, not taken: 2
        a branch forward, taken: 4
        a jump: 2
        a fence: 1
        a load, used behind two others: 5
        a load, used behind one other: 5
        a load, used at once: 5
        four stores: 4
        five stores: 6
        a flush: 3
        a load after a flush of its line: 15
    "#]]
    .assert_eq(&table);
}

#[test]
fn data_not_flushed_from_the_cache_is_stale() {
    // All packets use the same slot. Each is sent with its second word copied to its first, or with the word of packet 1 if the
    // cache is stale.
    let packets = "100 1 0; 300 2 0; 500 3 0";
    let program = |flush: &str, back: i32| format!("{TAKE}{flush}lw 5 12 0 4\n    sw 0 12 5 0\n    {SEND}{back}");
    check(
        &program("flush\n", -28),
        packets,
        expect![[r#"
        141  out #1 to 0 Entry 64 bytes [01, 01, 01, 01]
        142  out |
        341  out #2 to 0 Entry 64 bytes [02, 02, 02, 02]
        342  out |
        541  out #3 to 0 Entry 64 bytes [03, 03, 03, 03]
        542  out |
    "#]],
    );
    check(
        &program("", -24),
        packets,
        expect![[r#"
        138  out #1 to 0 Entry 64 bytes [01, 01, 01, 01]
        139  out |
        326  out #2 to 0 Entry 64 bytes [01, 01, 01, 01]
        327  out |
        526  out #3 to 0 Entry 64 bytes [01, 01, 01, 01]
        527  out |
    "#]],
    );
}
