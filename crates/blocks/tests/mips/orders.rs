//! Orders to the core, and its status.

use super::bench::{Scene, scene};
use blocks::mips::CpuControl;
use blocks::mips::CpuControl::{Halt, Reset, Run, SetPc, SetRegister, StackOffset, Step};
use expect_test::{Expect, expect};
use kernel::Cycle;

fn check(program: &str, orders: &[(Cycle, CpuControl)], change: impl Fn(&mut Scene), want: Expect) {
    let mut scene = scene(&format!("{program} \n break 0"));
    scene.orders = orders.to_vec();
    scene.counters = &["instructions"];
    change(&mut scene);
    want.assert_eq(&scene.run());
}

const COUNT: &str = "again: \n addiu a0, a0, 1 \n j again \n nop";

#[test]
fn a_core_waits_for_its_order() {
    check(
        "nop",
        &[(10, Run)],
        |scene| scene.params.runs_at_start = false,
        expect![[r#"
        1    status halted at c00000, a0 is 0
        11   status runs at c00000
        14   status halted at c00004, a0 is 0
        alu 1
        a break instruction at c00004: 0; a0-a3 0 0 0 0
    "#]],
    );
}

#[test]
fn a_core_halts_continues_and_is_reset() {
    check(
        COUNT,
        &[(100, Halt), (200, Run), (300, Reset)],
        |_| (),
        expect![[r#"
            1    status runs at c00000
            101  status halted at c00000, a0 is 42
            201  status runs at c00000
            301  status halted at c00000, a0 is 0
            alu 163, jump 81
            at c00000; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_halted_core_is_set_up_and_stepped() {
    let orders = [(10, SetPc(0x00c0_0008)), (10, SetRegister(4, 7)), (11, Step), (20, Step), (30, Step), (40, Run)];
    check(
        "break 9 \n nop \n addiu a0, a0, 1 \n addiu a0, a0, 2 \n addiu a0, a0, 4",
        &orders,
        |scene| scene.params.runs_at_start = false,
        expect![[r#"
            1    status halted at c00000, a0 is 0
            13   status runs at c00008
            14   status halted at c0000c, a0 is 8
            21   status runs at c0000c
            22   status halted at c00010, a0 is 10
            31   status runs at c00010
            32   status halted at c00014, a0 is 14
            41   status runs at c00014
            43   status halted at c00014, a0 is 14
            alu 3
            a break instruction at c00014: 0; a0-a3 e 0 0 0
        "#]],
    );
}

#[test]
fn the_stack_window_moves_by_its_offset() {
    check(
        "lui sp, 0xc0 \n sw sp, -8(sp) \n addiu t0, zero, 30 \n again: \n addiu t0, t0, -1 \n bne t0, zero, again
         nop \n sw sp, -8(sp)",
        &[(20, StackOffset(0x00bf_f000))],
        |scene| {
            scene.shows_references = true;
            scene.counters = &["stores"];
        },
        expect![[r#"
            1    status runs at c00000
            4    memory bffff8 write [00, c0, 00, 00]
            126  memory ff8 write [00, c0, 00, 00]
            127  status halted at c0001c, a0 is 0
            memory 2
            a break instruction at c0001c: 0; a0-a3 0 0 0 0
        "#]],
    );
}
