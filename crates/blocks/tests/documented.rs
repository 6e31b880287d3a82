//! Pages that have to keep up with the library.

const MODULES: &str = include_str!("../../../docs/concepts/spinach-modules.md");

#[test]
fn every_module_stands_on_its_page() {
    let missing: Vec<&str> = blocks::catalog()
        .kinds()
        .map(|kind| kind.name)
        .filter(|name| !MODULES.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/concepts/spinach-modules.md says nothing of {missing:?}");
}

#[test]
fn the_page_counts_what_there_is() {
    let rows = MODULES.lines().skip_while(|line| *line != "## The 21 modules");
    let rows = rows.take_while(|line| *line != "## What the 10 Gigabit NIC adds");
    let n = rows.filter(|line| line.starts_with("| ") && !line.starts_with("| Spinach")).count();
    // MAC assist, NIC feeder and packet feeder are one row each though they are two modules here.
    assert_eq!(n, 23, "21 modules of the thesis, and two that Liberty brought along (Pipe, Tee)");
}
