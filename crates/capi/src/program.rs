//! Location of the program, and handlers by name.

use crate::Error;
use spinet::elf::Elf;
use std::path::{Path, PathBuf};

/// Folder of the memory images of PsPIN's hardware simulation.
const HW_VARIABLE: &str = "PSPIN_HW";
/// Folder of the memory images within it.
const HW_IMAGES: &str = "sim_files/slm_files";
/// Size that PsPIN reports for every handler, in bytes.
pub const HANDLER_BYTES: usize = 4096;

/// The folder of memory images, or the ELF file, of a configuration.
pub fn locate(slm_files_path: Option<&Path>) -> Result<PathBuf, Error> {
    match (slm_files_path, std::env::var_os(HW_VARIABLE)) {
        (Some(path), _) => Ok(path.into()),
        (None, Some(hw)) => Ok(Path::new(&hw).join(HW_IMAGES)),
        (None, None) => Err(Error::NoProgram),
    }
}

/// Address of the symbol `name` in an ELF file.
pub fn find(file: &Path, name: &str) -> Result<Option<u32>, Error> {
    Ok(Elf::open(file)?.symbol(name).map(|symbol| symbol.addr))
}
