//! Checks that the documentation pages list all modules and protocols.

use blocks::netlist::Catalog;

fn catalog() -> Catalog {
    spinach_parts::add_to(blocks::catalog())
}

const MODULES: &str = include_str!("../../../docs/concepts/spinach-modules.md");

#[test]
fn every_module_is_on_its_page() {
    let missing: Vec<&str> =
        catalog().kinds().map(|kind| kind.name).filter(|name| !MODULES.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/concepts/spinach-modules.md says nothing of {missing:?}");
}

#[test]
fn the_page_counts_the_modules() {
    let rows = MODULES.lines().skip_while(|line| *line != "## The 21 modules");
    let rows = rows.take_while(|line| *line != "## What the 10 Gigabit NIC adds");
    let n = rows.filter(|line| line.starts_with("| ") && !line.starts_with("| Spinach")).count();
    // MAC assist, NIC feeder and packet feeder have one row each, although each is two modules here.
    assert_eq!(n, 23, "21 modules of the thesis, and two that Liberty brought along (Pipe, Tee)");
}

const PROTOCOLS: &str = include_str!("../../../docs/concepts/protocols.md");

#[test]
fn every_protocol_is_on_its_page() {
    let headings: Vec<&str> =
        PROTOCOLS.lines().filter_map(|line| line.strip_prefix("## ")).flat_map(|line| line.split(", ")).collect();
    let catalog = catalog();
    let spoken = catalog.kinds().flat_map(|kind| {
        let example = kind.example.parse().expect("an example is TOML");
        let ports = (kind.ports)(&example).expect("an example is right");
        ports.into_iter().map(|port| port.protocol)
    });
    let missing: Vec<&str> = spoken.filter(|protocol| !headings.contains(protocol)).collect();
    assert!(missing.is_empty(), "docs/concepts/protocols.md says nothing of {missing:?}");
}

#[test]
fn exchanges_on_the_page_are_from_tests() {
    let mut n = 0;
    for block in PROTOCOLS.split("```text\n").skip(1) {
        let (exchange, rest) = block.split_once("```\nFrom `").expect("an exchange says where it is from");
        let path = rest.split('`').next().unwrap_or_default();
        let file = std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR")));
        let file = file.unwrap_or_else(|error| panic!("{path}: {error}"));
        let lines: Vec<&str> = file.lines().map(str::trim).collect();
        let shown: Vec<&str> = exchange.lines().collect();
        assert!(lines.windows(shown.len()).any(|lines| lines == shown), "{path} has no such exchange:\n{exchange}");
        n += 1;
    }
    assert_eq!(n, PROTOCOLS.matches("\n## ").count(), "an exchange under each heading");
}
