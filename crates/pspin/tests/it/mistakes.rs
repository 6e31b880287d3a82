//! Mistakes of the published RTL: what programs see of each, and that a card without it works as it was meant.

use crate::rig::{Load, Seen, run};

/// Runs one packet of 64 bytes, with and without the RTL's mistakes.
fn both(program: &'static str) -> [Seen; 2] {
    [true, false].map(|makes_mistakes| run(Load { makes_mistakes, ..Load::new(program, 1, 64, 0) }))
}

#[test]
fn amos_outside_the_own_l1_return_1_and_update_memory() {
    let words = both("amo_values").map(|seen| {
        let host: Vec<u8> = seen.host.values().copied().collect();
        host.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole words"))).collect::<Vec<_>>()
    });
    assert_eq!(words, [vec![5, 1, 1, 21], vec![5, 5, 5, 21]]);
}
