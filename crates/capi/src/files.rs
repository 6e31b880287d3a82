//! Files that C programs name, which may be devices without end.

use crate::Error;
use spinet::files::read_at_most;
use std::io;
use std::path::Path;

/// Most bytes of a program in any form.
pub const PROGRAM_BYTES: u64 = spinet::elf::MAX_FILE_BYTES;
/// Most bytes of packets, or of what describes them, all of which are in memory at once; more than any experiment of PsPIN's has.
pub const PACKET_BYTES: u64 = 1 << 30;

/// All that is in a file of at most so many bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    match read_at_most(path, most) {
        Ok(bytes) if bytes.len() as u64 > most => Err(Error::TooLong { file: path.display().to_string(), most }),
        Ok(bytes) => Ok(bytes),
        Err(source) => Err(Error::Read { file: path.display().to_string(), source }),
    }
}

/// The same for a text.
pub fn read_text(path: &Path, most: u64) -> Result<String, Error> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        Error::Read { file: path.display().to_string(), source }
    })
}
