//! Packets for the host, if the caller is the host: packets that no context takes, and packets that handlers copy to
//! host memory as a whole.

use crate::handlers::host::Pages;
use kernel::Cycle;
use pspin::events::Event;
use std::collections::VecDeque;

/// Maximum number of unfinished copies to remember. The limit removes copies that failed without a report, such as parts of refused commands.
const MOST_COPIES: usize = 1 << 12;

/// A command that copies a whole packet to host memory.
struct Copy {
    packet: u64,
    addr: u64,
    bytes: u64,
    /// Bytes that have not reached host memory.
    left: u64,
}

/// Packets for the host that the caller has not taken.
#[derive(Default)]
pub struct ToHost {
    /// Time and bytes.
    frames: Vec<(Cycle, Box<[u8]>)>,
    copies: VecDeque<Copy>,
}

impl ToHost {
    /// A packet goes to the host as it came.
    pub fn ordinary(&mut self, now: Cycle, bytes: &[u8]) {
        self.frames.push((now, bytes.into()));
    }

    /// Follows copies to host memory; `size_of` is the size of a packet in the card. A packet has arrived when its last
    /// byte has.
    pub fn note(&mut self, at: Cycle, event: &Event, size_of: impl Fn(u64) -> Option<u32>, host: &Pages) {
        match *event {
            Event::HostCopyIssued { packet, addr, bytes } if size_of(packet).map(u64::from) == Some(bytes) => {
                if self.copies.len() == MOST_COPIES {
                    self.copies.pop_front();
                }
                self.copies.push_back(Copy { packet, addr, bytes, left: bytes });
            }
            Event::CommandFault { packet, .. } | Event::AccessRefused { packet, .. } => {
                self.copies.retain(|copy| copy.packet != packet);
            }
            Event::HostWritten { addr, bytes } => {
                let holds = |copy: &Copy| addr.wrapping_sub(copy.addr) < copy.bytes && copy.left >= bytes;
                let Some(i) = self.copies.iter().position(holds) else { return };
                self.copies[i].left -= bytes;
                if self.copies[i].left == 0
                    && let Some(copy) = self.copies.remove(i)
                {
                    let mut frame = vec![0; copy.bytes as usize];
                    host.read(copy.addr, &mut frame);
                    self.frames.push((at, frame.into()));
                }
            }
            _ => {}
        }
    }

    /// The packets since the last call.
    pub fn take(&mut self) -> Vec<(Cycle, Box<[u8]>)> {
        std::mem::take(&mut self.frames)
    }
}
