//! Generated traffic as a [`Source`]: one packet at a time, in one buffer.

use super::payload::{Filler, MessageProgress};
use super::{Arrivals, Rate, TrafficProblem, TrafficSpec, Transport};
use crate::capture::FS_PER_S;
use crate::checksum::PseudoHeader;
use crate::eth::{self, EthHeader, ether_type};
use crate::format::{FormatError, HeaderOptions};
use crate::ipv4::{Ipv4Header, protocol};
use crate::ipv6::Ipv6Header;
use crate::pacing::{Pacer, Pacing, PacingCounts};
use crate::pspin::PspinHeaders;
use crate::random::Random;
use crate::source::{Frame, Source, SourceError};
use crate::tcp::{TcpHeader, flag};
use crate::udp::UdpHeader;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Error of generating traffic.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// The definition contradicts itself.
    #[error("traffic: {0}")]
    Spec(#[from] TrafficProblem),
    /// The payload's file cannot be read.
    #[error("traffic: payload: {file}: {source}")]
    File {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// The payload's file is empty or too long.
    #[error("traffic: payload: {file} has {} bytes, must be 1 to {MAX_FILE_LEN}",
            if *found == 0 { "0" } else { "more" })]
    FileLen {
        /// The file.
        file: String,
        /// Number of bytes read.
        found: u64,
    },
}

/// Longest payload file, in bytes. It is held in memory.
pub(super) const MAX_FILE_LEN: u64 = 64 << 20;
/// Number of flows that share a sender's address. Their ports differ.
const FLOWS_PER_ADDRESS: u32 = 1 << 14;

/// Generates the packets of a [`TrafficSpec`].
pub struct Generator {
    spec: TrafficSpec,
    pacer: Pacer,
    sizes: Random,
    arrivals: Random,
    payloads: Filler,
    /// Progress of the current message of each flow.
    sent: Vec<MessageProgress>,
    /// Mean gap between packets in femtoseconds, with 16 fraction bits.
    mean_gap_q16: u128,
    /// Sum of the random gaps so far, in the same unit.
    elapsed_q16: u128,
    /// Bit times on the line so far.
    line_bits: u128,
    index: u64,
    packet: Vec<u8>,
}

impl Generator {
    /// A generator before its first packet. [`Pacing::TIMES`] keeps the arrival times of `spec`.
    pub fn new(spec: TrafficSpec, pacing: Pacing) -> Result<Self, TrafficError> {
        spec.validate()?;
        let mean_gap_q16 = match spec.rate {
            Rate::Pps(pps) => (FS_PER_S << 16) / u128::from(pps),
            Rate::Bps(bps) => {
                let (bits, packets) = spec.size.mean_line_bits();
                ((bits * FS_PER_S) << 16) / (packets * u128::from(bps))
            }
        };
        Ok(Self {
            pacer: Pacer::new(pacing),
            sizes: Random::new(spec.seed, 0),
            arrivals: Random::new(spec.seed, 1),
            payloads: Filler::new(&spec)?,
            sent: vec![MessageProgress::default(); spec.flows as usize],
            mean_gap_q16,
            elapsed_q16: 0,
            line_bits: 0,
            index: 0,
            packet: Vec::new(),
            spec,
        })
    }

    /// The definition of the traffic.
    pub fn spec(&self) -> &TrafficSpec {
        &self.spec
    }

    /// Corrections to its times so far.
    pub fn pacing_counts(&self) -> &PacingCounts {
        self.pacer.counts()
    }

    /// Arrival time of the packet by rate and arrival process, in femtoseconds.
    fn arrival_fs(&mut self, len: usize) -> u128 {
        let exact = match self.spec.rate {
            Rate::Bps(bps) => self.line_bits * FS_PER_S / u128::from(bps),
            Rate::Pps(pps) => u128::from(self.index) * FS_PER_S / u128::from(pps),
        };
        self.line_bits += u128::from(eth::line_bits(len));
        match self.spec.arrivals {
            Arrivals::Constant => exact,
            Arrivals::Poisson => {
                let arrival = self.elapsed_q16 >> 16;
                self.elapsed_q16 += self.arrivals.exponential(self.mean_gap_q16);
                arrival
            }
        }
    }

    /// Builds packet `self.index` with `len` bytes.
    fn build(&mut self, len: usize) -> Result<(), FormatError> {
        let (flows, index) = (u64::from(self.spec.flows), self.index);
        let (flow, position) = (index % flows, index / flows);
        let n_in_flow = self.spec.count / flows + u64::from(flow < self.spec.count % flows);
        // Message m of a flow starts at packet m * n / messages, rounded up.
        let message_of = |p: u64| u128::from(p) * u128::from(self.spec.messages) / u128::from(n_in_flow);
        let has_several = self.spec.messages > 1;
        let is_first = position == 0 || has_several && message_of(position - 1) != message_of(position);
        let is_last = position + 1 == n_in_flow || has_several && message_of(position + 1) != message_of(position);
        if is_first {
            self.sent[flow as usize] = MessageProgress::default();
        }
        let place = self.sent[flow as usize];
        let (headers_len, payload_at) = (self.spec.headers_len(), self.spec.payload_at());
        self.packet.resize(len, 0);
        self.payloads.fill(place, &mut self.packet[payload_at..]);
        self.sent[flow as usize] = place.after(len - payload_at);

        // Flows are assigned to the senders in turn. Flows of one sender differ in their ports, as long as there are
        // ports.
        let senders = self.spec.senders;
        let (sender, turn) = (flow as u32 % senders, flow as u32 / senders);
        let src_port = self.spec.src_port.wrapping_add((turn % FLOWS_PER_ADDRESS) as u16);
        let address_idx = sender.wrapping_add(turn / FLOWS_PER_ADDRESS * senders);
        let dst_port = self.spec.dst_port;
        match self.spec.transport {
            Transport::Udp => {
                let pseudo = self.ip_header(protocol::UDP, address_idx)?;
                let payload_len = (len - headers_len) as u16;
                let segment = &mut self.packet[headers_len - crate::udp::HEADER_LEN..];
                UdpHeader { src_port, dst_port, payload_len }.emit(segment, pseudo)?;
            }
            Transport::Pspin => {
                let (IpAddr::V4(src), IpAddr::V4(dst)) = (self.spec.src, self.spec.dst) else {
                    unreachable!("validated: both are IPv4");
                };
                let src = Ipv4Addr::from(u32::from(src).wrapping_add(address_idx));
                let identification = self.index as u16;
                PspinHeaders { identification, src, dst, src_port, dst_port }.emit(&mut self.packet);
            }
            Transport::Tcp => {
                let pseudo = self.ip_header(protocol::TCP, address_idx)?;
                let segment = &mut self.packet[headers_len - crate::tcp::MIN_HEADER_LEN..];
                let header = TcpHeader {
                    src_port,
                    dst_port,
                    // SYN counts as a byte (RFC 9293, 3.4).
                    seq: (place.bytes as u32).wrapping_add(u32::from(!is_first)),
                    ack: 0,
                    flags: if is_first { flag::SYN } else { flag::ACK } | if is_last { flag::FIN } else { 0 },
                    window: u16::MAX,
                    urgent: 0,
                    options: HeaderOptions::NONE,
                };
                header.emit(segment, pseudo)?;
            }
        }
        Ok(())
    }

    /// Writes the headers up to IP, with payload protocol `protocol`. `address_idx` is added to the sender's address.
    fn ip_header(&mut self, protocol: u8, address_idx: u32) -> Result<PseudoHeader, FormatError> {
        let spec = &self.spec;
        let (src_mac, dst_mac) = (spec.src_mac, spec.dst_mac);
        let (link, network) = self.packet.split_at_mut(eth::HEADER_LEN);
        let (ether_type, pseudo) = match (spec.src, spec.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = Ipv4Header {
                    dscp_ecn: spec.ecn,
                    identification: self.index as u16,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: 64,
                    protocol,
                    src: Ipv4Addr::from(u32::from(src).wrapping_add(address_idx)),
                    dst,
                    options: HeaderOptions::NONE,
                    payload_len: (network.len() - crate::ipv4::MIN_HEADER_LEN) as u16,
                };
                header.emit(network)?;
                (ether_type::IPV4, PseudoHeader::from(&header))
            }
            (src, dst) => {
                let v6 = |address| match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                let header = Ipv6Header {
                    traffic_class: spec.ecn,
                    flow_label: 0,
                    payload_len: (network.len() - crate::ipv6::HEADER_LEN) as u16,
                    next_header: protocol,
                    hop_limit: 64,
                    src: Ipv6Addr::from(u128::from(v6(src)).wrapping_add(u128::from(address_idx))),
                    dst: v6(dst),
                };
                header.emit(network)?;
                (ether_type::IPV6, PseudoHeader::from(&header))
            }
        };
        EthHeader { dst: dst_mac, src: src_mac, ether_type }.emit(link)?;
        Ok(pseudo)
    }
}

impl Source for Generator {
    fn next(&mut self) -> Result<Option<Frame<'_>>, SourceError> {
        if self.index == self.spec.count {
            return Ok(None);
        }
        let len = self.spec.size.draw(self.index, &mut self.sizes) as usize;
        let given_fs = self.arrival_fs(len);
        let index = self.index;
        self.build(len).expect("the headers of a valid specification can be written");
        let arrival_fs = self.pacer.arrival_fs(Some(given_fs as i128), len)?;
        self.index += 1;
        Ok(Some(Frame { index, arrival_fs, bytes: &self.packet, original_len: len as u32 }))
    }
}
