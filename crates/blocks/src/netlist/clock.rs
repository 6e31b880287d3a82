//! Clock frequencies with units.

use kernel::Freq;
use serde::Serialize;

/// A frequency with its unit: `88 MHz`, `312.5 MHz`, `1 GHz`; from 1 kHz to 100 GHz.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(into = "String")]
pub struct ClockFreq {
    text: String,
    freq: Freq,
}

impl ClockFreq {
    /// The exact frequency.
    pub fn freq(&self) -> Freq {
        self.freq
    }
}

impl Default for ClockFreq {
    fn default() -> ClockFreq {
        ClockFreq::try_from("1 MHz").expect("1 MHz is a frequency")
    }
}

impl From<ClockFreq> for String {
    fn from(freq: ClockFreq) -> String {
        freq.text
    }
}

impl TryFrom<&str> for ClockFreq {
    type Error = String;

    fn try_from(text: &str) -> Result<ClockFreq, String> {
        match read_freq(text) {
            Some(freq) => Ok(ClockFreq { text: text.trim().to_owned(), freq }),
            None => Err(format!(
                "`{text}` is not a frequency from 1 kHz to 100 GHz; write a number with Hz, kHz, MHz or GHz, for example `312.5 MHz`"
            )),
        }
    }
}

/// The exact value: decimals become a ratio, without rounding.
fn read_freq(text: &str) -> Option<Freq> {
    let (number, unit) = text.trim().split_once(' ')?;
    let per_unit: u64 = match unit.trim() {
        "Hz" => 1,
        "kHz" => 1_000,
        "MHz" => 1_000_000,
        "GHz" => 1_000_000_000,
        _ => return None,
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) {
        return None;
    }
    let parts = 10u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let digits: u64 = format!("{whole}{decimals}").parse().ok()?;
    let hz = digits.checked_mul(per_unit)?;
    let is_sane =
        (1_000..=100_000_000_000).contains(&(hz / parts)) && !(hz / parts == 100_000_000_000 && hz % parts != 0);
    is_sane.then(|| Freq::ratio(hz, parts).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact() {
        let read = |text: &str| ClockFreq::try_from(text).ok().map(|freq| freq.freq());
        assert_eq!(read("312.5 MHz"), Freq::ratio(3_125_000_000, 10).ok());
        assert_eq!(read("1 GHz"), Freq::hz(1_000_000_000).ok());
        assert_eq!(read("1 kHz"), Freq::hz(1_000).ok());
        let bad = [
            "",
            "88",
            "88 mHz",
            "0 Hz",
            "-1 MHz",
            "1.2.3 MHz",
            "99999999999999999999 Hz",
            "9 9 MHz",
            "999 Hz",
            "101 GHz",
            "+1 MHz",
        ];
        for bad in bad {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
