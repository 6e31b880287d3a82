//! A plain machine: one core and flat memory, for programs that bring all they need.
//!
//! The program stands where its segments say, each with 1 MiB of zeros behind it; all else is not there, and to touch it
//! is a trap. A store to the word at the symbol `tohost` ends the run, as in the public RISC-V tests: 1 passes, any other
//! odd number is twice the number of the test that failed, plus 1. Memory answers in one cycle.

use crate::elf::{Elf, ElfError};
use crate::instructions::{CoreTraces, TraceFile, TraceWriteError};
use crate::summary::cause_name;
use blocks::cpu::{Access, AccessKind, Core, Lines, PresentLines, Privilege, Profile, Program, Stop, TrapInfo};
pub use isa::riscv::Isa;
use isa::riscv::{Amo, cause};
use kernel::{Clock, Cycle, Freq};
use serde::Serialize;
use std::path::Path;

/// What stands in for the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    /// Nothing: `ecall` is a trap like any other.
    #[default]
    Bare,
    /// Linux for user programs: `ecall` 64 writes to standard output or error, 93 and 94 exit; others fail with ENOSYS.
    LinuxUser,
}

/// When a run ends, if the program does not end it.
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
    /// Another odd number was.
    Fail,
    /// The program asked Linux to exit.
    Exit,
    /// A limit was reached.
    Limit,
    /// Nothing more can happen: a loop around `wfi`, or a trap whose handler is not there.
    Stopped,
}

/// What a run was.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// The test that failed.
    pub test: Option<u32>,
    /// What the program exited with.
    pub exit_code: Option<u32>,
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles.
    pub cycles: u64,
    /// Where the core is.
    pub pc: u32,
    /// What the program printed.
    pub output: String,
    /// All that in a line.
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

/// Most memory of a program: each byte costs the host about twelve.
const MAX_BYTES: u64 = 64 << 20;
/// Zeros behind a segment, in bytes.
const SLACK: u64 = 1 << 20;
const PAGE: u64 = 4096;
/// Most bytes of output that are kept.
const MAX_OUTPUT: usize = 1 << 20;

/// `ecall` numbers of Linux on RISC-V.
mod linux {
    pub const WRITE: u32 = 64;
    pub const EXIT: u32 = 93;
    pub const EXIT_GROUP: u32 = 94;
    pub const ENOSYS: u32 = 38;
    pub const EBADF: u32 = 9;
    pub const EFAULT: u32 = 14;
}

/// Fetch lines that are always there, as [`Lines::there`] tells them: as many as the longest part of the program has.
struct AlwaysThere(Vec<u8>);

impl Lines for AlwaysThere {
    #[inline]
    fn present(&self, _addr: u32) -> bool {
        true
    }

    #[inline]
    fn there(&self) -> &[u8] {
        &self.0
    }
}

/// The machine.
pub struct Machine {
    core: Core,
    /// Ranges of memory, in order of their addresses.
    memory: Vec<Range>,
    /// Memory that is not there, to run into.
    nothing: Program,
    lines: AlwaysThere,
    tohost: Option<u32>,
    host: Host,
    output: Vec<u8>,
    /// Word that `lr.w` reserved.
    reserved: Option<u32>,
    symbols: Elf,
    /// What ended the run, if a trap did.
    trap: Option<TrapInfo>,
}

struct Range {
    base: u32,
    size: u64,
    program: Program,
}

impl Range {
    fn holds(&self, addr: u32, bytes: u32) -> bool {
        let at = u64::from(addr.wrapping_sub(self.base));
        addr >= self.base && at + u64::from(bytes) <= self.size
    }
}

/// What an access comes to.
enum Answer {
    Value(u32),
    Fault,
    ToHost(u32),
}

impl Machine {
    /// A machine with the program `elf` in its memory, whose core understands `isa`.
    pub fn new(elf: Elf, isa: Isa, host: Host) -> Result<Self, ExecError> {
        let mut core = Core::new(Profile::Standard, 0, elf.entry);
        let memory = ranges(&elf, isa)?;
        if host == Host::LinuxUser {
            // A stack, where the program brings none: the end of the last range.
            let top = memory.last().map_or(0, |range| (u64::from(range.base) + range.size - 16) as u32);
            core.set_x(2, top & !15);
        }
        let tohost = elf.symbol("tohost").map(|symbol| symbol.addr);
        let nothing = Program::new(isa, 0, &[]);
        let longest = memory.iter().map(|range| range.size).max().unwrap_or(0);
        let lines = AlwaysThere(vec![PresentLines::MOST; (longest / 16 + 2) as usize]);
        Ok(Machine {
            core,
            memory,
            nothing,
            lines,
            tohost,
            host,
            output: Vec::new(),
            reserved: None,
            symbols: elf,
            trap: None,
        })
    }

    /// Runs to the end or to a limit.
    pub fn run(&mut self, limits: Limits) -> Outcome {
        let (mut traps_in_place, mut trap_before) = (0, None);
        let mut waited: Option<(u32, u64)> = None;
        loop {
            let (done, now) = (self.core.instructions(), self.core.time());
            if done >= limits.instructions || now >= limits.cycles {
                return self.outcome(Verdict::Limit, None, None);
            }
            // An instruction takes a cycle or more, so as many cycles do not pass the limit. Between ranges of memory the
            // core has to be led from one to the other.
            let most = if self.memory.len() == 1 { limits.instructions - done } else { 1 };
            let horizon = now.saturating_add(most).min(limits.cycles);
            let at = self.memory.iter().position(|range| range.holds(self.core.pc(), 2));
            let program = at.map_or(&self.nothing, |at| &self.memory[at].program);
            let stop = self.core.run(program, &self.lines, horizon);
            let stop = match stop {
                Stop::Access => {
                    let access = *self.core.access();
                    // Memory answers in the cycle after the access left decode; across two words it is asked twice.
                    let is_split = access.addr % 4 + access.kind.bytes() > 4;
                    let granted = self.core.time() + 1 + u64::from(is_split);
                    match self.access(&access) {
                        Answer::Value(raw) => {
                            self.core.complete(granted, raw);
                            continue;
                        }
                        Answer::ToHost(value) => {
                            self.core.complete(granted, 0);
                            if value & 1 == 1 {
                                let verdict = if value == 1 { Verdict::Pass } else { Verdict::Fail };
                                return self.outcome(verdict, (value != 1).then_some(value >> 1), None);
                            }
                            continue;
                        }
                        Answer::Fault => self.core.fault(granted),
                    }
                }
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
                    // A handler that is not there traps where it would begin, for ever.
                    let is_stuck = trap.cause == cause::INSTRUCTION_FAULT && trap.pc == self.core.pc();
                    if is_stuck {
                        traps_in_place += 1;
                    } else {
                        (traps_in_place, trap_before) = (0, Some(trap));
                    }
                    if traps_in_place == 2 {
                        self.trap = trap_before;
                        return self.outcome(Verdict::Stopped, None, None);
                    }
                }
                // No interrupt ever comes, and the standard lets `wfi` end without one; a loop around it is the end.
                Stop::Wait => {
                    let wait = (self.core.pc(), self.core.instructions());
                    if waited.is_some_and(|(pc, n)| pc == wait.0 && wait.1 - n <= 2) {
                        return self.outcome(Verdict::Stopped, None, None);
                    }
                    waited = Some(wait);
                }
                // Stores reach the program at once; lines are always there.
                _ => {}
            }
        }
    }

    fn access(&mut self, access: &Access) -> Answer {
        let Access { addr, value, kind, .. } = *access;
        let bytes = kind.bytes();
        if matches!(kind, AccessKind::Amo(_)) && !addr.is_multiple_of(4) {
            return Answer::Fault;
        }
        let Some(range) = self.memory.iter_mut().find(|range| range.holds(addr, bytes)) else { return Answer::Fault };
        let at = addr.wrapping_sub(range.base) as usize;
        let mut word = [0; 4];
        word[..bytes as usize].copy_from_slice(&range.program.bytes()[at..at + bytes as usize]);
        let old = u32::from_le_bytes(word);
        let (new, answer) = match kind {
            AccessKind::Load(_) => return Answer::Value(old),
            AccessKind::Store(_) => (value, 0),
            AccessKind::Amo(Amo::LoadReserved) => {
                self.reserved = Some(addr);
                return Answer::Value(old);
            }
            AccessKind::Amo(Amo::StoreConditional) => {
                if self.reserved.take() != Some(addr) {
                    return Answer::Value(1);
                }
                (value, 0)
            }
            AccessKind::Amo(amo) => (amo.apply(old, value), old),
        };
        range.program.write(addr, &new.to_le_bytes()[..bytes as usize]);
        match self.tohost {
            // The low word decides; the high one of 64 bits is written besides.
            Some(tohost) if addr == tohost && bytes == 4 => Answer::ToHost(new),
            _ => Answer::Value(answer),
        }
    }

    /// Does what Linux would do after a trap; an outcome if the program is over.
    fn linux(&mut self, trap: TrapInfo) -> Option<Outcome> {
        let is_call = matches!(trap.cause, cause::ECALL_USER | cause::ECALL_MACHINE);
        if !is_call {
            self.core.resume(trap.pc);
            self.trap = Some(trap);
            return Some(self.outcome(Verdict::Stopped, None, None));
        }
        let (number, a0, a1, a2) = (self.core.x(17), self.core.x(10), self.core.x(11), self.core.x(12));
        let answer = match number {
            linux::EXIT | linux::EXIT_GROUP => {
                self.core.resume(trap.pc);
                return Some(self.outcome(Verdict::Exit, None, Some(a0 & 0xff)));
            }
            linux::WRITE if a0 != 1 && a0 != 2 => linux::EBADF.wrapping_neg(),
            linux::WRITE => match self.read(a1, a2) {
                Some(bytes) => {
                    let room = MAX_OUTPUT - self.output.len();
                    self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    a2
                }
                None => linux::EFAULT.wrapping_neg(),
            },
            _ => linux::ENOSYS.wrapping_neg(),
        };
        self.core.set_x(10, answer);
        self.core.resume(trap.pc.wrapping_add(4));
        None
    }

    fn read(&self, addr: u32, bytes: u32) -> Option<Vec<u8>> {
        if bytes == 0 {
            return Some(Vec::new());
        }
        let range = self.memory.iter().find(|range| range.holds(addr, bytes))?;
        let at = (addr - range.base) as usize;
        Some(range.program.bytes()[at..at + bytes as usize].to_vec())
    }

    /// Writes a trace of every instruction from now on, one cycle being a nanosecond.
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

    /// The words from `begin_signature` up to `end_signature`, one a line, in 8 hexadecimal digits.
    pub fn signature(&self) -> Result<String, ExecError> {
        let file = || self.symbols.file.clone();
        let find = |symbol: &'static str, what| {
            let found = self.symbols.symbol(symbol).map(|symbol| symbol.addr);
            found.ok_or_else(|| ExecError::NoSymbol { file: file(), symbol, what })
        };
        let first = find("begin_signature", "is where the signature begins")?;
        let last = find("end_signature", "is where the signature ends")?;
        let bytes = last.checked_sub(first).and_then(|size| self.read(first, size));
        let Some(bytes) = bytes else { return Err(ExecError::Signature { file: file(), first, last }) };
        let word = |word: &[u8]| {
            let value = word.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
            format!("{value:08x}\n")
        };
        Ok(bytes.chunks(4).map(word).collect())
    }

    /// A trap that nothing handles, in words.
    fn trap_text(&self, trap: TrapInfo) -> String {
        let TrapInfo { cause, pc, value, .. } = trap;
        let at = self.symbols.place(pc);
        let what = match cause {
            cause::LOAD_FAULT | cause::STORE_FAULT => format!(" of {value:#010x}"),
            cause::ILLEGAL_INSTRUCTION if value != 0 => format!(" {value:#x}"),
            _ => String::new(),
        };
        format!("{}{what} at {at}, and nothing there to handle it", cause_name(cause))
    }

    fn outcome(&self, verdict: Verdict, test: Option<u32>, exit_code: Option<u32>) -> Outcome {
        let (instructions, cycles, pc) = (self.core.instructions(), self.core.time(), self.core.pc());
        let place = self.symbols.place(pc);
        let what = match (verdict, test, exit_code) {
            (Verdict::Fail, Some(test), _) => format!("fail: test {test}"),
            (Verdict::Exit, _, Some(code)) => format!("exit: {code}"),
            (Verdict::Limit, ..) => format!("limit: still runs, at {place}"),
            (Verdict::Stopped, ..) => match self.trap {
                Some(trap) => format!("stopped: {}", self.trap_text(trap)),
                None => format!("stopped: nothing more can happen, at {place}"),
            },
            _ => "pass".into(),
        };
        let has_nobody_to_tell = self.host == Host::Bare && self.tohost.is_none() && verdict != Verdict::Exit;
        let why = if has_nobody_to_tell { "; it has no symbol `tohost` to write a verdict to" } else { "" };
        let text = format!("{what}{why}; {instructions} instructions, {cycles} cycles");
        let output = String::from_utf8_lossy(&self.output).into_owned();
        Outcome { verdict, test, exit_code, instructions, cycles, pc, output, text }
    }
}

/// The program's memory: its segments rounded to pages, with slack; what touches becomes one range.
fn ranges(elf: &Elf, isa: Isa) -> Result<Vec<Range>, ExecError> {
    let mut segments: Vec<_> = elf.segments.iter().collect();
    segments.sort_by_key(|segment| segment.addr);
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for segment in &segments {
        let first = u64::from(segment.addr) / PAGE * PAGE;
        let end = (segment.end().next_multiple_of(PAGE) + SLACK).min(1 << 32);
        match spans.last_mut() {
            Some((_, last)) if *last >= first => *last = end.max(*last),
            _ => spans.push((first, end)),
        }
    }
    let found: u64 = spans.iter().map(|(first, end)| end - first).sum();
    if found > MAX_BYTES {
        return Err(ExecError::TooLarge { file: elf.file.clone(), found });
    }
    let range = |(first, end): (u64, u64)| {
        let mut bytes = vec![0; (end - first) as usize];
        for segment in segments.iter().filter(|s| u64::from(s.addr) >= first && u64::from(s.addr) < end) {
            let at = (u64::from(segment.addr) - first) as usize;
            bytes[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        Range { base: first as u32, size: end - first, program: Program::new(isa, first as u32, &bytes) }
    };
    Ok(spans.into_iter().map(range).collect())
}
