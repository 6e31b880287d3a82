//! RI5CY's timing of PULP's instructions, and hardware loops, as programs and when each instruction leaves decode.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use blocks::cpu::{AccessKind, Core, Lines, Profile, Program, Stop};
use expect_test::{Expect, expect};
use isa::riscv::{Isa, decode, disassemble, register_name};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use testkit::text::assemble;

const BASE: u32 = 0x100;
/// Where programs have data: ten words, 1 to 10, and room behind them.
const DATA: u32 = 0x400;

struct Cached;

impl Lines for Cached {
    fn present(&self, _addr: u32) -> bool {
        true
    }

    fn all(&self) -> &[u8] {
        &[1; 1024]
    }
}

/// A core with flat memory that grants every access in the cycle after it left decode.
struct Machine {
    core: Core,
    program: Program,
    memory: Vec<u8>,
}

impl Machine {
    fn new(text: &str) -> Self {
        let code = assemble(BASE, text);
        let mut memory = vec![0; 0x800];
        memory[BASE as usize..][..code.len()].copy_from_slice(&code);
        for n in 0..10 {
            memory[(DATA + 4 * n) as usize] = n as u8 + 1;
        }
        let mut core = Core::new(Profile::Ri5cy, 0, BASE);
        core.set_x(10, DATA);
        core.set_x(11, DATA + 0x100);
        Machine { core, program: Program::new(Isa::Rv32imacXpulpv2, 0, &memory), memory }
    }

    /// Runs to the first trap.
    fn run(&mut self) {
        for _ in 0..10_000 {
            match self.core.run(&self.program, &Cached, self.core.time() + 16) {
                Stop::Access => {
                    let access = *self.core.access();
                    let at = access.addr as usize;
                    let bytes = &mut self.memory[at..at + access.kind.bytes() as usize];
                    let old = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
                    if let AccessKind::Store(_) = access.kind {
                        let n = bytes.len();
                        bytes.copy_from_slice(&access.value.to_le_bytes()[..n]);
                    }
                    self.core.complete(&self.program, self.core.time() + 1, old);
                }
                Stop::Trap => return,
                _ => {}
            }
        }
        panic!("it does not end, at {:#x}", self.core.pc());
    }

    /// The registers that are not 0, and memory behind the data if it was written.
    fn ends_with(&self) -> String {
        let mut text = String::new();
        for r in (1..32).filter(|&r| self.core.x(r) != 0) {
            text += &format!("{}={:x} ", register_name(r), self.core.x(r));
        }
        let written = self.memory[(DATA + 0x100) as usize..][..32].chunks(4);
        let words: Vec<_> = written.map(|word| format!("{:x}", u32::from_le_bytes(word.try_into().unwrap()))).collect();
        if words.iter().any(|word| word != "0") {
            text += &format!("memory {}", words.join(" "));
        }
        text.trim_end().to_owned()
    }
}

/// Shows each instruction, the cycles in which it left decode, and what is left behind; a core that is watched must be like
/// one that is not.
fn check(text: &str, want: Expect) {
    let mut plain = Machine::new(text);
    plain.run();
    let mut watched = Machine::new(text);
    let log: Rc<RefCell<Vec<(u64, u32)>>> = Rc::default();
    let sink = log.clone();
    watched.core.log_instructions(Box::new(move |done| sink.borrow_mut().push((done.cycle, done.pc))));
    watched.run();
    let state = |machine: &Machine| (machine.core.time(), machine.core.instructions(), machine.ends_with());
    assert_eq!(state(&plain), state(&watched), "watching the core changes what it does");

    let log = log.borrow();
    let mut places: Vec<_> = log.iter().map(|&(_, pc)| pc).collect();
    places.sort();
    places.dedup();
    let mut shown = String::new();
    for pc in places {
        let word = (0..4).map(|i| u32::from(watched.memory[pc as usize + i]) << (8 * i)).sum();
        let cycles: Vec<_> = log.iter().filter(|&&(_, at)| at == pc).map(|(cycle, _)| cycle.to_string()).collect();
        shown += &format!("{pc:x} {:<32} {}\n", disassemble(decode(word), pc), cycles.join(" "));
    }
    want.assert_eq(&format!("{shown}{}\n", plain.ends_with()));
}

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
fn nested_loops_end_on_one_instruction_or_two() {
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
    // Loop 0 comes first where both end; after it ran out, loop 1 takes its turn, and loop 0 is not set anew.
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
fn a_loop_goes_back_from_an_access_and_its_operand_is_waited_for() {
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
fn a_jump_to_the_end_costs_a_cycle_more() {
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
fn a_loop_of_one_instruction_is_none() {
    // Fetch has compared it before `lp.setupi` wrote the registers.
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
    // Set up in time it runs once too often, and waits for fetch.
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
fn control_registers_are_the_loops_registers() {
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

#[test]
fn post_increment_costs_nothing_and_its_result_is_there_at_once() {
    check(
        "p.lw a2, 4(a0!)
         p.lw a3, 8(a0!)
         lw a4, 0(a0)
         addi t0, zero, 8
         p.lw a5, t0(a0!)
         p.lw a6, t0(a0)
         ebreak",
        expect![[r#"
            100 p.lw a2, 4(a0!)                  0
            104 p.lw a3, 8(a0!)                  1
            108 lw a4, 0(a0)                     2
            10c addi t0, zero, 8                 3
            110 p.lw a5, t0(a0!)                 4
            114 p.lw a6, t0(a0)                  5
            118 ebreak                           6
            t0=8 a0=414 a1=500 a2=1 a3=2 a4=4 a5=4 a6=8
        "#]],
    );
    // The load comes last where both write one register; a store reads before the increment.
    check(
        "p.lw a0, 4(a0!)
         p.sw a1, 4(a1!)
         addi t0, zero, 8
         p.sw t0, t0(a1!)
         p.sh t0, t0(a1)
         p.lbu zero, 1(zero!)
         ebreak",
        expect![[r#"
            100 p.lw a0, 4(a0!)                  0
            104 p.sw a1, 4(a1!)                  1
            108 addi t0, zero, 8                 2
            10c p.sw t0, t0(a1!)                 3
            110 p.sh t0, t0(a1)                  4
            114 p.lbu zero, 1(zero!)             5
            118 ebreak                           6
            t0=8 a0=1 a1=50c memory 500 8 0 0 0 8 0 0
        "#]],
    );
}

#[test]
fn third_operands_are_waited_for() {
    check(
        "addi a2, zero, 3
         lw a3, 4(a0)
         p.mac a3, a2, a2
         lw t0, 0(a0)
         p.sw a2, t0(a1)
         lw a4, 8(a0)
         lp.setup x0, a4, end
         p.insert a5, a4, 3, 4
         end:
         p.bneimm a4, 3, out
         out:
         ebreak",
        expect![[r#"
            100 addi a2, zero, 3                 0
            104 lw a3, 4(a0)                     1
            108 p.mac a3, a2, a2                 3
            10c lw t0, 0(a0)                     4
            110 p.sw a2, t0(a1)                  6
            114 lw a4, 8(a0)                     7
            118 lp.setup x0, a4, 0x120           9
            11c p.insert a5, a4, 3, 4            10 12 14
            120 p.bneimm a4, 3, 0x124            11 13 15
            124 ebreak                           16
            t0=1 a0=400 a1=500 a2=3 a3=b a4=3 a5=30 memory 300 0 0 0 0 0 0 0
        "#]],
    );
}

#[test]
fn a_jump_to_an_incremented_register_waits_as_behind_arithmetic() {
    check(
        "auipc t0, 0
         addi t0, t0, 8
         p.lw zero, 8(t0!)
         jalr zero, 0(t0)
         addi a2, a2, 1
         ebreak",
        expect![[r#"
            100 auipc t0, 0x0                    0
            104 addi t0, t0, 8                   1
            108 p.lw zero, 8(t0!)                2
            10c jalr zero, 0(t0)                 4
            110 addi a2, a2, 1                   6
            114 ebreak                           7
            t0=110 a0=400 a1=500 a2=1
        "#]],
    );
}

#[test]
fn multiplication_clipping_and_vectors_take_a_cycle() {
    check(
        "lui a2, 0x80018
         addi a3, zero, -3
         p.mac a4, a2, a3
         p.mulsN a5, a2, a3, 2
         p.clip a6, a2, 8
         pv.add.sc.b a7, a2, a3
         pv.sdotsp.h s2, a2, a3
         pv.shuffle2.b s3, a2, a3
         p.fl1 s4, a2
         ebreak",
        expect![[r#"
            100 lui a2, 0x80018                  0
            104 addi a3, zero, -3                1
            108 p.mac a4, a2, a3                 2
            10c p.mulsN a5, a2, a3, 2            3
            110 p.clip a6, a2, 8                 4
            114 pv.add.sc.b a7, a2, a3           5
            118 pv.sdotsp.h s2, a2, a3           6
            11c pv.shuffle2.b s3, a2, a3         7
            120 p.fl1 s4, a2                     8
            124 ebreak                           9
            a0=400 a1=500 a2=80018000 a3=fffffffd a4=7ffb8000 a5=6000 a6=ffffff80 a7=7dfe7dfd s2=1ffff s3=80808080 s4=1f
        "#]],
    );
}

#[test]
fn misa_says_that_there_are_extensions() {
    check(
        "csrrs a2, misa, zero\n ebreak",
        expect![[r#"
        100 csrrs a2, misa, zero             0
        104 ebreak                           1
        a0=400 a1=500 a2=40901105
    "#]],
    );
}

#[test]
fn a_core_without_pulps_instructions_traps() {
    let code = assemble(BASE, "addi a0, zero, 1\n p.ff1 a1, a0\n");
    let mut memory = vec![0; 0x200];
    memory[BASE as usize..][..code.len()].copy_from_slice(&code);
    let mut core = Core::new(Profile::Ri5cy, 0, BASE);
    let program = Program::new(Isa::Rv32imac, 0, &memory);
    assert_eq!(core.run(&program, &Cached, 100), Stop::Trap);
    let trap = core.last_trap();
    assert_eq!((trap.cause, trap.pc, trap.value), (2, BASE + 4, 0x1005_05b3));
}

/// Instructions that a body may be filled with; none changes what the loops count.
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

    /// Loops in loops, of any bodies of two instructions or more, run as often as their counts say; a core that is watched
    /// takes the same time.
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
