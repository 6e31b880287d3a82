//! Counts of packets that pass a place, for summaries.

use kernel::Cycle;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds a packet.
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// Packets that pass a place, with the time of the first and of the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the last packet.
    pub last_bytes: u64,
    /// When the first and the last passed.
    pub span: Option<(Cycle, Cycle)>,
}

impl Flow {
    /// Adds a packet.
    pub fn add(&mut self, at: Cycle, bytes: u64) {
        let (first, last) = self.span.unwrap_or((at, at));
        if at >= last {
            self.last_bytes = bytes;
        }
        self.span = Some((first.min(at), last.max(at)));
        self.packets += 1;
        self.bytes += bytes;
    }
}
