//! Priority flow control: pause frames, and the pauses of a transmitter (IEEE 802.1Qbb, 802.3 annex 31D).

use crate::frame::{MAC_CONTROL, N_CLASSES};
use crate::line::Rate;
use kernel::Time;
use wire::eth::{ETHER_TYPE, EthHeader, HEADER_LEN, MIN_PACKET_LEN, Mac};

/// Address of MAC control frames, which no bridge forwards (IEEE 802.3, 31B.1).
pub const DESTINATION: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

/// Operation code of a priority pause (IEEE 802.3, 31D.2).
const OPCODE: u16 = 0x0101;

/// Bit times of a pause quantum (IEEE 802.3, 31B.2).
pub const QUANTUM_BITS: u64 = 512;

/// Longest pause, in quanta.
pub const LONGEST: u16 = u16::MAX;

/// A pause frame: for each class that it names, the pause in quanta; 0 ends a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pause {
    /// Quanta by class; `None` leaves a class as it is.
    pub quanta: [Option<u16>; N_CLASSES],
}

impl Pause {
    /// A pause of one class.
    pub fn of(class: u8, quanta: u16) -> Self {
        let mut pause = Pause::default();
        pause.quanta[usize::from(class)] = Some(quanta);
        pause
    }

    /// The bytes of the frame, without FCS.
    pub fn emit(&self, src: Mac) -> Vec<u8> {
        let mut bytes = vec![0; MIN_PACKET_LEN];
        let header = EthHeader { dst: DESTINATION, src, ether_type: MAC_CONTROL };
        header.emit(&mut bytes).expect("60 bytes have room for an Ethernet header");
        let body = &mut bytes[HEADER_LEN..];
        body[..2].copy_from_slice(&OPCODE.to_be_bytes());
        for (class, quanta) in self.quanta.iter().enumerate() {
            if let Some(quanta) = quanta {
                body[3] |= 1 << class;
                body[4 + 2 * class..6 + 2 * class].copy_from_slice(&quanta.to_be_bytes());
            }
        }
        bytes
    }

    /// Reads a frame; `None` if it is another one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        if word(ETHER_TYPE.start)? != MAC_CONTROL || word(HEADER_LEN)? != OPCODE {
            return None;
        }
        let enabled = word(HEADER_LEN + 2)?;
        let mut pause = Pause::default();
        for class in 0..N_CLASSES {
            if enabled >> class & 1 == 1 {
                pause.quanta[class] = Some(word(HEADER_LEN + 4 + 2 * class)?);
            }
        }
        Some(pause)
    }
}

/// The pauses that a transmitter obeys.
#[derive(Clone, Debug)]
pub struct Pauses {
    until: [Time; N_CLASSES],
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { until: [Time::ZERO; N_CLASSES] }
    }
}

impl Pauses {
    /// Applies a pause frame at `at`. A transmitter without a rate pauses until a frame ends the pause, because its quanta take no time.
    pub fn apply(&mut self, at: Time, pause: &Pause, rate: Rate) {
        for (until, quanta) in self.until.iter_mut().zip(pause.quanta) {
            *until = match quanta {
                None => *until,
                Some(0) => at,
                Some(_) if rate.in_bps().is_none() => Time::MAX,
                Some(quanta) => at.checked_add(rate.time(u64::from(quanta) * QUANTUM_BITS)).unwrap_or(Time::MAX),
            };
        }
    }

    /// When a frame of this class may begin. A pause ends at this time.
    pub fn until(&self, class: u8) -> Time {
        self.until[usize::from(class)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_has_the_layout_of_the_standard() {
        let mut pause = Pause::of(3, 0xffff);
        pause.quanta[0] = Some(0);
        let bytes = pause.emit(Mac([2, 0, 0, 0, 0, 7]));
        let want = "0180c2000001 020000000007 8808 0101 0009 0000 0000 0000 ffff 0000 0000 0000 0000";
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, want.replace(' ', "") + &"00".repeat(26));
        assert_eq!(Pause::parse(&bytes), Some(pause));
        for len in 0..34 {
            Pause::parse(&bytes[..len]);
        }
    }

    #[test]
    fn a_pause_lasts_its_quanta() {
        let mut pauses = Pauses::default();
        let rate = Rate::bps(100_000_000_000);
        pauses.apply(Time::from_ns(10), &Pause::of(3, 2), rate);
        assert_eq!((pauses.until(3), pauses.until(2)), (Time::from_ns(10) + Time::from_ps(2 * 5120), Time::ZERO));
        pauses.apply(Time::from_ns(12), &Pause::of(3, 0), rate);
        assert_eq!(pauses.until(3), Time::from_ns(12));
    }
}
