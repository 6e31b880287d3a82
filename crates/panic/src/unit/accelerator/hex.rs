//! Keys and other bytes as hexadecimal text.

use std::fmt;

/// `N` bytes, written as `2 N` hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(hex: Hex<N>) -> String {
        hex.to_string()
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = String;

    fn try_from(text: String) -> Result<Hex<N>, String> {
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        match digits {
            Some(digits) if digits.len() == 2 * N => {
                Ok(Hex(std::array::from_fn(|i| (digits[2 * i] << 4 | digits[2 * i + 1]) as u8)))
            }
            _ => Err(format!("{text:?} must be {} hexadecimal digits, {N} bytes", 2 * N)),
        }
    }
}
