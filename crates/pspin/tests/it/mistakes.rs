//! Mistakes of the published RTL: their visible effects, and that a card without them works as intended.

use crate::rig::{Load, Seen, run};

/// Runs packets of 64 bytes, each a message, with and without the RTL's mistakes.
fn both(program: &'static str, messages: u64) -> [Seen; 2] {
    [true, false].map(|makes_mistakes| run(Load { makes_mistakes, messages, ..Load::new(program, messages, 64, 0) }))
}

/// The words of host memory that were written, in order of their addresses.
fn host_words(seen: &Seen) -> Vec<u32> {
    let bytes: Vec<u8> = seen.host.values().copied().collect();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole words"))).collect()
}

#[test]
fn amos_outside_the_own_l1_return_1_and_update_memory() {
    let words = both("amo_values", 1).map(|seen| host_words(&seen));
    assert_eq!(words, [vec![5, 1, 1, 21], vec![5, 5, 5, 21]]);
}

#[test]
fn a_fetch_outside_program_memory_hangs_the_core() {
    let [hangs, traps] = both("stray", 1);
    assert_eq!((hangs.done.len(), hangs.counter("traps")), (0, 0));
    let core = hangs.cores.iter().find(|core| core.task.is_some()).expect("a core has the packet");
    assert_eq!((core.pc, core.waits), (0x1e00_0000, "waits forever for an instruction outside its program memory"));
    assert_eq!((traps.done.len(), traps.counter("traps")), (1, 1));
}

/// Message 0 runs on cluster 0, message 2 on cluster 2. Each handler writes the number of its cluster plus 1 to its own timer.
#[test]
fn peripherals_of_cluster_0_are_the_own_ones() {
    let words = both("peripherals", 2).map(|seen| host_words(&seen));
    assert_eq!(words, [vec![1, 3], vec![1, 1]]);
}

/// Measures the cycles from the last store through a null pointer, when it leaves decode, to the first instruction of its
/// trap handler. The load is one message. Core 0 processes all its packets, one after the other.
#[test]
fn an_access_that_is_refused_happens_and_the_trap_waits_for_it() {
    let seen = [true, false].map(|makes_mistakes| run(Load { makes_mistakes, ..Load::new("null_store", 3, 64, 1000) }));
    assert_eq!(seen.each_ref().map(|seen| (seen.counter(".traps"), seen.counter(".unmapped"))), [(3, 3), (3, 0)]);
    let gap = |seen: &Seen| {
        let store = 0x0000_2023; // sw x0, 0(x0)
        let at = seen.log.iter().rposition(|&(_, pc)| seen.word(pc) == store).expect("it ran");
        seen.log[at + 1].0 - seen.log[at].0
    };
    // 18 is the RTL's figure, for a store to address 0 by the aggregate example of PsPIN.
    assert_eq!(seen.each_ref().map(gap), [18, 6]);
}
