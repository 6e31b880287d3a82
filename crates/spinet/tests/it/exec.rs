//! The plain machine.

use crate::support::{self, asm};
use expect_test::{Expect, expect};
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine};

const CODE: u32 = 0x8000_0000;
const DATA: u32 = 0x8010_2000;
const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;

/// A machine with this code, and `tohost` and a signature of two words in its data.
fn machine(code: &[u32], data: &[u32], host: Host) -> Machine {
    let symbols = [("_start", CODE), ("tohost", DATA), ("begin_signature", DATA + 8), ("end_signature", DATA + 16)];
    let file = support::elf(CODE, &[(CODE, code), (DATA, data)], &symbols);
    Machine::new(Elf::parse("x.elf".into(), file).unwrap(), Isa::RV32IMAC, host).unwrap()
}

fn check(code: &[u32], want: Expect) {
    let mut machine = machine(code, &[0, 0, 0x0123_4567, 0x89ab_cdef], Host::Bare);
    let outcome = machine.run(Limits { instructions: 1000, cycles: 10_000 });
    want.assert_eq(&format!("{}\n{}", outcome.text, machine.signature().unwrap()));
}

/// Puts the address of the data into `a1`.
fn data() -> u32 {
    asm("lui", A1, 0, 0, DATA as i32)
}

/// Puts a small number into a register.
fn li(rd: u8, value: i32) -> u32 {
    asm("addi", rd, 0, 0, value)
}

fn sw(rs2: u8, offset: i32) -> u32 {
    asm("sw", 0, A1, rs2, offset)
}

fn lw(rd: u8, offset: i32) -> u32 {
    asm("lw", rd, A1, 0, offset)
}

#[test]
fn an_odd_number_in_tohost_is_the_verdict() {
    let store = |value| [data(), li(A0, value), sw(A0, 0), asm("jal", 0, 0, 0, -4)];
    check(
        &store(1),
        expect![[r#"
        pass; 3 instructions, 3 cycles
        01234567
        89abcdef
    "#]],
    );
    check(
        &store(7 << 1 | 1),
        expect![[r#"
        fail: test 7; 3 instructions, 3 cycles
        01234567
        89abcdef
    "#]],
    );
    check(
        &store(4),
        expect![[r#"
        stopped: a store to `tohost` asks for the system call at 0x00000004, where no 64 bytes of memory are; 3 instructions, 3 cycles
        01234567
        89abcdef
    "#]],
    );
}

#[test]
fn the_signature_is_what_memory_holds_in_the_end() {
    let misaligned = [data(), lw(A0, 9), asm("xori", A0, A0, 0, -1), sw(A0, 12), li(A0, 1), sw(A0, 0)];
    check(
        &misaligned,
        expect![[r#"
        pass; 6 instructions, 8 cycles
        01234567
        10fedcba
    "#]],
    );
}

#[test]
fn a_store_reaches_what_is_executed() {
    let one = li(A0, 1);
    let code = [
        data(),
        asm("lui", A2, 0, 0, CODE as i32),
        lw(A0, 8),
        asm("sw", 0, A2, A0, 20),
        asm("fence.i", 0, 0, 0, 0),
        li(A0, 3), // Becomes `one`.
        sw(A0, 0),
    ];
    let mut machine = machine(&code, &[0, 0, one, 0], Host::Bare);
    assert_eq!(machine.run(Limits::default()).text, "pass; 7 instructions, 12 cycles");
}

#[test]
fn a_reservation_holds_until_it_is_used() {
    let sc = |rd| asm("sc.w", rd, A1, A2, 0);
    let sum = asm("addi", A1, A1, 0, 8);
    let store = |rs2, offset| asm("sw", 0, A1, rs2, offset);
    let code =
        [data(), sum, li(A2, 5), asm("lr.w", A0, A1, 0, 0), sc(A0), sc(A2), store(A2, 4), li(A0, 1), store(A0, -8)];
    check(
        &code,
        expect![[r#"
        pass; 9 instructions, 10 cycles
        00000005
        00000001
    "#]],
    );
}

#[test]
fn memory_that_is_not_there_traps() {
    // The trap handler at address 0 is not there either.
    check(
        &[lw(A0, 0)],
        expect![[r#"
            stopped: load access fault of 0x00000000 at _start, and nothing there to handle it; 0 instructions, 16 cycles
            01234567
            89abcdef
        "#]],
    );
    // This one jumps to an unmapped address.
    check(
        &[asm("jalr", 0, 0, 0, 0)],
        expect![[r#"
            stopped: instruction access fault at 0x00000000, and nothing there to handle it; 1 instructions, 12 cycles
            01234567
            89abcdef
        "#]],
    );
    let handler = CODE + 16;
    let to_handler = [
        asm("lui", A2, 0, 0, handler as i32 & !0xfff),
        asm("addi", A2, A2, 0, (handler & 0xfff) as i32),
        asm("csrrw", 0, A2, 0, 0x305),
        lw(A0, 0),
        asm("csrrs", A0, 0, 0, 0x342),
        data(),
        sw(A0, 8),
        asm("csrrs", A0, 0, 0, 0x343),
        sw(A0, 12),
        li(A0, 1),
        sw(A0, 0),
    ];
    check(
        &to_handler,
        expect![[r#"
        pass; 10 instructions, 16 cycles
        00000005
        00000000
    "#]],
    );
}

#[test]
fn waiting_ends_without_an_interrupt_but_not_again_and_again() {
    let wfi = asm("wfi", 0, 0, 0, 0);
    check(
        &[wfi, data(), li(A0, 1), sw(A0, 0)],
        expect![[r#"
        pass; 4 instructions, 8 cycles
        01234567
        89abcdef
    "#]],
    );
    check(
        &[wfi, asm("jal", 0, 0, 0, -4)],
        expect![[r#"
        stopped: nothing more can happen, at _start+0x4; 3 instructions, 12 cycles
        01234567
        89abcdef
    "#]],
    );
}

#[test]
fn limits_end_a_run() {
    let mut endless = machine(&[asm("jal", 0, 0, 0, 0)], &[0; 4], Host::Bare);
    assert_eq!(endless.run(Limits { instructions: 10, cycles: 1000 }).instructions, 10);
    assert_eq!(endless.run(Limits { instructions: 1000, cycles: 100 }).cycles, 100);
}

#[test]
fn linux_prints_and_exits() {
    let code = [
        li(A0, 1),
        data(),
        asm("addi", A1, A1, 0, 8),
        li(A2, 3),
        li(17, 64),
        asm("ecall", 0, 0, 0, 0),
        asm("addi", A0, A0, 0, 4),
        li(17, 93),
        asm("ecall", 0, 0, 0, 0),
    ];
    let mut machine = machine(&code, &[0, 0, u32::from_le_bytes(*b"hi!?"), 0], Host::LinuxUser);
    let outcome = machine.run(Limits::default());
    assert_eq!((outcome.exit_code, outcome.output.as_str()), (Some(7), "hi!"));
}

/// A program that has the numbers of the host-target interface and a page of data.
fn talker(code: &[u32], data: &[u32]) -> String {
    let symbols = [("_start", CODE), ("tohost", DATA), ("fromhost", DATA + 8)];
    let file = support::elf(CODE, &[(CODE, code), (DATA, data)], &symbols);
    let mut machine = Machine::new(Elf::parse("x.elf".into(), file).unwrap(), Isa::RV32IMAC, Host::Bare).unwrap();
    let outcome = machine.run(Limits { instructions: 1000, cycles: 10_000 });
    let numbers = outcome.text.rfind(" instructions").unwrap();
    format!("{:?} {}", outcome.output, &outcome.text[..outcome.text[..numbers].rfind(';').unwrap()])
}

#[test]
fn tohost_prints_and_answers() {
    let text = [u32::from_le_bytes(*b"hi!\n"), 0];
    // write(1, text, 4), then exit(7), by eight numbers of 64 bits at 16(a1) and 80(a1).
    let write = [64, 0, 1, 0, DATA + 144, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let exit = [93, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let data: Vec<u32> = [&[0; 4][..], &write, &exit, &text].concat();
    let wait = [lw(A2, 8), asm("beq", 0, A2, 0, -4)];
    let call = |offset| [asm("addi", A0, A1, 0, offset), sw(A0, 0), sw(0, 4)];
    // Ends with the answer of the first call in place of the number of the second.
    let code = [
        &[self::data()][..],
        &call(16),
        &wait,
        &[sw(0, 8), lw(A0, 16), asm("addi", A0, A0, 0, 89), sw(A0, 80)],
        &call(80),
        &wait,
    ];
    assert_eq!(talker(&code.concat(), &data), r#""hi!\n" fail: test 7"#);
    // The halves in the other order, and nothing for the upper one.
    let upper_first = [&[self::data(), asm("addi", A0, A1, 0, 80), sw(0, 4), sw(A0, 0)][..], &wait].concat();
    assert_eq!(talker(&upper_first, &data), r#""" fail: test 7"#);
    let lower_only = [&[self::data(), asm("addi", A0, A1, 0, 80), sw(A0, 0)][..], &wait].concat();
    assert_eq!(talker(&lower_only, &data), r#""" fail: test 7"#);
}

#[test]
fn tohost_prints_characters() {
    let command = [data(), asm("lui", A2, 0, 0, 0x0101_0000), li(A0, i32::from(b'o'))];
    let (lower_first, upper_first) = ([sw(A0, 0), sw(A2, 4)], [sw(A2, 4), sw(A0, 0)]);
    let end = [lw(A2, 0), asm("bne", 0, A2, 0, -4), li(A0, 1), sw(A0, 0), sw(0, 4)];
    for halves in [lower_first, upper_first] {
        assert_eq!(talker(&[&command[..], &halves, &end].concat(), &[0; 4]), r#""o" pass"#);
    }
    let other = [data(), asm("lui", A2, 0, 0, 0x0203_0000), sw(A2, 4), asm("jal", 0, 0, 0, 0)];
    expect![[r#""" stopped: a store to `tohost` asks for device 2, command 3; served are 0, 0 (exit, system calls) and 1, 1 (a character)"#]]
        .assert_eq(&talker(&other, &[0; 4]));
}

#[test]
fn what_cannot_be_run_is_refused() {
    let entered = |entry: u32, parts: &[support::Text], symbols: &[(&str, u32)]| {
        let elf = Elf::parse("x.elf".into(), support::elf(entry, parts, symbols)).unwrap();
        match Machine::new(elf, Isa::RV32IMAC, Host::Bare) {
            Err(error) => error.to_string(),
            Ok(machine) => machine.signature().unwrap_err().to_string(),
        }
    };
    let of = |parts: &[support::Text], symbols: &[(&str, u32)]| entered(CODE, parts, symbols);
    expect!["x.elf: there is no symbol `begin_signature`, which is where the signature begins"]
        .assert_eq(&of(&[(CODE, &[0])], &[]));
    expect!["x.elf: the signature is at 0x00000008 to 0x00000004, must be a region of the program's memory"]
        .assert_eq(&of(&[(CODE, &[0])], &[("begin_signature", 8), ("end_signature", 4)]));
    expect!["x.elf: ELF header: the entry is 0xdeadbeec, must be within 0x80000000 to 0x80000007"].assert_eq(&entered(
        0xdead_beec,
        &[(CODE, &[0, 0])],
        &[],
    ));
    let parts: Vec<support::Text> = (0..6).map(|i| (CODE + 16 * i, &[0u32][..])).collect();
    expect!["x.elf: ELF header: the entry is 0x80000004, must be within 0x80000000 to 0x80000003 or 0x80000010 to 0x80000013 or 0x80000020 to 0x80000023 or 0x80000030 to 0x80000033 or a later segment"]
        .assert_eq(&entered(CODE + 4, &parts, &[]));
    let far: Vec<support::Text> = (0..64).map(|i| (CODE + (i << 22), &[0u32][..])).collect();
    expect!["x.elf: its segments take 67371008 bytes of memory, must be at most 67108864"].assert_eq(&of(&far, &[]));
}

#[test]
fn pulps_programs_run_where_the_core_is_pulps() {
    let code = [data(), li(A0, 0x7f), asm("p.bclr", A0, A0, 0, 5 << 5 | 1), sw(A0, 0), asm("jal", 0, 0, 0, 0)];
    let mut file = support::elf(CODE, &[(CODE, &code), (DATA, &[0, 0])], &[("_start", CODE), ("tohost", DATA)]);
    // All flags that compilers set in the header: compressed code, floating point, and bits of PULP.
    file[36..40].copy_from_slice(&0xff00_0007u32.to_le_bytes());
    let run = |isa| {
        let elf = Elf::parse("x.elf".into(), file.clone()).unwrap();
        Machine::new(elf, isa, Host::Bare).unwrap().run(Limits { instructions: 100, cycles: 1000 }).text
    };
    // 0x7f without bits 6 to 1 is 1.
    assert_eq!(run(Isa::RV32IMAC_XPULPV2), "pass; 4 instructions, 4 cycles");
    let lacking = "(p.bclr needs the extension xpulpv2, but the core is rv32imac_zicsr_zifencei_sm)";
    assert!(run(Isa::RV32IMAC).contains(lacking), "{}", run(Isa::RV32IMAC));
}
