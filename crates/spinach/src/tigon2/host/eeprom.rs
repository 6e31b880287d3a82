//! Reads the MAC address from the card's EEPROM over two bits of the local control register.

use super::boot::BootStep;
use super::window::LOCAL_CONTROL;

/// EEPROM pins in the local control register.
mod pins {
    pub const CLOCK: u32 = 1 << 20;
    pub const TRANSMIT_ENABLE: u32 = 1 << 21;
    pub const DATA_OUT: u32 = 1 << 22;
}

/// The pin that shows the data wire.
pub const DATA_IN: u32 = 1 << 23;
/// Offset of the address: two words from 0x8C on; the upper half of the first is zero.
/// Source: the drivers of Linux and BSD.
const MAC_AT: u16 = 0x8e;
/// Time between two edges. Source: the Linux driver, 2 microseconds.
const EDGE_NS: u64 = 2_000;
/// Selects the device for writing or reading. Source: data sheets of the 24C family, device address 0.
const SELECT_WRITE: u8 = 0xa0;
const SELECT_READ: u8 = 0xa1;

/// The steps that sample six bytes. `banks` are the other bits of the register.
pub fn steps(banks: u32) -> Vec<BootStep> {
    let mut wires = Wires { banks, steps: Vec::new() };
    for address in MAC_AT..MAC_AT + 6 {
        wires.start();
        for byte in [SELECT_WRITE, (address >> 8) as u8, address as u8] {
            wires.give(byte);
        }
        wires.start();
        wires.give(SELECT_READ);
        wires.take();
        wires.stop();
    }
    wires.steps.push(BootStep::Write(LOCAL_CONTROL, banks));
    wires.steps
}

/// The clock and data wires of a 24C EEPROM. Data changes while the clock is low; a change while it is high means start or
/// stop.
struct Wires {
    banks: u32,
    steps: Vec<BootStep>,
}

impl Wires {
    /// Drives both wires; `None` releases the data wire to the EEPROM.
    fn set(&mut self, clock: bool, data: Option<bool>) {
        let data = match data {
            Some(true) => pins::TRANSMIT_ENABLE | pins::DATA_OUT,
            Some(false) => pins::TRANSMIT_ENABLE,
            None => 0,
        };
        let clock = if clock { pins::CLOCK } else { 0 };
        self.steps.extend([BootStep::Write(LOCAL_CONTROL, self.banks | clock | data), BootStep::Pause(EDGE_NS)]);
    }

    fn start(&mut self) {
        self.set(false, Some(true));
        self.set(true, Some(true));
        self.set(true, Some(false));
        self.set(false, Some(false));
    }

    fn stop(&mut self) {
        self.set(false, Some(false));
        self.set(true, Some(false));
        self.set(true, Some(true));
    }

    fn bit(&mut self, data: Option<bool>, sample: Option<BootStep>) {
        self.set(false, data);
        self.set(true, data);
        self.steps.extend(sample);
        self.set(false, data);
    }

    /// Sends a byte to the EEPROM, which must acknowledge it.
    fn give(&mut self, byte: u8) {
        for position in (0..8).rev() {
            self.bit(Some(byte >> position & 1 != 0), None);
        }
        let what = "the EEPROM to acknowledge (bit 23 of 0x044 at 0)";
        self.bit(None, Some(BootStep::Expect { offset: LOCAL_CONTROL, mask: DATA_IN, value: 0, what }));
    }

    /// Receives a byte from the EEPROM without acknowledging it, so that it is the last.
    fn take(&mut self) {
        for _ in 0..8 {
            self.bit(None, Some(BootStep::Sample));
        }
        self.bit(Some(true), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Decodes the wires: `S` start, `P` stop, bytes of nine bits with `A` if the ninth is released to the EEPROM.
    fn logged(steps: &[BootStep]) -> String {
        let (mut clock, mut data, mut bits, mut text) = (true, true, Vec::new(), String::new());
        for step in steps {
            let &BootStep::Write(_, value) = step else { continue };
            let is_driven = value & pins::TRANSMIT_ENABLE != 0;
            let (next_clock, next_data) = (value & pins::CLOCK != 0, !is_driven || value & pins::DATA_OUT != 0);
            match (clock, next_clock) {
                (true, true) if data != next_data => {
                    bits.clear();
                    text += if next_data { "P\n" } else { "S " };
                }
                (false, true) => bits.push((next_data, is_driven)),
                _ => {}
            }
            if let [byte @ .., (_, ninth)] = &bits[..]
                && byte.len() == 8
            {
                let value = byte.iter().fold(0, |value, &(bit, _)| value << 1 | u32::from(bit));
                text += &format!("{value:02x}{} ", if *ninth { "" } else { "A" });
                bits.clear();
            }
            (clock, data) = (next_clock, next_data);
        }
        text
    }

    #[test]
    fn six_bytes_are_requested() {
        expect![[r#"
            S a0A 00A 8eA S a1A ff P
            S a0A 00A 8fA S a1A ff P
            S a0A 00A 90A S a1A ff P
            S a0A 00A 91A S a1A ff P
            S a0A 00A 92A S a1A ff P
            S a0A 00A 93A S a1A ff P
        "#]]
        .assert_eq(&logged(&steps(0x200)));
    }
}
