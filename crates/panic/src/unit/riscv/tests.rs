//! Scenes: a unit, packets, and a program of a few instructions, written as `name rd rs1 rs2 imm`.

use super::*;
use crate::protocol::{Flit, Leg};
use crate::testing::{flits, show};
use crate::unit::riscv::{Program, Sizes};
use expect_test::{Expect, expect};
use isa::riscv::{Operands, row};
use std::rc::Rc;

fn params() -> RiscvParams {
    RiscvParams {
        memory_bytes: 4096,
        pinned_bytes: 1024,
        buffers: 2,
        instruction_cache_bytes: 512,
        data_cache_bytes: 128,
        line_bytes: 64,
        request_cycles: 4,
        memory_cycles: 2,
        register_cycles: 1,
        answer_cycles: 4,
        refill_cycles: 2,
        store_buffer: 4,
        load_use_cycles: 2,
        predicted_cycles: 1,
        mispredicted_cycles: 3,
        watchdog_cycles: 300,
    }
}

/// Instructions, one a line: a name and `rd`, `rs1`, `rs2`, then the immediate; `flush` is not in the standard's table.
fn assemble(text: &str) -> Vec<u8> {
    let word = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a line names an instruction");
        let [rd, rs1, rs2, imm] = std::array::from_fn(|_| words.next().map_or(0, number));
        match name {
            "flush" => 0x500f | (rs1 as u32) << 15,
            "word" => rd as u32,
            _ => {
                let operands = Operands { rd: rd as u8, rs1: rs1 as u8, rs2: rs2 as u8, rs3: 0, imm };
                let word = row(name).and_then(|row| row.encode(operands));
                word.unwrap_or_else(|| panic!("{line} is no instruction"))
            }
        }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).flat_map(|line| word(line).to_le_bytes()).collect()
}

fn number(word: &str) -> i32 {
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("a number") as i32,
        None => word.parse().expect("a number"),
    }
}

/// Takes the first packet: x10 is the base of the registers, x11 the length, x12 the address.
const TAKE: &str = "lui 10 0 0 0xf0000000
    lw 11 10 0 0
    lw 12 10 0 4
";
/// Sends what is at hand, and begins anew with the instruction behind the first.
const SEND: &str = "sw 0 10 12 0x40
    sw 0 10 11 0x44
    jal 0 0 0 ";

fn run(params: RiscvParams, program: &str, packets: &str, with_counters: bool) -> String {
    let code = assemble(program);
    testkit::bench(20_000, |bench| {
        let size = code.len() as u32;
        let text = Segment { place: "segment 0".into(), addr: MEMORY_BASE, bytes: code.clone(), size };
        let symbols = vec![Symbol { name: "start".into(), addr: MEMORY_BASE, size }];
        let image = Image { segments: vec![text], entry: MEMORY_BASE, symbols };
        let program = Program { image: Rc::new(image), troubles: SharedTroubles::default() };
        let shown = |flit: &Flit| match flit {
            Flit::Head(message) if matches!(message.leg, Leg::Exit | Leg::Entry) => {
                format!(
                    "{} {} bytes {:02x?}",
                    show(flit),
                    message.data.len(),
                    &message.data[..message.data.len().min(4)]
                )
            }
            _ => show(flit),
        };
        let numbered = flits(packets).into_iter().map(|(cycle, mut flit)| {
            if let Flit::Head(message) = &mut flit {
                message.data.fill(message.descriptor.id as u8);
            }
            (cycle, flit)
        });
        let (input, output) = (bench.input("in", 8, numbered.collect()), bench.output("out", 2, |_| true, shown));
        let sizes = Sizes { flit_bytes: 64, longest: 256, n_services: 2 };
        if with_counters {
            bench.log_counters();
        }
        let log = bench.log.clone();
        bench.add(
            "it",
            Watched { unit: RiscvUnit::new(params.clone(), program.clone(), sizes, input, output), program, log },
        );
    })
}

/// A unit whose troubles go to the log.
struct Watched {
    unit: RiscvUnit,
    program: Program,
    log: testkit::Log,
}

impl kernel::Component for Watched {
    fn tick(&mut self, now: kernel::Cycle) -> kernel::Activity {
        let before = self.program.troubles.borrow().len();
        let activity = self.unit.tick(now);
        for trouble in &self.program.troubles.borrow()[before..] {
            self.log.note(now, format!("trouble {trouble}"));
        }
        activity
    }

    fn ports(&self, ports: &mut kernel::Ports) {
        self.unit.ports(ports);
    }

    fn counters(&self, counters: &mut kernel::CounterList) {
        self.unit.counters(counters);
    }
}

fn check(program: &str, packets: &str, want: Expect) {
    want.assert_eq(&run(params(), program, packets, false));
}

/// Cycles of computation that a packet costs: `body` stands between taking it and sending it, and is measured with its lines
/// already in the caches, against no body at all.
fn cost(body: &str) -> u64 {
    let compute = |body: &str, packets: &str| {
        let n = body.lines().filter(|line| !line.trim().is_empty()).count();
        let program = format!("{TAKE}{body}\n{SEND}{}", -4 * (n as i32 + 4));
        let log = run(params(), &program, packets, true);
        let count =
            |name| log.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0);
        count("it.cycles.compute") + count("it.cycles.flush")
    };
    let of_the_fourth = |body| {
        let three = "300 1 0; 600 2 0; 900 3 0";
        compute(body, &format!("{three}; 1200 4 0")) - compute(body, three)
    };
    of_the_fourth(body) - of_the_fourth("")
}

#[test]
fn a_packet_is_taken_and_sent() {
    check(
        &format!("{TAKE}{SEND}-16"),
        "100 1 0 128; 300 2 0",
        expect![[r#"
            123  out #1 to 0 Entry 128 bytes [01, 01, 01, 01]
            124  out =
            125  out |
            322  out #2 to 0 Entry 64 bytes [02, 02, 02, 02]
            323  out |
        "#]],
    );
}

#[test]
fn instructions_take_their_time() {
    let cases = [
        ("a sum", "add 5 6 7"),
        ("a sum of a sum", "add 5 6 7\nadd 5 5 5"),
        ("a branch forward, not taken", "bne 0 0 0 8\nadd 5 6 7"),
        ("a branch forward, taken", "beq 0 0 0 8\nadd 5 6 7"),
        ("a jump", "jal 0 0 0 4"),
        ("a fence", "fence"),
        ("a load, used behind two others", "auipc 6 0\nlw 5 6 0\nadd 7 6 6\nadd 7 6 6\nadd 7 5 5"),
        ("a load, used behind one other", "auipc 6 0\nlw 5 6 0\nadd 7 6 6\nadd 7 5 5"),
        ("a load, used at once", "auipc 6 0\nlw 5 6 0\nadd 7 5 5"),
        ("four stores", "sw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0"),
        ("five stores", "sw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0\nsw 0 12 5 0"),
        ("a flush", "flush"),
        ("a load after a flush of its line", "auipc 6 0\nflush 0 6\nlw 5 6 0"),
    ];
    let table: String = cases.iter().map(|(name, body)| format!("{name}: {}\n", cost(body))).collect();
    expect![[r#"
        a sum: 1
        a sum of a sum: 2
        a branch forward, not taken: 2
        a branch forward, taken: 4
        a jump: 2
        a fence: 1
        a load, used behind two others: 5
        a load, used behind one other: 5
        a load, used at once: 5
        four stores: 4
        five stores: 6
        a flush: 3
        a load after a flush of its line: 15
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_the_cache_does_not_forget_is_old() {
    // All packets lie in the same place. Each is sent with its second word in that of its first, or with what packet 1 had there.
    let packets = "100 1 0; 300 2 0; 500 3 0";
    let program = |flush: &str, back: i32| format!("{TAKE}{flush}lw 5 12 0 4\n    sw 0 12 5 0\n    {SEND}{back}");
    check(
        &program("flush\n", -28),
        packets,
        expect![[r#"
        141  out #1 to 0 Entry 64 bytes [01, 01, 01, 01]
        142  out |
        341  out #2 to 0 Entry 64 bytes [02, 02, 02, 02]
        342  out |
        541  out #3 to 0 Entry 64 bytes [03, 03, 03, 03]
        542  out |
    "#]],
    );
    check(
        &program("", -24),
        packets,
        expect![[r#"
        138  out #1 to 0 Entry 64 bytes [01, 01, 01, 01]
        139  out |
        326  out #2 to 0 Entry 64 bytes [01, 01, 01, 01]
        327  out |
        526  out #3 to 0 Entry 64 bytes [01, 01, 01, 01]
        527  out |
    "#]],
    );
}

#[test]
fn what_goes_wrong_is_told_and_drops_the_packet() {
    // Without a trap handler the program starts again, so that each packet meets the same.
    check(
        &format!("{TAKE}word 0xffffffff"),
        "100 1 0; 200 2 0",
        expect![[r#"
        116  trouble cycle 116: no RV32I instruction (0xffffffff) at pc 0x8000000c (start+0xc), packet 1 dropped
        118  out #1 to 0 Dropped("trap")
        119  out |
        233  trouble cycle 233: no RV32I instruction (0xffffffff) at pc 0x8000000c (start+0xc), packet 2 dropped
        235  out #2 to 0 Dropped("trap")
        236  out |
    "#]],
    );
    check(
        &format!("{TAKE}sw 0 0 11 0"),
        "100 1 0",
        expect![[r#"
        116  trouble cycle 116: store outside of memory (0x0) at pc 0x8000000c (start+0xc), packet 1 dropped
        118  out #1 to 0 Dropped("trap")
        119  out |
    "#]],
    );
    check(
        &format!("{TAKE}lw 5 12 0 1"),
        "100 1 0",
        expect![[r#"
        116  trouble cycle 116: misaligned load (0x80000c01) at pc 0x8000000c (start+0xc), packet 1 dropped
        118  out #1 to 0 Dropped("trap")
        119  out |
    "#]],
    );
    check(
        &format!("{TAKE}mul 5 12 12"),
        "100 1 0",
        expect![[r#"
        116  trouble cycle 116: no RV32I instruction (0x2c602b3) at pc 0x8000000c (start+0xc), packet 1 dropped
        118  out #1 to 0 Dropped("trap")
        119  out |
    "#]],
    );
    check(
        &format!("{TAKE}jalr 0 0 0 0"),
        "100 1 0",
        expect![[r#"
        120  trouble cycle 120: fetch outside of memory (0x0) at pc 0x0, packet 1 dropped
        122  out #1 to 0 Dropped("trap")
        123  out |
    "#]],
    );
}

#[test]
fn a_program_that_does_not_answer_is_started_again() {
    check(
        &format!("{TAKE}jal 0 0 0 0"),
        "100 1 0; 110 2 0",
        expect![[r#"
        407  trouble cycle 407: neither answers a packet nor waits for one at pc 0x8000000c (start+0xc), packet 1 dropped
        409  out #1 to 0 Dropped("watchdog")
        410  out |
        730  trouble cycle 730: neither answers a packet nor waits for one at pc 0x8000000c (start+0xc), packet 2 dropped
        732  out #2 to 0 Dropped("watchdog")
        733  out |
    "#]],
    );
    // One that takes no packet at all stops until there is one.
    check(
        "jal 0 0 0 0",
        "1000 1 0",
        expect![[r#"
        300  trouble cycle 300: neither answers a packet nor waits for one at pc 0x80000000 (start+0x0)
        1001 trouble cycle 1001: neither answers a packet nor waits for one at pc 0x80000000 (start+0x0), packet 1 dropped
        1003 out #1 to 0 Dropped("watchdog")
        1004 out |
    "#]],
    );
}

#[test]
fn a_doorbell_for_bytes_that_are_not_there_drops_the_packet() {
    check(
        &format!("{TAKE}addi 11 0 0 0\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 0 bytes at 0x80000c00, which are no packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped("bad-doorbell")
            124  out |
        "#]],
    );
    check(
        &format!("{TAKE}addi 11 0 0 257\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 257 bytes at 0x80000c00, which are no packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped("bad-doorbell")
            124  out |
        "#]],
    );
    check(
        &format!("{TAKE}addi 12 0 0 0\n    {SEND}-20"),
        "100 1 0",
        expect![[r#"
            122  trouble cycle 122: output doorbell for 64 bytes at 0x0, which are no packet in memory at pc 0x80000014 (start+0x14), packet 1 dropped
            123  out #1 to 0 Dropped("bad-doorbell")
            124  out |
        "#]],
    );
    check(
        "lui 10 0 0 0xf0000000\nsw 0 10 0 0x44\nlw 5 10 0 0",
        "100 1 0",
        expect![[r#"
            17   trouble cycle 17: output doorbell without a packet to answer at pc 0x80000004 (start+0x4)
            107  trouble cycle 107: no RV32I instruction (0x0) at pc 0x8000000c, packet 1 dropped
            109  out #1 to 0 Dropped("trap")
            110  out |
        "#]],
    );
}

#[test]
fn a_program_may_drop_and_send_elsewhere() {
    check(
        &format!("{TAKE}sw 0 10 0 0x4c\n    jal 0 0 0 -12"),
        "100 1 0",
        expect![[r#"
        121  out #1 to 0 Dropped("program")
        122  out |
    "#]],
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let segment = |addr, size| Segment { place: "segment 0".into(), addr, bytes: Vec::new(), size };
    let image = |addr, size, entry| Image { segments: vec![segment(addr, size)], entry, symbols: Vec::new() };
    let told = [
        image(0x8000_0000, 3073, 0x8000_0000).check(&params()),
        image(0x1d00_0000, 4, 0x1d00_0000).check(&params()),
        image(0x8000_0000, 4, 0x8000_0002).check(&params()),
        image(0x8000_0000, 3072, 0x8000_0bfc).check(&params()),
        RiscvParams { pinned_bytes: 100, ..params() }.check(),
        RiscvParams { line_bytes: 48, ..params() }.check(),
        params().check_longest(1025),
    ];
    let told: String = told.iter().map(|found| format!("{found:?}\n")).collect();
    expect![[r#"
        Err("segment 0 is at 0x80000000 to 0x80000c00, must be within 0x80000000 to 0x80000bff, the memory that packets leave free")
        Err("segment 0 is at 0x1d000000 to 0x1d000003, must be within 0x80000000 to 0x80000bff, the memory that packets leave free")
        Err("the entry is 0x80000002, must be within 0x80000000 to 0x80000bff, the memory that packets leave free, and a multiple of 4")
        Ok(())
        Err("pinned_bytes is 100, must be a multiple of 64")
        Err("line_bytes is 48, must be a power of two from 16 to 256")
        Err("pinned_bytes is 1024, must hold a packet of 1025 bytes")
    "#]].assert_eq(&told);
}

/// What instructions mean, with nothing of this core: registers and memory alone.
struct Plain {
    x: [u32; 32],
    pc: u32,
    next: u32,
    memory: Vec<u8>,
}

impl Plain {
    fn at(&mut self, addr: u32, bytes: u32) -> &mut [u8] {
        let at = (addr - MEMORY_BASE) as usize;
        &mut self.memory[at..at + bytes as usize]
    }
}

impl isa::riscv::Hart for Plain {
    fn x(&self, r: u8) -> u32 {
        self.x[usize::from(r)]
    }
    fn set(&mut self, r: u8, value: u32) {
        self.x[usize::from(r)] = if r == 0 { 0 } else { value };
    }
    fn pc(&self) -> u32 {
        self.pc
    }
    fn jump(&mut self, target: u32) {
        self.next = target;
    }
    fn load(&mut self, rd: u8, addr: u32, load: isa::riscv::Load) {
        let raw = self.at(addr, load.bytes()).iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        self.set(rd, load.extend(raw));
    }
    fn store(&mut self, addr: u32, value: u32, width: isa::riscv::Width) {
        let bytes = width.bytes();
        self.at(addr, bytes).copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }
    fn amo(&mut self, _: u8, _: u32, _: u32, _: isa::riscv::Amo) {
        unreachable!("programs have none");
    }
    fn advance(&mut self, _: u8, _: u32) {
        unreachable!("programs have none");
    }
    fn hardware_loop(&mut self, _: u8, _: isa::riscv::LoopPart, _: u32) {
        unreachable!("programs have none");
    }
    fn csr(&mut self, _: u8, _: u16, _: isa::riscv::CsrWrite, _: bool) {
        unreachable!("programs have none");
    }
    fn system(&mut self, _: isa::riscv::System) {
        unreachable!("programs have none");
    }
    fn illegal(&mut self, word: u32) {
        panic!("{word:#x} is no instruction");
    }
}

/// A program of computations, branches, loads and stores, on registers 1 to 9 and 128 bytes at 0x800; at its end all are sent.
fn random_program(random: &mut kernel::Stream) -> String {
    let mut text = "auipc 20 0 0 0\n".to_owned();
    text += "lui 21 0 0 0x1000\nsrli 21 21 0 1\nadd 20 20 21\n";
    for r in 1..10 {
        text += &format!("lui {r} 0 0 {:#x}\n", (random.below(1 << 20) as u32) << 12);
    }
    let mut register = |most: u64| random.below(most);
    for _ in 0..200 {
        let (rd, rs1, rs2) = (1 + register(9), register(10), register(10));
        let plain = ["add", "sub", "xor", "or", "and", "sll", "srl", "sra", "slt", "sltu"];
        let [immediate, shift] = [register(4096) as i64 - 2048, register(32) as i64];
        text += &match register(8) {
            0 => format!("addi {rd} {rs1} 0 {immediate}\n"),
            1 => format!("srai {rd} {rs1} 0 {shift}\n"),
            2 => format!("{} 0 {rs1} {rs2} 8\n", ["beq", "bne", "blt", "bge", "bltu", "bgeu"][register(6) as usize]),
            3 => format!("lw {rd} 20 0 {}\n", 4 * register(32)),
            4 => format!("{} {rd} 20 0 {}\n", ["lb", "lbu", "lh", "lhu"][register(4) as usize], 2 * register(64)),
            5 => format!("sw 0 20 {rs2} {}\n", 4 * register(32)),
            6 => format!("{} 0 20 {rs2} {}\n", ["sb", "sh"][register(2) as usize], 2 * register(64)),
            _ => format!("{} {rd} {rs1} {rs2}\n", plain[register(10) as usize]),
        };
    }
    text += "add 0 0 0\n"; // A branch may skip what follows it.
    (0..16).for_each(|r| text += &format!("sw 0 20 {r} {}\n", 128 + 4 * r));
    text + "addi 11 0 0 192\naddi 12 20 0 0\n"
}

#[test]
fn programs_compute_what_instructions_mean() {
    let seed = 20260;
    for number in 0..20 {
        let mut random = kernel::Stream::new(seed, &format!("program {number}"));
        let text = random_program(&mut random);
        let code = assemble(&text);
        let mut plain = Plain { x: [0; 32], pc: MEMORY_BASE, next: 0, memory: vec![0; 4096] };
        plain.memory[..code.len()].copy_from_slice(&code);
        while plain.pc != MEMORY_BASE + code.len() as u32 {
            let word = plain.at(plain.pc, 4).iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            plain.next = plain.pc + 4;
            isa::riscv::execute(&mut plain, &isa::riscv::decode(word));
            plain.pc = plain.next;
        }
        let sent = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let whole = format!("{text}lui 10 0 0 0xf0000000\nlw 13 10 0 0\n{SEND}0");
        testkit::bench(20_000, |bench| {
            let bytes = assemble(&whole);
            let size = bytes.len() as u32;
            let segment = Segment { place: "segment 0".into(), addr: MEMORY_BASE, bytes, size };
            let image = Image { segments: vec![segment], entry: MEMORY_BASE, symbols: Vec::new() };
            let program = Program { image: Rc::new(image), troubles: SharedTroubles::default() };
            let sent = sent.clone();
            let note = move |flit: &Flit| {
                if let Flit::Head(message) = flit {
                    sent.borrow_mut().push(message.data.clone());
                }
                String::new()
            };
            let (input, output) = (bench.input("in", 8, flits("100 1 0")), bench.output("out", 2, |_| true, note));
            let sizes = Sizes { flit_bytes: 64, longest: 256, n_services: 2 };
            let params = RiscvParams { watchdog_cycles: 5000, ..params() };
            bench.add("it", RiscvUnit::new(params, program, sizes, input, output));
        });
        let expected = plain.at(MEMORY_BASE + 0x800, 192).to_vec();
        assert!(sent.borrow().iter().all(|found| *found == expected), "seed {seed}, program {number}:\n{text}");
        assert!(!sent.borrow().is_empty(), "seed {seed}, program {number} sends");
    }
}
