//! Checks that modules of cards have the structure in docs/guides/write-a-module.md.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let is_model = |path: &str| {
        let is_in = ["crates/blocks/src/", "crates/spinach/src/", "crates/spinach-parts/src/"]
            .iter()
            .any(|crate_| path.starts_with(crate_));
        is_in && path.ends_with(".rs") && !path.contains("/tests")
    };
    Ok(judge(&tree::files(root, is_model)?))
}

/// Labels in the first lines of a module, in this order. Other lines may be between them.
const LABELS: [&str; 3] = ["Ports:", "Timing:", "Source:"];

fn judge(files: &[File]) -> Vec<String> {
    let modules = files.iter().filter(|file| file.text.contains("\nimpl Module for "));
    modules.flat_map(|file| of_module(file, files)).collect()
}

fn of_module(file: &File, files: &[File]) -> Vec<String> {
    let between = |text: &str, before: &str, after: &str| -> Option<String> {
        let behind = text.split_once(before)?.1;
        Some(behind.split_once(after)?.0.to_owned())
    };
    let stem = between(&file.text, "\nimpl Module for ", "Params {");
    let name = between(&file.text, "const NAME: &'static str = \"", "\"");
    let (Some(stem), Some(name)) = (stem, name) else {
        return vec![format!("{}: a module needs a type named ...Params and a NAME", file.path)];
    };
    let Some(page) = files.iter().find(|file| file.text.starts_with(&format!("//! `{name}`: "))) else {
        return vec![format!("{}: no file of the module begins with //! `{name}`: ...", file.path)];
    };
    let mut findings = Vec::new();
    let header: Vec<&str> = page.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    if !is_in_order(LABELS.map(|label| header.iter().position(|line| line.starts_with(label)))) {
        findings.push(format!("{}: the first lines must contain {}", page.path, LABELS.join(" ")));
    }
    let order = [
        format!("\npub struct {stem}Params"),
        format!("\npub struct {stem}Ports"),
        format!("\npub struct {stem} {{"),
        format!("\nimpl {stem} {{"),
        format!("Component for {stem} {{"),
        "\nimpl Module for ".to_owned(),
        "\nmod tests".to_owned(),
    ];
    for part in [file, page] {
        let places: Vec<(usize, &str)> =
            order.iter().filter_map(|what| Some((part.text.find(what)?, what.trim()))).collect();
        for pair in places.windows(2).filter(|pair| pair[0].0 > pair[1].0) {
            findings.push(format!("{}: `{}` must follow `{}`", part.path, pair[1].1, pair[0].1));
        }
    }
    findings.dedup();
    findings
}

/// Returns true if all parts exist, in this order.
fn is_in_order<const N: usize>(places: [Option<usize>; N]) -> bool {
    places.iter().all(Option::is_some) && places.is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const TEE: &str = "//! `tee`: one stream.
//!
//! Ports:   `input`.
//! Timing:  0 cycles.
//! Source:  a table.

pub struct TeeParams {}

pub struct Tee {}

impl Component for Tee {}

impl Module for TeeParams {
    const NAME: &'static str = \"tee\";
}
";

    fn check(text: &str, want: Expect) {
        let file = File { path: "tee.rs".to_owned(), text: text.to_owned() };
        want.assert_eq(&judge(&[file]).join("\n"));
    }

    #[test]
    fn a_well_formed_module_has_no_findings() {
        check(TEE, expect![""]);
        check("pub struct Tee {}\n", expect![""]);
    }

    #[test]
    fn missing_and_misplaced_parts_are_reported() {
        check(&TEE.replace("Timing:", "Time:"), expect!["tee.rs: the first lines must contain Ports: Timing: Source:"]);
        check(
            &TEE.replace("//! `tee`", "//! A tee"),
            expect!["tee.rs: no file of the module begins with //! `tee`: ..."],
        );
        let (params, rest) = TEE.split_once("pub struct TeeParams {}\n\n").expect("the module has its params");
        let late = format!("{params}{rest}\npub struct TeeParams {{}}\n");
        check(&late, expect!["tee.rs: `pub struct Tee {` must follow `pub struct TeeParams`"]);
        check(
            &TEE.replace("for TeeParams", "for Tee"),
            expect!["tee.rs: a module needs a type named ...Params and a NAME"],
        );
    }
}
