//! Sets of small numbers, stored as the bits of a word.

/// The members of a set: member *i* is bit *i*.
#[inline]
pub fn members(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let first = set.trailing_zeros();
        set &= set - 1;
        Some(first)
    })
}
