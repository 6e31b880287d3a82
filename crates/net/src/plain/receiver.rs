//! The receiving side of a connection: the order of packets, gaps, and acknowledgments.

use super::packet::Begin;
use super::params::{PlainParams, Transport};
use kernel::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of packets that came too early and are kept, if there is no window.
const MOST_EARLY: usize = 1 << 16;

/// A data packet that arrived.
#[derive(Clone)]
pub(super) struct DataPacket {
    pub head: Time,
    pub begin: Option<Begin>,
    pub is_last: bool,
    /// The sender asks for an acknowledgment at once.
    pub asks: bool,
    pub headers_len: u8,
    pub payload_len: u32,
    pub bytes: Arc<[u8]>,
}

/// An answer to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Acknowledge,
    Missing(u64),
}

/// The receiving side of a connection.
#[derive(Default)]
pub(super) struct Incoming {
    /// The next packet in order.
    pub expected: u64,
    early: BTreeMap<u64, DataPacket>,
    /// Packets in order since the last acknowledgment.
    unacknowledged: u32,
    /// All gaps below this sequence number were reported.
    reported: u64,
    /// With [`Transport::Selective`], the missing packets with the numbers of their reports.
    missing: BTreeMap<u64, u64>,
    n_reports: u64,
    /// Time of the last congestion notification.
    pub notified: Option<Time>,
    /// The message whose packets arrive now.
    pub building: Option<u64>,
}

impl Incoming {
    /// A packet arrives. Returns false if it has no use. Packets that are in order now are added to `ready`.
    pub fn arrive(
        &mut self,
        psn: Option<u64>,
        packet: DataPacket,
        params: &PlainParams,
        ready: &mut Vec<DataPacket>,
        answers: &mut Vec<Answer>,
    ) -> bool {
        let is_reliable = params.acknowledges();
        let Some(psn) = psn.filter(|&psn| psn >= self.expected) else {
            // The packet came before. Its acknowledgment may be lost.
            answers.extend(is_reliable.then_some(Answer::Acknowledge));
            return false;
        };
        if let Some(report) = self.missing.remove(&psn) {
            self.report_again(report, answers);
        }
        if psn > self.expected {
            return self.early(psn, packet, params, answers);
        }
        let mut asks = packet.asks;
        ready.push(packet);
        self.expected += 1;
        while let Some(packet) = self.early.remove(&self.expected) {
            asks |= packet.asks;
            ready.push(packet);
            self.expected += 1;
        }
        self.unacknowledged += ready.len() as u32;
        if is_reliable && (asks || self.unacknowledged >= params.ack_every) {
            answers.push(Answer::Acknowledge);
            self.unacknowledged = 0;
        }
        true
    }

    /// A repeated packet has arrived, as an answer to a report. Repeats arrive in the order of reports. So if a packet with an earlier
    /// report is still missing, its report or its repeat was lost.
    fn report_again(&mut self, report: u64, answers: &mut Vec<Answer>) {
        for (&psn, number) in self.missing.iter_mut().filter(|(_, number)| **number < report) {
            *number = self.n_reports;
            self.n_reports += 1;
            answers.push(Answer::Missing(psn));
        }
    }

    /// A packet arrives before others that are missing.
    fn early(&mut self, psn: u64, packet: DataPacket, params: &PlainParams, answers: &mut Vec<Answer>) -> bool {
        match params.transport {
            Transport::GoBackN => {
                // One report for each gap: the sender repeats all packets from the gap on.
                if self.reported <= self.expected {
                    self.reported = self.expected + 1;
                    answers.push(Answer::Missing(self.expected));
                }
                false
            }
            Transport::Selective | Transport::Lossless | Transport::Credits => {
                let room = if params.transport == Transport::Lossless { MOST_EARLY } else { params.window as usize };
                if self.early.len() >= room || self.early.contains_key(&psn) {
                    return false;
                }
                if params.transport == Transport::Selective {
                    for gap in self.reported.max(self.expected)..psn {
                        answers.push(Answer::Missing(gap));
                        self.missing.insert(gap, self.n_reports);
                        self.n_reports += 1;
                    }
                    self.reported = self.reported.max(psn + 1);
                }
                self.early.insert(psn, packet);
                true
            }
        }
    }
}
