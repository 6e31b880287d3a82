//! What travels between a MAC and the network.

use std::rc::Rc;

/// A frame on the wire, from destination address to the last byte before the frame check sequence.
///
/// It is on a channel when its last bit has passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who it is: sources count from 0; the copy that arrives elsewhere has the same number.
    pub id: u64,
    /// Its bytes, without frame check sequence.
    pub bytes: Rc<[u8]>,
    /// Whether the frame check sequence is right.
    pub is_intact: bool,
}

impl Frame {
    /// Bytes of a frame check sequence.
    pub const FCS_BYTES: u32 = 4;
    /// Bytes of line time before and after a frame: preamble with start delimiter (8) and interframe gap (12).
    /// Source: IEEE 802.3, 4.2.3.2 and 3.1.1.
    pub const OVERHEAD_BYTES: u32 = 20;

    /// Bytes of a frame without check sequence at least; a MAC pads what is shorter. Source: IEEE 802.3, 4A.4.2.
    pub const LEAST_BYTES: usize = 60;

    /// The check sequence as it stands on the wire behind the bytes; inverted if the frame is not intact.
    pub fn fcs(&self) -> [u8; 4] {
        let crc = crc(&self.bytes);
        if self.is_intact { (!crc).to_le_bytes() } else { crc.to_le_bytes() }
    }

    /// Bytes of line time that the frame takes, with check sequence, preamble and gap.
    pub fn line_bytes(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(Frame::FCS_BYTES + Frame::OVERHEAD_BYTES)
    }
}

/// CRC-32 of some bytes as a MAC's register holds it, before the inversion at the end. Source: IEEE 802.3, 3.2.9.
pub fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, &byte| crc >> 8 ^ CRC[((crc ^ u32::from(byte)) & 0xff) as usize])
}

/// The check sequence of each byte: IEEE 802.3, 3.2.9, least significant bit first.
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
        // CRC-32 of the digits 1 to 9, the check value of every catalogue: 0xcbf43926.
        let mut frame = Frame { id: 0, bytes: b"123456789"[..].into(), is_intact: true };
        assert_eq!(frame.fcs(), [0x26, 0x39, 0xf4, 0xcb]);
        frame.is_intact = false;
        assert_eq!(frame.fcs(), [0xd9, 0xc6, 0x0b, 0x34]);
    }
}
