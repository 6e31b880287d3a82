//! Generated traffic: UDP or TCP-shaped packets, all from one seed.
//!
//! ```text
//! udp:size=64,count=1000,rate=400G
//! tcp:size=imix,count=100000,flows=16,messages=4,arrivals=poisson,rate=100G,seed=7
//! udp:size=bimodal:64:1500:90,payload=file:data.bin,rate=10Mpps,dst_port=11211
//! ```
//!
//! | key | values | default |
//! |---|---|---|
//! | `size` | `64`, `64..1500` (uniform), `bimodal:64:1500:90` (90 % of 64), `imix`, `list:64:128:256` (in turn) | 64 |
//! | `count` | number of packets | 1000 |
//! | `rate` | `400G`, `1500bit/s`: on the line, with FCS, preamble and gap; `10Mpps`: packets/s | 400G |
//! | `arrivals` | `constant`, `poisson` | constant |
//! | `flows` | number of 5-tuples, used in turn, packet by packet | 1 |
//! | `senders` | number of sender addresses, from `src` upwards; flows use them in turn | 1 |
//! | `messages` | messages per flow, one after the other; their lengths differ by at most a packet | 1 |
//! | `payload` | `zero`, `random`, `counter`, `file:PATH`, `ints`, `ints:1024`, `segment`, `ycsb:a`, `ycsb:a:1.1:1000` | zero |
//! | `seed` | a number | 1 |
//! | `src`, `dst` | IPv4 or IPv6 addresses | 10.0.0.1, 10.0.0.2 |
//! | `src_port`, `dst_port` | ports of the first flow | 10000, 9999 |
//! | `src_mac`, `dst_mac` | MAC addresses | 02:00:00:00:00:01, 02:00:00:00:00:02 |
//! | `ecn` | the two ECN bits of the IP header (RFC 3168): 0 not capable, 1 or 2 capable, 3 marked | 0 |
//!
//! Sizes are those of packets as the NIC handles them, without FCS: a packet of 60 bytes is a frame of 64. `imix` is
//! frames of 64, 594 and 1518 bytes, drawn in the ratio 7:4:1, which are packets of 60, 590 and 1514 bytes. They carry IP
//! packets of 40 (padded), 576 and 1500 bytes, the "simple Internet mix" of traffic generators. RFC 6985 explains why such
//! mixes differ and should state their sizes.
//!
//! A TCP message begins with SYN and ends with FIN; its sequence numbers count its payload. UDP headers do not
//! distinguish messages. `counter` is 32-bit big-endian words that count from 0 within each message; `file` repeats the
//! file, from its beginning in each message.
//!
//! `pspin:` is `udp:` in the form of PsPIN's drivers ([`crate::pspin`]): without Ethernet, only for IPv4. In match
//! expressions only `bytes[..]` and `len` apply to it.
//!
//! The other payloads are for the handlers of `sdk/examples`. They begin with two zero bytes, so that the data starts at
//! a multiple of 4 in the packet (`pspin:` needs no such bytes). All numbers are 32-bit little-endian, like the cores.
//!
//! - `ints:N`: uniform integers below N; without N, of 32 bits.
//! - `segment`: position of the packet's data within its message, in bytes from 0; then random bytes.
//! - `ycsb:MIX:THETA:RECORDS`: a request of a [`Ycsb`] workload: operation, key, value, and zeros.

mod generator;
mod payload;
mod read;
mod sizes;
mod ycsb;
mod zipf;

pub use generator::{Generator, TrafficError};
pub use payload::Payload;
pub use read::{TrafficProblem, TrafficTextError};
pub use sizes::Sizes;
pub use ycsb::{Mix, Operation, Ycsb};

use crate::eth::{self, Mac};
use crate::{ipv4, ipv6, pspin, tcp, udp};
use std::net::{IpAddr, Ipv4Addr};

/// Definition of generated traffic. [`crate::traffic`] describes the fields.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrafficSpec {
    /// Protocol above IP.
    pub transport: Transport,
    /// Packet lengths without FCS.
    pub size: Sizes,
    /// Total number of packets.
    pub count: u64,
    /// Packet rate.
    pub rate: Rate,
    /// Arrival process.
    pub arrivals: Arrivals,
    /// Number of 5-tuples.
    pub flows: u32,
    /// Number of sender addresses.
    pub senders: u32,
    /// Number of messages per flow.
    pub messages: u64,
    /// Payload of the packets.
    pub payload: Payload,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Sender's MAC address.
    pub src_mac: Mac,
    /// Receiver's MAC address.
    pub dst_mac: Mac,
    /// Sender's address in the first flow.
    pub src: IpAddr,
    /// Receiver's address.
    pub dst: IpAddr,
    /// Sender's port in the first flow.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
    /// ECN bits of the IP header.
    #[serde(skip_serializing_if = "is_zero")]
    pub ecn: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Default for TrafficSpec {
    fn default() -> Self {
        Self {
            transport: Transport::Udp,
            size: Sizes::Fixed(64),
            count: 1000,
            rate: Rate::Bps(400_000_000_000),
            arrivals: Arrivals::Constant,
            flows: 1,
            senders: 1,
            messages: 1,
            payload: Payload::Zero,
            seed: 1,
            src_mac: Mac([2, 0, 0, 0, 0, 1]),
            dst_mac: Mac([2, 0, 0, 0, 0, 2]),
            src: Ipv4Addr::new(10, 0, 0, 1).into(),
            dst: Ipv4Addr::new(10, 0, 0, 2).into(),
            src_port: 10_000,
            dst_port: 9_999,
            ecn: 0,
        }
    }
}

/// Protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// UDP datagrams.
    Udp,
    /// TCP-shaped segments, without acknowledgements or retransmissions.
    Tcp,
    /// UDP datagrams in the form of [`crate::pspin`], without Ethernet.
    Pspin,
}

/// Packet rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "read::IntOrText", into = "String")]
pub enum Rate {
    /// Bit/s on the line, with padding, FCS, preamble and gap.
    Bps(u64),
    /// Packets per second.
    Pps(u64),
}

/// Arrival process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Constant gaps at the given rate.
    Constant,
    /// Poisson process with the given mean rate. Packets may then overlap, and the line must delay them.
    Poisson,
}

/// Maximum number of flows. The generator stores 8 bytes per flow.
pub const MAX_FLOWS: u32 = 1 << 20;

impl TrafficSpec {
    /// Total length of a packet's headers, in bytes.
    pub fn headers_len(&self) -> usize {
        let ip = if self.src.is_ipv4() { ipv4::MIN_HEADER_LEN } else { ipv6::HEADER_LEN };
        match self.transport {
            Transport::Udp => eth::HEADER_LEN + ip + udp::HEADER_LEN,
            Transport::Tcp => eth::HEADER_LEN + ip + tcp::MIN_HEADER_LEN,
            Transport::Pspin => pspin::HEADERS_LEN,
        }
    }

    /// Offset of the payload. Numbers start at a multiple of 4 bytes, so padding may follow the headers.
    fn payload_at(&self) -> usize {
        let pad = if self.transport == Transport::Pspin { self.payload.pad() } else { 0 };
        self.headers_len() - pad
    }

    /// Checks combinations of values that the types allow.
    pub fn validate(&self) -> Result<(), TrafficProblem> {
        let refuse = |key, found: String, allowed: String| Err(TrafficProblem::Value { key, found, allowed });
        let least = (self.payload_at() + self.payload.min_len()).max(eth::MIN_PACKET_LEN) as u32;
        let most = eth::MAX_PACKET_LEN as u32;
        let (low, high) = self.size.bounds();
        if low > high {
            return refuse("size", self.size.to_string(), "written with the shorter first".into());
        }
        if low < least || high > most {
            let found = if low < least { low } else { high };
            return refuse("size", found.to_string(), format!("{least} to {most} bytes"));
        }
        if let Sizes::Bimodal { small_percent, .. } = self.size
            && small_percent > 100
        {
            return refuse("size", format!("bimodal with {small_percent} %"), "0 to 100 %".into());
        }
        if self.ecn > 3 {
            return refuse("ecn", self.ecn.to_string(), read::ECN.into());
        }
        if self.ecn > 0 && self.transport == Transport::Pspin {
            return refuse("ecn", self.ecn.to_string(), "0: packets in PsPIN's format have no such bits".into());
        }
        if self.rate == Rate::Bps(0) || self.rate == Rate::Pps(0) {
            return refuse("rate", "0".into(), "more than 0".into());
        }
        if self.flows == 0 || self.flows > MAX_FLOWS {
            return refuse("flows", self.flows.to_string(), format!("1 to {MAX_FLOWS}"));
        }
        if self.senders == 0 || self.senders > self.flows {
            return refuse("senders", self.senders.to_string(), format!("1 to the number of flows, {}", self.flows));
        }
        if let Payload::Ycsb(ycsb) = &self.payload {
            ycsb.validate()?;
        }
        if self.messages == 0 {
            return refuse("messages", "0".into(), "1 or more".into());
        }
        let n_messages = u128::from(self.flows) * u128::from(self.messages);
        if u128::from(self.count) < n_messages {
            let allowed = format!("at least flows x messages = {n_messages}, so that no message is empty");
            return refuse("count", self.count.to_string(), allowed);
        }
        if self.transport == Transport::Pspin && self.src.is_ipv6() {
            return refuse("src", self.src.to_string(), "an IPv4 address".into());
        }
        if self.src.is_ipv4() != self.dst.is_ipv4() {
            return refuse("dst", self.dst.to_string(), "of the same IP version as src".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
