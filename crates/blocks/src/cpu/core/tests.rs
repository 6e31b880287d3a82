use super::*;
use crate::cpu::PresentLines;
use isa::riscv::Isa;

/// Line fetched behind a waiting store at `at`; `widths` lists the bytes of all instructions.
fn behind(widths: &[u8], at: u32) -> Option<(u32, Cycle)> {
    let store = 0x0000_2023u32.to_le_bytes(); // sw x0, 0(x0)
    let code: Vec<u8> = widths
        .iter()
        .scan(0, |pc, &bytes| {
            let here = std::mem::replace(pc, *pc + u32::from(bytes));
            Some(match bytes {
                2 => 0x0001u16.to_le_bytes().to_vec(), // c.nop
                _ if here == at => store.to_vec(),
                _ => 0x0000_0013u32.to_le_bytes().to_vec(), // nop
            })
        })
        .flatten()
        .collect();
    let program = Program::new(Isa::RV32IMAC, 0, &code);
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!(core.run(&program, &lines, 100), Stop::Access);
    assert_eq!(core.pc(), at);
    core.fetch_behind_access(&program, &lines)
}

/// A core at address 0 of this program, of which only the first line is present.
fn cold(text: &str) -> (Core, Program, PresentLines) {
    let code = testkit::text::assemble(0, text);
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    (Core::new(Profile::Ri5cy, 0, 0), Program::new(Isa::RV32IMAC, 0, &code), lines)
}

/// Runs a core in steps of `step` cycles, with accesses granted at once, until it needs a line; returns that stop and
/// its time.
fn run_in_steps(program: &Program, lines: &PresentLines, step: Cycle) -> (Stop, Cycle) {
    let (mut core, mut horizon) = (Core::new(Profile::Ri5cy, 0, 0), step);
    loop {
        match core.run(program, lines, horizon) {
            Stop::Yield => horizon = core.time() + step,
            Stop::Access => core.complete(core.time() + 1, 0),
            stop => return (stop, core.time()),
        }
    }
}

const NOP: &str = "addi zero, zero, 0\n";

#[test]
fn fetch_asks_for_the_next_line_two_instructions_before_its_last_word_though_decode_waits() {
    let (mut core, program, lines) = cold(&format!("{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}{NOP}"));
    // The last word is fetched when the addition enters decode, where it waits for the load.
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 1));
    core.complete(2, 0);
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 1), 3));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(16), 5));
    // If the addition is in the last word itself, the cache looks for the next line when the addition leaves decode.
    let (mut core, program, lines) = cold(&format!("{NOP}{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}"));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 2));
    core.complete(3, 0);
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 0), 4));
}

#[test]
fn fetch_asks_for_the_line_behind_a_branch_that_is_taken_and_must_wait_for_it() {
    let (mut core, program, lines) = cold(&format!("{NOP}{NOP} beq zero, zero, there\n there:\n {NOP}{NOP}"));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 3), 1));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Abandon(16), 5));
    // Fetch does not request the line behind a jump.
    let (mut core, program, lines) = cold(&format!("here:\n {NOP}{NOP} jal zero, here\n {NOP}{NOP}"));
    assert_eq!(core.run(&program, &lines, 5), Stop::Yield);
}

#[test]
fn fetch_asks_for_the_line_behind_a_jump_that_waits_for_its_register() {
    // The jump waits for the result of the addition before it, in code that runs as a block.
    let (mut core, program, lines) = cold(&format!("{NOP} addi a5, zero, 0\n jalr zero, 0(a5)\n {NOP}{NOP}"));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 3), 1));
    // The jump waits for a load, with one instruction between them.
    let (mut core, program, lines) = cold(&format!("lw a5, 0(zero)\n {NOP} jalr zero, 0(a5)\n {NOP}{NOP}"));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 0));
    core.complete(1, 0);
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Prefetch(16, 3), 1));
}

#[test]
fn a_jump_does_not_wait_for_a_result_from_before_its_line_came() {
    let (mut core, program, mut lines) = cold(&format!("{NOP}{NOP}{NOP} addi a5, zero, 0\n jalr zero, 0(a5)\n"));
    assert!(matches!(core.run(&program, &lines, 100), Stop::Prefetch(16, _)));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(16), 4));
    lines.set(1, true);
    core.fetched(12);
    assert_eq!((core.run(&program, &lines, 13), core.time()), (Stop::Yield, 12 + timing::JUMP));
}

/// The load is the target of a jump. Fetch has its next instruction, which straddles two lines, a cycle after the load has left decode.
#[test]
fn an_instruction_that_straddles_lines_behind_a_target_enters_decode_behind_the_access() {
    let mut code = testkit::text::assemble(0, &format!("{NOP}{NOP} lw a2, 0(zero)\n {NOP}{NOP}"));
    code.splice(4..4, [1, 0]); // c.nop: the load is at 10.
    code[0..4].copy_from_slice(&0x00a0_006fu32.to_le_bytes()); // jal zero, 10
    let program = Program::new(Isa::RV32IMAC, 0, &code);
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!((core.run(&program, &AllLines, 100), core.time()), (Stop::Access, 2));
    core.wait_for_access(&program, &AllLines);
    core.complete(20, 0);
    assert_eq!((core.run(&program, &AllLines, 21), core.time()), (Stop::Yield, 21));
}

#[test]
fn a_jump_that_waits_behind_an_access_asks_for_its_target_when_another_line_has_come() {
    let (mut core, program, mut lines) =
        cold(&format!("{NOP}{NOP} sw zero, 0(zero)\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(4)));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 2));
    core.wait_for_access(&program, &lines);
    assert_eq!(core.fetch_behind_access(&program, &lines), Some((16, 1)));
    lines.set(1, true);
    core.line_came();
    assert_eq!(core.fetch_at_target(&program, &lines, 11, true), Some(32));
    core.complete(20, 0);
    // The jump leaves decode in cycle 20, and its target waits only for its line.
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(32), 21));
}

#[test]
fn what_comes_while_an_access_waits_enters_decode_behind_it() {
    let (mut core, program, lines) = cold(&format!("{NOP}{NOP}{NOP} lw a2, 0(zero)\n {NOP}"));
    assert_eq!(core.run(&program, &lines, 100), Stop::Prefetch(16, 3));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 3));
    core.wait_for_access(&program, &lines);
    core.line_came();
    core.complete(20, 0);
    assert_eq!((core.run(&program, &AllLines, 21), core.time()), (Stop::Yield, 21));
}

/// The operand is available when the addition has come. On the RTL, such an AMO on L2 takes 28 cycles like any other.
#[test]
fn what_comes_while_a_load_waits_does_not_wait_for_its_result() {
    let (mut core, program, lines) = cold(&format!("{NOP}{NOP}{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n"));
    assert_eq!(core.run(&program, &lines, 100), Stop::Prefetch(16, 3));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 3));
    core.wait_for_access(&program, &lines);
    core.line_came();
    core.complete(20, 7);
    assert_eq!((core.run(&program, &AllLines, 22), core.time(), core.x(13)), (Stop::Yield, 22, 8));
}

/// If the next instruction comes while an AMO on L2 waits, the AMO takes 28 cycles on the RTL, but 29 if it adds to the register
/// that it loads.
#[test]
fn a_load_that_decode_keeps_waits_there_for_its_own_result() {
    // The next instruction came before the grant, in the next cycle, or later. It enters decode, and leaves it, at the earliest
    // two cycles after the grant.
    for (comes, leaves) in [(10, 22), (21, 22), (22, 22), (23, 23)] {
        let (mut core, program, lines) = cold(&format!("{NOP}{NOP}{NOP} lw a2, 0(a2)\n {NOP}"));
        assert_eq!(core.run(&program, &lines, 100), Stop::Prefetch(16, 3));
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 3));
        core.wait_for_access(&program, &lines);
        if comes == 10 {
            core.line_came();
        }
        core.complete(20, 0);
        if comes > 10 {
            core.fetched(comes);
        }
        assert_eq!((core.run(&program, &AllLines, leaves), core.time()), (Stop::Yield, leaves));
    }
    // Behind the target of a jump, the next instruction straddles two lines.
    let leaves = |target: &str| {
        let (program, lines) = (jump_before_straddling(target), Lines(first_lines(3)));
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 2));
        core.complete(3, 0);
        while core.pc() < 34 {
            core.run(&program, &lines, core.time() + 1);
        }
        core.time() - 1
    };
    assert_eq!((leaves("lw a2, 0(zero)"), leaves("lw a2, 0(a2)")), (4, 5));
}

#[test]
fn a_jump_that_writes_its_own_register_waits_in_decode_for_itself() {
    for (jump, cycles) in [("jalr zero, 16(a5)", 2), ("jalr a4, 16(a5)", 2), ("jalr a5, 16(a5)", 3)] {
        let (mut core, program, _) = cold(&format!("{jump}\n {}", NOP.repeat(6)));
        assert_eq!(
            (core.run(&program, &AllLines, cycles), core.pc(), core.time()),
            (Stop::Yield, 16, cycles),
            "{jump}"
        );
    }
}

#[test]
fn the_second_half_of_an_instruction_is_requested_when_the_one_before_enters_decode() {
    let mut code = testkit::text::assemble(0, &format!("{NOP}{NOP} lw a2, 0(zero)\n addi a3, a2, 1\n {NOP}{NOP}"));
    code.splice(0..4, [1, 0]); // c.nop: the addition is at 10, and the instruction after it straddles lines.
    let program = Program::new(Isa::RV32IMAC, 0, &code);
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    // The load leaves decode in cycle 2, and the addition enters it in cycle 3, where it waits for the load until cycle 4.
    // The cache looks for the next line in cycle 4: two cycles after the load, or none after the addition.
    for (step, want) in [(1, (Stop::Prefetch(16, 2), 2)), (100, (Stop::Prefetch(16, 0), 4))] {
        assert_eq!(run_in_steps(&program, &lines, step), want);
    }
}

#[test]
fn behind_an_access_that_waits_a_jump_asks_for_its_target() {
    // The jump is in the second word of its line, or in the last one and the line behind it is there.
    for nops in [0, 2] {
        let text = format!("{} sw zero, 0(zero)\n jal zero, there\n {}", NOP.repeat(nops), NOP.repeat(6 - nops));
        let (mut core, program, _) = cold(&format!("{text} there:\n {NOP}"));
        let lines = Lines(first_lines(2));
        assert_eq!(core.run(&program, &lines, 100), Stop::Access);
        core.wait_for_access(&program, &lines);
        assert_eq!(core.fetch_behind_access(&program, &lines), Some((32, 2)));
    }
}

#[test]
fn the_second_half_of_a_target_is_fetched_when_the_first_has_come() {
    let mut code = testkit::text::assemble(0, &format!("jal zero, there\n {}there:\n {NOP}", NOP.repeat(6)));
    code.splice(28..28, [1, 0]); // c.nop: the instruction behind it straddles lines and is the jump's target.
    code[..4].copy_from_slice(&0x01e0_006fu32.to_le_bytes()); // jal x0, 30
    let program = Program::new(Isa::RV32IMAC, 0, &code);
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(16), timing::JUMP));
    core.fetched(10);
    assert_eq!((core.run(&program, &AllLines, 100), core.time()), (Stop::Yield, 11));
}

/// `present` reports all lines as present, but `there` reports none.
struct AllLines;

impl FetchLines for AllLines {
    fn present(&self, _addr: u32) -> bool {
        true
    }

    fn there(&self) -> &[u8] {
        &[]
    }
}

#[test]
fn behind_a_waiting_store_the_next_line_is_requested_from_the_last_word_or_in_decode() {
    // All instructions have 4 bytes: the second one after the store is in the last word.
    assert_eq!(behind(&[4, 4, 4, 4, 4], 4), Some((16, 2)));
    assert_eq!(behind(&[4, 4, 4, 4, 4], 0), None);
    // The first one precedes an instruction that straddles two lines.
    assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 6), Some((16, 1)));
    // The second one precedes such an instruction, but it waits in the prefetch buffer.
    assert_eq!(behind(&[2, 4, 4, 4, 4, 4], 2), None);
}

#[test]
fn behind_an_event_load_a_jump_does_not_ask_for_its_target() {
    let text = format!("p.elw a0, 0(zero)\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(6));
    let code = testkit::text::assemble(0, &text);
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    let program = Program::new(Isa::RV32IMAC_XPULPV2, 0, &code);
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!(core.run(&program, &lines, 100), Stop::Access);
    core.wait_for_access(&program, &lines);
    assert_eq!(core.fetch_behind_access(&program, &lines), None);
    // The jump then takes two cycles, as if nothing before it had waited.
    core.complete(40, 0);
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Fetch(32), 42));
}

#[test]
fn a_core_asks_for_the_first_line_of_a_straddling_target_as_early_in_small_steps() {
    let mut code = 0x01e0_006fu32.to_le_bytes().to_vec(); // jal zero, 30
    code.extend([0x01, 0x00].repeat(13)); // c.nop
    code.extend(0x0000_0013u32.to_le_bytes()); // nop, in lines 1 and 2
    let mut lines = PresentLines::new(code.len().div_ceil(16));
    lines.set(0, true);
    let program = Program::new(Isa::RV32IMAC, 0, &code);
    for step in [1, 100] {
        assert_eq!(run_in_steps(&program, &lines, step), (Stop::Fetch(16), 2));
    }
}

#[test]
fn the_line_of_the_current_instruction_counts_as_there_behind_an_access() {
    struct NoLines;
    impl FetchLines for NoLines {
        fn present(&self, _addr: u32) -> bool {
            false
        }

        fn there(&self) -> &[u8] {
            &[]
        }
    }
    let (mut core, program, lines) = cold(&format!("sw zero, 0(zero)\n {NOP}{NOP}"));
    assert_eq!(core.run(&program, &lines, 100), Stop::Access);
    core.wait_for_access(&program, &NoLines);
    core.line_came();
    core.complete(20, 0);
    // The next instruction leaves decode in the cycle of the grant.
    assert_eq!((core.run(&program, &lines, 21), core.time()), (Stop::Prefetch(16, 3), 20));
}

/// A jump to address 26. The instruction there is `target`, and the next one straddles lines 1 and 2.
fn jump_before_straddling(target: &str) -> Program {
    let jump = 0x01a0_006fu32.to_le_bytes(); // jal zero, 26
    let nops = [0x01, 0x00].repeat(11); // c.nop
    let code = [&jump[..], &nops, &testkit::text::assemble(26, &format!("{target}\n {NOP}{NOP}"))].concat();
    Program::new(Isa::RV32IMAC, 0, &code)
}

/// Three lines, of which the first `n` are present.
fn first_lines(n: usize) -> PresentLines {
    let mut lines = PresentLines::new(3);
    (0..n).for_each(|line| lines.set(line, true));
    lines
}

struct Lines(PresentLines);

impl FetchLines for Lines {
    fn present(&self, addr: u32) -> bool {
        self.0.get(addr as usize >> 4) == Some(true)
    }

    fn there(&self) -> &[u8] {
        self.0.counts()
    }
}

#[test]
fn behind_the_target_of_a_jump_an_instruction_that_straddles_two_lines_comes_a_cycle_later() {
    let lines = Lines(first_lines(3));
    for step in [1, 100] {
        let program = jump_before_straddling("addi zero, zero, 0");
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        let mut times = Vec::new();
        while core.pc() < 34 {
            assert_eq!(core.run(&program, &lines, (core.time() + step).min(5)), Stop::Yield);
            times.push((core.pc(), core.time()));
        }
        assert_eq!(times.last(), Some(&(34, 5)));
        assert!(step > 1 || times.starts_with(&[(26, 2), (30, 3), (30, 4)]), "{times:?}");
        // An access that waits hides that cycle.
        for (granted, next) in [(3, 4), (4, 4), (6, 6)] {
            let program = jump_before_straddling("sw zero, 0(zero)");
            let mut core = Core::new(Profile::Ri5cy, 0, 0);
            while core.run(&program, &lines, core.time() + step) != Stop::Access {}
            core.complete(granted, 0);
            while core.pc() < 34 {
                core.run(&program, &lines, core.time() + 1);
            }
            assert_eq!(core.time() - 1, next, "granted in {granted}");
        }
    }
    // The cache looks for the line when the target has left decode.
    let program = jump_before_straddling("addi zero, zero, 0");
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!((core.run(&program, &Lines(first_lines(2)), 100), core.time()), (Stop::Prefetch(32, 2), 2));
}

#[test]
fn an_instruction_that_empties_the_pipeline_lets_the_next_one_into_decode_only_then() {
    let run = |text: &str| {
        let nop = [0x01, 0x00]; // c.nop, so that the last instruction straddles two lines
        let code = [&nop[..], &testkit::text::assemble(2, &format!("{NOP} {text}\n {NOP}{NOP}"))].concat();
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        let program = Program::new(Isa::RV32IMAC, 0, &code);
        loop {
            let stop = core.run(&program, &Lines(first_lines(1)), 20);
            if stop != Stop::Yield || core.time() >= 20 {
                return (stop, core.time());
            }
        }
    };
    assert_eq!(run("csrrs zero, mstatus, zero"), (Stop::Prefetch(16, 1), 2 + timing::CSR_FLUSH));
    assert_eq!(run("csrrs zero, mscratch, zero"), (Stop::Prefetch(16, 2), 2));
    // The next instruction never reaches decode if fetch continues elsewhere.
    assert_eq!(run("mret").0, Stop::Trap, "the second one, in user mode");
}

#[test]
fn behind_an_event_load_it_makes_no_difference_when_the_next_instruction_has_come() {
    let text = format!("{NOP}{NOP}{NOP} p.elw a2, 0(zero)\n {NOP}");
    let program = Program::new(Isa::RV32IMAC_XPULPV2, 0, &testkit::text::assemble(0, &text));
    let lines = Lines(first_lines(1));
    let mut core = Core::new(Profile::Ri5cy, 0, 0);
    assert_eq!(core.run(&program, &lines, 100), Stop::Prefetch(16, 3));
    assert_eq!((core.run(&program, &lines, 100), core.time()), (Stop::Access, 3));
    core.wait_for_access(&program, &lines);
    core.line_came();
    core.complete(20, 0);
    assert_eq!((core.run(&program, &AllLines, 20), core.time()), (Stop::Yield, 20));
}
