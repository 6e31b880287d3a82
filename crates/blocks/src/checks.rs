//! What modules check of their parameters, and how they say it.

/// A number within its bounds.
pub fn within(name: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}, must be {least} to {most}"))
}

/// A number of ports or the like within its bounds.
pub fn count(name: &str, value: usize, least: u32, most: u32) -> Result<(), String> {
    within(name, u32::try_from(value).unwrap_or(u32::MAX), least, most)
}

/// A power of two within its bounds.
pub fn power_of_two(name: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    if value.is_power_of_two() && (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}, must be a power of two from {least} to {most}"))
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
