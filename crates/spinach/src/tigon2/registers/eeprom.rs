//! The serial EEPROM on four bits of the local control register.

/// EEPROM pins in the local control register. Source: docs/machines/tigon2.md (0x044).
pub const CLOCK: u32 = 1 << 20;
pub const TRANSMIT_ENABLE: u32 = 1 << 21;
pub const DATA_OUT: u32 = 1 << 22;
pub const DATA_IN: u32 = 1 << 23;

/// Offset of the MAC address: two words; the upper half of the first is zero. Source: the drivers of Linux and BSD.
const MAC_WORDS_AT: usize = 0x8c;
/// Size of the EEPROM. assumed: 64 kbit, of which drivers read less.
const BYTES: usize = 8192;
/// The device's bus address with the read bit. Source: 24C64 data sheets; device address 0.
const SELECT_WRITE: u8 = 0xa0;
const SELECT_READ: u8 = 0xa1;

/// State of the transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Waits for a start condition.
    Idle,
    /// Receives byte `n` of select, address high, address low, data.
    Take(u8),
    /// Sends bytes.
    Give,
}

/// A two-wire EEPROM of the 24C family, readable and writable.
#[derive(Clone, Debug)]
pub struct Eeprom {
    bytes: Vec<u8>,
    phase: Phase,
    /// Levels of the wires driven by the host.
    clock: bool,
    data: bool,
    /// The byte being transferred, and how many of its bits were clocked; the ninth is the acknowledge.
    shift: u8,
    bits: u8,
    addr: u16,
    /// Level driven by the device; high is released.
    out: bool,
    /// The host acknowledged the last byte, so another follows.
    is_continued: bool,
}

impl Eeprom {
    pub fn new(mac: [u8; 6]) -> Eeprom {
        let mut bytes = vec![0xff; BYTES];
        let (words, address) = (MAC_WORDS_AT, MAC_WORDS_AT + 2);
        bytes[words..address].fill(0);
        bytes[address..address + 6].copy_from_slice(&mac);
        let (clock, data, out, is_continued) = (true, true, true, false);
        Eeprom { bytes, phase: Phase::Idle, clock, data, shift: 0, bits: 0, addr: 0, out, is_continued }
    }

    /// Updates the wires after a write of local control.
    pub fn drive(&mut self, control: u32) {
        let clock = control & CLOCK != 0;
        let data = control & TRANSMIT_ENABLE == 0 || control & DATA_OUT != 0;
        match (self.clock, clock) {
            (true, true) if self.data && !data => self.start(),
            (true, true) if !self.data && data => (self.phase, self.out) = (Phase::Idle, true),
            (false, true) => self.rise(data),
            (true, false) => self.fall(),
            _ => {}
        }
        (self.clock, self.data) = (clock, data);
    }

    /// Level of the data wire at the data-in pin.
    pub fn data_in(&self) -> bool {
        self.data && self.out
    }

    fn start(&mut self) {
        (self.phase, self.bits, self.out) = (Phase::Take(0), 0, true);
    }

    /// Data is sampled while the clock is high.
    fn rise(&mut self, data: bool) {
        match self.phase {
            Phase::Take(_) if self.bits < 8 => self.shift = self.shift << 1 | u8::from(data),
            Phase::Give if self.bits == 8 => self.is_continued = !data,
            _ => {}
        }
        self.bits += 1;
    }

    /// Data changes while the clock is low.
    fn fall(&mut self) {
        match (self.phase, self.bits) {
            (Phase::Take(n), 8) => self.out = !(n > 0 || matches!(self.shift, SELECT_WRITE | SELECT_READ)),
            (Phase::Take(n), 9) => {
                self.out = true;
                self.bits = 0;
                self.taken(n);
            }
            (Phase::Give, bits @ 1..=7) => self.out = self.shift >> (7 - bits) & 1 == 1,
            (Phase::Give, 8) => self.out = true,
            (Phase::Give, 9) if self.is_continued => {
                self.advance();
                self.give();
            }
            (Phase::Give, 9) => {
                self.advance();
                self.phase = Phase::Idle;
            }
            _ => {}
        }
    }

    fn taken(&mut self, n: u8) {
        let byte = self.shift;
        match n {
            0 if byte == SELECT_READ => return self.give(),
            0 if byte != SELECT_WRITE => return self.phase = Phase::Idle,
            0 => {}
            1 => self.addr = u16::from(byte) << 8 | self.addr & 0xff,
            2 => self.addr = self.addr & 0xff00 | u16::from(byte),
            _ => {
                self.bytes[usize::from(self.addr) % BYTES] = byte;
                self.advance();
            }
        }
        self.phase = Phase::Take((n + 1).min(3));
    }

    fn give(&mut self) {
        self.phase = Phase::Give;
        self.bits = 0;
        self.shift = self.bytes[usize::from(self.addr) % BYTES];
        self.out = self.shift >> 7 == 1;
    }

    fn advance(&mut self) {
        self.addr = self.addr.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host's side of the wires.
    struct Host(Eeprom, u32);

    impl Host {
        fn set(&mut self, bits: u32, is_on: bool) {
            self.1 = if is_on { self.1 | bits } else { self.1 & !bits };
            self.0.drive(self.1);
        }

        fn start(&mut self) {
            for (bits, is_on) in [(TRANSMIT_ENABLE | DATA_OUT, true), (CLOCK, true), (DATA_OUT, false), (CLOCK, false)]
            {
                self.set(bits, is_on);
            }
        }

        /// Sends a byte; returns true if it was acknowledged.
        fn send(&mut self, byte: u8) -> bool {
            for bit in (0..8).rev() {
                self.set(DATA_OUT, byte >> bit & 1 == 1);
                self.set(CLOCK, true);
                self.set(CLOCK, false);
            }
            self.set(TRANSMIT_ENABLE, false);
            self.set(CLOCK, true);
            let is_acknowledged = !self.0.data_in();
            self.set(CLOCK, false);
            self.set(TRANSMIT_ENABLE, true);
            is_acknowledged
        }

        fn receive(&mut self, is_continued: bool) -> u8 {
            self.set(TRANSMIT_ENABLE, false);
            let mut byte = 0;
            for _ in 0..8 {
                self.set(CLOCK, true);
                byte = byte << 1 | u8::from(self.0.data_in());
                self.set(CLOCK, false);
            }
            self.set(TRANSMIT_ENABLE, true);
            self.set(DATA_OUT, !is_continued);
            self.set(CLOCK, true);
            self.set(CLOCK, false);
            byte
        }
    }

    #[test]
    fn the_driver_reads_the_mac_address() {
        let mut host = Host(Eeprom::new([0x00, 0x60, 0xcf, 0x12, 0x34, 0x56]), 0);
        host.start();
        assert!(host.send(SELECT_WRITE) && host.send(0x00) && host.send(0x8c));
        host.start();
        assert!(host.send(SELECT_READ));
        let words: Vec<u8> = (0..8).map(|i| host.receive(i < 7)).collect();
        assert_eq!(words, [0, 0, 0x00, 0x60, 0xcf, 0x12, 0x34, 0x56]);
    }

    #[test]
    fn another_device_address_is_not_acknowledged() {
        let mut host = Host(Eeprom::new([0; 6]), 0);
        host.start();
        assert!(!host.send(0xa2));
    }
}
