//! `libpspin.so`: the C interface of PsPIN's simulation library and its generic driver, on this simulator.
//!
//! Source: spcl/pspin a49fec8, `hw/verilator_model/include` and `examples/generic_driver`; the headers of this crate
//! are in `include/`. Each C function here checks its pointers, calls one safe function, and returns a status.
//!
//! [`library`] holds the process's one simulation and its operations, [`simulation`] runs the NIC, and [`edge`] is the
//! NIC's edge: packets that wait for the NIC, and calls that wait for the C program.
//!
//! [`driver`] is a second interface in the same library: `spinet_driver.h`, the driver of a card that several tenants
//! share.

mod callbacks;
mod conf;
mod driver;
mod edge;
mod ffi;
mod files;
mod gdriver;
mod guard;
mod image;
mod library;
mod packet_trace;
mod program;
mod simulation;
mod slm;
mod srec;
mod stats;
mod watch;
mod waves;

use pspin::PspinError;
use spinet::elf::ElfError;
use spinet::exhaustion::Allocator;
use spinet::instructions::TraceWriteError;
use spinet::nics::NicError;
use spinet::program::ProgramError;
use spinet::run::RunError;
use std::io;

/// Ends the C program with a message if there is no memory, where Rust would abort.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Reason why a function returns `SPIN_ERR`.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{what} is NULL, must point to {wanted}")]
    Null { what: &'static str, wanted: &'static str },
    #[error("there is no simulation; call this function after pspinsim_init and before pspinsim_fini")]
    NoSimulation,
    #[error("there is a simulation already; call pspinsim_fini first")]
    Exists,
    #[error("there is no generic driver; call this function after gdriver_init and before gdriver_fini")]
    NoDriver,
    #[error("there is no program yet; call gdriver_add_ectx first")]
    Empty,
    #[error("the simulation is running; do not call this function from a callback")]
    Running,
    #[error(
        "conf->slm_files_path is NULL and PSPIN_HW is not set; set one to the folder of memory images or the ELF file"
    )]
    NoProgram,
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{file}: the file is too long (at most {most} bytes are allowed)")]
    TooLong { file: String, most: u64 },
    #[error("{file}: {source}")]
    Write { file: String, source: io::Error },
    #[error(
        "{file}: prog_mem_stim.slm is missing; write a folder with memory images, or an ELF file; `spinet build` makes both"
    )]
    NotAProgram { file: String },
    #[error("{file}: line {line}: {problem}")]
    Text { file: String, line: usize, problem: String },
    #[error("{file}: {problem}")]
    Trace { file: String, problem: String },
    #[error("{0}")]
    Options(String),
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("SPINET_INSTRUCTIONS: {0}")]
    Instructions(#[from] TraceWriteError),
    #[error("SPINET_NIC: {0}")]
    Preset(#[from] NicError),
    #[error("conf: {field} is {found}, must be {allowed}")]
    Conf { field: String, found: String, allowed: String },
    #[error(transparent)]
    Nic(#[from] PspinError),
    #[error("{what} is {found}, must be {allowed}")]
    Argument { what: &'static str, found: String, allowed: String },
    #[error(
        "access to {size} bytes at {addr:#010x}, must be within handler memory ({handler}) or program memory ({program})"
    )]
    Access { addr: u32, size: u64, handler: String, program: String },
    #[error("{0}")]
    Stuck(String),
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Error {
    /// Returns true if an option or `SPINET_NIC` is wrong. The C program cannot correct that.
    fn is_users_error(&self) -> bool {
        matches!(self, Error::Options(_) | Error::Preset(_))
    }
}
