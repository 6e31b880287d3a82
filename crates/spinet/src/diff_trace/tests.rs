//! Traces in, reports out.

use super::*;
use crate::instructions::HEADER;
use expect_test::{Expect, expect};
use isa::riscv::{Operands, row};
use proptest::prelude::*;

/// One instruction.
fn word(name: &str, rd: u8, rs1: u8, rs2: u8, imm: i32) -> u32 {
    row(name).and_then(|row| row.encode(Operands { rd, rs1, rs2, rs3: 0, imm })).expect("an instruction")
}

/// A trace of lines such as `12 1d000100 lw x10=00000001 PA:10000000`: cycle, address, name, values. Operands are x10,
/// x11 and x12.
fn trace(lines: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let mut next = || words.next().expect("a word");
        let (cycle, pc, name) = (next(), next(), next());
        let word = match name {
            "lw" | "addi" | "jalr" => word(name, 10, 11, 0, 0),
            "sw" | "bne" => word(name, 0, 10, 11, 8),
            "csrrw" => word(name, 10, 11, 0, 0x300),
            "use" => word("addi", 12, 10, 0, 0),
            "jump" => word("jalr", 0, 10, 0, 0),
            _ => word(name, 10, 11, 12, 0),
        };
        format!("{cycle}000 {cycle} {pc} {word:08x} {name} {}\n", words.collect::<Vec<_>>().join(" "))
    };
    HEADER.to_owned() + &lines.lines().map(str::trim).filter(|text| !text.is_empty()).map(line).collect::<String>()
}

fn diff(a: &str, b: &str, options: Options) -> Difference {
    let reader = |name: &str, text: &'static str| Reader::new(name.into(), text.as_bytes());
    // Readers own their input, so the test leaks the texts.
    let (a, b) = (String::leak(a.to_owned()), String::leak(b.to_owned()));
    let mut diff = TraceDiff::new(reader("a.log", a), reader("b.log", b), Some(0), options);
    while !diff.advance(3).expect("good traces") {}
    diff.finish()
}

fn check(a: &str, b: &str, want: Expect) {
    want.assert_eq(&diff(&trace(a), &trace(b), Options::default()).to_string());
}

const PLAIN: &str = "
    10 1d000100 lw   x10=00000001 x11:10000000 PA:10000000
    12 1d000104 use  x12=00000001 x10:00000001
    13 1d000108 sw   x10:00000001 x11:10000000 PA:10000008
    14 1d00010c add  x10=00000001
    15 1d000110 bne  x10:00000001 x11:10000000
    18 1d000118 add  x10=00000001
    19 1d00011c addi x10=10000000
    20 1d000120 addi x10=10000000";

#[test]
fn equal_traces_are_the_same_from_wherever_they_begin() {
    let later = PLAIN.replace("    1", "    71").replace("    2", "    72");
    check(
        PLAIN,
        &later,
        expect![[r#"
        A  a.log: 8 instructions, 10 cycles
        B  b.log: 8 instructions, 10 cycles

        The same: 8 instructions, their values and times
    "#]],
    );
}

#[test]
fn the_first_difference_in_values_is_named() {
    let other = PLAIN.replace("x12=00000001", "x12=00000007").replace("PA:10000008", "PA:1000000c");
    check(
        PLAIN,
        &other,
        expect![[r#"
        A  a.log: 8 instructions, 10 cycles
        B  b.log: 8 instructions, 10 cycles

        Values: first difference, register written a2: 00000001 in A, 00000007 in B
          A  line 3      cycle 12       1d000104  addi x12, x10, 0  a2=00000001  a0:00000001
          B  line 3      cycle 12       1d000104  addi x12, x10, 0  a2=00000007  a0:00000001
          2 differences in 8 instructions: 1 address, 1 register written

        Time: the same in all 8 instructions
    "#]],
    );
}

#[test]
fn the_first_difference_in_time_is_named() {
    let other = PLAIN.replace("12 1d", "11 1d").replace("20 1d", "33 1d");
    check(
        PLAIN,
        &other,
        expect![[r#"
        A  a.log: 8 instructions, 10 cycles
        B  b.log: 8 instructions, 23 cycles

        Values: the same in all 8 instructions

        Time: first from 1d000100 to the next: 2 cycles in A, 1 in B: load-use
          A  line 2      cycle 10       1d000100  lw x10, 0(x11)  a0=00000001  a1:10000000  PA:10000000
          A  line 3      cycle 12       1d000104  addi x12, x10, 0  a2=00000001  a0:00000001
          B  line 2      cycle 10       1d000100  lw x10, 0(x11)  a0=00000001  a1:10000000  PA:10000000
          B  line 3      cycle 11       1d000104  addi x12, x10, 0  a2=00000001  a0:00000001
          3 differences; B - A is +13 cycles in all

        cause                   times  B slower  B faster  B - A
        instruction cache miss      1       +13         0    +13
        load-use                    1         0        -1     -1
        unknown                     1        +1         0     +1

        address   cause                   times  B slower  B faster  B - A
        1d00011c  instruction cache miss      1       +13         0    +13
        1d000100  load-use                    1         0        -1     -1
        1d000104  unknown                     1        +1         0     +1
    "#]],
    );
}

#[test]
fn runs_part_and_meet_again() {
    let polls = |n: u64| {
        let poll = |i| {
            let at = 10 + 4 * i;
            format!("{at} 1d000100 lw x10=00000001 PA:1b204420\n {} 1d000104 bne x10:00000001\n", at + 1)
        };
        let polls: String = (0..n).map(poll).collect();
        let at = 10 + 4 * n;
        let rest = |i: u64| format!("{} {:x} addi x10=00000000\n", at + i, 0x1d00_0108 + 4 * i);
        polls + &(0..10).map(rest).collect::<String>()
    };
    check(
        &polls(2),
        &polls(5),
        expect![[r#"
            A  a.log: 14 instructions, 17 cycles
            B  b.log: 20 instructions, 29 cycles

            Values: first difference, path
              A  line 6      cycle 18       1d000108  addi x10, x11, 0  a0=00000000
              B  line 6      cycle 18       1d000100  lw x10, 0(x11)  a0=00000001  PA:1b204420
              1 difference in 14 instructions
              the runs diverged 1 time: 0 instructions only in A, 6 only in B

            Time: first from 1d000104 to the next: 3 cycles in A, 15 in B: DMA or command wait
              A  line 5      cycle 15       1d000104  bne x10, x11, 8  a0:00000001
              A  line 6      cycle 18       1d000108  addi x10, x11, 0  a0=00000000
              B  line 5      cycle 15       1d000104  bne x10, x11, 8  a0:00000001
              B  line 12     cycle 30       1d000108  addi x10, x11, 0  a0=00000000
              1 difference; B - A is +12 cycles in all

            cause                times  B slower  B faster  B - A
            DMA or command wait      1       +12         0    +12

            address   cause                times  B slower  B faster  B - A
            1d000104  DMA or command wait      1       +12         0    +12
        "#]],
    );
}

#[test]
fn runs_that_never_meet_again_end_the_comparison() {
    let other = PLAIN.replace("1d00010", "1d00090").replace("1d00011", "1d00091").replace("1d000120", "1d000930");
    check(
        PLAIN,
        &other,
        expect![[r#"
            A  a.log: 8 instructions, 0 cycles
            B  b.log: 8 instructions, 0 cycles

            Values: first difference, path
              A  line 2      cycle 10       1d000100  lw x10, 0(x11)  a0=00000001  a1:10000000  PA:10000000
              B  line 2      cycle 10       1d000900  lw x10, 0(x11)  a0=00000001  a1:10000000  PA:10000000
              1 difference in 0 instructions
              they never meet again: 8 instructions of A and 8 of B are not compared
        "#]],
    );
    check(
        PLAIN,
        "",
        expect![[r#"
            A  a.log: 8 instructions, 0 cycles
            B  b.log: 0 instructions, 0 cycles

            Values: first difference, path
              A  line 2      cycle 10       1d000100  lw x10, 0(x11)  a0=00000001  a1:10000000  PA:10000000
              B  at its end
              1 difference in 0 instructions
              the runs diverged 1 time: 8 instructions only in A, 0 only in B
        "#]],
    );
}

#[test]
fn each_cause_is_told_by_what_waits() {
    let cases = [
        ("lw PA:10000000", "1d000104 use x10:00000001", 1, 2),
        ("lw PA:10000000", "1d000104 use x10:00000001", 2, 3),
        ("lw PA:10400000", "1d000104 use x10:00000001", 22, 30),
        ("sw PA:1c300000", "1d000104 add", 21, 30),
        ("amoadd.w PA:10000000", "1d000104 add", 1, 9),
        ("lw PA:1b205000", "1d000104 add", 1, 100),
        ("lw PA:1b205080", "1d000104 add", 1, 5),
        ("lw PA:10204418", "1d000104 add", 1, 5),
        ("bne", "1d000108 add", 3, 2),
        ("bne", "1d000200 add", 3, 12),
        ("add", "1d000108 add", 2, 3),
        ("addi x10=00000000", "1d000104 jump", 1, 2),
        ("csrrw", "1d000104 add", 4, 5),
        ("mulh", "1d000104 add", 5, 4),
        ("div", "1d000104 add", 35, 36),
        ("add", "1d000104 add", 1, 2),
    ];
    let lines = cases.map(|(before, next, a, b)| {
        let run = |cycles: u64| {
            // The line of the first two instructions has been used before.
            trace(&format!("1 1d000100 add\n 2 1d000100 {before} x10=00000001\n {} {next}", 2 + cycles))
        };
        let found = diff(&run(a), &run(b), Options::default());
        let cause = found.time.first.expect("a difference in time").cause;
        format!("{before:<22} {next:<26} {a:>2} {b:>3}  {}\n", cause.text())
    });
    expect![[r#"
        lw PA:10000000         1d000104 use x10:00000001   1   2  load-use
        lw PA:10000000         1d000104 use x10:00000001   2   3  bank conflict or AMO
        lw PA:10400000         1d000104 use x10:00000001  22  30  L2 or remote access
        sw PA:1c300000         1d000104 add               21  30  L2 or remote access
        amoadd.w PA:10000000   1d000104 add                1   9  bank conflict or AMO
        lw PA:1b205000         1d000104 add                1 100  MMIO or doorbell wait
        lw PA:1b205080         1d000104 add                1   5  DMA or command wait
        lw PA:10204418         1d000104 add                1   5  DMA or command wait
        bne                    1d000108 add                3   2  taken branch or jump
        bne                    1d000200 add                3  12  instruction cache miss
        add                    1d000108 add                2   3  unknown
        addi x10=00000000      1d000104 jump               1   2  register of a jalr
        csrrw                  1d000104 add                4   5  CSR, fence or trap
        mulh                   1d000104 add                5   4  division or high product
        div                    1d000104 add               35  36  division or high product
        add                    1d000104 add                1   2  unknown
    "#]]
    .assert_eq(&lines.concat());
}

/// A random walk over few addresses with random times.
fn walk() -> impl Strategy<Value = String> {
    prop::collection::vec((0..12_u32, 1..20_u64, 0..3_u32), 0..80).prop_map(|steps| {
        let mut cycle = 0;
        let line = |(pc, time, value)| {
            cycle += time;
            format!("{cycle} {:x} add x10={value:x}\n", 0x1d00_0000 + 4 * pc)
        };
        trace(&steps.into_iter().map(line).collect::<String>())
    })
}

proptest! {
    #[test]
    fn a_trace_is_equal_to_itself(a in walk()) {
        let found = diff(&a, &a, Options::default());
        prop_assert!(found.equal, "{}", found);
        prop_assert_eq!(found.compared, a.lines().count() as u64 - 1);
    }

    /// Every cycle and every instruction has its place in the sums.
    #[test]
    fn the_sums_add_up(a in walk(), b in walk(), lookahead in 8..60_usize) {
        let found = diff(&a, &b, Options { lookahead, ..Options::default() });
        let net: i64 = found.time.by_cause.iter().map(|row| row.total.net()).sum();
        prop_assert_eq!(net, found.time.b_minus_a);
        prop_assert_eq!(net, found.b.cycles as i64 - found.a.cycles as i64);
        prop_assert_eq!([found.a.instructions, found.b.instructions], [&a, &b].map(|text| text.lines().count() as u64 - 1));
        prop_assert!(found.equal || a != b);
        prop_assert_eq!(found.values.by_kind.values().sum::<u64>(), found.values.differences);
    }
}
