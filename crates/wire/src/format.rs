//! Shared parts of all packet formats: errors, options, and big-endian loads.

/// Error: the bytes are not a header of the format, or the header cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The buffer is shorter than the header.
    #[error("{format}: {found} bytes, must be at least {needed}")]
    Short {
        /// Name of the format.
        format: &'static str,
        /// Length of the buffer, in bytes.
        found: usize,
        /// Length of the header, in bytes.
        needed: usize,
    },
    /// A field holds a value that the format does not allow.
    #[error("{format}: {field} is {found}, must be {allowed}")]
    Field {
        /// Name of the format.
        format: &'static str,
        /// Name of the field in the format's document.
        field: &'static str,
        /// Value found.
        found: u64,
        /// Allowed values.
        allowed: &'static str,
    },
}

/// Checks that `buffer` holds at least `needed` bytes.
pub(crate) fn at_least(format: &'static str, buffer: &[u8], needed: usize) -> Result<(), FormatError> {
    let found = buffer.len();
    if found < needed { Err(FormatError::Short { format, found, needed }) } else { Ok(()) }
}

/// Big-endian 16-bit word at `at`. The caller has checked the bounds.
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Big-endian 32-bit word at `at`. The caller has checked the bounds.
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The `N` bytes at `at`. The caller has checked the bounds.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// The options field of IPv4 or TCP: at most 40 bytes, a multiple of 4 (RFC 791, 3.1; RFC 9293, 3.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeaderOptions {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl HeaderOptions {
    /// Longest options field, in bytes: a header of 15 words without its 5 fixed words.
    pub const MAX: usize = 40;

    /// No options.
    pub const NONE: Self = Self { bytes: [0; Self::MAX], len: 0 };

    /// The options in these bytes, which include padding.
    ///
    /// Errors: more than 40 bytes, or not a multiple of 4.
    pub fn new(options: &[u8]) -> Result<Self, FormatError> {
        if options.len() > Self::MAX || !options.len().is_multiple_of(4) {
            return Err(FormatError::Field {
                format: "options",
                field: "length",
                found: options.len() as u64,
                allowed: "a multiple of 4 up to 40",
            });
        }
        let mut bytes = [0; Self::MAX];
        bytes[..options.len()].copy_from_slice(options);
        Ok(Self { bytes, len: options.len() as u8 })
    }

    /// The bytes, padding included.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
}

impl std::fmt::Debug for HeaderOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", hex(self.as_bytes()))
    }
}

/// Bytes as lower-case hexadecimal digits without separators.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes from hexadecimal digits; spaces and line ends are ignored.
#[cfg(test)]
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
