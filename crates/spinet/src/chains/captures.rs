//! Captures of what leaves the NIC: real bytes, with the number and the chain of each packet.

use panic::world::ExternalPort;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use wire::capture::{Interface, InterfaceId, PcapngWriter, WriteError};

/// Packets that leave to the networks.
pub const NETWORK: &str = "network.pcapng";
/// Packets that leave to the host.
pub const HOST: &str = "host.pcapng";

/// A capture that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureFailed {
    #[error("{file}: {source}")]
    Create { file: String, source: io::Error },
    #[error("{file}: {source}")]
    Write { file: String, source: WriteError },
}

struct Capture {
    file: String,
    writer: PcapngWriter<BufWriter<File>>,
    /// One for each port or queue, as they come.
    interfaces: BTreeMap<u16, InterfaceId>,
}

impl Capture {
    fn create(path: &Path) -> Result<Capture, CaptureFailed> {
        let file = path.display().to_string();
        let created = File::create(path).map_err(|source| CaptureFailed::Create { file: file.clone(), source })?;
        let application = concat!("spinet ", env!("CARGO_PKG_VERSION"));
        let writer = PcapngWriter::new(BufWriter::new(created), application);
        let writer = writer.map_err(|source| CaptureFailed::Write { file: file.clone(), source })?;
        Ok(Capture { file, writer, interfaces: BTreeMap::new() })
    }

    fn write(&mut self, name: &str, number: u16, ns: u64, data: &[u8], comment: &str) -> Result<(), WriteError> {
        let interface = match self.interfaces.get(&number) {
            Some(&known) => known,
            None => {
                let description = "what leaves the NIC there, in simulated time since reset".to_owned();
                let interface = Interface { name: format!("{name}[{number}]"), description, link_bps: 0 };
                let interface = self.writer.add_interface(&interface)?;
                self.interfaces.insert(number, interface);
                interface
            }
        };
        self.writer.write(interface, ns, data, Some(comment))
    }
}

/// Both captures.
pub struct Captures {
    network: Capture,
    host: Capture,
}

impl Captures {
    /// Creates both in a folder.
    pub fn create(folder: &Path) -> Result<Captures, CaptureFailed> {
        let (network, host) = (folder.join(NETWORK), folder.join(HOST));
        Ok(Captures { network: Capture::create(&network)?, host: Capture::create(&host)? })
    }

    /// Writes a packet that leaves.
    pub fn write(
        &mut self,
        side: ExternalPort,
        ns: u64,
        data: &[u8],
        id: u64,
        chain: &str,
    ) -> Result<(), CaptureFailed> {
        let comment = format!("packet {id}, {chain}");
        let (capture, name, number) = match side {
            ExternalPort::Network(port) => (&mut self.network, "network", port.into()),
            ExternalPort::Host(queue) => (&mut self.host, "host", queue),
        };
        let written = capture.write(name, number, ns, data, &comment);
        written.map_err(|source| CaptureFailed::Write { file: capture.file.clone(), source })
    }

    /// Writes the last bytes.
    pub fn finish(self) -> Result<(), CaptureFailed> {
        for Capture { file, writer, .. } in [self.network, self.host] {
            writer.finish().map_err(|source| CaptureFailed::Write { file, source })?;
        }
        Ok(())
    }
}
