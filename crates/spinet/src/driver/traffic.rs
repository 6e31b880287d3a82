//! Packets for the card, and the network's faults.

use super::{Driver, DriverError};
use crate::experiment::Traffic;
use crate::streams::FeedError;
use crate::streams::Stream;
use kernel::{Cycle, Time};
use wire::faults::Faults;
use wire::pacing::Pacing;

impl Driver {
    /// From now on the network loses, duplicates and reorders added packets, separately for each call, with random
    /// numbers from `seed`. [`Driver::capabilities`] then no longer promise a reliable network.
    pub fn set_network(&mut self, faults: Faults, seed: u64) {
        self.faults = (faults, seed);
    }

    /// Adds packets, each with its time from the next cycle on, or from when the card is ready. Times must not
    /// decrease.
    pub fn add_packets(&mut self, packets: Vec<(Time, Box<[u8]>)>) -> Result<(), DriverError> {
        let most = self.max_copy_bytes() as usize;
        let mut before = Time::ZERO;
        for (index, (time, bytes)) in packets.iter().enumerate() {
            let problem = match bytes.len() {
                _ if *time < before => {
                    format!("arrives after {} ps, must not arrive before the one before, {} ps", time.ps(), before.ps())
                }
                found if !(1..=most).contains(&found) => {
                    format!("has {found} bytes, must have 1 to {most}, which is what the card can copy to L1")
                }
                _ => {
                    before = *time;
                    continue;
                }
            };
            return Err(DriverError::Packet { index, problem });
        }
        let network = self.next_network();
        self.add(Stream::made(packets, network, self.at + 1));
        Ok(())
    }

    /// Adds the first `count` packets of a source in the same way. The card drops and counts packets that are too long
    /// to copy.
    pub fn add_traffic(&mut self, traffic: &Traffic, pacing: Pacing, count: u64) -> Result<(), FeedError> {
        let network = self.next_network();
        self.add(Stream::open(traffic, pacing, count, network, Some(self.at + 1))?);
        Ok(())
    }

    /// Faults of the network for the packets of the next call.
    fn next_network(&mut self) -> (Faults, u64) {
        let network = self.faults;
        self.faults.1 = network.1.wrapping_add(1);
        network
    }

    /// Adds a packet with a number at a cycle that is not simulated yet, without faults of the network.
    pub(crate) fn inject(&mut self, number: u64, at: Cycle, bytes: Box<[u8]>) {
        self.add(Stream::single(number, bytes, at));
    }

    fn add(&mut self, stream: Stream) {
        self.feed.borrow_mut().add(stream);
        self.nic.expect_packets(self.at + 1);
    }

    /// Maximum number of bytes of a packet that can be copied to L1.
    pub(super) fn max_copy_bytes(&self) -> u32 {
        self.params.cluster.packet_buffer_bytes / self.params.cluster.packet_buffer_rings
    }

    /// Returns true if all added packets have arrived and the card has finished them.
    pub fn is_idle(&self) -> bool {
        self.feed.borrow().is_over() && self.record.borrow().window.inside.count() == 0
    }
}
