//! Checks that only one Python file imports the simulator.

use std::path::Path;

use crate::Error;
use crate::tree::{self, File};

const IMPORTER: &str = "python/spinet/_core.py";

pub fn check(root: &Path) -> Result<Vec<String>, Error> {
    let files = tree::files(root, |path| path.ends_with(".py"))?;
    Ok(judge(&files))
}

fn judge(files: &[File]) -> Vec<String> {
    let imports = |line: &str| {
        let line = line.trim_start();
        (line.starts_with("import ") || line.starts_with("from ")) && line.contains("_native")
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path != IMPORTER) {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| imports(line)) {
            findings.push(format!("{}:{}: {}: import it from {IMPORTER}", file.path, index + 1, line.trim()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(path: &str, text: &str, want: Expect) {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        want.assert_eq(&judge(&[file]).join("\n"));
    }

    #[test]
    fn only_core_py_imports_the_simulator() {
        check(IMPORTER, "from spinet._native import Run\n", expect![""]);
        check("python/spinet/api.py", "from spinet import _core\n# not _native\n", expect![""]);
        check(
            "python/spinet/api.py",
            "import os\n    from spinet._native import Run\n",
            expect!["python/spinet/api.py:2: from spinet._native import Run: import it from python/spinet/_core.py"],
        );
        check(
            "python/spinet/api.py",
            "from spinet import _native\n",
            expect!["python/spinet/api.py:1: from spinet import _native: import it from python/spinet/_core.py"],
        );
    }
}
