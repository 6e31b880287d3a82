//! The pcapng format (draft-ietf-opsawg-pcapng): blocks with their length at both ends.

use super::input::{Fill, Input, Order};
use super::reader::{CaptureError, CaptureStop, RawRecord, ReadStep};
use super::{FS_PER_S, MAX_RECORD_LEN};
use std::io::{self, Read};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Holds no packets, but Wireshark numbers it among the packets (tshark 4 lists them).
const JOURNAL: u32 = 9;
const CUSTOM: u32 = 0xbad;
const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// First bytes of every pcapng file. They are a palindrome, so the byte order does not matter.
pub(super) const MAGIC: [u8; 4] = SECTION_HEADER.to_be_bytes();
/// Length of block type and both block lengths.
const FRAME_LEN: u32 = 12;
const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_FCSLEN: u16 = 13;
const OPTION_TSOFFSET: u16 = 14;
/// Maximum number of interfaces per section. It bounds the memory use and exceeds that of all real captures.
const MAX_INTERFACES: usize = 65_536;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    snap_len: u32,
    fcs_len: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// The option `if_tsresol`: ticks per second as a power of 10 or of 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resolution(u8);

impl Resolution {
    const MICROSECONDS: Self = Self(6);

    /// `ticks` in femtoseconds, rounded down.
    fn to_fs(self, ticks: u64) -> i128 {
        let (ticks, power) = (u128::from(ticks), u32::from(self.0 & 0x7f));
        let fs = if self.0 & 0x80 != 0 {
            (ticks * FS_PER_S) >> power // 64 + 50 bits; the shift is at most 127.
        } else if power <= 15 {
            ticks * 10u128.pow(15 - power)
        } else {
            10u128.checked_pow(power - 15).map_or(0, |divisor| ticks / divisor)
        };
        fs as i128
    }
}

#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

/// A parsed block.
enum Block {
    Packet(RawRecord),
    Malformed,
    /// Not a packet, but a block that tools number among the packets.
    Listed,
    Other,
    Described,
}

impl Pcapng {
    /// Reads the rest of the first section header.
    pub(super) fn open<R: Read>(input: &mut Input<R>, name: &str) -> Result<Self, CaptureError> {
        let mut start = [0; 8];
        if input.fill(&mut start).map_err(|e| CaptureError::read(name, 4, e))? != Fill::Whole {
            return Err(CaptureError::ShortHeader { file: name.into(), found: input.offset, needed: 28 });
        }
        let Some(order) = section_order(&start) else {
            let found = format!("byte-order magic {:02x?}", &start[4..]);
            let allowed = "1a 2b 3c 4d or 4d 3c 2b 1a";
            return Err(CaptureError::Header { file: name.into(), offset: 8, found, allowed });
        };
        let len = order.u32(&start, 0);
        if !(28..=MAX_RECORD_LEN).contains(&len) || !len.is_multiple_of(4) {
            let found = format!("section header of {len} bytes");
            let allowed = "a multiple of 4 from 28 to 1048576";
            return Err(CaptureError::Header { file: name.into(), offset: 4, found, allowed });
        }
        let mut rest = vec![0; len as usize - 12];
        if input.fill(&mut rest).map_err(|e| CaptureError::read(name, input.offset, e))? != Fill::Whole {
            let needed = u64::from(len);
            return Err(CaptureError::ShortHeader { file: name.into(), found: input.offset, needed });
        }
        let (major, minor) = (order.u16(&rest, 0), order.u16(&rest, 2));
        if major != 1 {
            let found = format!("pcapng version {major}.{minor}");
            return Err(CaptureError::Header { file: name.into(), offset: 12, found, allowed: "version 1.x" });
        }
        let end = order.u32(&rest, rest.len() - 4);
        if end != len {
            let found = format!("section header of {len} bytes with {end} as its length at the end");
            let offset = u64::from(len) - 4;
            return Err(CaptureError::Header { file: name.into(), offset, found, allowed: "the same length twice" });
        }
        Ok(Self { order, interfaces: Vec::new() })
    }

    /// Reads one block.
    pub(super) fn step<R: Read>(&mut self, input: &mut Input<R>, body: &mut Vec<u8>) -> io::Result<ReadStep> {
        let offset = input.offset;
        let mut start = [0; 8];
        match input.fill(&mut start)? {
            Fill::Whole => {}
            Fill::End => return Ok(ReadStep::End),
            Fill::Part(found) => {
                return Ok(ReadStep::Stop(CaptureStop::Truncated { offset, found: found as u64, needed: 8 }));
            }
        }
        let is_section = start[..4] == MAGIC;
        body.clear();
        if is_section {
            // The next word determines the byte order of the length. The version follows.
            body.resize(8, 0);
            if input.fill(body)? != Fill::Whole {
                return Ok(ReadStep::Stop(CaptureStop::Truncated { offset, found: input.offset - offset, needed: 28 }));
            }
            let mut words = [0; 8];
            words[4..].copy_from_slice(&body[..4]);
            let Some(order) = section_order(&words) else {
                let found = u64::from(Order::Big.u32(body, 0));
                let (what, allowed) = ("byte-order magic", "439041101 or, swapped, 1295788826");
                return Ok(ReadStep::Stop(CaptureStop::Corrupt { offset, what, found, allowed }));
            };
            self.order = order;
            self.interfaces.clear();
        }
        let (kind, len) = (self.order.u32(&start, 0), self.order.u32(&start, 4));
        let least = if is_section { 28 } else { FRAME_LEN };
        let corrupt = |what, found: u32, allowed| {
            let found = u64::from(found);
            Ok(ReadStep::Stop(CaptureStop::Corrupt { offset, what, found, allowed }))
        };
        if len < least || !len.is_multiple_of(4) {
            return corrupt("block length", len, "a multiple of 4 that holds the block's fixed part");
        }
        let truncated = |end: u64| {
            let (found, needed) = (end - offset, u64::from(len));
            Ok(ReadStep::Stop(CaptureStop::Truncated { offset, found, needed }))
        };
        let left = len - FRAME_LEN - body.len() as u32;
        let is_known = matches!(kind, INTERFACE_DESCRIPTION | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET);
        let is_read = is_known && len <= MAX_RECORD_LEN;
        let is_whole = if is_read {
            body.resize(left as usize, 0);
            body.is_empty() || input.fill(body)? == Fill::Whole
        } else {
            input.skip(u64::from(left))?
        };
        let mut end = [0; 4];
        if !is_whole || input.fill(&mut end)? != Fill::Whole {
            return truncated(input.offset);
        }
        if self.order.u32(&end, 0) != len {
            return corrupt("block length at the end of the block", self.order.u32(&end, 0), "the length at its start");
        }
        if is_known && !is_read {
            return Ok(ReadStep::Malformed);
        }
        if is_section {
            let major = self.order.u16(body, 4);
            if major != 1 {
                return corrupt("major version of the section", u32::from(major), "1");
            }
        }
        if kind == INTERFACE_DESCRIPTION && self.interfaces.len() == MAX_INTERFACES {
            return corrupt("number of interfaces", MAX_INTERFACES as u32 + 1, "at most 65536");
        }
        Ok(match self.block(kind, body, offset) {
            Block::Packet(record) => ReadStep::Record(record),
            Block::Malformed => ReadStep::Malformed,
            Block::Described => ReadStep::Described,
            Block::Listed => ReadStep::Listed,
            Block::Other => ReadStep::Other,
        })
    }

    fn block(&mut self, kind: u32, body: &[u8], offset: u64) -> Block {
        let order = self.order;
        match kind {
            INTERFACE_DESCRIPTION if body.len() >= 8 => {
                let (interface, is_whole) = self.interface(body);
                self.interfaces.push(interface);
                if is_whole { Block::Described } else { Block::Malformed }
            }
            ENHANCED_PACKET if body.len() >= 20 => self.timed_packet(body, order.u32(body, 0), offset),
            OBSOLETE_PACKET if body.len() >= 20 => self.timed_packet(body, u32::from(order.u16(body, 0)), offset),
            SIMPLE_PACKET if body.len() >= 4 => {
                let Some(interface) = self.interfaces.first() else { return Block::Malformed };
                let original_len = order.u32(body, 0);
                let limit = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
                // Padding hides the captured length, so the snap length determines it.
                let captured_len = original_len.min(limit);
                if captured_len as usize > body.len() - 4 {
                    return Block::Malformed;
                }
                Block::Packet(RawRecord {
                    offset,
                    time_fs: None,
                    original_len,
                    start: 4,
                    captured_len,
                    link_type: interface.link_type,
                    interface: 0,
                    fcs_len: interface.fcs_len,
                })
            }
            INTERFACE_DESCRIPTION => {
                // Keeps the interface's number, because later packets refer to interfaces by number.
                let unknown = Interface {
                    link_type: u16::MAX,
                    snap_len: 0,
                    fcs_len: 0,
                    resolution: Resolution::MICROSECONDS,
                    offset_s: 0,
                };
                self.interfaces.push(unknown);
                Block::Malformed
            }
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => Block::Malformed,
            SECTION_HEADER => Block::Described,
            JOURNAL | CUSTOM | CUSTOM_NOT_COPIED => Block::Listed,
            _ => Block::Other,
        }
    }

    /// Enhanced and obsolete packet blocks differ only in the first word.
    fn timed_packet(&self, body: &[u8], index: u32, offset: u64) -> Block {
        let word = |i: usize| self.order.u32(body, i * 4);
        let captured_len = word(3);
        let Some(interface) = self.interfaces.get(index as usize) else { return Block::Malformed };
        if captured_len as usize > body.len() - 20 {
            return Block::Malformed;
        }
        let ticks = u64::from(word(1)) << 32 | u64::from(word(2));
        let offset_fs = i128::from(interface.offset_s) * FS_PER_S as i128;
        Block::Packet(RawRecord {
            offset,
            time_fs: Some(interface.resolution.to_fs(ticks) + offset_fs),
            original_len: word(4),
            start: 20,
            captured_len,
            link_type: interface.link_type,
            interface: index,
            fcs_len: interface.fcs_len,
        })
    }

    /// The interface in a block, and true if all its options could be read.
    fn interface(&self, body: &[u8]) -> (Interface, bool) {
        let order = self.order;
        let mut interface = Interface {
            link_type: order.u16(body, 0),
            snap_len: order.u32(body, 4),
            fcs_len: 0,
            resolution: Resolution::MICROSECONDS,
            offset_s: 0,
        };
        let mut at = 8;
        while at + 4 <= body.len() {
            let (code, len) = (order.u16(body, at), usize::from(order.u16(body, at + 2)));
            let Some(value) = body.get(at + 4..at + 4 + len) else { return (interface, false) };
            match (code, len) {
                (OPTION_END, _) => break,
                (OPTION_TSRESOL, 1) => interface.resolution = Resolution(value[0]),
                (OPTION_FCSLEN, 1) => interface.fcs_len = u32::from(value[0]),
                (OPTION_TSOFFSET, 8) => {
                    let (a, b) = (u64::from(order.u32(value, 0)), u64::from(order.u32(value, 4)));
                    let bits = if order == Order::Big { a << 32 | b } else { b << 32 | a };
                    interface.offset_s = bits as i64;
                }
                (OPTION_TSRESOL | OPTION_FCSLEN | OPTION_TSOFFSET, _) => return (interface, false),
                _ => {}
            }
            at += 4 + len.next_multiple_of(4);
        }
        (interface, true)
    }
}

/// Byte order from the magic number after the block length.
fn section_order(length_and_magic: &[u8; 8]) -> Option<Order> {
    [Order::Big, Order::Little].into_iter().find(|order| order.u32(length_and_magic, 4) == BYTE_ORDER_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_every_resolution_become_femtoseconds() {
        let fs = |resolution, ticks| Resolution(resolution).to_fs(ticks);
        assert_eq!((fs(6, 3), fs(9, 3), fs(0, 3)), (3_000_000_000, 3_000_000, 3_000_000_000_000_000));
        assert_eq!((fs(15, 7), fs(16, 79), fs(127, u64::MAX)), (7, 7, 0));
        assert_eq!(
            (fs(0x80, 2), fs(0x81, 3), fs(0x8a, 1)),
            (2 * FS_PER_S as i128, 1_500_000_000_000_000, 976_562_500_000)
        );
        assert_eq!((fs(0xff, u64::MAX), fs(0x80, u64::MAX)), (0, i128::from(u64::MAX) * FS_PER_S as i128));
        assert_eq!(fs(0, u64::MAX), i128::from(u64::MAX) * FS_PER_S as i128);
    }
}
