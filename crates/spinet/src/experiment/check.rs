//! What an experiment says, understood: each text in it parsed, each file there.

use super::{ContextSpec, Experiment};
use crate::nics::{self, NicError};
use crate::toml_text::{self, Format, TextFileError};
use pspin::PspinParams;
use std::io;
use std::path::{Path, PathBuf};
use wire::capture::{CaptureError, CaptureReader};
use wire::expr::{ExprError, Matcher};
use wire::message::{MessageError, MessageSpec};
use wire::pacing::{NotAPacing, Pacing};
use wire::source::Snapped;
use wire::traffic::{Payload, TrafficSpec, TrafficTextError};

/// An experiment that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The text is not one of an experiment.
    #[error(transparent)]
    Text(#[from] TextFileError),
    /// A value in it makes no sense.
    #[error("{file}{}: {key}: {problem}", line.map_or_else(String::new, |line| format!(": line {line}")))]
    Value {
        /// Name of the file.
        file: String,
        /// Line, if known.
        line: Option<usize>,
        /// Path of the key: `context[1].match`.
        key: String,
        /// What is wrong.
        problem: Box<Problem>,
    },
}

/// What can be wrong with a value.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum Problem {
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Match(#[from] ExprError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Traffic(#[from] TrafficTextError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Pacing(#[from] NotAPacing),
    #[error("{file}: {source}")]
    File { file: String, source: io::Error },
    #[error("there are {found}, must be 1 to {allowed}")]
    Number { found: usize, allowed: usize },
    #[error("`{found}` is the name of two contexts, each must have its own")]
    Name { found: String },
}

/// Most contexts. assumed: PsPIN's inbound engine says nothing of a limit; libpspin's driver has two.
pub const MAX_CONTEXTS: usize = 64;
/// Most sources of a program.
const MAX_SOURCES: usize = 1000;

/// An experiment that can be run once its program is there.
#[derive(Clone, Debug)]
pub struct Checked {
    /// As it was written, with defaults filled in and paths made absolute.
    pub experiment: Experiment,
    /// The NIC.
    pub nic: PspinParams,
    /// The packets.
    pub traffic: Traffic,
    /// When they arrive.
    pub pacing: Pacing,
    /// The contexts, in order.
    pub contexts: Vec<CheckedContext>,
}

/// Where packets come from.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A capture.
    Capture(PathBuf, Snapped),
    /// The generator.
    Generator(Box<TrafficSpec>),
}

impl Traffic {
    /// Understands `source`, a capture or a definition for the generator; paths in it become absolute.
    pub fn read(source: &mut String, snapped: Snapped, seed: u64, base_dir: &Path) -> Result<Self, Problem> {
        let absolute = |path: &mut String| *path = base_dir.join(&*path).display().to_string();
        if !TrafficSpec::is_meant_by(source) {
            absolute(source);
            CaptureReader::open(&*source)?;
            return Ok(Traffic::Capture(PathBuf::from(&*source), snapped));
        }
        let mut spec = TrafficSpec::parse(source)?;
        if !source.contains("seed=") {
            spec.seed = seed;
        }
        if let Payload::File(path) = &mut spec.payload {
            absolute(path);
            readable(path)?;
        }
        *source = spec.to_string();
        Ok(Traffic::Generator(Box::new(spec)))
    }
}

/// A context whose texts are understood.
#[derive(Clone, Debug)]
pub struct CheckedContext {
    /// Its position, from 0.
    pub index: usize,
    /// As it was written.
    pub spec: ContextSpec,
    /// What it takes; `None` is everything.
    pub matcher: Option<Matcher>,
    /// What its messages are.
    pub message: MessageSpec,
}

impl Checked {
    /// Reads an experiment from `text`, which came from `file`; its paths count from `base_dir`.
    pub fn read(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ExperimentError> {
        let experiment: Experiment = toml_text::read(text, file, format)?;
        Self::check(experiment, base_dir).map_err(|(path, problem)| {
            let span = match format {
                Format::Toml => toml_text::span_of(text, &path.iter().map(String::as_str).collect::<Vec<_>>()),
                Format::Json => None,
            };
            let newlines = |end: usize| text.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count();
            let line = span.map(|span| newlines(span.start) + 1);
            let key = path.iter().fold(String::new(), |key, part| match part.parse::<usize>() {
                Ok(index) => format!("{key}[{index}]"),
                Err(_) if key.is_empty() => part.clone(),
                Err(_) => format!("{key}.{part}"),
            });
            ExperimentError::Value { file: file.into(), line, key, problem }
        })
    }

    /// Understands every text of `experiment`; an error comes with the path of its key.
    pub fn check(mut experiment: Experiment, base_dir: &Path) -> Result<Self, (Vec<String>, Box<Problem>)> {
        let fail =
            |path: &[&str], problem: Problem| (path.iter().map(|&part| part.into()).collect(), Box::new(problem));
        let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
        let absolute = |path: &mut String| *path = base_dir.join(&*path).display().to_string();

        let nic = nics::load(&experiment.nic.preset, &experiment.nic.set.0, &base_dir);
        let key = if experiment.nic.set.is_empty() { vec!["nic"] } else { vec!["nic", "set"] };
        let nic = nic.map_err(|problem| fail(&key, problem.into()))?;

        let n_sources = experiment.program.0.len();
        if n_sources == 0 || n_sources > MAX_SOURCES {
            return Err(fail(&["program"], Problem::Number { found: n_sources, allowed: MAX_SOURCES }));
        }
        for path in &mut experiment.program.0 {
            absolute(path);
            readable(path).map_err(|problem| fail(&["program"], problem))?;
        }

        let source = &mut experiment.traffic.source;
        let traffic = Traffic::read(source, experiment.traffic.snapped, experiment.seed, &base_dir)
            .map_err(|problem| fail(&["traffic"], problem))?;
        let pacing = experiment.traffic.pacing.parse();
        let pacing: Pacing = pacing.map_err(|p: NotAPacing| fail(&["traffic", "pacing"], p.into()))?;

        let found = experiment.context.len();
        if found == 0 || found > MAX_CONTEXTS {
            return Err(fail(&["context"], Problem::Number { found, allowed: MAX_CONTEXTS }));
        }
        let mut contexts: Vec<CheckedContext> = Vec::new();
        for (index, spec) in experiment.context.iter_mut().enumerate() {
            let number = index.to_string();
            let path = |key| ["context", &number, key];
            if let Some(name) = spec.name.clone()
                && contexts.iter().any(|other| other.spec.name.as_ref() == Some(&name))
            {
                return Err(fail(&path("name"), Problem::Name { found: name }));
            }
            let matcher = spec.matches.as_deref().map(Matcher::parse).transpose();
            let matcher = matcher.map_err(|problem| fail(&path("match"), problem.into()))?;
            let message =
                MessageSpec::parse(&spec.message).map_err(|problem| fail(&path("message"), problem.into()))?;
            for (key, memory) in [("handler_memory", &mut spec.handler_memory), ("host_memory", &mut spec.host_memory)]
            {
                if let Some(data) = &mut memory.data {
                    absolute(data);
                    readable(data).map_err(|problem| fail(&path(key), problem))?;
                }
            }
            contexts.push(CheckedContext { index, spec: spec.clone(), matcher, message });
        }
        Ok(Checked { experiment, nic, traffic, pacing, contexts })
    }
}

/// The file is there and can be opened.
fn readable(path: &str) -> Result<(), Problem> {
    std::fs::File::open(path).map(drop).map_err(|source| Problem::File { file: path.into(), source })
}
