//! `cargo xtask tidy`: checks project rules that no compiler or linter checks.

mod layers;
mod long_files;
mod modules;
mod presets;
mod python;
mod tagged;
mod tree;

use std::path::Path;
use std::process::ExitCode;

/// Error that prevents a check, in contrast to a finding.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot run `{0}`: {1}")]
    Run(&'static str, std::io::Error),
    #[error("`{0}` failed: {1}")]
    Failed(&'static str, String),
    #[error("cannot parse the output of `cargo metadata`: {0}")]
    Metadata(#[from] serde_json::Error),
    #[error("cannot read {0}: {1}")]
    Read(String, std::io::Error),
}

/// A rule, and a function that returns violations, one line each.
type Check = (&'static str, fn(&Path) -> Result<Vec<String>, Error>);

const CHECKS: [Check; 6] = [
    ("a crate uses lower layers only", layers::check),
    ("every number of a preset has a source", presets::check),
    ("files have at most 600 lines", long_files::check),
    ("modules have one structure", modules::check),
    ("one Python file imports the simulator", python::check),
    ("tables refuse unknown keys", tagged::check),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["tidy"] {
        eprintln!("usage: cargo xtask tidy");
        return ExitCode::from(2);
    }
    match tidy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").as_path()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs all checks. Returns the number of broken rules.
fn tidy(root: &Path) -> Result<usize, Error> {
    let mut broken = 0;
    for (rule, check) in CHECKS {
        let findings = check(root)?;
        println!("{}  {rule}", if findings.is_empty() { "ok    " } else { "BROKEN" });
        for finding in &findings {
            println!("        {finding}");
        }
        broken += usize::from(!findings.is_empty());
    }
    Ok(broken)
}
