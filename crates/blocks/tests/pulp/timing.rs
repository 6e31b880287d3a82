//! Cycles of other PULP instructions, and cores without these instructions.

use super::{BASE, Cached, check};
use blocks::cpu::{Core, Profile, Program, Stop};
use expect_test::expect;
use isa::riscv::Isa;
use testkit::text::assemble;

#[test]
fn post_increment_costs_nothing_and_its_result_is_available_at_once() {
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
    // If the load and the increment write the same register, the loaded value remains. A store reads its value before
    // the increment.
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
fn what_the_alu_writes_waits_for_a_load_of_the_same_register_even_of_register_0() {
    check(
        "lw a2, 0(a0)
         addi a2, zero, 7
         lw zero, 4(a0)
         jal zero, next
         next:
         lw a3, 0(a0)
         lw a3, 4(a0)
         sw a3, 8(a0)
         lw zero, 0(a0)
         sw zero, 8(a0)
         ebreak",
        expect![[r#"
            100 lw a2, 0(a0)                     0
            104 addi a2, zero, 7                 2
            108 lw zero, 4(a0)                   3
            10c jal zero, 0x110                  5
            110 lw a3, 0(a0)                     6
            114 lw a3, 4(a0)                     7
            118 sw a3, 8(a0)                     9
            11c lw zero, 0(a0)                   10
            120 sw zero, 8(a0)                   11
            124 ebreak                           12
            a0=400 a1=500 a2=7 a3=2
        "#]],
    );
}

/// The loop of `sdk/examples/reduce.c`, unrolled: 20 cycles a turn, as on PsPIN's RTL with the same bytes in its cache.
#[test]
fn an_address_computed_into_the_register_of_an_amo_waits_for_it() {
    check(
        "addi a2, zero, 8
         addi a6, zero, 3
         again:
         lw a4, 0(a1)
         lw a5, 4(a1)
         lw a3, 8(a1)
         lw a7, 12(a1)
         amoadd.w a4, a4, (a0)
         addi a4, a0, 4
         amoadd.w a4, a5, (a4)
         addi a4, a0, 8
         amoadd.w a3, a3, (a4)
         addi a3, a0, 12
         amoadd.w a3, a7, (a3)
         addi a2, a2, -4
         addi a1, a1, 16
         addi a0, a0, 16
         bltu a6, a2, again
         ebreak",
        expect![[r#"
            100 addi a2, zero, 8                 0
            104 addi a6, zero, 3                 1
            108 lw a4, 0(a1)                     2 22
            10c lw a5, 4(a1)                     3 23
            110 lw a3, 8(a1)                     4 24
            114 lw a7, 12(a1)                    5 25
            118 amoadd.w a4, a4, (a0)            6 26
            11c addi a4, a0, 4                   8 28
            120 amoadd.w a4, a5, (a4)            9 29
            124 addi a4, a0, 8                   11 31
            128 amoadd.w a3, a3, (a4)            12 32
            12c addi a3, a0, 12                  14 34
            130 amoadd.w a3, a7, (a3)            15 35
            134 addi a2, a2, -4                  16 36
            138 addi a1, a1, 16                  17 37
            13c addi a0, a0, 16                  18 38
            140 bltu a6, a2, 0x108               19 39
            144 ebreak                           40
            a0=420 a1=520 a3=8 a4=418 a6=3
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
fn misa_shows_nonstandard_extensions() {
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
    let program = Program::new(Isa::RV32IMAC, 0, &memory);
    assert_eq!(core.run(&program, &Cached, 100), Stop::Trap);
    let trap = core.last_trap();
    assert_eq!((trap.cause, trap.pc, trap.value), (2, BASE + 4, 0x1005_05b3));
}

#[test]
fn a_jump_after_a_waiting_access_redirects_fetch_meanwhile() {
    check(
        "jal ra, next
         next:
         addi ra, ra, 20
         lw t0, 512(a0)
         jal zero, target
         target:
         sw t0, 512(a0)
         jalr zero, 0(ra)
         lw t0, 512(a0)
         beq zero, zero, last
         last:
         sw t0, 512(a0)
         addi t1, zero, 1
         jal zero, end
         end:
         ebreak",
        expect![[r#"
            100 jal ra, 0x104                    0
            104 addi ra, ra, 20                  2
            108 lw t0, 512(a0)                   3
            10c jal zero, 0x110                  9
            110 sw t0, 512(a0)                   10
            114 jalr zero, 0(ra)                 16
            118 lw t0, 512(a0)                   17
            11c beq zero, zero, 0x120            23
            120 sw t0, 512(a0)                   26
            124 addi t1, zero, 1                 32
            128 jal zero, 0x12c                  33
            12c ebreak                           35
            ra=118 t1=1 a0=400 a1=500
        "#]],
    );
}
