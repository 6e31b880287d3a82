//! The file of a NIC, with the file that it derives from.

use super::NicError;
use super::derive::{Merged, Refused, base_of, merge};
use crate::experiment::keys;
use crate::toml_text::{self, Format, TextFileError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Longest chain of files that derive from one another.
pub(crate) const MOST_BASES: usize = 8;

/// Finds the text of a NIC. Gets its name and the folder at which relative paths start. Returns the name and the text
/// of its file.
pub(crate) type Find<'a> = &'a dyn Fn(&str, &Path) -> Result<(String, String), NicError>;

/// The file of a NIC. Its text contains all values, including those of its `base`.
pub(crate) struct NicFile {
    /// Name of the file, for errors.
    pub file: String,
    /// The whole text.
    pub text: String,
    /// The file's own text, if it has a `base`.
    own: Option<(String, Merged)>,
}

impl NicFile {
    /// Opens the NIC called `nic` and all files that it derives from.
    pub(crate) fn open(nic: &str, base_dir: &Path, find: Find<'_>) -> Result<NicFile, NicError> {
        Self::open_within(nic, base_dir, find, MOST_BASES)
    }

    fn open_within(nic: &str, base_dir: &Path, find: Find<'_>, bases: usize) -> Result<NicFile, NicError> {
        let (file, text) = find(nic, base_dir)?;
        toml_text::check_limits(&text, &file, Format::Toml)?;
        let Some((base, span)) = base_of(&text) else { return Ok(NicFile { file, text, own: None }) };
        let refuse = |problem: String| toml_text::at(&text, &file, Some(span.clone()), &problem);
        if bases == 0 {
            return Err(refuse(format!("base: more than {MOST_BASES} files derive from one another")).into());
        }
        let beside = Path::new(&file).parent().filter(|_| Path::new(&file) == base_dir.join(nic)).unwrap_or(base_dir);
        let base = match Self::open_within(&base, beside, find, bases - 1) {
            Ok(base) => base,
            Err(problem @ NicError::Unknown { .. }) => {
                return Err(refuse(problem.to_string().replacen("nic is", "base is", 1)).into());
            }
            Err(problem @ (NicError::Text(_) | NicError::Base { .. })) => return Err(problem),
            Err(problem) => return Err(NicError::Base { file, problem: problem.to_string() }),
        };
        let merged = merge(&base.text, &text);
        let merged = merged.map_err(|Refused(span, problem)| toml_text::at(&text, &file, Some(span), &problem))?;
        Ok(NicFile { file, text: merged.text.clone(), own: Some((text, merged)) })
    }

    /// Reads the values from `text`, which is the whole text, possibly with parts replaced by blanks. All unknown keys are
    /// reported in one error.
    pub(crate) fn read<T: DeserializeOwned + JsonSchema>(&self, text: &str) -> Result<T, TextFileError> {
        self.values(text).map_err(|error| {
            let (own, skipped) = self.own.as_ref().map_or((text, [].as_slice()), |(own, _)| (own, &["base", "model"]));
            keys::unknown_in_card::<T>(own, &self.file, skipped).unwrap_or(error)
        })
    }

    /// The same without the search for unknown keys.
    pub(crate) fn values<T: DeserializeOwned>(&self, text: &str) -> Result<T, TextFileError> {
        let Some((own, merged)) = &self.own else { return toml_text::read(text, &self.file, Format::Toml) };
        toml_text::read_toml(text).map_err(|(span, message)| {
            let span = span.and_then(|span| merged.own(&span));
            toml_text::at(own, &self.file, span, &message)
        })
    }
}
