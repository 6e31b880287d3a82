//! Packets of plain NICs: RoCE version 2. A message is an RDMA write: the address of its RETH is the tag, the key is the message's number.
//!
//! The destination queue pair names the sender: it is the number of the sending node, plus 1.

pub(super) use crate::observe::REPLY_BITS;

use crate::NodeId;
use crate::address::Directory;
use std::sync::Arc;
use wire::eth::{EthHeader, HEADER_LEN, ether_type};
use wire::format::HeaderOptions;
use wire::ipv4::{Ipv4Header, MIN_HEADER_LEN, protocol};
use wire::roce::{
    AETH_LEN, Aeth, BTH_AT, BTH_LEN, Bth, ICRC_LEN, PORT, RETH_LEN, Reth, emit_icrc, icrc_is_valid, opcode, syndrome,
};
use wire::udp;

/// Partition of all packets: the default partition.
const PARTITION: u16 = 0xffff;

/// Source ports of RoCE begin here, so that flows differ (annex A17, as implementations do it).
const FIRST_SOURCE_PORT: u16 = 0xc000;

/// Reserved bytes of a congestion notification.
const CONGESTION_LEN: usize = 16;

/// Bits of a packet sequence number.
pub(super) const PSN_BITS: u32 = 24;

/// The start of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// A message of `put`.
    Write { tag: u64, number: u32, len: u32 },
    /// A request of `get`; it has no payload.
    Read { tag: u64, number: u32, len: u32 },
    /// The answer to a request. It carries only the lower 24 bits of the request's number.
    Response { number: u32 },
}

/// The kind of message that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Write,
    Response,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A part of a message.
    Data {
        /// Only in the first packet of a message.
        begin: Option<Begin>,
        /// It is the last packet of its message.
        is_last: bool,
        /// The sender asks for an acknowledgment at once.
        asks: bool,
        /// Bytes of headers after the base transport header.
        headers_len: u8,
        payload_len: u32,
    },
    /// All packets below the sequence number have arrived.
    Ack,
    /// A congestion notification: a packet from the node that receives it carried a congestion mark.
    Congestion,
    /// The packet with the sequence number is missing. All packets below `below`, modulo 2^24, have arrived.
    Missing { below: u32 },
}

pub(super) struct Packet {
    /// The node that sent it.
    pub from: NodeId,
    /// Sequence number, modulo 2^24.
    pub psn: u32,
    pub body: Body,
}

/// Sender, receiver, and traffic class of packets.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub from: NodeId,
    pub to: NodeId,
    pub class: u8,
}

fn frame(
    pair: Pair,
    directory: &Directory,
    bth: Bth,
    headers_len: usize,
    payload: &[u8],
    write: impl FnOnce(&mut [u8]),
) -> Arc<[u8]> {
    let pad = usize::from(bth.pad);
    let udp_len = udp::HEADER_LEN + BTH_LEN + headers_len + payload.len() + pad + ICRC_LEN;
    let mut whole: Arc<[u8]> = std::iter::repeat_n(0, HEADER_LEN + MIN_HEADER_LEN + udp_len).collect();
    let bytes = Arc::get_mut(&mut whole).expect("nobody else has the new packet");
    let eth = EthHeader { dst: directory.mac(pair.to), src: directory.mac(pair.from), ether_type: ether_type::IPV4 };
    let ip = Ipv4Header {
        dscp_ecn: pair.class << 5 | 2, // The class selector, and capable of ECN.
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::UDP,
        src: directory.ip(pair.from),
        dst: directory.ip(pair.to),
        options: HeaderOptions::NONE,
        payload_len: udp_len as u16,
    };
    let at = HEADER_LEN + MIN_HEADER_LEN;
    let port = FIRST_SOURCE_PORT | (pair.from.0.wrapping_mul(0x9e37) ^ pair.to.0) as u16 & 0x3fff;
    bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
    bytes[at + 2..at + 4].copy_from_slice(&PORT.to_be_bytes());
    // The UDP checksum stays 0: the invariant CRC protects the packet.
    bytes[at + 4..at + 6].copy_from_slice(&(udp_len as u16).to_be_bytes());
    let written =
        eth.emit(bytes).and_then(|_| ip.emit(&mut bytes[HEADER_LEN..])).and_then(|_| bth.emit(&mut bytes[BTH_AT..]));
    written.expect("the packet has room for its headers, whose fields are in range");
    let at = BTH_AT + BTH_LEN;
    write(&mut bytes[at..at + headers_len]);
    bytes[at + headers_len..at + headers_len + payload.len()].copy_from_slice(payload);
    emit_icrc(bytes).expect("the packet has room for its CRC");
    whole
}

/// A part of a message.
pub(super) fn data(
    pair: Pair,
    directory: &Directory,
    psn: u64,
    (stream, begin): (Stream, Option<Begin>),
    (is_last, asks): (bool, bool),
    payload: &[u8],
) -> Arc<[u8]> {
    let opcode = match (begin, stream, is_last) {
        (Some(Begin::Read { .. }), ..) => opcode::READ_REQUEST,
        (Some(_), Stream::Write, true) => opcode::WRITE_ONLY,
        (Some(_), Stream::Write, false) => opcode::WRITE_FIRST,
        (None, Stream::Write, false) => opcode::WRITE_MIDDLE,
        (None, Stream::Write, true) => opcode::WRITE_LAST,
        (Some(_), Stream::Response, true) => opcode::READ_RESPONSE_ONLY,
        (Some(_), Stream::Response, false) => opcode::READ_RESPONSE_FIRST,
        (None, Stream::Response, false) => opcode::READ_RESPONSE_MIDDLE,
        (None, Stream::Response, true) => opcode::READ_RESPONSE_LAST,
    };
    let pad = (payload.len().wrapping_neg() & 3) as u8;
    let bth = bth(pair, opcode, pad, asks, psn);
    frame(pair, directory, bth, headers_len(opcode), payload, |bytes| {
        let written = match begin {
            Some(Begin::Write { tag: address, number: key, len } | Begin::Read { tag: address, number: key, len }) => {
                Reth { address, key, len }.emit(bytes).map(drop)
            }
            Some(Begin::Response { number }) => {
                Aeth { syndrome: syndrome::ACK, msn: number & REPLY_BITS }.emit(bytes).map(drop)
            }
            None if bytes.len() == AETH_LEN => Aeth { syndrome: syndrome::ACK, msn: 0 }.emit(bytes).map(drop),
            None => Ok(()),
        };
        written.expect("there is room for the headers");
    })
}

/// Bytes of headers between the base transport header and the payload (table 38).
fn headers_len(opcode: u8) -> usize {
    match opcode {
        opcode::WRITE_FIRST | opcode::WRITE_ONLY | opcode::READ_REQUEST => RETH_LEN,
        opcode::READ_RESPONSE_FIRST | opcode::READ_RESPONSE_LAST | opcode::READ_RESPONSE_ONLY => AETH_LEN,
        _ => 0,
    }
}

fn bth(pair: Pair, opcode: u8, pad: u8, ack_request: bool, psn: u64) -> Bth {
    let psn = (psn & ((1 << PSN_BITS) - 1)) as u32;
    Bth { opcode, pad, partition: PARTITION, queue_pair: pair.from.0 + 1, ack_request, psn }
}

/// An acknowledgment of all packets below `below`, or the request to repeat packet `missing`.
pub(super) fn acknowledge(pair: Pair, directory: &Directory, below: u64, missing: Option<u64>) -> Arc<[u8]> {
    let msn = (below & ((1 << PSN_BITS) - 1)) as u32;
    let (syndrome, psn) = match missing {
        None => (syndrome::ACK, below.wrapping_sub(1)),
        Some(missing) => (syndrome::SEQUENCE_ERROR, missing),
    };
    let bth = bth(pair, opcode::ACKNOWLEDGE, 0, false, psn);
    frame(pair, directory, bth, AETH_LEN, &[], |bytes| {
        Aeth { syndrome, msn }.emit(bytes).expect("there is room for an AETH");
    })
}

/// A congestion notification.
pub(super) fn congestion(pair: Pair, directory: &Directory) -> Arc<[u8]> {
    frame(pair, directory, bth(pair, opcode::CONGESTION, 0, false, 0), CONGESTION_LEN, &[], |_| {})
}

/// Reads a packet; `None` if it is not one of a plain NIC, or is damaged.
pub(super) fn parse(bytes: &[u8]) -> Option<Packet> {
    let at = HEADER_LEN + MIN_HEADER_LEN;
    let is_roce = bytes.get(at + 2..at + 4)? == PORT.to_be_bytes() && bytes[12..14] == ether_type::IPV4.to_be_bytes();
    if !is_roce || bytes[HEADER_LEN] != 0x45 || !icrc_is_valid(bytes) {
        return None;
    }
    let (bth, rest) = Bth::parse(bytes.get(BTH_AT..bytes.len() - ICRC_LEN)?).ok()?;
    let headers_len = headers_len(bth.opcode);
    let payload_len = rest.len().checked_sub(headers_len + usize::from(bth.pad)).map(|len| len as u32);
    let data = |begin, is_last| {
        Some(Body::Data {
            begin,
            is_last,
            asks: bth.ack_request,
            headers_len: headers_len as u8,
            payload_len: payload_len?,
        })
    };
    let body = match bth.opcode {
        opcode::WRITE_ONLY | opcode::WRITE_FIRST | opcode::READ_REQUEST => {
            let (Reth { address: tag, key: number, len }, _) = Reth::parse(rest).ok()?;
            match bth.opcode {
                opcode::READ_REQUEST => data(Some(Begin::Read { tag, number, len }), true)?,
                opcode => data(Some(Begin::Write { tag, number, len }), opcode == opcode::WRITE_ONLY)?,
            }
        }
        opcode::READ_RESPONSE_ONLY | opcode::READ_RESPONSE_FIRST => {
            let number = Aeth::parse(rest).ok()?.0.msn;
            data(Some(Begin::Response { number }), bth.opcode == opcode::READ_RESPONSE_ONLY)?
        }
        opcode::WRITE_MIDDLE | opcode::READ_RESPONSE_MIDDLE => data(None, false)?,
        opcode::WRITE_LAST | opcode::READ_RESPONSE_LAST => data(None, true)?,
        opcode::CONGESTION => Body::Congestion,
        opcode::ACKNOWLEDGE => {
            let (aeth, _) = Aeth::parse(rest).ok()?;
            if aeth.syndrome == syndrome::SEQUENCE_ERROR { Body::Missing { below: aeth.msn } } else { Body::Ack }
        }
        _ => return None,
    };
    Some(Packet { from: NodeId(bth.queue_pair.checked_sub(1)?), psn: bth.psn, body })
}

/// The payload of a data packet.
pub(super) fn payload(bytes: &[u8], headers_len: u8, len: u32) -> &[u8] {
    let at = BTH_AT + BTH_LEN + usize::from(headers_len);
    &bytes[at..at + len as usize]
}

/// The number near `near` that is `psn` modulo 2^24.
pub(super) fn unwrap(psn: u32, near: u64) -> Option<u64> {
    let delta = i64::from((psn.wrapping_sub(near as u32) << 8) as i32 >> 8);
    near.checked_add_signed(delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_back_from_their_bytes() {
        let directory = Directory::by_rule(10);
        let pair = Pair { from: NodeId(3), to: NodeId(4), class: 2 };
        let write = Some(Begin::Write { tag: 7, number: 8, len: 9 });
        let response = Some(Begin::Response { number: 8 });
        let messages = [(Stream::Write, write), (Stream::Response, response), (Stream::Write, None)];
        let packets = messages.into_iter().chain([(Stream::Response, None)]);
        let lasts = [(true, true), (false, false), (false, true)];
        for (len, (stream, begin), (is_last, asks)) in
            packets.flat_map(|kind| (0..20).flat_map(move |len| lasts.map(|last| (len, kind, last))))
        {
            let content: Vec<u8> = (0..len).collect();
            let bytes = data(pair, &directory, 0x0100_0005, (stream, begin), (is_last, asks), &content);
            let packet = parse(&bytes).unwrap();
            assert_eq!((packet.from, packet.psn), (pair.from, 5));
            let Body::Data { headers_len, .. } = packet.body else { panic!("no data") };
            let payload_len = u32::from(len);
            assert_eq!(packet.body, Body::Data { begin, is_last, asks, headers_len, payload_len });
            assert_eq!(payload(&bytes, headers_len, payload_len), content);
        }
        let read = Some(Begin::Read { tag: 7, number: 8, len: 9 });
        let bytes = data(pair, &directory, 5, (Stream::Write, read), (true, true), &[]);
        let body = Body::Data { begin: read, is_last: true, asks: true, headers_len: 16, payload_len: 0 };
        assert_eq!(parse(&bytes).unwrap().body, body);
        let bytes = acknowledge(pair, &directory, 1 << 24, None);
        assert_eq!(parse(&bytes).map(|packet| (packet.psn, packet.body)), Some((0xff_ffff, Body::Ack)));
        let bytes = acknowledge(pair, &directory, 5, Some(9));
        assert_eq!(parse(&bytes).map(|packet| (packet.psn, packet.body)), Some((9, Body::Missing { below: 5 })));
        let cnp = congestion(pair, &directory);
        assert_eq!(
            (cnp.len(), parse(&cnp).map(|packet| packet.body)),
            (14 + 20 + 8 + 12 + 16 + 4, Some(Body::Congestion))
        );
        for cut in 0..bytes.len() {
            assert!(parse(&bytes[..cut]).is_none());
        }
    }

    #[test]
    fn sequence_numbers_wrap() {
        for near in [0u64, 5, 0xff_fffe, 0x0100_0000, 0x0234_5678] {
            for delta in [-5i64, -1, 0, 1, 5, 4096] {
                let Some(want) = near.checked_add_signed(delta) else { continue };
                assert_eq!(unwrap((want & 0xff_ffff) as u32, near), Some(want));
            }
        }
        assert_eq!(unwrap(0xff_ffff, 0), None, "before the first");
    }
}
