//! The pcap format (draft-ietf-opsawg-pcap): a global header of 24 bytes, then records.

use super::input::{Fill, Input, Order};
use super::reader::{CaptureError, CaptureStop, RawRecord, ReadStep};
use super::{FS_PER_S, MAX_RECORD_LEN};
use std::io::{self, Read};

/// Length of the global header, magic number included.
pub(super) const HEADER_LEN: usize = 24;
/// Length of the header of a record.
const RECORD_HEADER_LEN: usize = 16;
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Known variants with other record headers (Wireshark, wiretap/libpcap.h).
const VARIANTS: [(u32, &str); 4] = [
    (0xa1b2_cd34, "modified pcap (Kuznetzov's libpcap patch)"),
    (0xa1e2_cb12, "Nokia or AIX pcap"),
    (0x1c00_01ac, "Ixia pcap with hardware times"),
    (0x1c00_01ab, "Ixia pcap with software times"),
];

#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Femtoseconds per tick of the fractional part of a time.
    fs_per_tick: u128,
    link_type: u16,
    fcs_len: u32,
}

/// Byte order and tick of a file with this magic number, or `None` if it is not pcap.
fn magic(bytes: [u8; 4]) -> Option<(Order, u128)> {
    for order in [Order::Big, Order::Little] {
        match order.u32(&bytes, 0) {
            MAGIC_MICROSECONDS => return Some((order, FS_PER_S / 1_000_000)),
            MAGIC_NANOSECONDS => return Some((order, FS_PER_S / 1_000_000_000)),
            _ => {}
        }
    }
    None
}

/// Name of the unsupported pcap variant with this magic number.
pub(super) fn unsupported_variant(bytes: [u8; 4]) -> Option<&'static str> {
    let word = |order: Order| order.u32(&bytes, 0);
    let known = |(value, _): &&(u32, &str)| *value == word(Order::Big) || *value == word(Order::Little);
    VARIANTS.iter().find(known).map(|(_, name)| *name)
}

impl Pcap {
    /// Reads the rest of the global header. Returns `None` if `first` is not a magic number of pcap.
    pub(super) fn open<R: Read>(
        first: [u8; 4],
        input: &mut Input<R>,
        name: &str,
    ) -> Result<Option<Self>, CaptureError> {
        let Some((order, fs_per_tick)) = magic(first) else { return Ok(None) };
        let mut rest = [0; HEADER_LEN - 4];
        let fill = input.fill(&mut rest).map_err(|source| CaptureError::read(name, input.offset, source))?;
        if fill != Fill::Whole {
            let found = input.offset;
            return Err(CaptureError::ShortHeader { file: name.into(), found, needed: HEADER_LEN as u64 });
        }
        let (major, minor) = (order.u16(&rest, 0), order.u16(&rest, 2));
        if major != 2 {
            let found = format!("pcap version {major}.{minor}");
            return Err(CaptureError::Header { file: name.into(), offset: 4, found, allowed: "version 2.x" });
        }
        // The upper half may hold the length of each packet's FCS, in 16-bit words (draft-ietf-opsawg-pcap, 4).
        let link = order.u32(&rest, 16);
        let fcs_len = if link & 0x0400_0000 != 0 { (link >> 28) * 2 } else { 0 };
        Ok(Some(Self { order, fs_per_tick, link_type: link as u16, fcs_len }))
    }

    pub(super) fn step<R: Read>(&mut self, input: &mut Input<R>, packet: &mut Vec<u8>) -> io::Result<ReadStep> {
        let offset = input.offset;
        let mut header = [0; RECORD_HEADER_LEN];
        match input.fill(&mut header)? {
            Fill::Whole => {}
            Fill::End => return Ok(ReadStep::End),
            Fill::Part(found) => {
                let (found, needed) = (found as u64, RECORD_HEADER_LEN as u64);
                return Ok(ReadStep::Stop(CaptureStop::Truncated { offset, found, needed }));
            }
        }
        let word = |i: usize| self.order.u32(&header, i * 4);
        let (captured, original) = (word(2), word(3));
        // Records have no marker, so after an invalid length the next record cannot be found. The snap length is not
        // checked: some files have a snap length of 0 or one below their packets' lengths.
        if captured > MAX_RECORD_LEN {
            let found = u64::from(captured);
            let allowed = "at most 1048576";
            return Ok(ReadStep::Stop(CaptureStop::Corrupt { offset, what: "captured length", found, allowed }));
        }
        packet.resize(captured as usize, 0);
        let found = match input.fill(packet)? {
            Fill::Whole => captured as usize,
            Fill::End => 0,
            Fill::Part(found) => found,
        };
        if found < captured as usize {
            let (found, needed) = (found as u64 + RECORD_HEADER_LEN as u64, u64::from(captured) + 16);
            return Ok(ReadStep::Stop(CaptureStop::Truncated { offset, found, needed }));
        }
        let time_fs = u128::from(word(0)) * FS_PER_S + u128::from(word(1)) * self.fs_per_tick;
        Ok(ReadStep::Record(RawRecord {
            offset,
            time_fs: Some(time_fs as i128),
            original_len: original,
            start: 0,
            captured_len: captured,
            link_type: self.link_type,
            interface: 0,
            fcs_len: self.fcs_len,
        }))
    }
}
