//! Ranges of addresses.

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Address of its first byte.
    pub base: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The address of that byte behind the window.
    pub becomes: u64,
}

impl Window {
    /// What is wrong with the window called `name`.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let ends = |base: u64| base.checked_add(self.bytes);
        if self.bytes == 0 || ends(self.base).is_none() || ends(self.becomes).is_none() {
            return Err(format!(
                "{name} has {} bytes from 0x{:x} (0x{:x} behind it) on, must have some within the address space",
                self.bytes, self.base, self.becomes
            ));
        }
        Ok(())
    }

    pub(super) fn contains(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }
}
