//! Hardware loops.

use super::{DATA, Machine, check};
use expect_test::expect;
use isa::riscv::cause;
use proptest::prelude::*;

#[test]
fn loops_of_two_and_three_instructions_lose_nothing() {
    check(
        "lp.setupi x0, 4, end
         addi a2, a2, 1
         end:
         addi a3, a3, 2
         csrrs a4, lpcount0, zero
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 4, 0x108           0
            104 addi a2, a2, 1                   1 3 5 7
            108 addi a3, a3, 2                   2 4 6 8
            10c csrrs a4, lpcount0, zero         9
            110 ebreak                           10
            a0=400 a1=500 a2=4 a3=8 a4=1
        "#]],
    );
    check(
        "addi t0, zero, 3
         lp.setup x1, t0, end
         addi a2, a2, 1
         mul a4, a2, a2
         end:
         add a3, a3, a4
         csrrs a5, lpcount1, zero
         ebreak",
        expect![[r#"
            100 addi t0, zero, 3                 0
            104 lp.setup x1, t0, 0x110           1
            108 addi a2, a2, 1                   2 5 8
            10c mul a4, a2, a2                   3 6 9
            110 add a3, a3, a4                   4 7 10
            114 csrrs a5, lpcount1, zero         11
            118 ebreak                           12
            t0=3 a0=400 a1=500 a2=3 a3=e a4=9 a5=1
        "#]],
    );
}

#[test]
fn counts_of_0_and_1_run_once_and_stay() {
    for (count, left) in [(0, "a2=1 a3=1 a4=0"), (1, "a2=1 a3=1 a4=1"), (2, "a2=2 a3=2 a4=1")] {
        let mut machine = Machine::new(&format!(
            "lp.setupi x0, {count}, end
             addi a2, a2, 1
             end:
             addi a3, a3, 1
             csrrs a4, lpcount0, zero
             ebreak"
        ));
        machine.run();
        let [a2, a3, a4] = [12, 13, 14].map(|r| machine.core.x(r));
        assert_eq!(format!("a2={a2} a3={a3} a4={a4}"), left, "count {count}");
    }
}

#[test]
fn nested_loops_may_end_on_the_same_instruction_or_on_two() {
    check(
        "lp.setupi x1, 2, outer
         addi a2, a2, 1
         lp.setupi x0, 3, inner
         addi a3, a3, 1
         inner:
         addi a4, a4, 1
         outer:
         addi a5, a5, 1
         ebreak",
        expect![[r#"
            100 lp.setupi x1, 2, 0x114           0
            104 addi a2, a2, 1                   1 10
            108 lp.setupi x0, 3, 0x110           2 11
            10c addi a3, a3, 1                   3 5 7 12 14 16
            110 addi a4, a4, 1                   4 6 8 13 15 17
            114 addi a5, a5, 1                   9 18
            118 ebreak                           19
            a0=400 a1=500 a2=2 a3=6 a4=6 a5=2
        "#]],
    );
    // Loop 0 has priority if both end; after its last round loop 1 repeats, and loop 0 is not set again.
    check(
        "lp.counti x0, 3
         lp.counti x1, 2
         lp.starti x0, inner
         lp.starti x1, outer
         lp.endi x0, end
         lp.endi x1, end
         addi zero, zero, 0
         outer:
         addi a2, a2, 1
         inner:
         addi a3, a3, 1
         end:
         addi a4, a4, 1
         ebreak",
        expect![[r#"
            100 lp.counti x0, 3                  0
            104 lp.counti x1, 2                  1
            108 lp.starti x0, 0x120              2
            10c lp.starti x1, 0x11c              3
            110 lp.endi x0, 0x124                4
            114 lp.endi x1, 0x124                5
            118 addi zero, zero, 0               6
            11c addi a2, a2, 1                   7 14
            120 addi a3, a3, 1                   8 10 12 15
            124 addi a4, a4, 1                   9 11 13 16
            128 ebreak                           17
            a0=400 a1=500 a2=2 a3=4 a4=4
        "#]],
    );
}

#[test]
fn ends_may_be_compressed_and_lines_may_be_crossed() {
    check(
        "lp.setupi x0, 3, end
         c.addi a2, 1
         end:
         c.addi a3, 1
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 3, 0x106           0
            104 c.addi a2, 1                     1 3 5
            106 c.addi a3, 1                     2 4 6
            108 ebreak                           7
            a0=400 a1=500 a2=3 a3=3
        "#]],
    );
    // The start straddles two lines, which costs a cycle each time, as for any other target.
    check(
        "c.nop
         c.nop
         c.nop
         c.nop
         c.nop
         lp.setupi x0, 3, end
         addi a2, a2, 1
         end:
         c.addi a3, 1
         ebreak",
        expect![[r#"
            100 c.nop                            0
            102 c.nop                            1
            104 c.nop                            2
            106 c.nop                            3
            108 c.nop                            4
            10a lp.setupi x0, 3, 0x112           5
            10e addi a2, a2, 1                   6 9 12
            112 c.addi a3, 1                     7 10 13
            114 ebreak                           14
            a0=400 a1=500 a2=3 a3=3
        "#]],
    );
}

#[test]
fn a_loop_may_end_with_an_access_and_waits_for_operands() {
    check(
        "lp.setupi x0, 3, end
         add a3, a3, a2
         end:
         p.lw a2, 4(a0!)
         add a3, a3, a2
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 3, 0x108           0
            104 add a3, a3, a2                   1 4 7
            108 p.lw a2, 4(a0!)                  2 5 8
            10c add a3, a3, a2                   10
            110 ebreak                           11
            a0=40c a1=500 a2=3 a3=6
        "#]],
    );
    check(
        "lp.setupi x0, 4, end
         p.lw a2, 4(a0!)
         end:
         p.sw a2, 4(a1!)
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 4, 0x108           0
            104 p.lw a2, 4(a0!)                  1 4 7 10
            108 p.sw a2, 4(a1!)                  3 6 9 12
            10c ebreak                           13
            a0=410 a1=510 a2=4 memory 1 2 3 4 0 0 0 0
        "#]],
    );
}

#[test]
fn a_jump_to_the_end_costs_one_more_cycle() {
    check(
        "lp.setupi x0, 3, end
         addi a2, a2, 1
         beq zero, zero, end
         addi a4, a4, 1
         end:
         addi a3, a3, 1
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 3, 0x110           0
            104 addi a2, a2, 1                   1 7 13
            108 beq zero, zero, 0x110            2 8 14
            110 addi a3, a3, 1                   5 11 17
            114 ebreak                           18
            a0=400 a1=500 a2=3 a3=3
        "#]],
    );
}

#[test]
fn a_branch_may_leave_a_loop_from_its_end() {
    check(
        "lp.setupi x0, 9, end
         addi a2, a2, 1
         end:
         p.beqimm a2, 2, out
         addi a3, a3, 1
         out:
         csrrs a4, lpcount0, zero
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 9, 0x108           0
            104 addi a2, a2, 1                   1 3
            108 p.beqimm a2, 2, 0x110            2 4
            110 csrrs a4, lpcount0, zero         7
            114 ebreak                           8
            a0=400 a1=500 a2=2 a4=7
        "#]],
    );
}

#[test]
fn a_loop_of_one_instruction_does_not_repeat() {
    // Fetch compares the address of the `addi` before `lp.setupi` has written the registers.
    check(
        "lp.setupi x0, 5, end
         end:
         addi a2, a2, 1
         csrrs a4, lpcount0, zero
         ebreak",
        expect![[r#"
            100 lp.setupi x0, 5, 0x104           0
            104 addi a2, a2, 1                   1
            108 csrrs a4, lpcount0, zero         2
            10c ebreak                           3
            a0=400 a1=500 a2=1 a4=5
        "#]],
    );
    // If the registers are written early enough, the loop runs once more than its count and waits for fetch.
    check(
        "lp.starti x0, end
         lp.endi x0, end
         lp.counti x0, 3
         addi zero, zero, 0
         end:
         addi a2, a2, 1
         csrrs a4, lpcount0, zero
         ebreak",
        expect![[r#"
            100 lp.starti x0, 0x110              0
            104 lp.endi x0, 0x110                1
            108 lp.counti x0, 3                  2
            10c addi zero, zero, 0               3
            110 addi a2, a2, 1                   4 5 7 9
            114 csrrs a4, lpcount0, zero         10
            118 ebreak                           11
            a0=400 a1=500 a2=4
        "#]],
    );
}

#[test]
fn control_registers_access_the_loop_registers() {
    check(
        "auipc t0, 0
         addi t1, t0, 36
         csrrw zero, lpstart1, t1
         addi t1, t0, 40
         csrrw zero, lpend1, t1
         csrrwi zero, lpcount1, 3
         addi zero, zero, 0
         addi zero, zero, 0
         addi zero, zero, 0
         addi a2, a2, 1
         addi a3, a3, 1
         csrrs a4, lpcount1, zero
         ebreak",
        expect![[r#"
            100 auipc t0, 0x0                    0
            104 addi t1, t0, 36                  1
            108 csrrw zero, lpstart1, t1         2
            10c addi t1, t0, 40                  3
            110 csrrw zero, lpend1, t1           4
            114 csrrwi zero, lpcount1, 3         5
            118 addi zero, zero, 0               6
            11c addi zero, zero, 0               7
            120 addi zero, zero, 0               8
            124 addi a2, a2, 1                   9 11 13
            128 addi a3, a3, 1                   10 12 14
            12c csrrs a4, lpcount1, zero         15
            130 ebreak                           16
            t0=100 t1=128 a0=400 a1=500 a2=3 a3=3 a4=1
        "#]],
    );
}

/// The counting registers after `text` ran to `ebreak`. `serve` handles other traps and returns where to continue.
fn run_through_traps(text: &str, mut serve: impl FnMut(&mut Machine) -> u32) -> [u32; 4] {
    let counts = [false, true].map(|is_watched| {
        let mut machine = Machine::new(text);
        if is_watched {
            machine.core.log_instructions(Box::new(|_| {}));
        }
        loop {
            machine.run();
            if machine.core.last_trap().cause == cause::BREAKPOINT {
                break [12, 13, 14, 15].map(|r| machine.core.x(r));
            }
            let pc = serve(&mut machine);
            machine.core.resume(pc);
        }
    });
    assert_eq!(counts[0], counts[1], "watching the core changes what it does");
    counts[0]
}

#[test]
fn a_trap_within_a_loop_does_not_change_the_number_of_rounds() {
    let behind = |machine: &mut Machine| machine.core.last_trap().pc + 4;
    let inside = "lp.setupi x0, 4, end
        addi a2, a2, 1
        ecall
        end:
        addi a3, a3, 1
        csrrs a4, lpcount0, zero
        ebreak";
    assert_eq!(run_through_traps(inside, behind), [4, 4, 1, 0]);
    // Fetch returns to the start only from the end address. So a call at the end that returns to the next address
    // leaves the loop.
    let at_the_end = "lp.setupi x0, 4, end
        addi a2, a2, 1
        end:
        ecall
        csrrs a4, lpcount0, zero
        ebreak";
    assert_eq!(run_through_traps(at_the_end, behind), [1, 0, 4, 0]);
}

#[test]
fn an_access_that_ends_a_loop_may_fault_and_be_repeated() {
    // Memory ends at 0x800. The trap handler repeats the access with a valid data address.
    let again = |machine: &mut Machine| {
        machine.core.set_x(5, DATA);
        machine.core.last_trap().pc
    };
    let two = "addi t0, zero, 0x7fc
        lp.setupi x0, 5, end
        addi a2, a2, 1
        addi t0, t0, 2
        end:
        lw a3, 0(t0)
        csrrs a4, lpcount0, zero
        ebreak";
    assert_eq!(run_through_traps(two, again), [5, 3, 1, 0]);
    let nested = "lp.setupi x1, 2, outer
        addi t0, zero, 0x7fc
        lp.setupi x0, 3, inner
        addi a2, a2, 1
        addi t0, t0, 4
        inner:
        lw a3, 0(t0)
        addi a4, a4, 1
        outer:
        sw a4, 0(t0)
        ebreak";
    assert_eq!(run_through_traps(nested, again), [6, 1, 2, 0]); // The first round stored 1 at the last load address of the second.
}

/// Instructions for loop bodies; none changes the loop counters.
const FILLERS: [&str; 8] = [
    "addi t2, t2, 1",
    "c.addi t2, 1",
    "p.lw t3, 4(a0!)",
    "add t4, t3, t2",
    "p.sw t4, 4(a1!)",
    "mulh t4, t3, t2",
    "p.mac t4, t3, t2",
    "c.nop",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nested loops with bodies of two instructions or more run as often as their counts say; a watched core takes
    /// the same time.
    #[test]
    fn nested_loops_run_as_often_as_they_say(
        counts in (0u32..4, 0u32..4),
        fillers in proptest::collection::vec(0..FILLERS.len(), 3..9),
        lead in 0..6usize,
    ) {
        let fill = |from: &[usize]| from.iter().map(|&i| format!("{}\n", FILLERS[i])).collect::<String>();
        let (inner, outer) = fillers.split_at(fillers.len() / 2);
        let text = format!(
            "{}lp.setupi x1, {}, outer\n addi a2, a2, 1\n lp.setupi x0, {}, inner\n addi a3, a3, 1\n {}inner:\n \
             addi a4, a4, 1\n {}outer:\n addi a5, a5, 1\n ebreak",
            "c.nop\n".repeat(lead), counts.0, counts.1, fill(inner), fill(outer)
        );
        let times = |n: u32| n.max(1);
        let (mut plain, mut watched) = (Machine::new(&text), Machine::new(&text));
        watched.core.log_instructions(Box::new(|_| {}));
        plain.run();
        watched.run();
        let (n, m) = (times(counts.0), times(counts.0) * times(counts.1));
        prop_assert_eq!([12, 13, 14, 15].map(|r| plain.core.x(r)), [n, m, m, n], "{}", text);
        prop_assert_eq!(plain.ends_with(), watched.ends_with(), "{}", text);
        prop_assert_eq!((plain.core.time(), plain.core.instructions()), (watched.core.time(), watched.core.instructions()), "{}", text);
    }
}
