//! The effect of every operation, shown as the calls it makes on a hart.
//!
//! The values are small enough to check by hand. `testkit` compares runs with an independent implementation.

use expect_test::{Expect, expect};
use isa::riscv::{Amo, CsrWrite, Extension, Hart, Load, LoopPart, Operands, Row, System, Width};
use isa::riscv::{decode, disassemble, execute, register_name, row, rows};

const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;

/// A hart that logs its calls. `a1` is -7, `a2` is 3, all other registers are 0.
struct LoggingHart(String);

impl LoggingHart {
    fn log(&mut self, what: String) {
        self.0 += if self.0.is_empty() { "" } else { "; " };
        self.0 += &what;
    }
}

impl Hart for LoggingHart {
    fn x(&self, r: u8) -> u32 {
        match r {
            A1 => -7i32 as u32,
            A2 => 3,
            _ => 0,
        }
    }

    fn set(&mut self, r: u8, value: u32) {
        self.log(format!("{} = {value:#x}", register_name(r)));
    }

    fn pc(&self) -> u32 {
        0x1000
    }

    fn jump(&mut self, target: u32) {
        self.log(format!("jump {target:#x}"));
    }

    fn load(&mut self, rd: u8, addr: u32, kind: Load) {
        self.log(format!("{} = {kind:?} at {addr:#x}", register_name(rd)));
    }

    fn store(&mut self, addr: u32, value: u32, width: Width) {
        self.log(format!("{width:?} at {addr:#x} = {value:#x}"));
    }

    fn amo(&mut self, rd: u8, addr: u32, value: u32, amo: Amo) {
        self.log(format!("{} = {amo:?} {value:#x} at {addr:#x}", register_name(rd)));
    }

    fn csr(&mut self, rd: u8, csr: u16, write: CsrWrite, reads: bool) {
        let read = if reads { format!("{} = ", register_name(rd)) } else { String::new() };
        self.log(format!("{read}csr {csr:#x}, {write:?}"));
    }

    fn advance(&mut self, r: u8, value: u32) {
        self.log(format!("{} = {value:#x}", register_name(r)));
    }

    fn hardware_loop(&mut self, id: u8, part: LoopPart, value: u32) {
        self.log(format!("loop {id} {part:?} = {value:#x}"));
    }

    fn system(&mut self, what: System) {
        self.log(format!("{what:?}"));
    }

    fn illegal(&mut self, word: u32) {
        self.log(format!("illegal {word:#x}"));
    }
}

/// Encodes `row` with the first operands of a list that fit.
fn encode(row: &Row) -> u32 {
    let short = |rd, rs1, rs2, imm| Operands { rd, rs1, rs2, rs3: 0, imm };
    let attempts = [
        short(A0, A1, A2, 0),
        short(A0, A1, 0, 2),
        short(A0, A1, 0, 0),
        short(0, A1, A2, 8),
        short(A0, 0, 0, 0x5000),
        short(A0, 0, 0, 0x2_0340),
        short(0, 0, 0, 0xff),
        short(0, 0, 0, 0),
    ];
    attempts.into_iter().find_map(|operands| row.encode(operands)).unwrap_or_else(|| panic!("{}", row.name))
}

fn check(words: impl IntoIterator<Item = u32>, want: Expect) {
    let mut text = String::new();
    for word in words {
        let mut scribe = LoggingHart(String::new());
        execute(&mut scribe, &decode(word));
        let effects = if scribe.0.is_empty() { "nothing" } else { &scribe.0 };
        text += &format!("{:<28}{effects}\n", disassemble(decode(word), 0x1000));
    }
    want.assert_eq(&text);
}

#[test]
fn every_operation_has_its_effect() {
    check(
        rows().filter(|row| row.pattern.len == 4 && row.extension != Extension::Xpulpv2).map(encode),
        expect![[r#"
        lui a0, 0x5                 a0 = 0x5000
        auipc a0, 0x5               a0 = 0x6000
        jal a0, 0x6000              a0 = 0x1004; jump 0x6000
        jalr a0, 2(a1)              a0 = 0x1004; jump 0xfffffffa
        beq a1, a2, 0x1008          nothing
        bne a1, a2, 0x1008          jump 0x1008
        blt a1, a2, 0x1008          jump 0x1008
        bge a1, a2, 0x1008          nothing
        bltu a1, a2, 0x1008         nothing
        bgeu a1, a2, 0x1008         jump 0x1008
        lb a0, 2(a1)                a0 = Byte at 0xfffffffb
        lh a0, 2(a1)                a0 = Half at 0xfffffffb
        lw a0, 2(a1)                a0 = Word at 0xfffffffb
        lbu a0, 2(a1)               a0 = ByteU at 0xfffffffb
        lhu a0, 2(a1)               a0 = HalfU at 0xfffffffb
        sb a2, 8(a1)                Byte at 0x1 = 0x3
        sh a2, 8(a1)                Half at 0x1 = 0x3
        sw a2, 8(a1)                Word at 0x1 = 0x3
        addi a0, a1, 2              a0 = 0xfffffffb
        slti a0, a1, 2              a0 = 0x1
        sltiu a0, a1, 2             a0 = 0x0
        xori a0, a1, 2              a0 = 0xfffffffb
        ori a0, a1, 2               a0 = 0xfffffffb
        andi a0, a1, 2              a0 = 0x0
        slli a0, a1, 2              a0 = 0xffffffe4
        srli a0, a1, 2              a0 = 0x3ffffffe
        srai a0, a1, 2              a0 = 0xfffffffe
        add a0, a1, a2              a0 = 0xfffffffc
        sub a0, a1, a2              a0 = 0xfffffff6
        sll a0, a1, a2              a0 = 0xffffffc8
        slt a0, a1, a2              a0 = 0x1
        sltu a0, a1, a2             a0 = 0x0
        xor a0, a1, a2              a0 = 0xfffffffa
        srl a0, a1, a2              a0 = 0x1fffffff
        sra a0, a1, a2              a0 = 0xffffffff
        or a0, a1, a2               a0 = 0xfffffffb
        and a0, a1, a2              a0 = 0x1
        fence iorw, iorw            Fence
        fence.tso                   Fence
        fence.i                     FenceI
        mul a0, a1, a2              a0 = 0xffffffeb
        mulh a0, a1, a2             a0 = 0xffffffff
        mulhsu a0, a1, a2           a0 = 0xffffffff
        mulhu a0, a1, a2            a0 = 0x2
        div a0, a1, a2              a0 = 0xfffffffe
        divu a0, a1, a2             a0 = 0x55555553
        rem a0, a1, a2              a0 = 0xffffffff
        remu a0, a1, a2             a0 = 0x0
        lr.w.aq a0, (a1)            a0 = LoadReserved 0x0 at 0xfffffff9
        sc.w a0, a2, (a1)           a0 = StoreConditional 0x3 at 0xfffffff9
        amoswap.w a0, a2, (a1)      a0 = Swap 0x3 at 0xfffffff9
        amoadd.w a0, a2, (a1)       a0 = Add 0x3 at 0xfffffff9
        amoxor.w a0, a2, (a1)       a0 = Xor 0x3 at 0xfffffff9
        amoand.w a0, a2, (a1)       a0 = And 0x3 at 0xfffffff9
        amoor.w a0, a2, (a1)        a0 = Or 0x3 at 0xfffffff9
        amomin.w a0, a2, (a1)       a0 = Min 0x3 at 0xfffffff9
        amomax.w a0, a2, (a1)       a0 = Max 0x3 at 0xfffffff9
        amominu.w a0, a2, (a1)      a0 = MinU 0x3 at 0xfffffff9
        amomaxu.w a0, a2, (a1)      a0 = MaxU 0x3 at 0xfffffff9
        csrrw a0, 0x2, a1           a0 = csr 0x2, Write(4294967289)
        csrrs a0, 0x2, a1           a0 = csr 0x2, Set(4294967289)
        csrrc a0, 0x2, a1           a0 = csr 0x2, Clear(4294967289)
        csrrwi a0, ustatus, 5       a0 = csr 0x0, Write(5)
        csrrsi a0, ustatus, 5       a0 = csr 0x0, Set(5)
        csrrci a0, ustatus, 5       a0 = csr 0x0, Clear(5)
        ecall                       Ecall
        ebreak                      Ebreak
        uret                        Uret
        mret                        Mret
        wfi                         Wfi
    "#]],
    );
}

#[test]
fn links_and_branches_depend_on_the_instruction_length() {
    check(
        [0x9582, 0x8582, 0x2011, 0xa011, 0xc191, 0xe191, 0x00c5_9463, 0x0005_85e7],
        expect![[r#"
        c.jalr a1                   ra = 0x1002; jump 0xfffffff8
        c.jr a1                     zero = 0x1002; jump 0xfffffff8
        c.jal 0x1004                ra = 0x1002; jump 0x1004
        c.j 0x1004                  zero = 0x1002; jump 0x1004
        c.beqz a1, 0x1004           nothing
        c.bnez a1, 0x1004           jump 0x1004
        bne a1, a2, 0x1008          jump 0x1008
        jalr a1, 0(a1)              a1 = 0x1004; jump 0xfffffff8
    "#]],
    );
}

#[test]
fn csr_instructions_read_and_write_only_as_the_standard_says() {
    let csr = |name: &str, rd, rs1, imm| {
        row(name).and_then(|row| row.encode(Operands { rd, rs1, imm, ..Operands::default() })).unwrap()
    };
    check(
        [
            csr("csrrw", 0, A1, 0x340),
            csr("csrrw", A0, 0, 0x340),
            csr("csrrs", A0, 0, 0x340),
            csr("csrrs", 0, A2, 0x340),
            csr("csrrc", A0, 0, 0x340),
            csr("csrrwi", 0, 0, 5 << 12 | 0x340),
            csr("csrrsi", A0, 0, 0x340),
            csr("csrrci", A0, 0, 0x340),
        ],
        expect![[r#"
            csrrw zero, mscratch, a1    csr 0x340, Write(4294967289)
            csrrw a0, mscratch, zero    a0 = csr 0x340, Write(0)
            csrrs a0, mscratch, zero    a0 = csr 0x340, None
            csrrs zero, mscratch, a2    zero = csr 0x340, Set(3)
            csrrc a0, mscratch, zero    a0 = csr 0x340, None
            csrrwi zero, mscratch, 5    csr 0x340, Write(5)
            csrrsi a0, mscratch, 0      a0 = csr 0x340, None
            csrrci a0, mscratch, 0      a0 = csr 0x340, None
        "#]],
    );
}

#[test]
fn an_illegal_word_is_reported_unchanged() {
    check(
        [0xffff_ffff, 0xabcd_0000, 0x1020_0073],
        expect![[r#"
        .word 0xffffffff            illegal 0xffffffff
        .half 0x0000                illegal 0x0
        .word 0x10200073            illegal 0x10200073
    "#]],
    );
}
