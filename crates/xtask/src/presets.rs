//! Checks that every number of a preset has a source.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

/// Beginnings of a comment that justifies a number.
const REASONS: [&str; 2] = ["source: ", "assumed: "];

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let files = tree::files(root, |path| path.starts_with("presets/") && path.ends_with(".toml"))?;
    Ok(files.iter().flat_map(without_reason).collect())
}

/// Keys of a wiring that are not parameters of the part.
const WIRING: [&str; 5] = ["name", "about", "module", "clock", "count"];

/// Keys that identify a table, in any preset.
const NAMES: [&str; 5] = ["name", "about", "base", "model", "kind"];

/// Lines that set a value without a source. For a card that is wired from modules, only numbers count, because the
/// wiring itself is the card; a value computed from a parameter has its source there.
fn without_reason(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let is_wired = file.text.lines().any(|line| line.starts_with("[instances"));
    for (index, line) in file.text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default().trim();
        let comment = line.split_once('#').map(|(_, comment)| comment.trim()).unwrap_or_default();
        let sets_a_value = code.split_once('=').is_some_and(|(key, value)| {
            let is_number = value.contains(|c: char| c.is_ascii_digit()) && !value.trim().starts_with("\"$");
            let key = key.trim();
            if is_wired { is_number && !WIRING.contains(&key) } else { !NAMES.contains(&key) }
        });
        let has_reason = REASONS.iter().any(|reason| comment.starts_with(reason) && comment.len() > reason.len());
        if sets_a_value && !has_reason {
            findings.push(format!("{}:{}: {code}: add `# source: ...` or `# assumed: ...`", file.path, index + 1));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, want: Expect) {
        let file = File { path: "presets/x.toml".to_owned(), text: text.to_owned() };
        want.assert_eq(&without_reason(&file).join("\n"));
    }

    #[test]
    fn a_source_or_an_assumption_is_a_reason() {
        check("# A card.\n[l2]\nbytes = 4 # source: its manual, 3.1\nbanks = 2 # assumed: as in L1\n", expect![""]);
    }

    #[test]
    fn numbers_of_a_wiring_need_a_reason() {
        check(
            "name = \"x2\"\n[instances.cpu]\nmodule = \"mips-core\"\ncount = \"$cpus\"\nports = \"$cpus + 2\"\nbytes = 4\n",
            expect!["presets/x.toml:6: bytes = 4: add `# source: ...` or `# assumed: ...`"],
        );
    }

    #[test]
    fn another_comment_is_not_a_reason() {
        check(
            "banks = 2 # as in L1\nports = 1\nbytes = 4 # source: \n",
            expect![[r#"
            presets/x.toml:1: banks = 2: add `# source: ...` or `# assumed: ...`
            presets/x.toml:2: ports = 1: add `# source: ...` or `# assumed: ...`
            presets/x.toml:3: bytes = 4: add `# source: ...` or `# assumed: ...`"#]],
        );
    }
}
