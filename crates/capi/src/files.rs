//! Reads files of C programs with a size limit, because a file may be an endless device.

use crate::Error;
use spinet::files::read_at_most;
use std::io;
use std::path::Path;

/// Largest program file, in bytes.
pub const PROGRAM_BYTES: u64 = spinet::elf::MAX_FILE_BYTES;
/// Largest packet file, in bytes. It is held in memory; PsPIN's experiments need less.
pub const PACKET_BYTES: u64 = 1 << 30;

/// Reads a file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    match read_at_most(path, most) {
        Ok(bytes) if bytes.len() as u64 > most => Err(Error::TooLong { file: path.display().to_string(), most }),
        Ok(bytes) => Ok(bytes),
        Err(source) => Err(Error::Read { file: path.display().to_string(), source }),
    }
}

/// The same for text.
pub fn read_text(path: &Path, most: u64) -> Result<String, Error> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        Error::Read { file: path.display().to_string(), source }
    })
}
