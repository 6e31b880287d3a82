//! Program faults and invalid programs.

use super::*;

#[test]
fn a_fault_is_reported_and_drops_the_packet() {
    // Without a trap handler the program restarts, so that each packet meets the same fault.
    check(
        &format!("{TAKE}word 0xffffffff"),
        "100 1 0; 200 2 0",
        expect![[r#"
            116  trouble cycle 116: not an RV32I instruction (0xffffffff) at pc 0x8000000c (start+0xc), packet 1 dropped
            118  out #1 to 0 Dropped(Trap)
            119  out |
            233  trouble cycle 233: not an RV32I instruction (0xffffffff) at pc 0x8000000c (start+0xc), packet 2 dropped
            235  out #2 to 0 Dropped(Trap)
            236  out |
        "#]],
    );
    check(
        &format!("{TAKE}sw 0 0 11 0"),
        "100 1 0",
        expect![[r#"
            116  trouble cycle 116: store outside of memory (0x0) at pc 0x8000000c (start+0xc), packet 1 dropped
            118  out #1 to 0 Dropped(Trap)
            119  out |
        "#]],
    );
    check(
        &format!("{TAKE}lw 5 12 0 1"),
        "100 1 0",
        expect![[r#"
            116  trouble cycle 116: misaligned load (0x80000c01) at pc 0x8000000c (start+0xc), packet 1 dropped
            118  out #1 to 0 Dropped(Trap)
            119  out |
        "#]],
    );
    check(
        &format!("{TAKE}mul 5 12 12"),
        "100 1 0",
        expect![[r#"
            116  trouble cycle 116: not an RV32I instruction (0x2c602b3) at pc 0x8000000c (start+0xc), packet 1 dropped
            118  out #1 to 0 Dropped(Trap)
            119  out |
        "#]],
    );
    check(
        &format!("{TAKE}jalr 5 12 0 2"),
        "100 1 0",
        expect![[r#"
            116  trouble cycle 116: jump to an address that is not a multiple of 4 (0x80000c02) at pc 0x8000000c (start+0xc), packet 1 dropped
            118  out #1 to 0 Dropped(Trap)
            119  out |
        "#]],
    );
    check(
        &format!("{TAKE}jalr 0 0 0 0"),
        "100 1 0",
        expect![[r#"
            120  trouble cycle 120: fetch outside of memory (0x0) at pc 0x0, packet 1 dropped
            122  out #1 to 0 Dropped(Trap)
            123  out |
        "#]],
    );
}

#[test]
fn a_program_that_does_not_answer_is_restarted() {
    check(
        &format!("{TAKE}jal 0 0 0 0"),
        "100 1 0; 110 2 0",
        expect![[r#"
            407  trouble cycle 407: neither answers a packet nor waits for one at pc 0x8000000c (start+0xc), packet 1 dropped
            409  out #1 to 0 Dropped(Watchdog)
            410  out |
            730  trouble cycle 730: neither answers a packet nor waits for one at pc 0x8000000c (start+0xc), packet 2 dropped
            732  out #2 to 0 Dropped(Watchdog)
            733  out |
        "#]],
    );
    // A program that never takes a packet stops until there is one.
    check(
        "jal 0 0 0 0",
        "1000 1 0",
        expect![[r#"
            300  trouble cycle 300: neither answers a packet nor waits for one at pc 0x80000000 (start+0x0)
            1001 trouble cycle 1001: neither answers a packet nor waits for one at pc 0x80000000 (start+0x0), packet 1 dropped
            1003 out #1 to 0 Dropped(Watchdog)
            1004 out |
        "#]],
    );
}

#[test]
fn a_doorbell_for_invalid_bytes_drops_the_packet() {
    check(
        &format!("{TAKE}addi 11 0 0 0\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 0 bytes at 0x80000c00, which is not a packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped(BadDoorbell)
            124  out |
        "#]],
    );
    check(
        &format!("{TAKE}addi 11 0 0 257\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 257 bytes at 0x80000c00, which is not a packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped(BadDoorbell)
            124  out |
        "#]],
    );
    check(
        &format!("{TAKE}addi 12 0 0 0\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 64 bytes at 0x0, which is not a packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped(BadDoorbell)
            124  out |
        "#]],
    );
    check(
        "lui 10 0 0 0xf0000000\nsw 0 10 0 0x44\nlw 5 10 0 0",
        "100 1 0",
        expect![[r#"
            17   trouble cycle 17: output doorbell without a current packet at pc 0x80000004 (start+0x4)
            107  trouble cycle 107: not an RV32I instruction (0x0) at pc 0x8000000c, packet 1 dropped
            109  out #1 to 0 Dropped(Trap)
            110  out |
        "#]],
    );
}

#[test]
fn a_program_can_drop_and_redirect_packets() {
    check(
        &format!("{TAKE}sw 0 10 0 0x4c\n    jal 0 0 0 -12"),
        "100 1 0",
        expect![[r#"
            121  out #1 to 0 Dropped(Program)
            122  out |
        "#]],
    );
}

#[test]
fn programs_and_packets_that_do_not_fit_are_refused() {
    let segment = |addr, size| Segment { place: "segment 0".into(), addr, bytes: Vec::new(), size };
    let image = |addr, size, entry| Image { segments: vec![segment(addr, size)], entry, symbols: Vec::new() };
    let texts = [
        image(0x8000_0000, 3073, 0x8000_0000).check(&params()),
        image(0x1d00_0000, 4, 0x1d00_0000).check(&params()),
        image(0x8000_0000, 4, 0x8000_0002).check(&params()),
        image(0x8000_0000, 3072, 0x8000_0bfc).check(&params()),
        RiscvParams { pinned_bytes: 100, ..params() }.check(),
        RiscvParams { line_bytes: 48, ..params() }.check(),
        params().check_longest(1025),
    ];
    let texts: String = texts.iter().map(|found| format!("{found:?}\n")).collect();
    expect![[r#"
        Err("segment 0 is at 0x80000000 to 0x80000c00, must be within 0x80000000 to 0x80000bff, the memory outside the packet region")
        Err("segment 0 is at 0x1d000000 to 0x1d000003, must be within 0x80000000 to 0x80000bff, the memory outside the packet region")
        Err("the entry is 0x80000002, must be within 0x80000000 to 0x80000bff, the memory outside the packet region, and a multiple of 4")
        Ok(())
        Err("pinned_bytes is 100, must be a multiple of 64")
        Err("line_bytes is 48, must be a power of two from 16 to 256")
        Err("pinned_bytes is 1024, must hold a packet of 1025 bytes")
    "#]].assert_eq(&texts);
}
