//! Splits a range of bytes into references.

/// Length of the next reference from `addr`; it ends at a multiple of `limit` or at the end of the range.
pub(super) fn piece(addr: u64, left: u32, limit: u32) -> u32 {
    let to_boundary = limit - (addr % u64::from(limit)) as u32;
    left.min(to_boundary)
}

/// Address and length of the next host reference of a transfer in which words keep their value: whole aligned words, or
/// a single byte at its mirrored position in the word.
pub(super) fn mirrored_piece(addr: u64, left: u32, limit: u32) -> (u64, u32) {
    let here = piece(addr, left, limit);
    if addr.is_multiple_of(4) && here >= 4 { (addr, here & !3) } else { (addr ^ 3, 1) }
}

/// Reverses the bytes of each 32-bit word; a single byte stays as it is.
pub(super) fn mirror(bytes: &mut [u8]) {
    for word in bytes.chunks_exact_mut(4) {
        word.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addr: u64, bytes: u32, limit: u32, next: impl Fn(u64, u32, u32) -> (u64, u32), want: &str) {
        let (mut at, mut left, mut found) = (addr, bytes, vec![]);
        while left > 0 {
            let (addr, here) = next(at, left, limit);
            found.push(format!("{addr}+{here}"));
            at += u64::from(here);
            left -= here;
        }
        assert_eq!(found.join(" "), want);
    }

    #[test]
    fn references_end_at_multiples_of_the_limit() {
        let plain = |addr, left, limit| (addr, piece(addr, left, limit));
        check(0, 24, 8, plain, "0+8 8+8 16+8");
        check(5, 24, 8, plain, "5+3 8+8 16+8 24+5");
        check(6, 1, 8, plain, "6+1");
        check(0, 1500, 2048, plain, "0+1500");
    }

    #[test]
    fn mirrored_references_are_whole_words_or_single_bytes() {
        check(0, 24, 16, mirrored_piece, "0+16 16+8");
        check(2, 9, 16, mirrored_piece, "1+1 0+1 4+4 11+1 10+1 9+1");
    }
}
