//! Files and folders of traces, in pairs of the same name.

use super::report::Report;
use super::{Options, TraceDiff};
use crate::instructions::{Reader, TraceReadError};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Traces that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum DiffError {
    #[error(transparent)]
    Read(#[from] TraceReadError),
    #[error("{path}: {source}")]
    Find { path: String, source: io::Error },
    #[error("{folder} is a folder and {file} a file, both must be the same")]
    Mixed { folder: String, file: String },
    #[error(
        "{folder}: it has no traces, neither itself nor in its folder `{FOLDER}`; they are called trace_core_00_0.log"
    )]
    NoTraces { folder: String },
    #[error("{a} and {b}: they have no trace of the same name")]
    NoPairs { a: String, b: String },
}

/// Folder of the traces within the results of a run.
pub const FOLDER: &str = "instructions";

/// Comparisons of files, one after the other.
pub struct FolderDiff {
    options: Options,
    left: VecDeque<(PathBuf, PathBuf)>,
    now: Option<TraceDiff<BufReader<File>, BufReader<File>>>,
    report: Report,
}

impl FolderDiff {
    /// Finds the files to compare: two files, or files of the same name in two folders.
    pub fn open(a: &Path, b: &Path, options: Options) -> Result<Self, DiffError> {
        let mut report = Report { equal: true, files: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
        let mut left = VecDeque::new();
        match (is_folder(a)?, is_folder(b)?) {
            (false, false) => left.push_back((a.to_owned(), b.to_owned())),
            (true, true) => {
                let (mut of_a, mut of_b) = (traces(a)?, traces(b)?);
                of_a.retain(|name, path| match of_b.remove(name) {
                    Some(other) => {
                        left.push_back((path.clone(), other));
                        false
                    }
                    None => true,
                });
                (report.only_a, report.only_b) = (of_a.into_keys().collect(), of_b.into_keys().collect());
                report.equal = report.only_a.is_empty() && report.only_b.is_empty();
                if left.is_empty() {
                    return Err(DiffError::NoPairs { a: a.display().to_string(), b: b.display().to_string() });
                }
            }
            (is_folder, _) => {
                let (folder, file) = if is_folder { (a, b) } else { (b, a) };
                return Err(DiffError::Mixed {
                    folder: folder.display().to_string(),
                    file: file.display().to_string(),
                });
            }
        }
        Ok(FolderDiff { options, left, now: None, report })
    }

    /// Takes up to `most` steps. Returns true if everything is compared.
    pub fn advance(&mut self, most: usize) -> Result<bool, DiffError> {
        let mut diff = match self.now.take() {
            Some(diff) => diff,
            None => {
                let Some((a, b)) = self.left.pop_front() else { return Ok(true) };
                let cluster = cluster_of(&a);
                TraceDiff::new(Reader::open(&a)?, Reader::open(&b)?, cluster, self.options.clone())
            }
        };
        if diff.advance(most)? {
            let found = diff.finish();
            self.report.equal &= found.equal;
            self.report.files.push(found);
        } else {
            self.now = Some(diff);
        }
        Ok(self.now.is_none() && self.left.is_empty())
    }

    /// Returns the report.
    pub fn finish(self) -> Report {
        self.report
    }
}

fn is_folder(path: &Path) -> Result<bool, DiffError> {
    let find = |source| DiffError::Find { path: path.display().to_string(), source };
    std::fs::metadata(path).map(|data| data.is_dir()).map_err(find)
}

/// Traces in a folder, by name.
fn traces(folder: &Path) -> Result<BTreeMap<String, PathBuf>, DiffError> {
    for folder in [folder.to_owned(), folder.join(FOLDER)] {
        if !folder.is_dir() {
            continue;
        }
        let find = |source| DiffError::Find { path: folder.display().to_string(), source };
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).map_err(find)? {
            let path = entry.map_err(find)?.path();
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && name.starts_with("trace_core_")
                && name.ends_with(".log")
            {
                found.insert(name.to_owned(), path);
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(DiffError::NoTraces { folder: folder.display().to_string() })
}

/// The cluster of a trace's core, from the name of the file.
fn cluster_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let (cluster, _) = name.strip_prefix("trace_core_")?.split_once('_')?;
    u32::from_str_radix(cluster, 16).ok()
}
