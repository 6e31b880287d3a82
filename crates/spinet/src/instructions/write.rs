//! Writes a trace file for each core, line by line as instructions complete.

use super::choose::{Choice, ChoiceError};
use super::spelling::{base_word, spelled};
use blocks::cpu::{InstructionLog, Retired, SINK};
use blocks::mips;
use isa::mips::disassemble;
use isa::mips::format::Operands;
use isa::riscv::Class;
use isa::riscv::format::{NONE, Register};
use kernel::{Clock, Cycle};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

/// The first line of a file.
pub const HEADER: &str = "                Time           Cycles PC       Instr    Mnemonic\n";

/// A trace that cannot be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TraceWriteError {
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error("{file}: {source}")]
    Write { file: String, source: io::Error },
}

/// The name of a core's file.
pub fn file_name(cluster: u32, core: u32) -> String {
    format!("trace_core_{cluster:02x}_{core:x}.log")
}

/// Appends the line of an instruction that left decode at `ps` picoseconds.
pub fn push_line(text: &mut String, ps: u64, retired: &Retired) {
    let Retired { cycle, pc, inst, before, after, addr, trapped } = *retired;
    let word = base_word(inst);
    // Writing to a string cannot fail.
    let _ = write!(text, "{ps:>21} {cycle:>15} {pc:08x} {word:08x} {:<36}", spelled(word));
    let mut register = |r: u8, sign: char, value: u32| {
        if r != 0 && r != SINK {
            let _ = write!(text, " {}x{r}{sign}{value:08x}", if r < 10 { " " } else { "" });
        }
    };
    let format = inst.row().map_or(NONE, |row| row.format);
    if !trapped {
        register(inst.rd, '=', after.rd);
        // An access with post-increment.
        if format.syntax.ends_with("(rs1!)") {
            register(inst.rs1, '=', after.rs1);
        }
    }
    let source = |field: Register, r: u8, value: u32| match field {
        Register::Absent | Register::Number(..) => (0, 0),
        Register::Fixed(_) | Register::At(_) | Register::Short(_) => (r, value),
    };
    let rs1 = source(format.rs1, inst.rs1, before.rs1);
    let rs2 = source(format.rs2, inst.rs2, before.rs2);
    let rs3 = source(format.rs3, inst.rs3, before.rs3);
    let read = match inst.class() {
        Class::Store => [rs2, rs3, rs1],
        Class::Load => [rs2, rs1, rs3],
        _ => [rs3, rs1, rs2],
    };
    read.into_iter().for_each(|(r, value)| register(r, ':', value));
    if let Some(addr) = addr {
        let _ = write!(text, "  PA:{addr:08x}");
    }
    text.push('\n');
}

/// Appends the line of a MIPS instruction that executed at `ps` picoseconds.
fn push_mips_line(text: &mut String, ps: u64, retired: &mips::Retired) {
    let mips::Retired { cycle, pc, inst, wrote, addr } = *retired;
    let operands = Operands { rs: inst.rs, rt: inst.rt, rd: inst.rd, imm: inst.imm };
    let word = inst.row().and_then(|row| row.encode(operands)).unwrap_or(inst.imm as u32);
    // Writing to a string cannot fail.
    let _ = write!(text, "{ps:>21} {cycle:>15} {pc:08x} {word:08x} {:<36}", disassemble(inst, pc));
    if let Some((r, value)) = wrote {
        let _ = write!(text, " {}x{r}={value:08x}", if r < 10 { " " } else { "" });
    }
    if let Some(addr) = addr {
        let _ = write!(text, "  PA:{addr:08x}");
    }
    text.push('\n');
}

/// An open trace file. It keeps its first error and writes nothing after it.
pub struct TraceFile {
    file: String,
    out: BufWriter<File>,
    clock: Clock,
    window: (Cycle, Cycle),
    line: String,
    error: Option<io::Error>,
}

impl TraceFile {
    /// Creates `path` and writes the header.
    pub fn create(path: &Path, clock: Clock, window: (Cycle, Cycle)) -> Result<Self, TraceWriteError> {
        let file = path.display().to_string();
        let create = || {
            let mut out = BufWriter::new(File::create(path)?);
            out.write_all(HEADER.as_bytes())?;
            Ok(out)
        };
        match create() {
            Ok(out) => Ok(TraceFile { file, out, clock, window, line: String::new(), error: None }),
            Err(source) => Err(TraceWriteError::Write { file, source }),
        }
    }

    /// Writes the line of an instruction.
    pub fn retired(&mut self, retired: &Retired) {
        self.write(retired.cycle, |line, ps| push_line(line, ps, retired));
    }

    fn write(&mut self, cycle: Cycle, push: impl FnOnce(&mut String, u64)) {
        let (from, to) = self.window;
        if cycle < from || cycle >= to || self.error.is_some() {
            return;
        }
        self.line.clear();
        push(&mut self.line, self.clock.edge(cycle).ps());
        self.error = self.out.write_all(self.line.as_bytes()).err();
    }

    /// Returns the error so far, once.
    pub fn check(&mut self) -> Result<(), TraceWriteError> {
        match self.error.take() {
            Some(source) => Err(TraceWriteError::Write { file: self.file.clone(), source }),
            None => Ok(()),
        }
    }

    /// Writes the buffered lines.
    pub fn flush(&mut self) -> Result<(), TraceWriteError> {
        self.check()?;
        self.out.flush().map_err(|source| TraceWriteError::Write { file: self.file.clone(), source })
    }
}

/// The files of a card's cores.
#[derive(Default)]
pub struct CoreTraces(Vec<Rc<RefCell<TraceFile>>>);

impl CoreTraces {
    /// Creates a file in `directory`, which must exist, for each chosen core, and observes the cores.
    pub fn start(
        nic: &mut pspin::Pspin,
        params: &pspin::PspinParams,
        clock: Clock,
        directory: &Path,
        choice: &Choice,
    ) -> Result<Self, TraceWriteError> {
        let cores = choice.cores(params.n_clusters, params.cluster.n_cores)?;
        let mut traces = CoreTraces::default();
        for (cluster, core) in cores {
            let path = directory.join(file_name(cluster, core));
            let log = traces.add(TraceFile::create(&path, clock, choice.window(&clock))?);
            nic.log_instructions(cluster, core, log);
        }
        Ok(traces)
    }

    /// Creates a file in `directory`, which exists, for each chosen core of a wired card, and listens to the cores. For `choice`, they
    /// are the cores of cluster 0.
    pub fn start_wired(
        cores: &[(Clock, Rc<RefCell<mips::MipsCore>>)],
        directory: &Path,
        choice: &Choice,
    ) -> Result<Self, TraceWriteError> {
        let mut traces = CoreTraces::default();
        for (cluster, number) in choice.cores(1, cores.len() as u32)? {
            let (clock, core) = &cores[number as usize];
            let path = directory.join(file_name(cluster, number));
            let file = Rc::new(RefCell::new(TraceFile::create(&path, *clock, choice.window(clock))?));
            traces.0.push(file.clone());
            let write = move |retired: &mips::Retired| {
                file.borrow_mut().write(retired.cycle, |line, ps| push_mips_line(line, ps, retired));
            };
            core.borrow_mut().log_instructions(Box::new(write));
        }
        Ok(traces)
    }

    /// Adds a file, and returns its writer.
    pub fn add(&mut self, file: TraceFile) -> InstructionLog {
        let file = Rc::new(RefCell::new(file));
        self.0.push(file.clone());
        Box::new(move |retired| file.borrow_mut().retired(retired))
    }

    /// Returns the error so far.
    pub fn check(&self) -> Result<(), TraceWriteError> {
        self.0.iter().try_for_each(|file| file.borrow_mut().check())
    }

    /// Writes the buffered lines.
    pub fn flush(&self) -> Result<(), TraceWriteError> {
        self.0.iter().try_for_each(|file| file.borrow_mut().flush())
    }
}
