//! The model against the RTL: every figure that was measured there is measured here.

use crate::rig;
use crate::rig::rtl::{MISSES, derived, markdown, rows};
use std::collections::BTreeSet;

#[test]
fn every_figure_is_within_its_tolerance_or_listed_with_a_reason_and_the_document_shows_it() {
    let rows = rows();
    let outside: BTreeSet<&str> = rows.iter().filter(|row| !row.within).map(|row| row.name.as_str()).collect();
    let listed: BTreeSet<&str> = MISSES.iter().map(|&(name, _)| name).collect();
    assert_eq!(outside, listed, "what is outside its tolerance, and what is listed as such");

    let page = include_str!("../../../../docs/machines/pspin.md");
    assert!(page.contains(&markdown(&rows)), "the table has changed: run `make fidelity` and look at the difference");
}

#[test]
fn the_page_shows_what_many_cores_take_where_nothing_was_measured() {
    let page = include_str!("../../../../docs/machines/pspin.md");
    assert!(page.contains(&derived()), "the table has changed: run `make fidelity` and look at the difference");
}

/// From the grant of a command's issue to that of the wait behind it, 64 bytes each.
///
/// Not measured on the RTL: sums of the registers on the way there, counted in `cluster_cmd.sv`, `cmd_unit.sv`,
/// `soc_dma_wrap.sv` and the functional models of outbound engine and PCIe. A read from L1 takes two cycles less than
/// one from L2, and so does a write.
#[test]
fn commands_take_as_long_as_the_registers_on_their_way() {
    let seen = rig::run(rig::Load::new("core", 2, 64, 20_000));
    let took = |number| {
        let section = rig::rtl::section(&seen, number);
        let issue = section.iter().position(|(_, text)| text.starts_with("lw")).expect("an issue");
        // What follows a wait leaves decode when that is granted; the issue was granted a cycle after it left.
        section[issue + 2].0 - (section[issue].0 + 1)
    };
    let network_from_l1 = 2 + 4 - 2 + 2; // To the engine, read and sent, response.
    let host_from_l1 = 2 + 17;
    let host_from_l2 = 2 + 19;
    let host_direct = 2 + 5;
    let l1_from_host = 2 + 18;
    let all = [network_from_l1, host_from_l1, host_from_l2, host_direct, l1_from_host];
    assert_eq!([30, 31, 32, 29, 33].map(took), all);
}
