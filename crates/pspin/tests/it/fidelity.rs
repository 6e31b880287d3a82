//! The model against the RTL: every figure that was measured there is measured here.

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
