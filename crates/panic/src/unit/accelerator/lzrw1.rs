//! Compression in the style of LZRW1 (Williams, Data Compression Conference 1991).
//!
//! A table of 4096 slots records where three bytes with a given hash occurred last. If these bytes match and are near enough, a
//! copy of up to 18 bytes is written, otherwise one literal. Each step needs one look-up and no search, which suits hardware.
//! Source: the idea; the format is ours:
//!
//! | bytes | content |
//! |---|---|
//! | 0 | 0: stored, 1: compressed |
//! | 1-3 | length of the original, big endian |
//! | 4- | the original, or groups of up to 16 items; 16 bits (big endian, first item highest) precede each group: 1 is a copy |
//!
//! A literal is its byte. A copy is 2 bytes, big endian: length - 3 in the highest 4 bits, distance in the other 12.

/// Size of the header.
pub(super) const HEADER: usize = 4;
/// Longest input of the compressor.
pub(super) const LONGEST: usize = (1 << 24) - 1;

const SHORTEST_COPY: usize = 3;
const LONGEST_COPY: usize = 18;
const FARTHEST: usize = 4095;
const GROUP: usize = 16;

const STORED: u8 = 0;
const COMPRESSED: u8 = 1;

/// Compresses; the result is at most [`HEADER`] bytes longer. Panics if the input exceeds [`LONGEST`].
pub(super) fn compress(original: &[u8]) -> Vec<u8> {
    assert!(original.len() <= LONGEST, "lengths have 24 bits");
    let mut result = (original.len() as u32).to_be_bytes().to_vec();
    result[0] = COMPRESSED;
    let mut last_seen = vec![usize::MAX; 1 << 12];
    let (mut at, mut n_items, mut control) = (0, 0, 0);
    while at < original.len() {
        if n_items % GROUP == 0 {
            control = result.len();
            result.extend([0, 0]);
        }
        match find_copy(original, at, &mut last_seen) {
            Some((back, len)) => {
                let bit = n_items % GROUP;
                result[control + bit / 8] |= 0x80 >> (bit % 8);
                result.extend((((len - SHORTEST_COPY) << 12 | back) as u16).to_be_bytes());
                at += len;
            }
            None => {
                result.push(original[at]);
                at += 1;
            }
        }
        n_items += 1;
    }
    if result.len() > HEADER + original.len() {
        result.truncate(HEADER);
        result[0] = STORED;
        result.extend_from_slice(original);
    }
    result
}

/// Distance to the last occurrence of the bytes at `at`, and the length of the match.
fn find_copy(original: &[u8], at: usize, last_seen: &mut [usize]) -> Option<(usize, usize)> {
    let &[a, b, c] = original[at..].first_chunk::<SHORTEST_COPY>()?;
    // Fibonacci hashing: the highest 12 bits of the product with 2^32 / golden ratio.
    let place = (u32::from_be_bytes([0, a, b, c]).wrapping_mul(0x9e37_79b1) >> 20) as usize;
    let seen = std::mem::replace(&mut last_seen[place], at);
    let back = at.checked_sub(seen).filter(|&back| back <= FARTHEST)?;
    let same = original[at..].iter().zip(&original[seen..]).take(LONGEST_COPY).take_while(|(a, b)| a == b).count();
    (same >= SHORTEST_COPY).then_some((back, same))
}

/// Decompresses; `None` if `packed` is malformed or the original is longer than `longest`. Ignores bytes after the last needed
/// item, for example padding.
pub(super) fn decompress(packed: &[u8], longest: usize) -> Option<Vec<u8>> {
    let (&[kind, a, b, c], mut rest) = packed.split_first_chunk::<HEADER>()?;
    let len = u32::from_be_bytes([0, a, b, c]) as usize;
    if len > longest {
        return None;
    }
    match kind {
        STORED => return rest.get(..len).map(<[u8]>::to_vec),
        COMPRESSED => {}
        _ => return None,
    }
    let mut original = Vec::with_capacity(len);
    while original.len() < len {
        let (&control, items) = rest.split_first_chunk::<2>()?;
        rest = items;
        let control = u16::from_be_bytes(control);
        for item in 0..GROUP {
            if original.len() == len {
                break;
            }
            if control & 0x8000 >> item == 0 {
                let (&literal, after) = rest.split_first()?;
                original.push(literal);
                rest = after;
                continue;
            }
            let (&copy, after) = rest.split_first_chunk::<2>()?;
            rest = after;
            let copy = usize::from(u16::from_be_bytes(copy));
            let (n, back) = ((copy >> 12) + SHORTEST_COPY, copy & FARTHEST);
            let from = original.len().checked_sub(back).filter(|_| back > 0)?;
            // A copy may overlap its own output, so it is made byte by byte.
            (from..from + n).for_each(|i| original.push(original[i]));
        }
    }
    (original.len() == len).then_some(original)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(original: &[u8], want: Expect) {
        let packed = compress(original);
        want.assert_eq(&packed.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
        assert_eq!(decompress(&packed, original.len()).as_deref(), Some(original));
    }

    #[test]
    fn repetitions_are_copied() {
        check(b"", expect!["01 00 00 00"]);
        check(b"abcd", expect!["00 00 00 04 61 62 63 64"]);
        check(b"abcabcabcabc", expect!["01 00 00 0c 10 00 61 62 63 60 03"]);
        check(&[7; 64], expect!["01 00 00 40 78 00 07 f0 01 f0 12 f0 12 60 12"]);
    }

    #[test]
    fn malformed_input_is_refused() {
        let longest = 100;
        for packed in [
            &[][..],
            &[1, 0, 0],                         // No length.
            &[2, 0, 0, 1, 0],                   // Unknown kind.
            &[0, 0, 0, 2, 0],                   // Shorter than its length.
            &[0, 0, 0, 101],                    // Too long.
            &[1, 0, 0, 1, 0],                   // Half a control word.
            &[1, 0, 0, 1, 0, 0],                // No literal.
            &[1, 0, 0, 3, 0x80, 0, 0, 1],       // A copy from before the start.
            &[1, 0, 0, 3, 0x40, 0, 9, 0, 0],    // A copy with distance 0.
            &[1, 0, 0, 3, 0x40, 0, 9, 0xf0, 1], // A copy beyond the end.
        ] {
            assert_eq!(decompress(packed, longest), None, "{packed:?}");
        }
    }

    proptest! {
        #[test]
        fn decompression_restores_the_input(
            words in proptest::collection::vec(proptest::collection::vec(0u8..4, 1..40), 0..8),
            order in proptest::collection::vec(0usize..8, 0..300),
        ) {
            let original: Vec<u8> = order.iter().flat_map(|&i| words.get(i).into_iter().flatten()).copied().collect();
            let packed = compress(&original);
            prop_assert!(packed.len() <= original.len() + HEADER);
            prop_assert_eq!(decompress(&packed, original.len()), Some(original));
        }

        #[test]
        fn any_input_can_be_decompressed_without_a_panic(mut packed: Vec<u8>, kind in 0u8..3) {
            packed.splice(..packed.len().min(2), [kind, 0]);
            if let Some(original) = decompress(&packed, 2000) {
                prop_assert!(original.len() <= 2000);
            }
        }
    }
}
