//! Checks the direction of dependencies between crates with `cargo metadata`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Error;

/// Crates of the product and their layer. A crate may use only lower layers.
const LAYERS: [(&str, u8); 13] = [
    ("diagnostics", 0),
    ("kernel", 0),
    ("isa", 1),
    ("wire", 1),
    ("blocks", 2),
    ("pspin", 3),
    ("panic", 3),
    ("spinach", 3),
    ("spinach-parts", 3),
    ("net", 3),
    ("spinet", 4),
    ("py", 5),
    ("capi", 5),
];

/// Development crates. Product crates may use them only in tests.
const DEVELOPMENT: [&str; 2] = ["testkit", "xtask"];

/// A crate's use of another workspace crate.
struct Use {
    by: String,
    of: String,
    in_tests: bool,
}

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    const COMMAND: &str = "cargo metadata";
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| Error::Run(COMMAND, error))?;
    if !output.status.success() {
        return Err(Error::Failed(COMMAND, String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let (crates, uses) = read(&serde_json::from_slice(&output.stdout)?);
    Ok(judge(&crates, &uses))
}

/// Names of all crates, and the uses between them.
fn read(metadata: &Value) -> (Vec<String>, Vec<Use>) {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let name_of = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let crates: Vec<String> = packages().map(name_of).collect();
    let uses = packages()
        .flat_map(|package| {
            let dependencies = package["dependencies"].as_array().into_iter().flatten();
            dependencies.map(move |dependency| Use {
                by: name_of(package),
                of: name_of(dependency),
                in_tests: dependency["kind"] == "dev",
            })
        })
        .filter(|found| crates.contains(&found.of))
        .collect();
    (crates, uses)
}

fn judge(crates: &[String], uses: &[Use]) -> Vec<String> {
    let layer = |name: &str| LAYERS.iter().find(|(known, _)| *known == name).map(|&(_, layer)| layer);
    let mut findings = Vec::new();
    for name in crates {
        if layer(name).is_none() && !DEVELOPMENT.contains(&name.as_str()) {
            findings.push(format!("{name} has no layer; add one in crates/xtask/src/layers.rs"));
        }
    }
    for Use { by, of, in_tests } in uses {
        match (layer(by), layer(of)) {
            (Some(upper), Some(lower)) if upper <= lower => {
                findings.push(format!("{by} (layer {upper}) uses {of} (layer {lower})"));
            }
            (Some(_), None) if !in_tests => findings.push(format!("{by} uses {of}, which only tests may use")),
            _ => {}
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `uses` are lines such as `pspin > blocks`, or `pspin ~> testkit` for tests only.
    fn check(uses: &[&str], want: Expect) {
        let mut crates = Vec::new();
        let mut parsed = Vec::new();
        for line in uses {
            let mut words = line.split(' ');
            let (by, arrow, of) = (words.next(), words.next(), words.next());
            let (by, of) = (by.expect("who").to_owned(), of.expect("whom").to_owned());
            for name in [&by, &of] {
                if !crates.contains(name) {
                    crates.push(name.clone());
                }
            }
            parsed.push(Use { by, of, in_tests: arrow == Some("~>") });
        }
        want.assert_eq(&judge(&crates, &parsed).join("\n"));
    }

    #[test]
    fn crates_use_only_lower_layers() {
        check(&["pspin > blocks", "py > spinet", "spinet > kernel", "xtask > kernel"], expect![""]);
        check(&["kernel > blocks"], expect!["kernel (layer 0) uses blocks (layer 2)"]);
    }

    #[test]
    fn crates_of_one_layer_do_not_use_each_other() {
        check(
            &["panic > pspin", "isa > wire"],
            expect![[r#"
            panic (layer 3) uses pspin (layer 3)
            isa (layer 1) uses wire (layer 1)"#]],
        );
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        check(&["pspin ~> testkit"], expect![""]);
        check(&["pspin > testkit"], expect!["pspin uses testkit, which only tests may use"]);
    }

    #[test]
    fn a_crate_without_a_layer_is_reported() {
        check(&["attic > kernel"], expect!["attic has no layer; add one in crates/xtask/src/layers.rs"]);
    }
}
