//! The host's port of a NIC that is at work: bytes arrive where they should, written code runs, and slices do not
//! matter.

use crate::rig::{self, Load, run, run_after};
use kernel::Mode;
use pspin::{HostAccessDone, Pspin};
use std::cell::RefCell;

const HANDLER_MEMORY: u32 = 0x1c30_0000;

/// All ends of accesses until cycle `end`, polled every `slice` cycles.
fn wait(nic: &mut Pspin, end: u64, slice: u64) -> Vec<HostAccessDone> {
    let mut done = Vec::new();
    for cycle in (slice..=end).step_by(slice as usize) {
        nic.run_until(cycle);
        done.extend(nic.take_host_accesses());
    }
    done
}

#[test]
fn what_the_host_writes_it_reads_back_while_packets_flow() {
    let load = Load::new("ping_pong", 64, 512, 3);
    let bytes: Vec<u8> = (0..10_000).map(|i| (i * 7) as u8).collect();
    let seen = run_after(load, |nic| {
        for (at, part) in bytes.chunks(1000).enumerate() {
            nic.host_write(1500, HANDLER_MEMORY + 13 + 1000 * at as u32, part, at as u64);
        }
        nic.host_read(0, HANDLER_MEMORY + 13, 10_000, 99);
        let done = wait(nic, 4000, 1000);
        assert!(done.windows(2).all(|pair| pair[0].cycle < pair[1].cycle), "in order of time");
        assert_eq!(done.iter().map(|end| end.tag).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99]);
        assert!(done[0].cycle > 1500);
        assert_eq!(done[10].result.as_deref(), Ok(&bytes[..]));
    });
    // Packets and their bytes are the same as without accesses of the host.
    let alone = run(load);
    assert_eq!(seen.done.len(), 64);
    assert!(seen.sent.iter().map(|sent| &sent.bytes).eq(alone.sent.iter().map(|sent| &sent.bytes)));
}

#[test]
fn no_way_of_running_changes_what_the_host_sees() {
    let digest = |mode, slice| {
        let load = Load { mode, ..Load::new("ping_pong", 64, 192, 3) };
        let ends = RefCell::new(Vec::new());
        let seen = run_after(load, |nic| {
            nic.host_write(1300, HANDLER_MEMORY, &[1; 5000], 1);
            nic.host_write(1301, 0x1d00_4000, &[2; 5000], 2);
            nic.host_read(0, 0x1d00_4f00, 300, 3);
            nic.host_read(0, 0x1c80_0000, 1, 4);
            ends.replace(wait(nic, 10_000, slice));
        });
        format!("{:?}\n{}", ends, seen.digest())
    };
    let normal = digest(Mode::Normal, 10_000);
    for (mode, slice) in [(Mode::Normal, 7), (Mode::Shuffled(3), 1000), (Mode::TickAll, 10_000)] {
        assert!(digest(mode, slice) == normal, "{mode:?} in slices of {slice} differs");
    }
}

#[test]
fn code_that_is_written_is_what_the_next_packets_run() {
    let load = Load::new("empty", 40, 64, 100);
    let first = run(load);
    let handler = first.named("handler_start").next().expect("a handler runs").3[3] as u32;
    assert_eq!(first.counter(".traps"), 0);
    let at = first.done[20].feedback;
    let seen = run_after(load, |nic| {
        // An illegal instruction.
        nic.host_write(at, handler, &[0; 4], 0);
    });
    let last_good = seen.named("handler_trap").map(|trap| trap.3[0]).min();
    assert_eq!((last_good, seen.counter(".traps")), (Some(21), 19), "packets 21 to 39 trap, in whatever cluster");
    assert_eq!(seen.done.len(), 40);
}

#[test]
fn caches_and_host_take_turns_at_program_memory() {
    // A cold start of all clusters, during which the host writes 16 KiB.
    let load = Load::new("empty", 1, 64, 0);
    let ready = |seen: &rig::Seen| seen.named("cluster_active").map(|active| active.0).max().expect("they come up");
    let (alone, with) = (run(load), run_after(load, |nic| nic.host_write(1, 0x1d00_4000, &[3; 16_384], 0)));
    assert!(ready(&with) > ready(&alone), "the port is shared");
    assert!(ready(&with) <= ready(&alone) + 2048, "and the host uses the port for at most 2048 words");
}
