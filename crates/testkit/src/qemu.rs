//! qemu's user mode as the reference for instruction semantics.

use crate::linked::Outcome;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempPath;

/// An emulator from Debian's package `qemu-user`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emulator {
    /// `qemu-riscv32`.
    RiscV32,
    /// `qemu-mips`, big-endian.
    Mips,
}

impl std::fmt::Display for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.program())
    }
}

/// The reason why there is no reference outcome.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// The emulator could not be started.
    #[error("cannot start {0} ({1}); these tests need it: install Debian's qemu-user")]
    Start(Emulator, #[source] io::Error),
    /// The executable could not be written.
    #[error("cannot write the program for {0}: {1}")]
    Write(Emulator, #[source] io::Error),
    /// The emulator ended early: a program crashed or did something that user mode does not allow.
    #[error("{emulator} ended with {status} after {done} of {n_programs} programs: {stderr}")]
    Crash {
        /// The emulator.
        emulator: Emulator,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Number of programs that wrote their record.
        done: usize,
        /// Number of programs in the executable.
        n_programs: usize,
        /// Its standard error.
        stderr: String,
    },
}

impl Emulator {
    fn program(self) -> &'static str {
        match self {
            Emulator::RiscV32 => "qemu-riscv32",
            Emulator::Mips => "qemu-mips",
        }
    }

    /// Its version text, such as `qemu-riscv32 version 7.2.22`; `None` if it is not installed.
    pub fn version(self) -> Option<String> {
        let output = Command::new(self.program()).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.lines().next()?.trim().to_owned())
    }

    /// Runs the executable `elf` with `n_programs` programs and returns their final states. `outcomes` parses them from
    /// the output.
    pub fn run(
        self,
        elf: &[u8],
        n_programs: usize,
        outcomes: fn(&[u8]) -> Vec<Outcome>,
    ) -> Result<Vec<Outcome>, QemuError> {
        let path = executable(elf).map_err(|error| QemuError::Write(self, error))?;
        let output = Command::new(self.program()).arg(&path).output().map_err(|error| QemuError::Start(self, error))?;
        let outcomes = outcomes(&output.stdout);
        if !output.status.success() || outcomes.len() != n_programs {
            return Err(QemuError::Crash {
                emulator: self,
                status: output.status,
                done: outcomes.len(),
                n_programs,
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        Ok(outcomes)
    }
}

/// An executable file with these contents, which is deleted when the path is dropped.
fn executable(contents: &[u8]) -> io::Result<TempPath> {
    let permissions = Permissions::from_mode(0o700); // qemu requires it, like Linux.
    let mut file = tempfile::Builder::new().prefix("spinet-").permissions(permissions).tempfile()?;
    file.write_all(contents)?;
    Ok(file.into_temp_path())
}
