//! Lock time by program counter: cycles of each instruction, and how many of them are lock time.

use super::bench::{REGISTERS, SCRATCHPAD, scene};
use blocks::mips::{AddressRange, LockKind, Locks};
use expect_test::{Expect, expect};

/// Profiles a program of `instructions` instructions. Registers from 0x100 on are locks that a load takes, or those
/// from 0x200 on are locks that a store requests.
fn check(kind: LockKind, instructions: u32, program: &str, want: Expect) {
    let mut scene = scene(program);
    let base = REGISTERS + if kind == LockKind::LoadTakes { 0x100 } else { 0x200 };
    scene.params.locks = Some(Locks { window: AddressRange { base, bytes: 0x80 }, kind });
    scene.profile = Some((SCRATCHPAD, 4 * instructions));
    scene.counters = &[];
    want.assert_eq(&scene.run());
}

#[test]
fn a_free_lock_costs_its_load_the_test_and_the_store() {
    check(
        LockKind::LoadTakes,
        7,
        "lui k0, 0xc000 \n lw t0, 0x100(k0) \n addiu t1, t1, 1 \n bne t0, zero, end \n nop \n lw t2, 0x40(zero) \n sw zero, 0x100(k0)
         end: \n break 0",
        expect![[r#"
            c00000 1 in 1
            c00004 1 in 1, 1 of them on locks
            c00008 1 in 1
            c0000c 1 in 2, 2 of them on locks
            c00010 1 in 1
            c00014 1 in 1
            c00018 1 in 2, 2 of them on locks
            1 attempts, 0 failed
            a break instruction at c0001c: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn lock_time_runs_from_the_first_attempt_to_the_last() {
    check(
        LockKind::LoadTakes,
        6,
        "lui k0, 0xc000 \n again: \n lw t0, 0x110(k0) \n addiu t1, t1, 1 \n bne t0, zero, again \n nop \n sw zero, 0x110(k0) \n break 0",
        expect![[r#"
            c00000 1 in 1
            c00004 3 in 3, 3 of them on locks
            c00008 3 in 3, 3 of them on locks
            c0000c 3 in 6, 6 of them on locks
            c00010 3 in 3, 2 of them on locks
            c00014 1 in 1, 1 of them on locks
            3 attempts, 2 failed
            a break instruction at c00018: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_core_that_does_something_else_does_not_wait() {
    check(
        LockKind::LoadTakes,
        6,
        "lui k0, 0xc000 \n again: \n lw t0, 0x110(k0) \n lw t2, 0x40(zero) \n addiu t1, t1, 1 \n bne t0, zero, again \n nop \n break 0",
        expect![[r#"
            c00000 1 in 1
            c00004 3 in 3, 3 of them on locks
            c00008 3 in 3
            c0000c 3 in 3
            c00010 3 in 3, 3 of them on locks
            c00014 3 in 3
            3 attempts, 2 failed
            a break instruction at c00018: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_store_requests_a_lock_and_another_frees_it() {
    check(
        LockKind::StoreAsks,
        7,
        "lui k0, 0xc000 \n again: \n sw k0, 0x210(k0) \n lw t0, 0x210(k0) \n nop \n beq t0, zero, again \n nop \n sw k0, 0x210(k0)
         break 0",
        expect![[r#"
            c00000 1 in 1
            c00004 3 in 3, 3 of them on locks
            c00008 3 in 3, 3 of them on locks
            c0000c 3 in 3, 3 of them on locks
            c00010 3 in 6, 6 of them on locks
            c00014 3 in 3, 2 of them on locks
            c00018 1 in 1, 1 of them on locks
            3 attempts, 2 failed
            a break instruction at c0001c: 0; a0-a3 0 0 0 0
        "#]],
    );
}

#[test]
fn a_word_taken_by_sc_is_a_lock() {
    check(
        LockKind::LoadTakes,
        10,
        "again: \n ll t0, 0x80(zero) \n addiu t1, zero, 1 \n bne t0, zero, again \n nop \n sc t1, 0x80(zero) \n beq t1, zero, again \n nop
         sw t1, 0x84(zero) \n sw zero, 0x80(zero) \n sw zero, 0x80(zero) \n break 0",
        expect![[r#"
            c00000 1 in 1, 1 of them on locks
            c00004 1 in 1, 1 of them on locks
            c00008 1 in 2, 2 of them on locks
            c0000c 1 in 1, 1 of them on locks
            c00010 1 in 1, 1 of them on locks
            c00014 1 in 3, 3 of them on locks
            c00018 1 in 1
            c0001c 1 in 1
            c00020 1 in 1, 1 of them on locks
            c00024 1 in 1
            1 attempts, 0 failed
            a break instruction at c00028: 0; a0-a3 0 0 0 0
        "#]],
    );
}
