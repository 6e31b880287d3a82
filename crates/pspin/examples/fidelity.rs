//! Measures the model as the RTL was measured and prints the table; `--write` puts it into `docs/machines/pspin.md`.

#[path = "../tests/it/rig/mod.rs"]
mod rig;

use std::path::Path;

const BEGIN: &str = "<!-- made by `make fidelity` -->\n";
const END: &str = "<!-- end of what is made -->\n";

fn main() -> std::io::Result<()> {
    let table = rig::rtl::markdown(&rig::rtl::rows());
    if std::env::args().nth(1).as_deref() != Some("--write") {
        print!("{table}");
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines/pspin.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}"))
}
