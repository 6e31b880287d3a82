//! NICs by name: the presets that are compiled in, files like them, and settings that replace single values.

use crate::files;
use crate::toml_text::{self, Format, TextFileError};
use diagnostics::near::{did_you_mean, explain_serde_error, nearest};
use diagnostics::param::ParamError;
use pspin::PspinParams;
use std::io::{self, Read};
use std::path::Path;
use toml::{Table, Value};

mod choices;
mod derive;
mod file;

pub(crate) use choices::apply;
pub(crate) use file::{MOST_BASES, NicFile};

/// A preset that is compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name for users.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset { name: "pspin", text: include_str!("../../../presets/pspin.toml") },
    Preset { name: "fpspin", text: include_str!("../../../presets/fpspin.toml") },
    Preset { name: "pspin-paper", text: include_str!("../../../presets/pspin-paper.toml") },
    Preset { name: "pspin-rtl", text: include_str!("../../../presets/pspin-rtl.toml") },
];

impl Preset {
    /// Its description: the one in its file, or the comment at the head of the file.
    pub fn about(&self) -> String {
        let about = self.text.lines().find_map(|line| line.strip_prefix("about = \"")?.strip_suffix('"'));
        if let Some(about) = about {
            return format!("{}.", about.trim_end_matches('.'));
        }
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        comment.take(1).map(str::trim).collect()
    }
}

/// A NIC that cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum NicError {
    #[error("nic is `{found}`, must be {} or the path of a preset (*.toml){}", names(),
            did_you_mean(near.as_ref()))]
    Unknown { found: String, near: Option<&'static str> },
    #[error("nic is `{found}`, which is wired from modules and runs firmware, not handlers: spinet run --nic {found}")]
    Wired { found: String },
    #[error("nic is `{found}`, which runs chains of offloads, not handlers: spinet run --nic {found} --chain ...")]
    OfChains { found: String },
    #[error("{file}: base: {problem}")]
    Base { file: String, problem: String },
    #[error("{file}: {problem}")]
    Chains { file: String, problem: String },
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error(transparent)]
    Text(#[from] TextFileError),
    #[error("{file}: {problem}")]
    Param { file: String, problem: ParamError },
    #[error("set: `{found}`, must be path=value such as cluster.n_cores=4")]
    NotASetting { found: String },
    #[error("set: there is no `{found}` in the preset{}",
            did_you_mean(near.as_ref()))]
    NoParameter { found: String, near: Option<String> },
    #[error("set: {key} is {found}, must be {allowed}")]
    NotAValue { key: String, found: String, allowed: String },
    #[error("set: {key} is {found}, which needs `{missing}` too: set that in the same run")]
    Incomplete { key: String, found: String, missing: String },
}

/// Presets of all kinds of cards.
pub fn all() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().chain(crate::chains::PRESETS).chain(crate::wired::PRESETS)
}

fn names() -> String {
    let names: Vec<String> = all().map(|preset| format!("`{}`", preset.name)).collect();
    names.join(", ")
}

/// A setting: path of a parameter, and its value as a TOML value.
pub type Setting = (String, Value);

/// Reads `path=value`; a value that is not valid TOML is taken as text.
pub fn parse_setting(text: &str) -> Result<Setting, NicError> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
        return Err(NicError::NotASetting { found: text.into() });
    };
    let table = format!("v = {}", value.trim()).parse::<Table>().ok().filter(|table| table.len() == 1);
    let parsed = table.and_then(|mut table| table.remove("v"));
    Ok((key.trim().into(), parsed.unwrap_or_else(|| Value::String(value.trim().into()))))
}

/// The NIC called `nic`, a preset or a file relative to `base_dir`, after `settings`.
pub fn load(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<PspinParams, NicError> {
    let source = NicFile::open(nic, base_dir, &text_of)?;
    let params: PspinParams = source.read(&source.text)?;
    let file = source.file.clone();
    params.validate().map_err(|problem| NicError::Param { file: file.clone(), problem })?;
    if settings.is_empty() {
        return Ok(params);
    }
    let params: PspinParams = choices::apply(source.values(&source.text)?, settings)?;
    // Only the combination of all settings must be valid.
    let keys: Vec<&str> = settings.iter().map(|(key, _)| key.as_str()).collect();
    params
        .validate()
        .map_err(|problem| NicError::Param { file: format!("{file} with {}", keys.join(", ")), problem })?;
    Ok(params)
}

/// The error of a value that its type does not take.
pub(crate) fn not_a_value(key: &str, value: &Value, error: &toml::de::Error) -> NicError {
    // serde says `invalid value: integer `-1`, expected u32`. For an unknown word it lists all allowed words.
    let message = explain_serde_error(error.message());
    let allowed = message.rsplit("must be ").next().and_then(|message| message.rsplit("expected ").next());
    let allowed = allowed.unwrap_or_default().to_owned();
    NicError::NotAValue { key: key.into(), found: value.to_string(), allowed }
}

/// The text of a NIC's file, with the values of its `base` if it has one; with settings, the resulting values.
pub fn show(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<String, NicError> {
    if crate::chains::is_nic(nic, base_dir) {
        return crate::chains::show(nic, settings, base_dir);
    }
    let params = load(nic, settings, base_dir)?;
    if settings.is_empty() {
        return Ok(NicFile::open(nic, base_dir, &text_of)?.text);
    }
    Ok(toml::to_string(&params).expect("parameters are tables of numbers"))
}

/// Area and power of the parts of a NIC.
pub fn cost(nic: &str, settings: &[Setting], base_dir: &Path) -> Result<Vec<pspin::cost::Part>, NicError> {
    Ok(pspin::cost::parts(&load(nic, settings, base_dir)?))
}

/// Name and text of a preset's file.
fn text_of(nic: &str, base_dir: &Path) -> Result<(String, String), NicError> {
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == nic) {
        return Ok((format!("presets/{nic}.toml"), preset.text.into()));
    }
    if crate::wired::PRESETS.iter().any(|preset| preset.name == nic) {
        return Err(NicError::Wired { found: nic.into() });
    }
    if crate::chains::PRESETS.iter().any(|preset| preset.name == nic) {
        return Err(NicError::OfChains { found: nic.into() });
    }
    read_file(nic, base_dir)
}

/// Name and text of the file called `nic`.
pub(crate) fn read_file(nic: &str, base_dir: &Path) -> Result<(String, String), NicError> {
    if !nic.ends_with(".toml") && !nic.contains(std::path::MAIN_SEPARATOR) {
        let near = nearest(nic, all().map(|preset| preset.name));
        return Err(NicError::Unknown { found: nic.into(), near });
    }
    read(nic, base_dir).map_err(|(file, source)| NicError::Read { file, source })
}

/// Name and text of the file called `nic`, within the limits of such texts; or its name and the reason why it cannot be
/// read.
pub(crate) fn read(nic: &str, base_dir: &Path) -> Result<(String, String), (String, io::Error)> {
    let path = base_dir.join(nic);
    let file = path.display().to_string();
    let mut text = String::new();
    match files::open(&path).and_then(|file| file.take(toml_text::MOST_BYTES + 1).read_to_string(&mut text)) {
        Ok(_) => match toml_text::check_limits(&text, &file, Format::Toml) {
            Ok(()) => Ok((file, text)),
            Err(error) => {
                let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
                Err((file, io::Error::other(format!("{line}{}", error.text))))
            }
        },
        Err(source) => Err((file, source)),
    }
}

/// Replaces the value at `key`. It must exist and be of the same kind.
pub(crate) fn set(table: &mut Table, key: &str, value: &Value) -> Result<(), NicError> {
    if value_at(table, key).is_none_or(|slot| slot.is_table()) {
        return Err(choices::no_parameter(table, key));
    }
    let slot = value_at(table, key).expect("its presence was checked");
    // The type decides whether a decimal may replace a whole number.
    let is_number = |value: &Value| value.is_integer() || value.is_float();
    let may_fit = slot.same_type(value) || is_number(slot) && is_number(value);
    if !may_fit {
        // Values that TOML cannot write as a number are read as text.
        if let (true, Some(text)) = (slot.is_integer(), value.as_str())
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && text.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        {
            let allowed = "a whole number from -2^63 to 2^63 - 1".into();
            return Err(NicError::NotAValue { key: key.into(), found: text.into(), allowed });
        }
        let allowed = format!("of type {}, such as {slot}", slot.type_str());
        return Err(NicError::NotAValue { key: key.into(), found: value.to_string(), allowed });
    }
    *slot = value.clone();
    Ok(())
}

/// The value at a path such as `cluster.n_cores`, or, in a list of tables with names, `service.aes.units`.
fn value_at<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let Some((first, rest)) = key.split_once('.') else { return table.get_mut(key) };
    match table.get_mut(first)? {
        Value::Table(inner) => value_at(inner, rest),
        Value::Array(list) => {
            let (name, rest) = rest.split_once('.')?;
            value_at(list.iter_mut().find(|item| name_of(item) == Some(name))?.as_table_mut()?, rest)
        }
        _ => None,
    }
}

fn name_of(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// Paths of all values.
pub(crate) fn paths(table: &Table, prefix: &str) -> Vec<String> {
    let inside = |item: &Value| Some(paths(item.as_table()?, &format!("{}.", name_of(item)?)));
    let path = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) => paths(inner, &format!("{prefix}{key}.")),
        Value::Array(list) if !list.is_empty() && list.iter().all(|item| name_of(item).is_some()) => {
            let found = list.iter().filter_map(inside).flatten();
            found.map(|path| format!("{prefix}{key}.{path}")).collect()
        }
        _ => vec![format!("{prefix}{key}")],
    };
    table.iter().flat_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocks::pcie::PcieModel;

    #[test]
    fn the_machine_of_the_papers_evaluation_differs_in_its_host_alone() {
        let of = |name| load(name, &[], Path::new("")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut paper = of("pspin-paper");
        assert_eq!((paper.pcie.model, paper.iommu.enabled), (PcieModel::FixedRate, false));
        paper.pcie.model = PcieModel::Tlp;
        paper.iommu.enabled = true;
        assert_eq!(paper, of("pspin"));
    }
}
