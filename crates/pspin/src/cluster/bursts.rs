//! Bursts from outside to the cluster's L1.

use super::Cluster;
use super::l1::WidePort;
use crate::map;
use crate::protocol::{Burst, BurstReply};
use kernel::Cycle;

impl Cluster {
    /// Bursts from outside book their beats in L1.
    pub(super) fn take_bursts(&mut self, now: Cycle) {
        let base = map::L1_BASE + self.id * map::L1_STRIDE;
        for (requests, replies) in &self.ports.bursts {
            while requests.is_due(now) && replies.has_room() {
                let Some(burst) = requests.take() else { break };
                match burst {
                    Burst::Read { tag, addr, size } => {
                        let offset = addr - base;
                        let (first, last) = self.l1.reserve(WidePort::Nhi, now, offset, size);
                        let data = self.l1.read(offset, size);
                        replies.send_late(BurstReply::Data { tag, data, last: last + 1 }, first - now);
                    }
                    Burst::Write { tag, addr, data } => {
                        let (_, last) = self.l1.reserve(WidePort::Nhi, now, addr - base, data.len() as u32);
                        self.copies.push_back((last, addr - base, data));
                        replies.send_late(BurstReply::Written { tag, decoded: true }, last - now);
                    }
                }
            }
        }
        while self.copies.front().is_some_and(|&(at, ..)| at <= now) {
            let (_, offset, data) = self.copies.pop_front().expect("just seen");
            self.l1.write(offset, &data);
        }
    }
}
