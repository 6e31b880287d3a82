//! qemu's user mode as the reference for what instructions mean.

use crate::linked::{Linked, Outcome};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tempfile::TempPath;

/// The emulator; Debian has it in the package `qemu-user`.
const EMULATOR: &str = "qemu-riscv32";

/// Why there is no reference outcome.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// The emulator could not be started.
    #[error("{EMULATOR} does not start ({0}); it is the reference for these tests: install Debian's qemu-user")]
    Start(#[source] io::Error),
    /// The executable could not be written for it.
    #[error("cannot write the program for {EMULATOR}: {0}")]
    Write(#[source] io::Error),
    /// It ended early: a program crashed or did what user mode may not.
    #[error("{EMULATOR} ended with {status} after {done} of {n_programs} programs: {stderr}")]
    Crash {
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

/// What the emulator calls itself, such as `qemu-riscv32 version 7.2.22`; `None` if it is not on this machine.
pub fn qemu_version() -> Option<String> {
    let output = Command::new(EMULATOR).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().next()?.trim().to_owned())
}

/// Runs `programs` on qemu and returns what each left behind.
pub fn run_qemu(programs: &Linked) -> Result<Vec<Outcome>, QemuError> {
    let path = executable(&programs.elf()).map_err(QemuError::Write)?;
    let output = Command::new(EMULATOR).arg(&path).output().map_err(QemuError::Start)?;
    let outcomes = Linked::outcomes(&output.stdout);
    if !output.status.success() || outcomes.len() != programs.n_programs {
        return Err(QemuError::Crash {
            status: output.status,
            done: outcomes.len(),
            n_programs: programs.n_programs,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(outcomes)
}

/// A file with these contents that may be executed, until the path is dropped.
fn executable(contents: &[u8]) -> io::Result<TempPath> {
    let permissions = Permissions::from_mode(0o700); // qemu asks for it as Linux does.
    let mut file = tempfile::Builder::new().prefix("spinet-").permissions(permissions).tempfile()?;
    file.write_all(contents)?;
    Ok(file.into_temp_path())
}
