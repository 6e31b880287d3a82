//! A file reads like a chapter; one that grew into a book is split, or says here why it is not.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

const MOST_LINES: usize = 600;

/// Longer files, and why they are one.
const REASONS: [(&str, &str); 0] = [];

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let files = tree::files(root, |path| [".rs", ".py", ".c", ".h", ".S"].iter().any(|end| path.ends_with(end)))?;
    Ok(judge(&files, &REASONS))
}

fn judge(files: &[File], reasons: &[(&str, &str)]) -> Vec<String> {
    let is_long = |file: &&File| file.text.lines().count() > MOST_LINES;
    let excused = |path: &str| reasons.iter().any(|(excused, _)| *excused == path);
    let mut findings: Vec<String> = files
        .iter()
        .filter(is_long)
        .filter(|file| !excused(&file.path))
        .map(|file| format!("{}: {} lines, at most {MOST_LINES}", file.path, file.text.lines().count()))
        .collect();
    for (path, _) in reasons {
        if !files.iter().filter(is_long).any(|file| file.path == *path) {
            findings.push(format!("{path} is excused and needs no excuse"));
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
        let files = [file("a.rs", MOST_LINES), file("b.rs", MOST_LINES + 1)];
        want.assert_eq(&judge(&files, reasons).join("\n"));
    }

    #[test]
    fn the_line_after_the_last_is_too_much() {
        check(&[], expect!["b.rs: 601 lines, at most 600"]);
    }

    #[test]
    fn a_reason_excuses_as_long_as_it_is_needed() {
        check(&[("b.rs", "one table")], expect![""]);
        check(&[("b.rs", "one table"), ("a.rs", "was long")], expect!["a.rs is excused and needs no excuse"]);
    }
}
