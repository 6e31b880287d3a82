//! The packets of PsPIN's drivers: IPv4 and UDP from byte 0, with numbers in the byte order of the cores.
//!
//! No network uses this form. There is no Ethernet header; in the first byte, `version` is the lower half and the
//! header length the upper half; checksums are not computed. PsPIN's own handlers use only these packets.
//!
//! Source: PsPIN a49fec8, `sw/runtime/include/packets.h` and `examples/generic_driver`.

use std::net::Ipv4Addr;

/// Length of both headers, in bytes.
pub const HEADERS_LEN: usize = 28;
const IP_LEN: usize = 20;

/// The IPv4 and UDP headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PspinHeaders {
    /// Number of the packet.
    pub identification: u16,
    /// Sender.
    pub src: Ipv4Addr,
    /// Receiver.
    pub dst: Ipv4Addr,
    /// Sender's port.
    pub src_port: u16,
    /// Receiver's port.
    pub dst_port: u16,
}

impl PspinHeaders {
    /// Writes the headers; the packet's length is `packet.len()`.
    ///
    /// # Panics
    ///
    /// Panics if `packet` is shorter than the headers or longer than 65,535 bytes.
    pub fn emit(&self, packet: &mut [u8]) {
        let len = u16::try_from(packet.len()).expect("a packet has at most 65,535 bytes");
        let (version, header_words, ttl, udp) = (4, 5, 64, crate::ipv4::protocol::UDP);
        let headers = &mut packet[..HEADERS_LEN];
        headers.fill(0);
        headers[0] = header_words << 4 | version;
        headers[2..4].copy_from_slice(&len.to_le_bytes());
        headers[4..6].copy_from_slice(&self.identification.to_le_bytes());
        headers[8..10].copy_from_slice(&[ttl, udp]);
        headers[12..16].copy_from_slice(&u32::from(self.src).to_le_bytes());
        headers[16..20].copy_from_slice(&u32::from(self.dst).to_le_bytes());
        headers[20..22].copy_from_slice(&self.src_port.to_le_bytes());
        headers[22..24].copy_from_slice(&self.dst_port.to_le_bytes());
        headers[24..26].copy_from_slice(&(len - IP_LEN as u16).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        let mut packet = [0xff; 30];
        let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        PspinHeaders { identification: 7, src, dst, src_port: 10_000, dst_port: 9_999 }.emit(&mut packet);
        let want = "54001e0007000000401100000100000a0200000a10270f270a000000ffff";
        assert_eq!(crate::format::hex(&packet), want);
    }
}
