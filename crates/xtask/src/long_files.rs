//! Checks that files are short. A longer file needs a reason in this file.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

const MAX_LINES: usize = 600;

/// Longer files, and the reasons.
const REASONS: [(&str, &str); 3] = [
    ("python/spinet/chain_parameters.py", "docs/generate.py makes it: a class for each table of the schema"),
    ("python/spinet/module_parameters.py", "docs/generate.py makes it: a class for each module"),
    ("python/spinet/summaries.py", "docs/generate.py makes it: a type for each table of a summary"),
];

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let files = tree::files(root, |path| [".rs", ".py", ".c", ".h", ".S"].iter().any(|end| path.ends_with(end)))?;
    Ok(findings_in(&files, &REASONS))
}

fn findings_in(files: &[File], reasons: &[(&str, &str)]) -> Vec<String> {
    let is_long = |file: &&File| file.text.lines().count() > MAX_LINES;
    let allowed = |path: &str| reasons.iter().any(|(allowed, _)| *allowed == path);
    let mut findings: Vec<String> = files
        .iter()
        .filter(is_long)
        .filter(|file| !allowed(&file.path))
        .map(|file| {
            format!(
                "{}: the file is too long (found {} lines; allowed {MAX_LINES})",
                file.path,
                file.text.lines().count()
            )
        })
        .collect();
    for (path, _) in reasons {
        if !files.iter().filter(is_long).any(|file| file.path == *path) {
            findings.push(format!("{path} is short and has a reason; remove the reason"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(reasons: &[(&str, &str)], want: Expect) {
        let file = |path: &str, lines: usize| File { path: path.to_owned(), text: "x\n".repeat(lines) };
        let files = [file("a.rs", MAX_LINES), file("b.rs", MAX_LINES + 1)];
        want.assert_eq(&findings_in(&files, reasons).join("\n"));
    }

    #[test]
    fn a_file_of_601_lines_is_reported() {
        check(&[], expect!["b.rs: the file is too long (found 601 lines; allowed 600)"]);
    }

    #[test]
    fn a_reason_allows_a_long_file_and_is_reported_for_a_short_one() {
        check(&[("b.rs", "one table")], expect![""]);
        check(
            &[("b.rs", "one table"), ("a.rs", "was long")],
            expect!["a.rs is short and has a reason; remove the reason"],
        );
    }
}
