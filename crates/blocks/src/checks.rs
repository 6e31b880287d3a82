//! What modules check of their parameters, and how they say it.

use crate::param;
use std::fmt::Display;

/// A number within its bounds.
pub fn within<T: Copy + PartialOrd + Display>(name: &str, value: T, least: T, most: T) -> Result<(), String> {
    param::within(name, value, least, most).map_err(|error| error.to_string())
}

/// A power of two within its bounds.
pub fn power_of_two(name: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    param::power_of_two(name, value, least, most).map_err(|error| error.to_string())
}

/// The most bytes a memory may have: what a simulation can hold.
const MOST_BYTES: u32 = 1 << 30;

/// A memory of `bytes` from `base` on.
pub fn memory(base: u64, bytes: u32) -> Result<(), String> {
    within("bytes", bytes, 1, MOST_BYTES)?;
    match base.checked_add(u64::from(bytes)) {
        Some(_) => Ok(()),
        None => Err(format!("base is 0x{base:x}, {bytes} bytes from there on leave the address space")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_as_it_was_written() {
        assert_eq!(within("ports", 64_usize, 1, 64), Ok(()));
        assert_eq!(within("ports", 1_u64 << 32, 1, 64), Err("ports is 4294967296, must be 1 to 64".into()));
        assert_eq!(within("ports", usize::MAX, 1, 64), Err("ports is 18446744073709551615, must be 1 to 64".into()));
    }
}
