//! The model against the RTL: every figure that was measured there is measured here.

use crate::rig::driver::{Conditions, drive};
use crate::rig::measured::misses;
use crate::rig::rtl::{all_rows, headline, rows, summary};
use std::collections::BTreeSet;

#[test]
fn every_figure_is_within_its_tolerance_or_listed_with_a_cause_and_the_pages_show_it() {
    let rows = rows();
    let outside: BTreeSet<String> = rows.iter().filter(|row| !row.within).map(|row| row.name()).collect();
    let listed: BTreeSet<String> = misses().miss.into_iter().flat_map(|miss| miss.rows).collect();
    let new: Vec<_> = outside.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&outside).collect();
    assert!(new.is_empty() && stale.is_empty(), "new misses: {new:#?}\nlisted, but within their tolerance: {stale:#?}");

    let (page, figures) = (
        include_str!("../../../../docs/machines/pspin.md"),
        include_str!("../../../../docs/machines/pspin-fidelity.md"),
    );
    let shown =
        [(page, headline(&rows)), (page, summary(&rows)), (figures, headline(&rows)), (figures, all_rows(&rows))];
    for (page, text) in shown {
        assert!(page.contains(&text), "the tables have changed: run `make fidelity` and look at the difference");
    }
}

/// Core 0 runs all of these handlers, one after the other, and nothing else runs.
#[test]
fn drawn_instructions_take_the_cycles_of_the_rtl() {
    let mut lines = include_str!("../rtl/drawn.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut programs: Vec<(&str, Vec<u64>)> = Vec::new();
    for line in &mut lines {
        match programs.last_mut() {
            Some((_, gaps)) if !line.starts_with("drawn") => {
                gaps.extend(line.split(' ').map(|gap| gap.parse::<u64>().expect("a number of cycles")));
            }
            _ => programs.push((line, Vec::new())),
        }
    }
    assert_eq!(programs.len(), 4);
    for (name, gaps) in programs {
        let conditions = Conditions { handler: name.to_owned(), packets: 2, delay: 3_500, ..Conditions::default() };
        let driven = drive(&conditions);
        let (log, started) = (driven.seen.log, driven.packets[0].started);
        // The handler begins behind three instructions of the runtime, in the last halfword of a fetch line.
        let first = 3 + log.iter().position(|&(cycle, _)| cycle == started).expect("the handler runs");
        assert_eq!(log[first].1 % 16, 14);
        let cycles: Vec<u64> = log[first..=first + gaps.len()].iter().map(|&(cycle, _)| cycle).collect();
        let here: Vec<u64> = cycles.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let differs = here.iter().zip(&gaps).position(|(here, rtl)| here != rtl);
        let at = differs.map(|i| (i, log[first + i].1, here[i], gaps[i]));
        assert_eq!(at, None, "{name}: instruction, its address, cycles to the next one here and on the RTL");
    }
}
