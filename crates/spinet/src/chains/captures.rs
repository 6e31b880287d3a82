//! Captures of departing packets: their bytes, with number, chain and path of each packet.

use crate::captured::{CaptureFailed, CaptureFile};
use crate::run::Wanted;
use panic::world::ExternalPort;

/// Packets that leave to the networks.
pub const NETWORK: &str = "network.pcapng";
/// Packets that leave to the host.
pub const HOST: &str = "host.pcapng";

/// The captures that the run writes.
#[derive(Default)]
pub struct Captures {
    network: Vec<CaptureFile>,
    host: Option<CaptureFile>,
    /// Dropped packets.
    pub drops: Option<CaptureFile>,
}

impl Captures {
    /// Creates the files.
    pub fn create(wanted: &Wanted) -> Result<Captures, CaptureFailed> {
        let mut captures = Captures::default();
        let about = "what leaves the NIC there, in simulated time since reset";
        if let Some(folder) = &wanted.captures {
            captures.network.push(CaptureFile::create(&folder.join(NETWORK), about)?);
            captures.host = Some(CaptureFile::create(&folder.join(HOST), about)?);
            captures.drops = wanted.drops.then(|| CaptureFile::of_drops(folder)).transpose()?;
        }
        if let Some(path) = &wanted.sent {
            captures.network.push(CaptureFile::create(path, about)?);
        }
        Ok(captures)
    }

    /// Returns true if packets that leave are written.
    pub fn are_wanted(&self) -> bool {
        !self.network.is_empty()
    }

    /// Writes a packet that leaves.
    pub fn write(&mut self, side: ExternalPort, ns: u64, data: &[u8], comment: &str) -> Result<(), CaptureFailed> {
        match side {
            ExternalPort::Network(port) => {
                let name = format!("network[{port}]");
                self.network.iter_mut().try_for_each(|capture| capture.write(&name, ns, data, Some(comment)))
            }
            ExternalPort::Host(queue) => {
                let name = format!("host[{queue}]");
                self.host.as_mut().map_or(Ok(()), |capture| capture.write(&name, ns, data, Some(comment)))
            }
        }
    }

    /// Flushes everything that was written so far.
    pub fn flush(&mut self) -> Result<(), CaptureFailed> {
        self.network.iter_mut().chain(&mut self.host).chain(&mut self.drops).try_for_each(CaptureFile::flush)
    }
}
