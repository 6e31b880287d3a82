//! Execution from memory through the instruction cache, and code that changes.

use super::bench::{CODE, Scene, scene};
use blocks::mips::InstructionCacheParams;
use expect_test::{Expect, expect};

fn check(program: &str, change: impl Fn(&mut Scene), want: Expect) {
    let mut scene = scene(&format!("{program} \n break 0"));
    scene.params.reset_pc = CODE;
    scene.params.instruction_cache =
        Some(InstructionCacheParams { bytes: 64, line_bytes: 32, ways: 2, drops_stored_lines: true });
    scene.shows_references = true;
    scene.counters = &["cycles", "instructions"];
    change(&mut scene);
    want.assert_eq(&scene.run());
}

#[test]
fn a_miss_waits_for_its_line() {
    let program = "nop \n".repeat(10);
    check(
        &program,
        |_| (),
        expect![[r#"
        1    fetch 4000 read 32
        11   fetch 4020 read 32
        execution 10, instruction_misses 4
        alu 10
        a break instruction at 4028: 0; a0-a3 0 0 0 0
    "#]],
    );
    check(
        &program,
        |scene| scene.fetch_cycles = 10,
        expect![[r#"
        1    fetch 4000 read 32
        19   fetch 4020 read 32
        execution 10, instruction_misses 20
        alu 10
        a break instruction at 4028: 0; a0-a3 0 0 0 0
    "#]],
    );
}

/// The line is fetched while the load waits, so only the longer of both times is visible.
#[test]
fn a_miss_after_a_load_starts_with_it() {
    let at_line_end = format!("{} lw a0, 0x80(zero) \n nop \n nop", "nop \n".repeat(6));
    let slow = |fetch_cycles| {
        move |scene: &mut Scene| {
            scene.memory_cycles = 12;
            scene.params.memory_cycles = 12;
            scene.fetch_cycles = fetch_cycles;
        }
    };
    check(
        &at_line_end,
        slow(2),
        expect![[r#"
            1    fetch 4000 read 32
            11   fetch 4020 read 32
            11   memory 80 read 4
            execution 9, instruction_misses 2, load_stalls 10
            alu 8, load 1
            a break instruction at 4024: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        &at_line_end,
        slow(10),
        expect![[r#"
            1    fetch 4000 read 32
            19   fetch 4020 read 32
            19   memory 80 read 4
            execution 9, instruction_misses 10, load_stalls 10
            alu 8, load 1
            a break instruction at 4024: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        &at_line_end,
        slow(14),
        expect![[r#"
        1    fetch 4000 read 32
        23   fetch 4020 read 32
        23   memory 80 read 4
        execution 9, instruction_misses 18, load_stalls 10
        alu 8, load 1
        a break instruction at 4024: 0; a0-a3 0 0 0 0
    "#]],
    );
}

#[test]
fn a_loop_that_fits_is_fetched_once() {
    check(
        "addiu a0, zero, 20 \n again: \n addiu a0, a0, -1 \n bne a0, zero, again \n addiu a1, a1, 1",
        |_| (),
        expect![[r#"
            1    fetch 4000 read 32
            execution 61, instruction_misses 2, pipeline 20
            alu 41, branch 20
            a break instruction at 4010: 0; a0-a3 0 14 0 0
        "#]],
    );
}

/// Replaces `addiu a0, zero, 1`, which was executed before, by `addiu a0, zero, 7`.
const PATCH: &str = "addiu t2, zero, 2 \n lui t0, 0x2404 \n ori t0, t0, 7 \n ori t1, zero, 0x4020
    again: \n nop \n nop \n nop \n nop
    addiu a0, zero, 1   # 4020
    sw t0, 0(t1) \n addiu t2, t2, -1 \n nop \n nop \n nop \n bne t2, zero, again \n nop";

#[test]
fn changed_code_takes_effect_if_stores_drop_lines() {
    let in_lines = |drops_stored_lines| {
        move |scene: &mut Scene| {
            scene.counters = &[];
            scene.shows_references = false;
            scene.params.instruction_cache =
                Some(InstructionCacheParams { bytes: 256, line_bytes: 32, ways: 2, drops_stored_lines });
        }
    };
    check(
        PATCH,
        |scene| {
            in_lines(true)(scene);
            scene.counters = &["fills"];
        },
        expect![[r#"
            5
            a break instruction at 4040: 0; a0-a3 7 0 0 0
        "#]],
    );
    check(
        PATCH,
        in_lines(false),
        expect![[r#"
        a break instruction at 4040: 0; a0-a3 1 0 0 0
    "#]],
    );
}

/// A fetch does not overtake the same core's store to its line, even if the store waits for others.
#[test]
fn code_that_was_just_stored_is_fetched() {
    let program = "lui t0, 0x2404 \n ori t0, t0, 7 \n sw t0, 0x80(zero) \n sw t0, 0x84(zero) \n sw t0, 0x4040(zero)
        j stored \n nop \n nop
        nop \n nop \n nop \n nop \n nop \n nop \n nop \n nop
        stored: \n addiu a0, zero, 1   # 4040";
    let slow = |drops_stored_lines| {
        move |scene: &mut Scene| {
            scene.counters = &[];
            scene.memory_gap = 12;
            scene.params.instruction_cache =
                Some(InstructionCacheParams { bytes: 256, line_bytes: 32, ways: 2, drops_stored_lines });
        }
    };
    check(
        program,
        slow(true),
        expect![[r#"
        1    fetch 4000 read 32
        7    memory 80 write [24, 04, 00, 07]
        19   memory 84 write [24, 04, 00, 07]
        31   memory 4040 write [24, 04, 00, 07]
        33   fetch 4040 read 32
        a break instruction at 4044: 0; a0-a3 7 0 0 0
    "#]],
    );
    check(
        program,
        slow(false),
        expect![[r#"
        1    fetch 4000 read 32
        7    memory 80 write [24, 04, 00, 07]
        10   fetch 4040 read 32
        19   memory 84 write [24, 04, 00, 07]
        31   memory 4040 write [24, 04, 00, 07]
        a break instruction at 4044: 0; a0-a3 1 0 0 0
    "#]],
    );
}

/// Copies a routine to the scratchpad, runs it there, changes it, and runs it again.
#[test]
fn code_in_the_scratchpad_may_change() {
    check(
        "lui t0, 0xc0 \n addiu t1, zero, 0x4070
         copy: \n lw t2, 0(t1) \n addiu t1, t1, 4 \n sw t2, 0(t0) \n addiu t0, t0, 4
         addiu t3, zero, 0x407c \n bne t1, t3, copy \n nop
         lui s0, 0xc0 \n jalr ra, s0 \n nop
         addu a1, a0, zero
         lui t2, 0x2404 \n ori t2, t2, 9 \n sw t2, 0(s0)
         jalr ra, s0 \n nop \n break 1
         .word 0 \n .word 0 \n .word 0 \n .word 0 \n .word 0 \n .word 0 \n .word 0 \n .word 0 \n .word 0
         addiu a0, zero, 1 \n jr ra \n nop",
        |scene| {
            scene.counters = &[];
            scene.shows_references = false;
        },
        expect![[r#"
            a break instruction at 4048: 1; a0-a3 9 1 0 0
        "#]],
    );
}

#[test]
fn a_fetch_from_an_unmapped_address_stops_the_core() {
    check(
        "lui t0, 0x200 \n jr t0 \n nop",
        |scene| {
            scene.counters = &[];
            scene.shows_references = false;
        },
        expect![[r#"
            a fetch from an unmapped address at 2000000: 2000000; a0-a3 0 0 0 0
        "#]],
    );
}
