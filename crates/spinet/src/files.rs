//! Reads files that users name. They may be pipes without a writer, or endless devices.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a file. Pipes are refused, because opening one can wait forever.
pub fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt;
    if std::fs::metadata(path)?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, must be a file"));
    }
    File::open(path)
}

/// Reads a file. Stops after `most` + 1 bytes.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn neither_pipes_nor_devices_keep_anybody_waiting() {
        let pipe = std::env::temp_dir().join(format!("spinet-pipe-{}", std::process::id()));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let refused = open(&pipe).map(drop);
        std::fs::remove_file(&pipe).expect("the pipe is there");
        assert_eq!(refused.expect_err("a pipe").to_string(), "it is a pipe, must be a file");
        assert_eq!(read_at_most(Path::new("/dev/zero"), 4).expect("a device").len(), 5);
    }
}
