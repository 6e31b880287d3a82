//! Address windows.

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressWindow {
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Address of the first byte as the output sees it.
    pub becomes: u64,
}

impl AddressWindow {
    /// Checks the window; `name` is its name in errors.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let ends = |base: u64| base.checked_add(self.bytes);
        if self.bytes == 0 || ends(self.base).is_none() || ends(self.becomes).is_none() {
            return Err(format!(
                "{name} has {} bytes from 0x{:x} (0x{:x} at its output) on; it must have at least 1 and stay within the address space",
                self.bytes, self.base, self.becomes
            ));
        }
        Ok(())
    }

    pub(super) fn contains(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.base) < self.bytes
    }
}
