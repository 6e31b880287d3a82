//! Hash functions of network cards over fields.

/// A 32-bit hash function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HashFunction {
    /// Toeplitz hash with the key that Microsoft publishes for receive side scaling. Cards compute it over addresses and ports
    /// of IPv4 or IPv6; for a longer input the key repeats.
    #[default]
    Toeplitz,
    /// CRC-32 of Ethernet (IEEE 802.3, 3.2.9).
    Crc32,
}

/// Source: Microsoft, "Verifying the RSS Hash Calculation".
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b,
    0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac,
    0x01, 0xfa,
];

impl HashFunction {
    /// The hash of `bytes`.
    pub fn of(self, bytes: &[u8]) -> u32 {
        match self {
            HashFunction::Toeplitz => toeplitz(bytes),
            HashFunction::Crc32 => crc32(bytes),
        }
    }
}

/// Each set bit of the input adds the 32 key bits that start at its position. The table holds these sums for four bits at once,
/// for each half byte of the key; a long input goes through the table repeatedly.
static ADDED: [[u32; 16]; 2 * KEY.len()] = added();

const fn added() -> [[u32; 16]; 2 * KEY.len()] {
    let mut added = [[0; 16]; 2 * KEY.len()];
    let mut place = 0;
    while place < added.len() {
        let mut half = 0;
        while half < 16 {
            let mut bit = 0;
            while bit < 4 {
                if half >> (3 - bit) & 1 != 0 {
                    added[place][half] ^= key_from(4 * place + bit);
                }
                bit += 1;
            }
            half += 1;
        }
        place += 1;
    }
    added
}

/// The 32 key bits from `bit` on.
const fn key_from(bit: usize) -> u32 {
    let (mut bits, mut i) = (0, 0);
    while i < 5 {
        bits = bits << 8 | KEY[(bit / 8 + i) % KEY.len()] as u64;
        i += 1;
    }
    (bits >> (8 - bit % 8)) as u32
}

fn toeplitz(bytes: &[u8]) -> u32 {
    let places = ADDED.chunks_exact(2).cycle();
    bytes
        .iter()
        .zip(places)
        .fold(0, |hash, (&byte, halves)| hash ^ halves[0][usize::from(byte >> 4)] ^ halves[1][usize::from(byte & 0xf)])
}

fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320; // Bit-reversed.
    let shift = |crc: u32| if crc & 1 != 0 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| shift(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn published_values() {
        // Microsoft's page: 66.9.149.187:2794 to 161.142.100.80:1766, without and with ports.
        let mut input = vec![66, 9, 149, 187, 161, 142, 100, 80];
        assert_eq!(HashFunction::Toeplitz.of(&input), 0x323e_8fc2);
        input.extend([2794u16, 1766].map(u16::to_be_bytes).concat());
        assert_eq!(HashFunction::Toeplitz.of(&input), 0x51cc_c178);
        // 3ffe:2501:200:1fff::7 port 2794 to 3ffe:2501:200:3::1 port 1766.
        let hosts =
            ["3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1"].map(|host| host.parse::<Ipv6Addr>().unwrap().octets());
        let mut input = hosts.concat();
        assert_eq!(HashFunction::Toeplitz.of(&input), 0x2cc1_8cd5);
        input.extend([2794u16, 1766].map(u16::to_be_bytes).concat());
        assert_eq!(HashFunction::Toeplitz.of(&input), 0x4020_7d3d);
        // After its end the key repeats: 40 zero bytes change nothing.
        assert_eq!(
            HashFunction::Toeplitz.of(&[&[0; 40], &input[..12]].concat()),
            HashFunction::Toeplitz.of(&input[..12])
        );
        // The check value of CRC-32.
        assert_eq!(HashFunction::Crc32.of(b"123456789"), 0xcbf4_3926);
    }
}
