//! Frames between a MAC and the network.

use std::rc::Rc;

/// A frame on the wire, from destination address to the last byte before the frame check sequence.
///
/// A frame appears on a channel when its last bit has passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Frame number: sources count from 0, and a copy that arrives elsewhere keeps the number.
    pub id: u64,
    /// The bytes, without frame check sequence.
    pub bytes: Rc<[u8]>,
    /// True if the frame check sequence is correct.
    pub is_intact: bool,
}

impl Frame {
    /// Bytes of a frame check sequence.
    pub const FCS_BYTES: u32 = 4;
    /// Bytes of line time before and after a frame: preamble with start delimiter (8) and interframe gap (12).
    /// Source: IEEE 802.3, 4.2.3.2 and 3.1.1.
    pub const OVERHEAD_BYTES: u32 = 20;

    /// Minimum bytes of a frame without check sequence; a MAC pads shorter frames. Source: IEEE 802.3, 4A.4.2.
    pub const LEAST_BYTES: usize = 60;

    /// The check sequence as transmitted after the bytes; inverted if the frame is not intact.
    pub fn fcs(&self) -> [u8; 4] {
        let crc = crc(&self.bytes);
        if self.is_intact { (!crc).to_le_bytes() } else { crc.to_le_bytes() }
    }

    /// Line time of the frame in bytes, including check sequence, preamble and gap.
    pub fn line_bytes(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(Frame::FCS_BYTES + Frame::OVERHEAD_BYTES)
    }
}

/// CRC-32 of `bytes` as a MAC's register holds it, before the final inversion. Source: IEEE 802.3, 3.2.9.
pub fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, &byte| crc >> 8 ^ CRC[((crc ^ u32::from(byte)) & 0xff) as usize])
}

/// CRC-32 of each byte value: IEEE 802.3, 3.2.9, least significant bit first.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sequence_is_that_of_the_standard() {
        // The standard check value: CRC-32 of the digits 1 to 9 is 0xcbf43926.
        let mut frame = Frame { id: 0, bytes: b"123456789"[..].into(), is_intact: true };
        assert_eq!(frame.fcs(), [0x26, 0x39, 0xf4, 0xcb]);
        frame.is_intact = false;
        assert_eq!(frame.fcs(), [0xd9, 0xc6, 0x0b, 0x34]);
    }
}
