//! Finds the packets of a capture that match an expression.

use serde::Serialize;
use std::path::Path;
use wire::capture::{CaptureCounts, CaptureError, CaptureReader};
use wire::expr::Matcher;
use wire::layers::{Layer, Layers};

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Matches {
    /// Packets in the capture.
    pub packets: u64,
    /// Packets that match.
    pub matched: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes of those that match.
    pub matched_bytes: u64,
    /// The first that match.
    pub first: Vec<Found>,
    /// Counts of the capture.
    pub capture: CaptureCounts,
    /// Why reading stopped before its end.
    pub stop: Option<String>,
}

/// A packet that matches.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Number among the packets that a run gets, from 0.
    pub index: u64,
    /// Number among all packets of the file, from 1, as Wireshark counts.
    pub number: u64,
    /// Time since the first packet, if it has one.
    pub time_ns: Option<i64>,
    /// Length.
    pub bytes: u32,
    /// Its layers and ends.
    pub summary: String,
}

/// Tests every packet of the capture at `path`, and lists the first `limit` that match.
pub fn match_capture(matcher: &Matcher, path: &Path, limit: usize) -> Result<Matches, CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let (mut packets, mut matched, mut bytes, mut matched_bytes) = (0, 0, 0, 0);
    let (mut first, mut start) = (Vec::new(), None);
    while let Some(record) = reader.next()? {
        let index = packets;
        packets += 1;
        bytes += u64::from(record.original_len);
        if start.is_none() {
            start = record.time_fs;
        }
        let layers = Layers::parse(record.bytes);
        if matcher.matches_layers(record.bytes, &layers) {
            matched += 1;
            matched_bytes += u64::from(record.original_len);
            if first.len() < limit {
                let time = record.time_fs.zip(start).map(|(time, start)| (time.saturating_sub(start)) / 1_000_000);
                let time_ns = time.and_then(|ns| i64::try_from(ns).ok());
                let summary = describe(record.bytes, &layers);
                first.push(Found { index, number: record.index + 1, time_ns, bytes: record.original_len, summary });
            }
        }
    }
    let (capture, stop) = (*reader.counts(), reader.stop().map(ToString::to_string));
    Ok(Matches { packets, matched, bytes, matched_bytes, first, capture, stop })
}

/// A packet in a line: `10.0.0.1:53 > 10.0.0.2:999 udp`.
pub fn describe(packet: &[u8], layers: &Layers) -> String {
    let upper = [
        (Layer::Udp, "udp"),
        (Layer::Tcp, "tcp"),
        (Layer::Icmp, "icmp"),
        (Layer::Icmpv6, "icmpv6"),
        (Layer::Arp, "arp"),
        (Layer::Ipv4, "ipv4"),
        (Layer::Ipv6, "ipv6"),
    ];
    let found = upper.into_iter().find(|&(layer, _)| layers.has(layer));
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let ports = layers.offset(Layer::Udp).or(layers.offset(Layer::Tcp)).map(|at| (port(at), port(at + 2)));
    let addrs = if let Some(at) = layers.offset(Layer::Ipv4) {
        let addr = |range: std::ops::Range<usize>| {
            let bytes: [u8; 4] = packet[at + range.start..at + range.end].try_into().unwrap_or_default();
            std::net::Ipv4Addr::from(bytes).to_string()
        };
        Some((addr(wire::ipv4::SRC), addr(wire::ipv4::DST)))
    } else if let Some(at) = layers.offset(Layer::Ipv6) {
        let addr = |range: std::ops::Range<usize>| {
            let bytes: [u8; 16] = packet[at + range.start..at + range.end].try_into().unwrap_or_default();
            let addr = std::net::Ipv6Addr::from(bytes);
            if ports.is_some() { format!("[{addr}]") } else { addr.to_string() }
        };
        Some((addr(wire::ipv6::SRC), addr(wire::ipv6::DST)))
    } else {
        None
    };
    let name = found.map_or("ethernet", |(_, name)| name);
    match (addrs, ports) {
        (Some((src, dst)), Some((from, to))) => format!("{src}:{from} > {dst}:{to} {name}"),
        (Some((src, dst)), None) => format!("{src} > {dst} {name}"),
        _ => name.into(),
    }
}
