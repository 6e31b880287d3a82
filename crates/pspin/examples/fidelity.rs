//! Measures the model as the RTL was measured and prints the table; `--write` puts it into `docs/machines/pspin.md`.

#[path = "../tests/it/rig/mod.rs"]
mod rig;

use std::path::Path;

/// What stands around each table that is made.
const FIDELITY: [&str; 2] = ["<!-- made by `make fidelity` -->\n", "<!-- end of what is made -->\n"];
const MANY_CORES: [&str; 2] = ["<!-- made by `make fidelity`: many cores -->\n", "<!-- end of many cores -->\n"];

fn main() -> std::io::Result<()> {
    let (table, many_cores) = (rig::rtl::markdown(&rig::rtl::rows()), rig::rtl::derived());
    if std::env::args().nth(1).as_deref() != Some("--write") {
        print!("{many_cores}\n{table}");
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines/pspin.md");
    let page = std::fs::read_to_string(&path)?;
    std::fs::write(&path, with(with(page, FIDELITY, &table), MANY_CORES, &many_cores))
}

/// The page with other text between two marks.
fn with(page: String, [begin, end]: [&str; 2], text: &str) -> String {
    let (before, rest) = page.split_once(begin).expect("the page has a place for the table");
    let (_, after) = rest.split_once(end).expect("the table has an end");
    format!("{before}{begin}{text}{end}{after}")
}
