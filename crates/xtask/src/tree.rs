//! Files of the repository.

use std::path::Path;
use std::process::Command;

use crate::Error;

/// A text file of the repository.
pub struct File {
    /// Path from the root, with `/`.
    pub path: String,
    /// The complete text.
    pub text: String,
}

/// Text files that git tracks or that are new and not ignored, whose path satisfies `wanted`, in order.
pub fn files(root: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<File>, Error> {
    const COMMAND: &str = "git ls-files";
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| Error::Run(COMMAND, error))?;
    if !listed.status.success() {
        return Err(Error::Failed(COMMAND, String::from_utf8_lossy(&listed.stderr).into_owned()));
    }
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut files = Vec::new();
    for path in names.split('\0').filter(|path| !path.is_empty() && wanted(path)) {
        let full = root.join(path);
        // Skips links, whose target is read anyway, and deleted files that are not committed yet.
        if full.is_symlink() || !full.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&full).map_err(|error| Error::Read(path.to_owned(), error))?;
        files.push(File { path: path.to_owned(), text });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
