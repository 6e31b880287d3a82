//! Cycles of instructions without contention, with no conflicts at the scratchpad's port unless the test is about
//! them.

use super::bench::scene;
use blocks::mips::PipelineKind;
use expect_test::{Expect, expect};

/// Columns: the five-stage core, then the functional one.
fn check(program: &str, want: Expect) {
    let cost = |pipeline| {
        let mut scene = scene(&format!("{program} \n break 0"));
        scene.params.pipeline = pipeline;
        scene.run().lines().next().unwrap_or_default().replace("cycles.", "")
    };
    want.assert_eq(&format!("{} | {}", cost(PipelineKind::FiveStage), cost(PipelineKind::Functional)));
}

#[test]
fn arithmetic_takes_a_cycle_each() {
    check("addiu a0, zero, 1 \n addu a0, a0, a0 \n addu a0, a0, a0", expect!["execution 3 | execution 3"]);
}

#[test]
fn a_loaded_word_is_an_operand_two_cycles_later() {
    let load = "lui t0, 0xc0 \n lw a0, 0x100(t0)";
    check(&format!("{load} \n addu a1, a0, a0"), expect!["execution 3, pipeline 1 | execution 3"]);
    check(&format!("{load} \n nop \n addu a1, a0, a0"), expect!["execution 4 | execution 4"]);
}

#[test]
fn a_branch_needs_its_operand_in_decode() {
    check("addiu a0, zero, 1 \n beq a0, zero, 0xc00000 \n nop", expect!["execution 3, pipeline 1 | execution 3"]);
    check("addiu a0, zero, 1 \n nop \n beq a0, zero, 0xc00000 \n nop", expect!["execution 4 | execution 4"]);
    let load = "lui t0, 0xc0 \n lw a0, 0x100(t0)";
    check(&format!("{load} \n bne a0, zero, 0xc00000 \n nop"), expect!["execution 4, pipeline 2 | execution 4"]);
    check(&format!("{load} \n nop \n bne a0, zero, 0xc00000 \n nop"), expect!["execution 5, pipeline 1 | execution 5"]);
    check(
        &format!("{load} \n nop \n nop \n bne a0, zero, 0xc00000 \n nop"),
        expect!["execution 6, conflicts 1 | execution 6"],
    );
}

#[test]
fn a_taken_branch_costs_nothing_by_itself() {
    check("beq zero, zero, on \n nop \n on: \n nop", expect!["execution 3 | execution 3"]);
    check("j on \n nop \n nop \n nop \n on: \n nop", expect!["execution 3 | execution 3"]);
}

#[test]
fn an_annulled_slot_costs_its_cycle() {
    check("beql zero, zero, on \n nop \n on: \n nop", expect!["execution 3 | execution 3"]);
    check("bnel zero, zero, on \n nop \n on: \n nop", expect!["execution 2, pipeline 1 | execution 2"]);
}

#[test]
fn the_dispatch_loop_waits_for_its_entry() {
    // The jump leads to the last instruction.
    let base = "lui s2, 0xc0 \n ori s2, s2, 0x1c \n nop \n nop";
    check(
        &format!("{base} \n pri v0, zero, zero \n joff s2, v0 \n nop"),
        expect!["execution 7, pipeline 1 | execution 7"],
    );
    check(
        &format!("{base} \n lw v0, 0x100(s2) \n joff s2, v0 \n nop"),
        expect!["execution 7, pipeline 2 | execution 7"],
    );
}

#[test]
fn products_and_quotients_take_their_time() {
    check("addiu t0, zero, 7 \n mult t0, t0 \n mflo a0", expect!["execution 3, pipeline 9 | execution 3"]);
    let nine = "nop \n".repeat(9);
    check(&format!("addiu t0, zero, 7 \n mult t0, t0 \n {nine} mflo a0"), expect!["execution 12 | execution 12"]);
    check("addiu t0, zero, 7 \n divu zero, t0, t0 \n mflo a0", expect!["execution 3, pipeline 68 | execution 3"]);
}

#[test]
fn data_and_instructions_share_the_scratchpads_port() {
    let base = "lui t0, 0xc0 \n nop \n nop \n";
    check(
        &format!("{base} sw a0, 0x100(t0) \n nop \n nop \n nop \n nop"),
        expect!["execution 8, conflicts 1 | execution 8"],
    );
    check(
        &format!("{base} sw a0, 0x100(t0) \n sw a0, 0x104(t0) \n nop \n nop \n nop \n nop"),
        expect!["execution 9, conflicts 2 | execution 9"],
    );
    // If the pipeline already waits for a loaded operand, the conflict costs nothing more.
    check(
        &format!("{base} lw a0, 0x100(t0) \n addu a0, a0, a0 \n nop \n nop \n nop"),
        expect!["execution 8, pipeline 1 | execution 8"],
    );
}
