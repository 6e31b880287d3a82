//! The identity remapper in front of the clusters, as far as reads and writes wait for each other there.

use kernel::{Ports, Rx, Tx};

/// One of its two address channels, as its sender sees it.
///
/// If the clusters do not accept an address in the cycle in which the remapper presents it, the other channel accepts no new address until
/// they do. Both channels may pass an address in the same cycle.
///
/// Timing:  an event is visible to the other channel in the next cycle.
/// Source:  PsPIN RTL a49fec8, `axi_id_remap.sv`, states HoldAR and HoldAW; `nhi_xbar.sv`, i_cluster_iw_converter.
pub struct Remap {
    /// Sends whether an address waits here, and receives the same from the other channel.
    tells: Tx<bool>,
    hears: Rx<bool>,
    is_held: bool,
    waits: bool,
}

/// Messages that the channels between the two hold.
pub const REMAP_MESSAGES: usize = 4;

impl Remap {
    /// Creates one channel. Its partner has the other ends of `tells` and `hears`, which have capacity [`REMAP_MESSAGES`]
    /// and latency 1.
    pub fn new(tells: Tx<bool>, hears: Rx<bool>) -> Self {
        Remap { tells, hears, is_held: false, waits: false }
    }

    /// Returns true if a new address passes in this cycle. Called in each cycle in which the other channel has changed.
    pub fn passes(&mut self) -> bool {
        while let Some(waits) = self.hears.take() {
            self.is_held = waits;
        }
        !self.is_held
    }

    /// Tells the other channel, at the end of a cycle, if an address waits to be taken.
    pub fn set(&mut self, waits: bool) {
        if self.waits != waits {
            self.waits = waits;
            self.tells.send(waits);
        }
    }

    /// Names the ports.
    pub fn ports(&self, ports: &mut Ports) {
        ports.output("remap_tells", &self.tells);
        ports.input("remap_hears", &self.hears);
    }
}
