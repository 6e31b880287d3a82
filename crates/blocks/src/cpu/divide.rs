//! Divisions that decode repeats.
//!
//! Decode keeps its last instruction until another one enters. Only its writes of registers and its accesses to memory are turned
//! off. So a division goes to EX again and again, and the next instruction waits until the current repetition ends. The same happens
//! to a division behind a taken branch, because the branch turns off only writes and accesses.
//!
//! Source: PsPIN RTL a49fec8, `riscv_id_stage.sv`, lines 553, 1531 to 1541 and 1661; `riscv_decoder.sv`, lines 228 and 2662
//! to 2670. Measured on it.

use super::core::{BEFORE_STRADDLING, Core, LAST_WORD, NO_LINE, Remains, Stop};
use super::lines::FetchLines;
use super::profile::Lost;
use super::program::{Kind, Place, Program, SINK, Slot};
use super::timing;
use super::watch::EVENT_CYCLE;
use isa::riscv::Op;
use kernel::Cycle;

/// A division that is left in decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leftover {
    /// The cycle in which it leaves decode next.
    from: Cycle,
    /// Its cycles in EX.
    cycles: Cycle,
}

impl Core {
    /// Cycles of a division, with the value that its divisor has now.
    pub(super) fn division_cycles(&self, slot: &Slot) -> u64 {
        timing::div(self.x(slot.inst.rs2), matches!(slot.inst.op, Op::Div | Op::Rem))
    }

    /// Looks at fetch before a division or a high product, during which fetch continues. Returns a stop, once a cycle, in two cases.
    /// The next instruction jumps to a missing line, which fetch requests as behind an access ([`Core::fetch_behind_access`]). Or the
    /// line of the next instruction is missing, and the owner must find out whether it comes in time.
    #[cold]
    pub(super) fn look_behind_division<L: FetchLines>(
        &mut self,
        program: &Program,
        slot: &Slot,
        lines: &L,
    ) -> Option<Stop> {
        if std::mem::replace(&mut self.looked_behind, self.time) == self.time {
            return None;
        }
        let next = self.pc.wrapping_add(slot.inst.bytes().into());
        if !self.is_fetched(program, lines, next) {
            return Some(Stop::Pause);
        }
        let behind = program.slot(next)?;
        if behind.kind() == Kind::JumpReg && behind.inst.rs1 == slot.inst.rd {
            return None;
        }
        // The jump enters decode a cycle after the division has left it.
        self.request_target(program, (next, behind), lines, timing::PLAIN)
    }

    /// The instruction at `pc` enters decode after `enters` cycles and waits there for a division. If it jumps to a missing line, fetch
    /// requests that line at once.
    fn request_target<L: FetchLines>(
        &mut self,
        program: &Program,
        (pc, slot): (u32, &Slot),
        lines: &L,
        enters: Cycle,
    ) -> Option<Stop> {
        let target = self.target_of(pc, slot)?;
        let is_free = self.ahead == NO_LINE || self.ahead < BEFORE_STRADDLING && lines.present(self.ahead << 4);
        if !is_free {
            return None;
        }
        let (line, looks_after) = self.redirect_fetch(program, lines, target)?;
        Some(Stop::Prefetch(line, enters + looks_after))
    }

    /// Target of the jump at `pc`; `None` for other instructions.
    fn target_of(&self, pc: u32, slot: &Slot) -> Option<u32> {
        let from = match slot.kind() {
            Kind::Jump => pc,
            Kind::JumpReg => self.x(slot.inst.rs1),
            _ => return None,
        };
        Some(from.wrapping_add(slot.inst.imm as u32) & !1)
    }

    /// Target of the jump that waits in decode for a division or a high product; `None` if none waits there in cycle `now`, or if it
    /// needs their result.
    pub(super) fn target_behind_division(&self, program: &Program, now: Cycle) -> Option<u32> {
        let slot = program.slot(self.pc)?;
        let entered = self.time - self.held;
        let needs_result = slot.kind() == Kind::JumpReg && slot.inst.rs1 == self.last_rd;
        if self.held == 0 || entered > now || needs_result {
            return None;
        }
        self.target_of(self.pc, slot)
    }

    /// Completes a division or a high product. If the next instruction is at fetch, it waits in decode. Otherwise decode keeps
    /// the current instruction until it ends. A division then repeats. A high product does not repeat, but the next instruction
    /// enters decode only when the product ends.
    pub(super) fn end_division<L: FetchLines, const MODE: u8>(
        &mut self,
        program: &Program,
        slot: &Slot,
        lines: &L,
        cycles: u64,
    ) -> Option<Stop> {
        let is_there = self.ahead != BEFORE_STRADDLING && self.is_fetched(program, lines, self.next);
        let stop = self.end::<MODE>(slot, cycles);
        if is_there {
            self.held = cycles - timing::PLAIN;
        } else if slot.kind() == Kind::Div {
            self.remains = Remains::Division(Leftover { from: self.time, cycles: self.division_cycles(slot) });
        } else {
            self.lose(Lost::InstructionMiss, timing::PLAIN);
            self.count(EVENT_CYCLE, timing::PLAIN);
            self.time += timing::PLAIN;
            self.last_rd = SINK;
        }
        stop
    }

    /// Returns the division that a branch of this cycle leaves in decode if it is taken.
    pub(super) fn left_by_branch<L: FetchLines>(&self, program: &Program, slot: &Slot, lines: &L) -> Remains {
        let behind = self.pc.wrapping_add(slot.inst.bytes().into());
        let division = program.slot(behind).filter(|behind| behind.kind() == Kind::Div);
        match division {
            Some(division) if self.ahead != BEFORE_STRADDLING && self.is_fetched(program, lines, behind) => {
                let from = self.time + timing::BRANCH_TAKEN - timing::PLAIN;
                Remains::Division(Leftover { from, cycles: self.division_cycles(division) })
            }
            _ => Remains::Nothing,
        }
    }

    /// Delays the next instruction, which is at fetch one cycle before [`Core::time`]. It enters decode when the repeated division
    /// leaves, and then waits until that division ends. If fetch requests a line meanwhile, the core stops when the instruction enters
    /// decode.
    #[cold]
    pub(super) fn pass_leftover<L: FetchLines>(
        &mut self,
        Leftover { from, cycles }: Leftover,
        program: &Program,
        slot: &Slot,
        lines: &L,
    ) -> Option<Stop> {
        let again = (self.time - timing::PLAIN).saturating_sub(from).div_ceil(cycles);
        let from = from + again * cycles;
        let stop = self.request_behind_leftover(from >= self.time, program, slot, lines);
        let until = from + if stop.is_some() { timing::PLAIN } else { cycles };
        self.lose(Lost::Divider, until - self.time);
        self.count(EVENT_CYCLE, until - self.time);
        self.time = until;
        self.last_rd = SINK;
        if stop.is_some() {
            self.remains = Remains::Division(Leftover { from, cycles });
        } else {
            self.remains = Remains::Nothing;
            self.held = cycles - timing::PLAIN;
        }
        stop
    }

    /// The next instruction enters decode and waits there for a division that is left in it. Fetch continues meanwhile: at the target of
    /// a jump, or with the line that the instruction behind needs. `has_waited` tells whether the instruction has waited at fetch.
    ///
    /// Source: PsPIN RTL a49fec8, `riscv_prefetch_L0_buffer.sv`, lines 258 to 273 and 318 to 366.
    fn request_behind_leftover<L: FetchLines>(
        &mut self,
        has_waited: bool,
        program: &Program,
        slot: &Slot,
        lines: &L,
    ) -> Option<Stop> {
        // The target of the branch does not leave decode before fetch has the instruction behind it.
        let is_target = self.ahead == BEFORE_STRADDLING;
        if is_target {
            self.ahead = NO_LINE;
        }
        if matches!(slot.kind(), Kind::Jump | Kind::JumpReg) {
            return self.request_target(program, (self.pc, slot), lines, 0);
        }
        let next = (self.pc & !15).wrapping_add(timing::LINE_BYTES);
        let behind = self.pc.wrapping_add(slot.inst.bytes().into());
        let goes_back = [self.pc, behind].iter().any(|&pc| self.csrs.loops.ending(pc).is_some());
        if goes_back || self.line != self.pc >> 4 || self.ahead == next >> 4 || lines.present(next) {
            return None;
        }
        let looks_after = match slot.place() {
            Place::End if !is_target || has_waited => 1,
            Place::End => 2,
            _ if behind & 15 >= LAST_WORD && behind < next => 2,
            _ => return None,
        };
        self.ahead = next >> 4;
        Some(Stop::Prefetch(next, looks_after))
    }

    /// Returns true if the whole instruction at `pc` is at fetch.
    pub(super) fn is_fetched<L: FetchLines>(&self, program: &Program, lines: &L, pc: u32) -> bool {
        let straddles = program.slot(pc).is_some_and(|slot| slot.place() == Place::Straddles);
        let last_half = pc.wrapping_add(if straddles { 2 } else { 0 });
        // The prefetch buffer has the current line, even if the cache has lost it.
        let has = |addr: u32| self.line == addr >> 4 || lines.present(addr);
        has(pc) && has(last_half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{PresentLines, Profile};
    use isa::riscv::Isa;

    const NOP: &str = "addi zero, zero, 0\n";
    /// A divisor for which a division takes 10 cycles: it has seven leading zeros.
    const TEN_CYCLES: u32 = 0x0100_0000;

    struct Bench {
        core: Core,
        program: Program,
        lines: PresentLines,
    }

    impl Bench {
        /// A core at address 0 of this program, whose first `there` lines are present. Register a3 is the divisor.
        fn new(text: &str, there: usize, divisor: u32) -> Bench {
            Bench::of(&testkit::text::assemble(0, text), there, divisor)
        }

        /// As [`Bench::new`], with the bytes of the program.
        fn of(code: &[u8], there: usize, divisor: u32) -> Bench {
            let n = code.len().div_ceil(16);
            let mut lines = PresentLines::new(n);
            (0..there.min(n)).for_each(|line| lines.set(line, true));
            let mut core = Core::new(Profile::Ri5cy, 0, 0);
            core.set_x(12, 12_345);
            core.set_x(13, divisor);
            Bench { core, program: Program::new(Isa::RV32IMAC, 0, code), lines }
        }

        fn run(&mut self, horizon: Cycle) -> (Stop, Cycle) {
            (self.core.run(&self.program, &self.lines, horizon), self.core.time())
        }

        /// The cycle in which the instruction at `pc` leaves decode.
        fn leaves(&mut self, pc: u32) -> Cycle {
            while self.core.pc() != pc {
                assert_eq!(self.run(self.core.time() + 1).0, Stop::Yield);
            }
            // The core finds a division that is left in decode when it runs again.
            self.run(self.core.time());
            while self.core.remains != Remains::Nothing {
                self.run(self.core.time() + 1);
            }
            self.core.time()
        }
    }

    /// The expected cycles are those of the RTL, where each case ran with warm caches on core 0 of cluster 0.
    #[test]
    fn a_taken_branch_waits_for_the_division_behind_it() {
        let behind = |text: &str, divisor| {
            let text = format!("beq zero, zero, there\n {text}\n {NOP}{NOP} there:\n {NOP}{NOP}{NOP}{NOP}");
            Bench::new(&text, 3, divisor).leaves(16)
        };
        assert_eq!(behind(NOP, 1), 3);
        assert_eq!(behind("mul a1, a2, a3", 1), 3);
        assert_eq!(behind("mulh a1, a2, a3", 1), 3);
        assert_eq!(behind("divu a1, a2, a3", 1), 36);
        assert_eq!(behind("divu a1, a2, a3", 0x4000_0000), 6);
        assert_eq!(behind("rem a1, a2, a3", TEN_CYCLES), 12);
        // The division does not write its register, and a branch that is not taken leaves nothing.
        let text = format!("bne zero, zero, there\n divu a1, a2, a3\n {NOP}{NOP} there:\n {NOP}{NOP}");
        assert_eq!(Bench::new(&text, 3, TEN_CYCLES).leaves(8), 1 + 10);
    }

    #[test]
    fn a_jump_behind_a_division_redirects_fetch_while_it_waits() {
        let text = format!("divu a1, a2, a3\n jal zero, there\n {NOP}{NOP} there:\n {NOP}{NOP}");
        let mut bench = Bench::new(&text, 3, TEN_CYCLES);
        assert_eq!((bench.leaves(4), bench.leaves(16)), (10, 11));
    }

    /// The division is in the last word of its line, leaves decode in cycle 3, and the next line comes in cycle `at`. Returns the
    /// cycle in which the next instruction leaves decode.
    fn next_leaves(division: &str, at: Cycle) -> Cycle {
        let mut bench = Bench::new(&format!("{NOP}{NOP}{NOP} {division}\n {NOP}{NOP}{NOP}{NOP}"), 1, TEN_CYCLES);
        let mut stops = vec![bench.run(100)];
        while stops.last() != Some(&(Stop::Fetch(16), 13)) {
            if at == 4 && stops.last() == Some(&(Stop::Pause, 3)) {
                bench.lines.set(1, true);
                return bench.leaves(16);
            }
            stops.push(bench.run(100));
        }
        assert_eq!(stops, [(Stop::Prefetch(16, 1), 3), (Stop::Pause, 3), (Stop::Fetch(16), 13)]);
        bench.lines.set(1, true);
        bench.core.fetched(at);
        bench.leaves(16)
    }

    /// The division straddles two lines, which are present. The jump behind it leads to a missing line.
    #[test]
    fn the_target_of_a_jump_behind_a_division_is_requested_once() {
        let text = format!("{NOP}{NOP}{NOP} divu a1, a2, a3\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(11));
        let code = [&[0x01, 0x00], &testkit::text::assemble(0, &text)[..]].concat(); // c.nop in front
        let mut bench = Bench::of(&code, 2, TEN_CYCLES);
        let stops = [(); 3].map(|()| bench.run(100));
        assert_eq!(stops, [(Stop::Prefetch(64, 3), 4), (Stop::Fetch(64), 15), (Stop::Fetch(64), 15)]);
    }

    /// On the RTL, the target left decode 1 cycle after the jump, as if its line had been there.
    #[test]
    fn the_target_of_a_jump_is_requested_while_it_waits_for_a_division_behind_a_branch() {
        for jump in ["jal zero, there", "jalr zero, 64(zero)"] {
            let filler = NOP.repeat(11);
            let text =
                format!("beq zero, zero, next\n divu a1, a2, a3\n {NOP}{NOP} next:\n {jump}\n {filler}there:\n {NOP}");
            let mut bench = Bench::new(&text, 2, TEN_CYCLES);
            // The branch leaves decode in cycle 0. The division goes to EX in cycle 2, so the jump enters decode in cycle 3.
            assert_eq!(bench.run(100), (Stop::Prefetch(64, 2), 3));
            bench.lines.set(4, true);
            assert_eq!((bench.leaves(16), bench.leaves(64)), (12, 13), "{jump}");
        }
    }

    #[test]
    fn a_jump_that_waits_for_a_division_requests_the_line_behind_a_target_in_the_last_word() {
        let text = format!("divu a1, a2, a3\n jal zero, there\n {NOP}there:\n {NOP}{NOP}");
        assert_eq!(Bench::new(&text, 1, TEN_CYCLES).run(100), (Stop::Prefetch(16, 4), 0));
    }

    /// The jump is in the first word of a line that was requested in advance and has come.
    #[test]
    fn a_line_that_has_come_delays_no_request_of_the_target_behind_a_division() {
        let text = format!("{NOP}{NOP}{NOP} divu a1, a2, a3\n jal zero, there\n {}there:\n {NOP}", NOP.repeat(7));
        let mut bench = Bench::new(&text, 1, TEN_CYCLES);
        assert_eq!(bench.run(100), (Stop::Prefetch(16, 1), 3));
        bench.lines.set(1, true);
        assert_eq!(bench.run(100), (Stop::Prefetch(48, 3), 3));
    }

    /// A branch leads to 26. The instruction there is an addition, and the next one straddles two lines. The division behind the
    /// branch goes to EX in cycle 2, so the target enters decode in cycle 3. Either all lines are present, or all but the last.
    #[test]
    fn fetch_continues_behind_a_target_that_waits_for_the_division_behind_a_branch() {
        let branch = 0x0000_0d63u32.to_le_bytes(); // beq zero, zero, 26
        let text = format!("divu a1, a2, a3\n {}", NOP.repeat(4));
        let nops = testkit::text::assemble(26, &NOP.repeat(4));
        let code = [&branch, &testkit::text::assemble(4, &text)[..], &[0x01, 0x00], &nops].concat(); // c.nop at 24
        let mut bench = Bench::of(&code, 3, TEN_CYCLES);
        assert_eq!((bench.leaves(26), bench.leaves(30), bench.leaves(34)), (12, 13, 14));
        // Now the target is a division too. Decode does not keep it.
        let divides = testkit::text::assemble(26, &format!("divu a1, a2, a3\n {}", NOP.repeat(3)));
        let code = [&code[..26], &divides].concat();
        let mut bench = Bench::of(&code, 3, TEN_CYCLES);
        assert_eq!((bench.leaves(26), bench.leaves(30)), (12, 22));
        // Fetch requests the missing line when the target is in decode, and the cache looks it up two cycles later.
        assert_eq!(Bench::of(&code, 2, TEN_CYCLES).run(100), (Stop::Prefetch(32, 2), 3));
    }

    /// A high product takes 5 cycles, and leaves decode in cycle 3.
    #[test]
    fn decode_keeps_a_high_product_whose_next_instruction_is_not_fetched() {
        let mut bench = Bench::new(&format!("{NOP}{NOP}{NOP} mulh a1, a2, a3\n {NOP}"), 1, 1);
        let stops = [(); 3].map(|()| bench.run(100));
        assert_eq!(stops, [(Stop::Prefetch(16, 1), 3), (Stop::Pause, 3), (Stop::Fetch(16), 3 + 5 + 1)]);
    }

    #[test]
    fn a_division_repeats_until_the_next_instruction_has_come() {
        // The next line is present when the division leaves decode.
        assert_eq!(next_leaves("divu a1, a2, a3", 4), 13);
        // The line comes later: the next instruction enters decode when a repetition of the division leaves it (cycles 13, 23 or
        // 33), and waits for the following repetition.
        assert_eq!([5, 14, 15, 24, 25].map(|at| next_leaves("divu a1, a2, a3", at)), [23, 23, 33, 33, 43]);
        // From the first repetition on, the divisor is the quotient, 0, and a division by it takes 35 cycles.
        assert_eq!([5, 14, 15].map(|at| next_leaves("divu a3, a2, a3", at)), [48, 48, 83]);
    }
}
