//! Checks that enums whose variants are tables with a tag have no unit variants. For a unit variant, serde ignores all other keys of the
//! table, also with `deny_unknown_fields`; for a variant with braces it refuses them.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let is_source = |path: &str| path.starts_with("crates/") && path.ends_with(".rs") && !path.contains("/xtask/");
    Ok(tree::files(root, is_source)?.iter().flat_map(findings_in).collect())
}

fn findings_in(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_tagged = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.trim_start().starts_with("#[serde(tag = ") {
            is_tagged = true;
        } else if line == "}" {
            is_tagged = false;
        } else if is_tagged {
            let name = line.trim().trim_end_matches(',');
            let is_name = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
            if is_name && line.trim().ends_with(',') {
                findings.push(format!("{}:{number}: write `{name} {{}}`, so that unknown keys are refused", file.path));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn unit_variants_of_tagged_enums_are_reported() {
        let text = "enum A {\n    One,\n}\n#[serde(tag = \"kind\")]\nenum B {\n    One {},\n    Two,\n}\nenum C {\n    One,\n}\n";
        let file = File { path: "a.rs".into(), text: text.into() };
        expect!["a.rs:7: write `Two {}`, so that unknown keys are refused"].assert_eq(&findings_in(&file).join("\n"));
    }
}
