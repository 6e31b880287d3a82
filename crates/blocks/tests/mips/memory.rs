//! Loads and stores outside the scratchpad: when references are sent, and how waiting is counted.

use super::bench::{Scene, scene};
use blocks::mips::{PipelineKind, StoreKind};
use expect_test::{Expect, expect};

fn check(program: &str, change: impl Fn(&mut Scene), want: Expect) {
    let mut scene = scene(&format!("{program} \n break 0"));
    scene.shows_references = true;
    change(&mut scene);
    want.assert_eq(&scene.run());
}

#[test]
fn a_memory_of_one_cycle_causes_no_stall() {
    check(
        "lw a0, 0x80(zero) \n lw a1, 0x84(zero) \n sw a2, 0x88(zero) \n lw a3, 0x8c(zero)",
        |_| (),
        expect![[r#"
            3    memory 80 read 4
            4    memory 84 read 4
            5    memory 88 write [00, 00, 00, 00]
            6    memory 8c read 4
            execution 4
            a break instruction at c00010: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_load_of_one_cycle_delays_its_use_by_one() {
    check(
        "sb sp, 0x83(zero) \n addiu a1, zero, 5 \n sw a1, 0x80(zero) \n lw a0, 0x80(zero) \n addu a0, a0, a0",
        |_| (),
        expect![[r#"
            3    memory 83 write [00]
            5    memory 80 write [00, 00, 00, 05]
            6    memory 80 read 4
            execution 5, pipeline 1
            a break instruction at c00014: 0; a0-a3 a 5 0 0
        "#]],
    );
}

/// The scratchpad banks behind a crossbar: a load stalls for one cycle and delays its use by one more; a store does
/// not stall. Thesis, 4.2 and 4.5.3.
#[test]
fn a_memory_of_two_cycles_stalls_a_load_for_one() {
    let two = |scene: &mut Scene| {
        scene.params.memory_cycles = 3;
        scene.memory_cycles = 3;
        scene.shows_references = false;
    };
    check(
        "lw a0, 0x80(zero) \n nop \n nop \n nop",
        two,
        expect![[r#"
            execution 4, load_stalls 1
            a break instruction at c00010: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "lw a0, 0x80(zero) \n addu a0, a0, a0 \n nop \n nop",
        two,
        expect![[r#"
            execution 4, load_stalls 1, pipeline 1
            a break instruction at c00010: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "lw a0, 0x80(zero) \n lw a1, 0x80(zero) \n nop \n nop",
        two,
        expect![[r#"
            execution 4, load_stalls 2
            a break instruction at c00010: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "sw a0, 0x80(zero) \n sw a0, 0x84(zero) \n nop \n nop",
        two,
        expect![[r#"
            execution 4
            a break instruction at c00010: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "lw a0, 0x80(zero) \n nop",
        |scene| {
            two(scene);
            scene.memory_cycles = 8;
        },
        expect![[r#"
            execution 2, load_stalls 6
            a break instruction at c00008: 0; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "lw a0, 0x80(zero) \n nop",
        |scene| {
            two(scene);
            scene.params.pipeline = PipelineKind::Functional;
        },
        expect![[r#"
            execution 2, load_stalls 1
            a break instruction at c00008: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_full_port_stalls_stores() {
    let stores = "sw a0, 0x80(zero) \n".repeat(6);
    check(
        &stores,
        |scene| scene.memory_gap = 4,
        expect![[r#"
            3    memory 80 write [00, 00, 00, 00]
            7    memory 80 write [00, 00, 00, 00]
            11   memory 80 write [00, 00, 00, 00]
            15   memory 80 write [00, 00, 00, 00]
            19   memory 80 write [00, 00, 00, 00]
            23   memory 80 write [00, 00, 00, 00]
            execution 6, conflicts 9
            a break instruction at c00018: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_held_store_waits_for_its_answer() {
    let slow = |scene: &mut Scene| {
        scene.params.memory_cycles = 5;
        scene.memory_cycles = 5;
        scene.params.stores = StoreKind::Held;
    };
    check(
        "sw a0, 0x80(zero) \n nop \n nop",
        slow,
        expect![[r#"
            3    memory 80 write [00, 00, 00, 00]
            execution 3, load_stalls 3
            a break instruction at c0000c: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_reference_waits_until_the_other_port_is_quiet() {
    check(
        "lui t0, 0xc000 \n sw a0, 0x80(zero) \n sw a0, 0x60(t0) \n lw a1, 0x60(t0) \n lw a2, 0x80(zero)",
        |scene| scene.memory_cycles = 6,
        expect![[r#"
            4    memory 80 write [00, 00, 00, 00]
            10   registers 60 write [00, 00, 00, 00]
            11   registers 60 read 4
            12   memory 80 read 4
            execution 5, conflicts 5
            a break instruction at c00014: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn bytes_and_half_words_are_accessed_within_words() {
    check(
        "lui a0, 0x1122 \n ori a0, a0, 0x3344 \n sw a0, 0x80(zero) \n sb a0, 0x85(zero) \n sh a0, 0x86(zero)
         swl a0, 0x89(zero) \n swr a0, 0x8e(zero)
         lb a0, 0x82(zero) \n lhu a1, 0x82(zero) \n lwl a2, 0x81(zero) \n lwr a2, 0x84(zero) \n lw a3, 0x84(zero)",
        |_| (),
        expect![[r#"
            5    memory 80 write [11, 22, 33, 44]
            6    memory 85 write [44]
            7    memory 86 write [33, 44]
            8    memory 89 write [11, 22, 33]
            9    memory 8c write [22, 33, 44]
            10   memory 80 read 4
            11   memory 80 read 4
            12   memory 80 read 4
            14   memory 84 read 4
            15   memory 84 read 4
            execution 12, pipeline 1
            a break instruction at c00030: 0; a0-a3 33 3344 22334400 443344
        "#]],
    );
}

#[test]
fn an_illegal_action_stops_the_core() {
    let check = |program: &str, want: Expect| check(program, |scene| scene.counters = &[], want);
    check(
        "lui t0, 0xc0 \n nop \n lw a0, 2(t0)",
        expect![[r#"
        a misaligned load at c00008: c00002; a0-a3 0 0 0 0
    "#]],
    );
    check(
        "addiu t0, zero, 1 \n sh a0, 0(t0)",
        expect![[r#"
        a misaligned store at c00004: 1; a0-a3 0 0 0 0
    "#]],
    );
    check(
        "lui t0, 0x200 \n lw a0, 0(t0) \n addiu a1, zero, 1",
        expect![[r#"
            4    memory 2000000 read 4
            a load from an unmapped address at c00004: 2000000; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "lui t0, 0x200 \n sw a0, 0(t0) \n nop \n nop \n nop \n nop \n nop",
        expect![[r#"
            4    memory 2000000 write [00, 00, 00, 00]
            a store to an unmapped address at c00004: 2000000; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "addiu t0, zero, 2 \n jr t0 \n addiu a0, zero, 1",
        expect![[r#"
        a jump to a misaligned address at 2: 2; a0-a3 1 0 0 0
    "#]],
    );
    check(
        "jr zero \n addiu a0, zero, 1",
        expect![[r#"
            a fetch from an unmapped address at 0: 0; a0-a3 1 0 0 0
        "#]],
    );
    check(
        ".word 0x40016000",
        expect![[r#"
            an illegal instruction at c00000: 40016000; a0-a3 0 0 0 0
        "#]],
    );
    check(
        "teq zero, zero, 7",
        expect![[r#"
        a trap instruction at c00000: 7; a0-a3 0 0 0 0
    "#]],
    );
}

/// Instructions and cycles of each word: waiting is counted at the instruction that stalls the pipeline.
#[test]
fn time_is_counted_by_program_counter() {
    check(
        "addiu t0, zero, 3 \n again: \n lw a0, 0x80(zero) \n addiu t0, t0, -1 \n addu a1, a1, a0 \n bnel t0, zero, again \n nop",
        |scene| {
            scene.memory_cycles = 6;
            scene.shows_references = false;
            scene.profile = Some((0x00c0_0000, 24));
        },
        expect![[r#"
            execution 15, load_stalls 12, pipeline 1
            c00000 1 in 1
            c00004 3 in 3
            c00008 3 in 15
            c0000c 3 in 3
            c00010 3 in 3
            c00014 2 in 3
            a break instruction at c00018: 0; a0-a3 0 0 0 0
        "#]],
    );
}
