//! Checks of module parameters and their error texts.

use diagnostics::param;
use std::fmt::Display;

/// Checks that a number is within bounds.
pub fn within<T: Copy + PartialOrd + Display>(name: &str, value: T, least: T, most: T) -> Result<(), String> {
    param::within(name, value, least, most).map_err(|error| error.to_string())
}

/// Checks that a number is a power of two within bounds.
pub fn power_of_two(name: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    param::power_of_two(name, value, least, most).map_err(|error| error.to_string())
}

/// Maximum size of a memory, to limit the host memory that a simulation takes.
const MOST_BYTES: u32 = 1 << 30;

/// Checks a memory of `bytes` that starts at `base`.
pub fn memory(base: u64, bytes: u32) -> Result<(), String> {
    within("bytes", bytes, 1, MOST_BYTES)?;
    match base.checked_add(u64::from(bytes)) {
        Some(_) => Ok(()),
        None => Err(format!("base is 0x{base:x}, must be low enough that {bytes} bytes fit below 2^64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_the_value_as_written() {
        assert_eq!(within("ports", 64_usize, 1, 64), Ok(()));
        assert_eq!(within("ports", 1_u64 << 32, 1, 64), Err("ports is 4294967296, must be 1 to 64".into()));
        assert_eq!(within("ports", usize::MAX, 1, 64), Err("ports is 18446744073709551615, must be 1 to 64".into()));
    }
}
