//! Programs of units with cores.

use super::check::CheckedChains;
use crate::elf::{Elf, ElfError};
use crate::program::is_source;
use crate::unit;
use panic::unit::EngineParams;
use panic::unit::riscv::Image;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A program that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramFault {
    /// It is not an ELF file for RISC-V.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// It does not fit its unit.
    #[error("{file}: {problem}; programs for such units are built with `spinet build --target panic`")]
    Unit {
        /// The file.
        file: String,
        /// The fault.
        problem: String,
    },
    /// It is a list of sources.
    #[error("the program of service `{service}` is C source: it must be compiled before it can run")]
    NotCompiled {
        /// The service.
        service: String,
    },
}

/// The program of a service's units.
pub struct Program {
    /// Position of the service.
    pub service: usize,
    /// The program as a unit has it in memory.
    pub image: Rc<Image>,
    /// The file, for reports.
    pub elf: Elf,
}

/// Loads the programs for the units of services: `compiled` programs by the names of services, or the files of the
/// experiment.
pub fn load(checked: &CheckedChains, compiled: &BTreeMap<String, PathBuf>) -> Result<Vec<Program>, ProgramFault> {
    let mut found = Vec::new();
    for (i, service) in checked.services.iter().enumerate() {
        let EngineParams::Riscv(params) = &service.engine else { continue };
        let entry = checked.experiment.service.iter().find(|said| said.0.name == service.name);
        let named: Vec<&String> = entry.into_iter().flat_map(|said| said.0.program.iter()).collect();
        let path = match (compiled.get(&service.name), &named[..]) {
            (Some(path), _) => path.as_path(),
            (None, [only]) if !is_source(only) => Path::new(only.as_str()),
            _ => return Err(ProgramFault::NotCompiled { service: service.name.clone() }),
        };
        let elf = Elf::open(path)?;
        let image = unit::image(&elf);
        image.check(params).map_err(|problem| ProgramFault::Unit { file: elf.file.clone(), problem })?;
        found.push(Program { service: i, image: Rc::new(image), elf });
    }
    Ok(found)
}
