//! The binary form: its bytes, and errors of broken files.

use crate::drawn::{self, binary_of, read};
use expect_test::{Expect, expect};
use kernel::RandomStream;
use net::goal::binary;

const TEXT: &str = "num_ranks 2\nrank 0 {\nl1: calc 5\nl2: send 8b to 1 tag 3 cpu 1 nic 2\nl2 requires l1\nl2 irequires l1\n}\n\
                    rank 1 {\nrecv 8b from -1 tag -1\n}\n";

/// The bytes follow from the description of the form: 46 bytes of header and table, then the two ranks.
#[test]
fn the_bytes_are_those_of_the_format() {
    let mut want: Vec<u8> = Vec::new();
    let mut add = |bytes: &[u8]| want.extend_from_slice(bytes);
    let rank_0 = 38_u64; // behind the number of ranks, two highest numbers, and two rows of 16 bytes
    let rank_1 = rank_0 + 4 + 4 + 4 + 2 * 39 + 2 * 4;
    let end = rank_1 + 4 + 4 + 4 + 39;
    add(&4223_u64.to_le_bytes());
    add(&2_u32.to_le_bytes());
    add(&[1, 2]);
    [rank_0, rank_1, rank_1, end].iter().for_each(|at| add(&at.to_le_bytes()));
    let mut bytes = want.clone();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let node = |open: u32, kind: u8, peer: u32, size: u64, tag: u32, places: [u8; 2], lists: [u32; 4]| {
        [&words(&[open])[..], &[kind], &words(&[peer]), &size.to_le_bytes(), &words(&[tag]), &places, &words(&lists)]
            .concat()
    };
    bytes.extend(words(&[2, 1, 0]));
    bytes.extend(node(0, 3, 0, 5, 0, [0, 0], [1, 0, 1, 1]));
    bytes.extend(node(2, 1, 1, 8, 3, [1, 2], [0, 2, 0, 2]));
    bytes.extend(words(&[1, 1]));
    bytes.extend(words(&[1, 1, 0]));
    bytes.extend(node(0, 2, u32::MAX, 8, u32::MAX, [0, 0], [0, 0, 0, 0]));
    assert_eq!(binary_of(&read(TEXT)), bytes);
}

/// An error of the file with some bytes changed.
fn check(change: impl FnOnce(&mut Vec<u8>), want: Expect) {
    let mut bytes = binary_of(&read(TEXT));
    change(&mut bytes);
    want.assert_eq(&binary::read(&bytes, "a.bin").unwrap_err().to_string());
}

#[test]
fn errors_name_the_byte() {
    let set = |at: usize, value: u8| move |bytes: &mut Vec<u8>| bytes[at] = value;
    check(|bytes| bytes.truncate(5), expect!["a.bin: byte 0: the file is cut off (found 5 bytes; allowed at least 8)"]);
    check(
        |bytes| bytes[..8].copy_from_slice(&2342_u64.to_le_bytes()),
        expect![
            "a.bin: byte 0: a run of LogGOPSim with --save-mem has used up this file; make it anew from its text (found 2342; allowed 4223)"
        ],
    );
    check(set(0, 1), expect!["a.bin: byte 0: this is not a binary schedule (found 4097; allowed 4223)"]);
    check(
        |bytes| bytes[8..12].fill(0xff),
        expect![
            "a.bin: byte 8: the number of ranks does not fit the length of the file (found 4294967295; allowed 1 to 7)"
        ],
    );
    check(
        |bytes| bytes[14..22].fill(0xff),
        expect!["a.bin: byte 14: the position is outside the file (found 18446744073709551615; allowed 0 to 187)"],
    );
    check(
        set(14, 39),
        expect![
            "a.bin: byte 14: the part of rank 0 must begin where the one before ends (found 39 to 136; allowed from 38)"
        ],
    );
    check(
        |bytes| bytes.truncate(100),
        expect!["a.bin: byte 22: the position is outside the file (found 136; allowed 0 to 92)"],
    );
    check(
        |bytes| bytes.push(0),
        expect!["a.bin: byte 195: there is data behind the last rank (found 1 bytes; allowed 0)"],
    );
    check(
        set(12, 0),
        expect!["a.bin: byte 12: the highest cpu is below one that an operation has (found 0; allowed 1 to 255)"],
    );
    check(
        |bytes| bytes[46..50].fill(0xff),
        expect![
            "a.bin: byte 46: the numbers of rank 0 do not fit its length (found 4294967295 operations and 1 roots in 98 bytes; allowed 39 bytes an operation and 4 a root)"
        ],
    );
    check(
        set(54, 1),
        expect![
            "a.bin: byte 54: the roots of rank 0 must be its operations without dependencies, in order (found 1; allowed 0)"
        ],
    );
    check(
        set(58 + 4, 4),
        expect!["a.bin: byte 62: unknown type of an operation (found 4; allowed 1 for send, 2 for recv, 3 for calc)"],
    );
    check(set(58 + 39 + 5, 9), expect!["a.bin: byte 102: the peer is not a rank (found 9; allowed 0 to 1)"]);
    check(
        set(58 + 39, 1),
        expect!["a.bin: byte 97: operation 1 of rank 0 has another number of dependencies (found 1; allowed 2)"],
    );
    check(
        set(58 + 23, 9),
        expect![
            "a.bin: byte 81: the dependents of operation 0 are outside the list of rank 0 (found 0 to 9; allowed 0 to 2)"
        ],
    );
    check(
        set(58 + 23, 0),
        expect!["a.bin: byte 136: the list of rank 0 has dependents of no operation (found 2; allowed 1)"],
    );
    check(set(58 + 2 * 39, 0), expect!["a.bin: byte 136: an operation cannot wait for itself"]);
    check(
        set(58 + 2 * 39, 7),
        expect!["a.bin: byte 136: there is no such operation in the rank (found 7; allowed below 2)"],
    );
}

/// Counts in a file must be checked before memory is allocated for them: a file of 100 bytes with counts of 32 and 64
/// bits.
#[test]
fn huge_counts_in_a_small_file_are_errors() {
    for at in 8..100 {
        let mut bytes = binary_of(&read(TEXT));
        bytes.truncate(150);
        bytes[at..at + 8].fill(0xff);
        binary::read(&bytes, "a.bin").unwrap_err();
    }
}

#[test]
fn changed_files_give_errors_or_the_schedule_that_they_say() {
    let mut accepted = 0;
    for seed in 0..4000 {
        let mut random = RandomStream::new(seed, "changed bytes");
        let mut bytes = binary_of(&drawn::schedule(seed % 200, drawn::WILD));
        for _ in 0..1 + random.below(2) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] = random.below(256) as u8,
                2 => bytes[at] ^= 1 << random.below(8),
                _ => bytes.extend_from_within(at..),
            }
        }
        if let Ok(schedule) = binary::read(&bytes, "a.bin") {
            accepted += 1;
            let again = binary::read(&binary_of(&schedule), "a.bin").unwrap();
            assert_eq!(again, schedule, "seed {seed}");
        }
    }
    assert!(accepted > 100, "only {accepted} of the changed files were accepted");
}
