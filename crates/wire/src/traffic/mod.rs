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
//! | `size` | `64`, `64..1500` (each as likely), `bimodal:64:1500:90` (90 % of 64), `imix`, `list:64:128:256` (in turn) | 64 |
//! | `count` | packets in all | 1000 |
//! | `rate` | `400G`, `1500bit/s`: on the line, with FCS, preamble and gap; `10Mpps`: packets/s | 400G |
//! | `arrivals` | `constant`, `poisson` | constant |
//! | `flows` | 5-tuples; they take turns packet by packet | 1 |
//! | `senders` | addresses that the flows come from, in turn, from `src` upwards | 1 |
//! | `messages` | messages of each flow, one after the other, equally long up to a packet | 1 |
//! | `payload` | `zero`, `random`, `counter`, `file:PATH`, `ints`, `ints:1024`, `segment`, `ycsb:a`, `ycsb:a:1.1:1000` | zero |
//! | `seed` | a number | 1 |
//! | `src`, `dst` | IPv4 or IPv6 addresses | 10.0.0.1, 10.0.0.2 |
//! | `src_port`, `dst_port` | ports of the first flow | 10000, 9999 |
//! | `src_mac`, `dst_mac` | MAC addresses | 02:00:00:00:00:01, 02:00:00:00:00:02 |
//!
//! Sizes are those of packets as the NIC handles them, without FCS: a packet of 60 bytes is a frame of 64. `imix` is
//! frames of 64, 594 and 1518 bytes, drawn in the ratio 7:4:1, so packets of 60, 590 and 1514. They carry the IP packets of 40
//! (padded), 576 and 1500 bytes that makers of traffic generators call the simple Internet mix; RFC 6985 explains
//! why such mixes differ and says to name the sizes.
//!
//! A message of TCP begins with SYN and ends with FIN; its sequence numbers follow its payload. Messages of UDP
//! cannot be told apart by their headers. `counter` is 32-bit big-endian words that count from 0 through each message;
//! `file` is the file from its beginning in each message, again and again.
//!
//! `pspin:` is `udp:` in the form of PsPIN's drivers ([`crate::pspin`]): without Ethernet, for IPv4 alone. Of match expressions only
//! `bytes[..]` and `len` find something in it.
//!
//! The other payloads are what the handlers of `sdk/examples` work on. They begin with two zero bytes, behind which the
//! packet is at a multiple of 4 (in `pspin:` with none, since it is there already), and all their numbers are 32-bit little-endian, as the cores read them.
//!
//! - `ints:N`: integers below N, each as likely; without N, any of 32 bits.
//! - `segment`: where in its message the rest of the packet belongs, in bytes from 0, and then random bytes.
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

/// Traffic to generate; what the fields mean is said in [`crate::traffic`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrafficSpec {
    /// Protocol above IP.
    pub transport: Transport,
    /// Lengths of packets without FCS.
    pub size: Sizes,
    /// Packets in all.
    pub count: u64,
    /// How fast they come.
    pub rate: Rate,
    /// How regularly they come.
    pub arrivals: Arrivals,
    /// Number of 5-tuples.
    pub flows: u32,
    /// Number of addresses that they come from.
    pub senders: u32,
    /// Messages of each flow.
    pub messages: u64,
    /// What they carry.
    pub payload: Payload,
    /// Where all random numbers come from.
    pub seed: u64,
    /// Sender's MAC address.
    pub src_mac: Mac,
    /// Receiver's MAC address.
    pub dst_mac: Mac,
    /// Sender's address, in the first flow.
    pub src: IpAddr,
    /// Receiver's address.
    pub dst: IpAddr,
    /// Sender's port, in the first flow.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
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
        }
    }
}

/// Protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// UDP datagrams.
    Udp,
    /// Segments that look like TCP; nobody acknowledges or repeats them.
    Tcp,
    /// UDP datagrams in the form of [`crate::pspin`], without Ethernet.
    Pspin,
}

/// How fast packets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "read::IntOrText", into = "String")]
pub enum Rate {
    /// Bits per second on the line, with padding, FCS, preamble and gap.
    Bps(u64),
    /// Packets per second.
    Pps(u64),
}

/// How regularly packets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Each as soon as the rate allows.
    Constant,
    /// As a Poisson process of that mean rate; packets may then overlap, and the line must make them wait.
    Poisson,
}

/// Most flows: the generator keeps 8 bytes for each.
pub const MAX_FLOWS: u32 = 1 << 20;

impl TrafficSpec {
    /// Length of all headers of a packet, in bytes.
    pub fn headers_len(&self) -> usize {
        let ip = if self.src.is_ipv4() { ipv4::MIN_HEADER_LEN } else { ipv6::HEADER_LEN };
        match self.transport {
            Transport::Udp => eth::HEADER_LEN + ip + udp::HEADER_LEN,
            Transport::Tcp => eth::HEADER_LEN + ip + tcp::MIN_HEADER_LEN,
            Transport::Pspin => pspin::HEADERS_LEN,
        }
    }

    /// Where the payload begins. What pads numbers to a multiple of 4 bytes is left out where headers end at one.
    fn payload_at(&self) -> usize {
        let pad = if self.transport == Transport::Pspin { self.payload.pad() } else { 0 };
        self.headers_len() - pad
    }

    /// Checks what the types cannot say.
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
