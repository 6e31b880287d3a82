//! A plain machine: one core and flat memory, for self-contained programs.
//!
//! Segments are loaded at their addresses, each followed by 1 MiB of zeros. All other addresses are unmapped and trap. A store to the symbol `tohost` ends the run, as in the public RISC-V tests: 1 passes, any other odd number
//! is twice the number of the test that failed, plus 1; an even number is a system call (`htif`). Memory answers in one
//! cycle, misaligned accesses in two. Memory protection holds.

mod calls;
mod htif;
mod memory;

use crate::elf::{Elf, ElfError};
use crate::handlers::cause_name;
use crate::instructions::{CoreTraces, TraceFile, TraceWriteError};
use blocks::cpu::{AccessKind, Core, Privilege, Profile, Program, Stop, TrapInfo};
use calls::{Called, MAX_OUTPUT, Output};
use htif::{HostReply, Htif, Moment, PATIENCE};
pub use isa::riscv::Isa;
use isa::riscv::{Amo, cause, decode};
use kernel::{Clock, Cycle, Freq};
use memory::{MAX_BYTES, Memory};
use serde::Serialize;
use std::path::Path;

/// The replacement for an operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// No operating system: `ecall` is a trap like any other.
    #[default]
    Bare,
    /// Linux for user programs: `ecall` 64 writes to standard output or error, 93 and 94 exit; others fail with ENOSYS.
    LinuxUser,
}

/// The limit of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { instructions: 1_000_000_000, cycles: 10_000_000_000 }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// 1 was written to `tohost`.
    Pass,
    /// Another odd number was written.
    Fail,
    /// The program called `exit` of Linux.
    Exit,
    /// A limit was reached.
    Limit,
    /// The program cannot continue: a loop around `wfi`, a trap without a handler, or an unknown system call.
    Stopped,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// The test that failed.
    pub test: Option<u32>,
    /// The exit code of the program.
    pub exit_code: Option<u32>,
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
    /// Program counter of the core.
    pub pc: u32,
    /// The output of the program.
    pub output: String,
    /// The result as a line of text.
    pub text: String,
}

/// A program that this machine cannot run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum ExecError {
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{file}: its segments take {found} bytes of memory, must be at most {MAX_BYTES}")]
    TooLarge { file: String, found: u64 },
    #[error("{file}: there is no symbol `{symbol}`, which {what}")]
    NoSymbol { file: String, symbol: &'static str, what: &'static str },
    #[error("{file}: the signature is at {first:#010x} to {last:#010x}, must be a region of the program's memory")]
    Signature { file: String, first: u32, last: u32 },
}

/// The machine.
pub struct Machine {
    isa: Isa,
    core: Core,
    memory: Memory,
    /// An unmapped range.
    nothing: Program,
    host: Host,
    htif: Htif,
    output: Output,
    /// Word that `lr.w` reserved.
    reserved: Option<u32>,
    symbols: Elf,
    /// Why the program cannot continue, if that is known.
    reason: Option<String>,
}

impl Machine {
    /// A machine with the program `elf` in its memory and a core for `isa`.
    pub fn new(elf: Elf, isa: Isa, host: Host) -> Result<Self, ExecError> {
        let elf = elf.with_entry()?;
        let mut core = Core::new(Profile::Standard, 0, elf.entry);
        let memory = Memory::new(&elf, isa)?;
        if host == Host::LinuxUser {
            // The initial stack pointer, if the program sets none: the end of the last range.
            core.set_x(2, (memory.end() - 16) as u32 & !15);
        }
        let find = |name| elf.symbol(name).map(|symbol| symbol.addr);
        let htif = Htif { tohost: find("tohost"), fromhost: find("fromhost"), pending: None };
        let nothing = Program::new(isa, 0, &[]);
        let output = Output::default();
        Ok(Machine { isa, core, memory, nothing, host, htif, output, reserved: None, symbols: elf, reason: None })
    }

    /// Runs to the end or to a limit.
    pub fn run(&mut self, limits: Limits) -> Outcome {
        let (mut traps_in_place, mut trap_before) = (0, None);
        let mut waited: Option<(u32, u64)> = None;
        loop {
            let (done, now) = (self.core.instructions(), self.core.time());
            let is_over = done >= limits.instructions || now >= limits.cycles;
            if let Some(pending) = self.htif.pending
                && (is_over || pending.is_whole || done - pending.at.instructions >= PATIENCE)
            {
                match self.htif.serve(&mut self.memory, &mut self.output) {
                    HostReply::Served => {}
                    HostReply::Exit(0) => return self.outcome(Verdict::Pass, pending.at, None),
                    HostReply::Exit(code) => return self.outcome(Verdict::Fail, pending.at, Some(code)),
                    HostReply::Strange(what) => {
                        self.reason = Some(format!("a store to `tohost` {what}"));
                        return self.outcome(Verdict::Stopped, pending.at, None);
                    }
                }
            }
            if is_over {
                return self.outcome(Verdict::Limit, self.moment(), None);
            }
            let left = if self.htif.pending.is_some() { PATIENCE } else { limits.instructions - done };
            let stop = match self.step(left, limits.cycles) {
                Stop::Access => self.answer(),
                stop => stop,
            };
            match stop {
                Stop::Trap if self.host == Host::LinuxUser => {
                    if let Some(outcome) = self.linux(self.core.last_trap()) {
                        return outcome;
                    }
                }
                Stop::Trap => {
                    let trap = self.core.last_trap();
                    // The program has trapped, so a pending request is complete.
                    if let Some(pending) = &mut self.htif.pending {
                        pending.is_whole = true;
                    }
                    // A missing handler traps at its first instruction, forever.
                    let is_stuck = trap.cause == cause::INSTRUCTION_FAULT && trap.pc == self.core.pc();
                    if is_stuck {
                        traps_in_place += 1;
                    } else {
                        (traps_in_place, trap_before) = (0, Some(trap));
                    }
                    if traps_in_place == 2 {
                        self.reason = Some(self.trap_text(trap_before.unwrap_or(trap)));
                        return self.outcome(Verdict::Stopped, self.moment(), None);
                    }
                }
                // No interrupt ever comes. The standard lets `wfi` end without an interrupt, so a loop around `wfi`
                // runs forever.
                Stop::Wait => {
                    let wait = (self.core.pc(), self.core.instructions());
                    if waited.is_some_and(|(pc, n)| pc == wait.0 && wait.1 - n <= 2) && self.htif.pending.is_none() {
                        return self.outcome(Verdict::Stopped, self.moment(), None);
                    }
                    waited = Some(wait);
                }
                // Other stops need nothing: stores are visible to fetches at once, and all lines are present.
                _ => {}
            }
        }
    }

    /// Runs at most `most` instructions, up to the first event that the core cannot handle alone.
    fn step(&mut self, most: u64, last_cycle: Cycle) -> Stop {
        let pc = self.core.pc();
        let range = self.memory.around(pc, 2);
        let (base, end) = range.map_or((0, 1 << 32), |range| (range.base.into(), u64::from(range.base) + range.size));
        let mut most = most;
        match self.core.executable() {
            None => return self.core.refuse_fetch(pc),
            Some(around) if around.start <= base && end <= around.end => {}
            Some(around) => {
                // Protection differs within this region, so each instruction is checked; its second half may be
                // elsewhere.
                let inst = range.and_then(|range| range.program.slot(pc)).map_or(2, |slot| slot.inst.bytes());
                if u64::from(pc) + u64::from(inst) > around.end {
                    return self.core.refuse_fetch(pc.wrapping_add(2));
                }
                most = 1;
            }
        }
        // The core needs help to cross from one range of memory to another.
        if self.memory.ranges.len() != 1 {
            most = 1;
        }
        // Each instruction takes at least a cycle, so this number of instructions stays within the limit.
        let horizon = self.core.time().saturating_add(most).min(last_cycle);
        self.core.run(range.map_or(&self.nothing, |range| &range.program), &self.memory.lines, horizon)
    }

    /// Answers the access that the core waits for, or refuses it.
    fn answer(&mut self) -> Stop {
        let access = *self.core.access();
        // Memory answers in the cycle after the access left decode. An access across two words takes two requests.
        let is_split = access.addr % 4 + access.bytes() > 4;
        let granted = self.core.time() + 1 + u64::from(is_split);
        if matches!(access.kind, AccessKind::Amo(_)) && !access.addr.is_multiple_of(4) {
            return self.core.misalign(granted);
        }
        let old = self.memory.load(access.addr, access.bytes()).filter(|_| self.core.may_access());
        let Some(old) = old else {
            return self.core.fault(granted);
        };
        let (new, answer) = match access.kind {
            AccessKind::Load(_) => (None, old),
            AccessKind::Store(_) => (Some(access.value), 0),
            AccessKind::Amo(Amo::LoadReserved) => {
                self.reserved = Some(access.addr);
                (None, old)
            }
            AccessKind::Amo(Amo::StoreConditional) => match self.reserved.take() == Some(access.addr) {
                true => (Some(access.value), 0),
                false => (None, 1),
            },
            AccessKind::Amo(amo) => (Some(amo.apply(old, access.value)), old),
        };
        self.core.complete(granted, answer);
        if let Some(new) = new {
            self.memory.store(access.addr, new, access.bytes());
            self.htif.stored(access.addr, access.bytes(), self.moment());
        }
        Stop::Yield
    }

    /// Serves a trap as Linux would; returns an outcome if the program has ended.
    fn linux(&mut self, trap: TrapInfo) -> Option<Outcome> {
        let is_call = matches!(trap.cause, cause::ECALL_USER | cause::ECALL_MACHINE);
        if !is_call {
            self.core.resume(trap.pc);
            self.reason = Some(self.trap_text(trap));
            return Some(self.outcome(Verdict::Stopped, self.moment(), None));
        }
        let arguments = [10, 11, 12].map(|register| self.core.x(register));
        match self.output.call(&self.memory, self.core.x(17), arguments) {
            Called::Exit(code) => {
                self.core.resume(trap.pc);
                Some(self.outcome(Verdict::Exit, self.moment(), Some(code)))
            }
            Called::Answer(answer) => {
                self.core.set_x(10, answer);
                self.core.resume(trap.pc.wrapping_add(4));
                None
            }
        }
    }

    fn moment(&self) -> Moment {
        Moment { instructions: self.core.instructions(), cycles: self.core.time(), pc: self.core.pc() }
    }

    /// Writes a trace of every instruction from now on. A cycle counts as a nanosecond.
    pub fn trace(&mut self, path: &Path) -> Result<CoreTraces, TraceWriteError> {
        let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
        let mut traces = CoreTraces::default();
        self.core.log_instructions(traces.add(TraceFile::create(path, clock, (0, Cycle::MAX))?));
        Ok(traces)
    }

    /// Value of a register.
    pub fn x(&self, register: u8) -> u32 {
        self.core.x(register)
    }

    /// Privilege of the core.
    pub fn privilege(&self) -> Privilege {
        self.core.privilege()
    }

    /// The words from `begin_signature` up to `end_signature`, one per line, as 8 hexadecimal digits.
    pub fn signature(&self) -> Result<String, ExecError> {
        let file = || self.symbols.file.clone();
        let find = |symbol: &'static str, what| {
            let found = self.symbols.symbol(symbol).map(|symbol| symbol.addr);
            found.ok_or_else(|| ExecError::NoSymbol { file: file(), symbol, what })
        };
        let first = find("begin_signature", "is where the signature begins")?;
        let last = find("end_signature", "is where the signature ends")?;
        let bytes = last.checked_sub(first).and_then(|size| self.memory.read(first, size));
        let Some(bytes) = bytes else { return Err(ExecError::Signature { file: file(), first, last }) };
        let word = |word: &[u8]| {
            let value = word.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
            format!("{value:08x}\n")
        };
        Ok(bytes.chunks(4).map(word).collect())
    }

    /// A trap without a handler, as text.
    fn trap_text(&self, trap: TrapInfo) -> String {
        let TrapInfo { cause, pc, value, .. } = trap;
        let at = self.symbols.place(pc);
        let what = match cause {
            cause::LOAD_FAULT | cause::STORE_FAULT => format!(" of {value:#010x}"),
            cause::ILLEGAL_INSTRUCTION if value != 0 => format!(" {value:#x}{}", self.lacking(value)),
            _ => String::new(),
        };
        format!("{}{what} at {at}, and nothing there to handle it", cause_name(cause))
    }

    /// For an illegal word that other cores execute: the missing extension, in brackets; otherwise empty.
    fn lacking(&self, word: u32) -> String {
        let Some(row) = decode(word).row().filter(|row| !self.isa.has(row.extension)) else { return String::new() };
        format!(" ({} needs the extension {}, but the core is {})", row.name, row.extension.name(), self.isa)
    }

    /// The result of a run that ends now; `number` is the number of the failed test, or the exit code of the program.
    fn outcome(&self, verdict: Verdict, at: Moment, number: Option<u32>) -> Outcome {
        let Moment { instructions, cycles, pc } = at;
        let place = self.symbols.place(pc);
        let what = match (verdict, number) {
            (Verdict::Fail, Some(test)) => format!("fail: test {test}"),
            (Verdict::Exit, Some(code)) => format!("exit: {code}"),
            (Verdict::Limit, _) => format!("limit: still runs, at {place}"),
            (Verdict::Stopped, _) => match &self.reason {
                Some(reason) => format!("stopped: {reason}"),
                None => format!("stopped: nothing more can happen, at {place}"),
            },
            _ => "pass".into(),
        };
        let has_nobody_to_tell = self.host == Host::Bare && self.htif.tohost.is_none() && verdict != Verdict::Exit;
        let why = if has_nobody_to_tell { "; it has no symbol `tohost` to write a verdict to" } else { "" };
        let cut = if self.output.is_cut { format!("; it printed more than {MAX_OUTPUT} bytes") } else { String::new() };
        let text = format!("{what}{why}; {instructions} instructions, {cycles} cycles{cut}");
        let output = String::from_utf8_lossy(&self.output.bytes).into_owned();
        let test = number.filter(|_| verdict == Verdict::Fail);
        let exit_code = number.filter(|_| verdict == Verdict::Exit);
        Outcome { verdict, test, exit_code, instructions, cycles, pc, output, text }
    }
}
