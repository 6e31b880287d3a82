//! qemu's user mode as the reference for what instructions mean.

use crate::linked::Outcome;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempPath;

/// An emulator; Debian has them in the package `qemu-user`.
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

/// Why there is no reference outcome.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// The emulator could not be started.
    #[error("{0} does not start ({1}); it is the reference for these tests: install Debian's qemu-user")]
    Start(Emulator, #[source] io::Error),
    /// The executable could not be written for it.
    #[error("cannot write the program for {0}: {1}")]
    Write(Emulator, #[source] io::Error),
    /// It ended early: a program crashed or did what user mode may not.
    #[error("{emulator} ended with {status} after {done} of {n_programs} programs: {stderr}")]
    Crash {
        /// Which one.
        emulator: Emulator,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Programs that had written their record.
        done: usize,
        /// Programs that should have.
        n_programs: usize,
        /// What it said.
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

    /// What it calls itself, such as `qemu-riscv32 version 7.2.22`; `None` if it is not on this machine.
    pub fn version(self) -> Option<String> {
        let output = Command::new(self.program()).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.lines().next()?.trim().to_owned())
    }

    /// Runs the executable `elf` of `n_programs` programs and returns what each left behind, as `outcomes` reads it from
    /// what they wrote.
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

/// A file with these contents that may be executed, until the path is dropped.
fn executable(contents: &[u8]) -> io::Result<TempPath> {
    let permissions = Permissions::from_mode(0o700); // qemu asks for it as Linux does.
    let mut file = tempfile::Builder::new().prefix("spinet-").permissions(permissions).tempfile()?;
    file.write_all(contents)?;
    Ok(file.into_temp_path())
}
