//! Memory of this machine for sizes that a user chooses. A run that asks for too much ends with an error, not with an abort.

use crate::exhaustion::is_granted;

/// Memory that must remain for everything else, in bytes. `assumed:` more than the tables and the build of a short run
/// take; nothing depends on the exact size.
pub const REST: u64 = 64 << 20;

/// A size for which this machine has no memory.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} need {bytes} bytes of this machine's memory, which the system refuses; take less, or raise its limit (ulimit -v)"
)]
pub struct NoRoom {
    what: String,
    bytes: u64,
}

/// Checks that the system gives this number of bytes, besides [`REST`]. The system may still run out of memory later.
pub fn check(what: &str, bytes: u64) -> Result<(), NoRoom> {
    let whole = usize::try_from(bytes.saturating_add(REST)).unwrap_or(usize::MAX);
    if is_granted(whole) { Ok(()) } else { Err(NoRoom { what: what.to_owned(), bytes }) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn more_than_an_address_space_is_refused() {
        assert!(super::check("tests", 1000).is_ok());
        let error = super::check("tests", 1 << 60).unwrap_err().to_string();
        assert!(error.starts_with("tests need 1152921504606846976 bytes of this machine's memory"), "{error}");
    }
}
