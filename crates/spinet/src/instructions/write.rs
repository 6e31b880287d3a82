//! Writes a trace file for each core, line by line as instructions complete.

use super::choose::{Choice, ChoiceError};
use super::line::Texts;
use blocks::cpu::InstructionLog;
use blocks::mips;
use kernel::{Clock, Cycle};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// The first line of a file.
pub const HEADER: &str = "                Time           Cycles PC       Instr    Mnemonic\n";

/// Bytes that are written at once. With 8 KiB the kernel needs twice as long for the same file.
const BUFFER_BYTES: usize = 1 << 16;

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

/// An open trace file. It keeps its first error and writes nothing after it.
pub struct TraceFile {
    file: String,
    out: File,
    clock: Clock,
    window: (Cycle, Cycle),
    /// Lines that are not in the file yet.
    lines: Vec<u8>,
    error: Option<io::Error>,
}

impl TraceFile {
    /// Creates `path` and writes the header.
    pub fn create(path: &Path, clock: Clock, window: (Cycle, Cycle)) -> Result<Self, TraceWriteError> {
        let file = path.display().to_string();
        let out = File::create(path).map_err(|source| TraceWriteError::Write { file: file.clone(), source })?;
        Ok(TraceFile { file, out, clock, window, lines: HEADER.into(), error: None })
    }

    /// Writes a line about `cycle`. `push` appends it and gets the time of the cycle in ps.
    fn write(&mut self, cycle: Cycle, push: impl FnOnce(&mut Vec<u8>, u64)) {
        let (from, to) = self.window;
        if cycle < from || cycle >= to || self.error.is_some() {
            return;
        }
        push(&mut self.lines, self.clock.edge(cycle).ps());
        if self.lines.len() >= BUFFER_BYTES {
            self.write_lines();
        }
    }

    fn write_lines(&mut self) {
        self.error = self.out.write_all(&self.lines).err();
        self.lines.clear();
    }

    /// Returns the error so far, once.
    pub fn check(&mut self) -> Result<(), TraceWriteError> {
        match self.error.take() {
            Some(source) => Err(TraceWriteError::Write { file: self.file.clone(), source }),
            None => Ok(()),
        }
    }

    /// Writes the waiting lines.
    pub fn flush(&mut self) -> Result<(), TraceWriteError> {
        self.check()?;
        self.write_lines();
        self.check()
    }
}

impl Drop for TraceFile {
    /// A run that ended with an error leaves its lines up to the error.
    fn drop(&mut self) {
        if self.error.is_none() {
            self.write_lines();
        }
    }
}

/// The files of a card's cores.
#[derive(Default)]
pub struct CoreTraces {
    files: Vec<Rc<RefCell<TraceFile>>>,
    /// Texts for all RISC-V cores, because these usually run the same program.
    texts: Rc<RefCell<Texts<isa::riscv::Inst>>>,
}

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
        let texts = Rc::new(RefCell::new(Texts::default()));
        for (cluster, number) in choice.cores(1, cores.len() as u32)? {
            let (clock, core) = &cores[number as usize];
            let path = directory.join(file_name(cluster, number));
            let file = Rc::new(RefCell::new(TraceFile::create(&path, *clock, choice.window(clock))?));
            traces.files.push(file.clone());
            let texts = texts.clone();
            let write = move |retired: &mips::Retired| {
                let push = |line: &mut _, ps| texts.borrow_mut().push_mips_line(line, ps, retired);
                file.borrow_mut().write(retired.cycle, push);
            };
            core.borrow_mut().log_instructions(Box::new(write));
        }
        Ok(traces)
    }

    /// Adds a file, and returns its writer.
    pub fn add(&mut self, file: TraceFile) -> InstructionLog {
        let file = Rc::new(RefCell::new(file));
        self.files.push(file.clone());
        let texts = self.texts.clone();
        Box::new(move |retired| {
            let push = |line: &mut _, ps| texts.borrow_mut().push_line(line, ps, retired);
            file.borrow_mut().write(retired.cycle, push);
        })
    }

    /// Returns the error so far.
    pub fn check(&self) -> Result<(), TraceWriteError> {
        self.files.iter().try_for_each(|file| file.borrow_mut().check())
    }

    /// Writes the buffered lines.
    pub fn flush(&self) -> Result<(), TraceWriteError> {
        self.files.iter().try_for_each(|file| file.borrow_mut().flush())
    }
}
