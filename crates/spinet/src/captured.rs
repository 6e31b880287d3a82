//! Captures that a run writes, with a comment for each packet.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use wire::capture::{Interface, InterfaceId, PcapngWriter, WriteError};

/// Name of the capture of packets that the card dropped.
pub const DROPPED: &str = "dropped.pcapng";
/// The path that stands for standard input or output.
pub const PIPE: &str = "-";

/// A capture that cannot be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum CaptureFailed {
    #[error("{file}: {source}")]
    Create { file: String, source: io::Error },
    #[error("{file}: {source}")]
    Write { file: String, source: WriteError },
}

/// A capture that is being written.
pub struct CaptureFile {
    file: String,
    writer: PcapngWriter<BufWriter<Box<dyn Write>>>,
    /// True for a pipe. Each packet is flushed, because a program may wait for it.
    is_pipe: bool,
    /// Description of its interfaces.
    description: String,
    interfaces: BTreeMap<String, InterfaceId>,
}

impl CaptureFile {
    /// Creates a file, or writes to standard output for [`PIPE`].
    pub fn create(path: &Path, description: &str) -> Result<CaptureFile, CaptureFailed> {
        let is_pipe = path == Path::new(PIPE);
        let file = if is_pipe { "stdout".to_owned() } else { path.display().to_string() };
        let stream: Box<dyn Write> = match is_pipe {
            true => Box::new(io::stdout()),
            false => match File::create(path) {
                Ok(created) => Box::new(created),
                Err(source) => return Err(CaptureFailed::Create { file, source }),
            },
        };
        let application = concat!("spinet ", env!("CARGO_PKG_VERSION"));
        match PcapngWriter::new(BufWriter::new(stream), application) {
            Ok(writer) => {
                let (description, interfaces) = (description.into(), BTreeMap::new());
                Ok(CaptureFile { file, writer, is_pipe, description, interfaces })
            }
            Err(source) => Err(CaptureFailed::Write { file, source }),
        }
    }

    /// The capture of dropped packets in a folder.
    pub fn of_drops(folder: &Path) -> Result<CaptureFile, CaptureFailed> {
        CaptureFile::create(&folder.join(DROPPED), "packets that the card dropped, in simulated time since reset")
    }

    /// Adds an interface before its first packet.
    pub fn add_interface(&mut self, name: &str) -> Result<InterfaceId, CaptureFailed> {
        if let Some(&known) = self.interfaces.get(name) {
            return Ok(known);
        }
        let interface = Interface { name: name.to_owned(), description: self.description.clone(), link_bps: 0 };
        let added = self.writer.add_interface(&interface);
        let added = added.map_err(|source| CaptureFailed::Write { file: self.file.clone(), source })?;
        self.interfaces.insert(name.to_owned(), added);
        Ok(added)
    }

    /// Writes a packet of an interface.
    pub fn write(&mut self, interface: &str, ns: u64, data: &[u8], comment: Option<&str>) -> Result<(), CaptureFailed> {
        let interface = self.add_interface(interface)?;
        let written = self.writer.write(interface, ns, data, comment);
        written.map_err(|source| CaptureFailed::Write { file: self.file.clone(), source })?;
        if self.is_pipe { self.flush() } else { Ok(()) }
    }

    /// Flushes everything that was written so far.
    pub fn flush(&mut self) -> Result<(), CaptureFailed> {
        self.writer.flush().map_err(|source| CaptureFailed::Write { file: self.file.clone(), source })
    }
}
