//! The cost of the paper's host against that of the RTL: PCIe in packets, and translated addresses.

use crate::rig::rtl::instructions;
use crate::rig::{self, Load, packet, run};
use expect_test::expect;
use kernel::{Mode, Outcome};
use std::collections::BTreeMap;

/// Cycles from the grant of a command's issue to the grant of the wait that follows it. They are those of the program's
/// second run, in which the translation is cached.
fn commands(load: Load) -> [u64; 4] {
    let seen = run(load);
    assert_eq!(seen.outcome, Outcome::Quiet);
    [29, 30, 31, 32].map(|number| {
        let section = instructions(&seen, number, true);
        let issue = section.iter().position(|(_, text)| text.starts_with("lw")).expect("an issue");
        section[issue + 2].0 - (section[issue].0 + 1)
    })
}

#[test]
fn a_command_to_the_host_takes_a_translation_and_the_lanes_more() {
    let load = Load::new("core", 2, 64, 20_000);
    let [direct, network, from_l1, from_l2] = commands(load);
    // On the lanes, a packet of 88 bytes takes 1.4 cycles instead of one cycle for a beat; a packet of 32 bytes takes
    // half a cycle.
    let (translation, lanes) = (2, 1);
    let more = translation + lanes;
    let want = [direct + translation, network, from_l1 + more, from_l2 + more];
    assert_eq!(commands(Load { is_paper_host: true, ..load }), want);
}

#[test]
fn packets_that_touch_no_host_keep_their_timing() {
    for program in ["empty", "chain", "ping_pong", "amo_one_word"] {
        let load = Load { messages: 3, ..Load::new(program, 48, 192, 3) };
        let (rtl, paper) = (run(load), run(Load { is_paper_host: true, ..load }));
        assert!(rtl.done == paper.done && rtl.sent == paper.sent, "{program}");
    }
}

#[test]
fn bytes_arrive_whole_and_no_way_of_running_changes_a_result() {
    for (bytes, host) in [(64, 0x1000), (64, 0x1fc1), (1024, 0xdead_beef_dead_beef), (1500, 0x1fff)] {
        let load = Load { host, is_paper_host: true, makes_mistakes: false, ..Load::new("copy_to_host", 1, bytes, 0) };
        let want: BTreeMap<u64, u8> = (host..).zip(packet(0, bytes)).collect();
        assert!(run(load).host == want, "{bytes} bytes at {host:#x}");
    }
    for program in ["copy_to_host", "move", "core"] {
        let load = Load { messages: 3, is_paper_host: true, ..Load::new(program, 24, 192, 3) };
        let normal = run(load).digest();
        for mode in [Mode::Shuffled(1), Mode::Shuffled(2), Mode::TickAll] {
            assert!(run(Load { mode, ..load }).digest() == normal, "{program} differs in {mode:?}");
        }
    }
}

#[test]
fn a_copy_of_a_packet_has_this_way() {
    let seen = run(Load { is_paper_host: true, ..Load::new("copy_to_host", 2, 64, 2000) });
    let text = |packet: u64| {
        let of = |event: &&rig::TracedEvent| match event.2 {
            "command_issued" | "command_done" | "packet_done" => event.3[0] == packet,
            "host_written" => true,
            _ => false,
        };
        let start = seen.done[packet as usize].nic_arrival;
        let lines = seen.events.iter().filter(of).filter(|event| (start..start + 2000).contains(&event.0));
        lines.map(|event| format!("{:<4} {}\n", event.0 - start, event.2)).collect::<String>()
    };
    // The first command walks the page tables.
    expect![[r#"
        71   command_issued
        333  command_done
        335  packet_done
        478  host_written
    "#]]
    .assert_eq(&text(0));
    expect![[r#"
        40   command_issued
        62   command_done
        64   packet_done
        207  host_written
    "#]]
    .assert_eq(&text(1));
}
