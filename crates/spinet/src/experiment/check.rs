//! Checks an experiment: parses each text, and opens each file.

use super::common::{ExperimentError, read};
use super::engine::{self, EngineError};
use super::sources::{CheckedSource, Ends};
use super::{Common, ContextSpec, Experiment, IoError, NicSpec, OneOrMany};
use crate::captured::PIPE;
use crate::files;
use crate::kinds;
use crate::nics::{self, NicError};
use crate::toml_text::{self, Format, KeyPosition};
use crate::wired::CardError;
use diagnostics::near::did_you_mean;
use diagnostics::param::ParamError;
use pspin::PspinParams;
use pspin::delivery::Delivery;
use std::io;
use std::path::{Path, PathBuf};
use wire::capture::{CaptureError, CaptureReader};
use wire::expr::{ExprError, Matcher};
use wire::message::{MessageError, MessageSpec};
use wire::pacing::{NotAPacing, Pacing};
use wire::rule_set::RuleSetError;
use wire::source::Snapped;
use wire::traffic::{Payload, TrafficSpec, TrafficTextError};

/// The ways in which a value can be invalid.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum Problem {
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Card(#[from] CardError),
    #[error(transparent)]
    Param(#[from] ParamError),
    #[error(transparent)]
    Match(#[from] ExprError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    RuleSet(#[from] RuleSetError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Traffic(#[from] TrafficTextError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Pacing(#[from] NotAPacing),
    #[error("{file}: {source}")]
    File { file: String, source: io::Error },
    #[error("{file}: a pipe or device, must be a file, since it is read more than once")]
    NotAFile { file: String },
    #[error("there are {found}, must be 1 to {allowed}")]
    Number { found: usize, allowed: usize },
    #[error("`{found}` is the name of two contexts, each must have its own")]
    Name { found: String },
    #[error("`{found}` is the name of two tenants, each must have its own")]
    TenantName { found: String },
    #[error(transparent)]
    Io(#[from] IoError),
    #[error("there is no tenant `{found}`, must be the `name` of a [[tenant]]")]
    NoTenant { found: String },
    #[error(
        "there is no context `{found}`, must be the `name` of a [[context]], or the `handler` of the only one that has no name"
    )]
    NoContext { found: String },
    #[error("the rule of `{found}` is installed already")]
    Installed { found: String },
    #[error("the rule of `{found}` is not installed")]
    NotInstalled { found: String },
    #[error(
        "`last` cannot be known with contexts that come and go, have priorities, or belong to tenants with a scope; say what ends a message"
    )]
    LastOfWhat,
    #[error("there are no packets: name a capture or a generator such as `udp:size=64,count=1000`")]
    NoTraffic,
    #[error("queue is {found}, must be {allowed}")]
    Queue { found: u16, allowed: String },
    #[error(
        "firmware must be one file, an ELF file or an image; sources and firmware that comes with spinet must be compiled first"
    )]
    NotCompiled,
    #[error("the address is {found:#x}, must be below 2^32")]
    Address { found: u64 },
    #[error("an ELF file says itself where it is loaded and where it begins; leave `load` and `entry` out")]
    AddressOfElf,
    #[error("an entry goes with a `load` address")]
    EntryAlone,
    #[error(
        "this card's host sends no packets: its outbound engine takes commands of handlers only; hosts of cards such as panic and tigon2 send"
    )]
    NoSend,
    #[error("port is {found}, must be {allowed}")]
    Port { found: u8, allowed: String },
    #[error("`queue` is a key of `send`; packets from the network have a `port`")]
    QueueOfTraffic,
    #[error("`port` is a key of `traffic`; packets that the host sends have a `queue`")]
    PortOfSend,
    #[error("`gap_cycles` is for cards that run handlers and for wired cards; give this traffic a `rate` instead")]
    NoGap,
    #[error("`gap_cycles` is a key of `traffic`; the host sends as fast as the card accepts its packets")]
    GapOfSend,
    #[error("gap_cycles is {found}, must be 0 to {allowed}")]
    Gap { found: u64, allowed: u64 },
    #[error("nothing is to be done, must have one or more of {allowed}")]
    Nothing { allowed: &'static str },
    #[error("there is no memory `{found}`, {allowed}{}", did_you_mean(near.as_ref()))]
    NoMemory { found: String, allowed: String, near: Option<String> },
    #[error("{size} bytes from {offset:#x} on are named, the memory has {allowed:#x} bytes")]
    OutsideMemory { offset: u64, size: u64, allowed: u64 },
    #[error("this card has neither a `packet-feeder` nor a `frame-sink`, so it has no network")]
    NoNetwork,
}

/// Maximum number of contexts. assumed: PsPIN's inbound engine has no limit; libpspin's driver has two.
pub const MAX_CONTEXTS: usize = 64;
/// Maximum number of source files of a program.
const MAX_SOURCES: usize = 1000;

/// An experiment that can be run once its program is compiled.
#[derive(Clone, Debug)]
pub struct Checked {
    /// As it was written, with defaults filled in and paths made absolute.
    pub experiment: Experiment,
    /// The NIC.
    pub nic: PspinParams,
    /// The sources of packets; none if all come from the caller.
    pub sources: Vec<CheckedSource>,
    /// The contexts, in order.
    pub contexts: Vec<CheckedContext>,
    /// The text that it was read from.
    text: SourceText,
}

/// The text that an experiment was read from.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// Its file.
    pub file: String,
    /// The format of the text.
    pub format: Format,
}

impl SourceText {
    /// The place of a key in the text. For a missing key, the place of the nearest table around it.
    pub(crate) fn place(&self, path: &[String]) -> KeyPosition {
        KeyPosition::new(&self.file, toml_text::place_of(&self.text, self.format, path).0)
    }
}

/// Timeout in seconds of messages of a capture with its own times, unless the context or the card sets one. Source: RFC
/// 4787, REQ-5: flows of UDP that are silent for less than 5 minutes should be kept.
const SILENCE_S: u64 = 300;

type Fault = (Vec<String>, Box<Problem>);

/// Where packets come from.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// A capture.
    Capture(PathBuf, Snapped),
    /// The generator.
    Generator(Box<TrafficSpec>),
}

impl Traffic {
    /// Parses `source`, a capture or a definition for the generator; paths in it become absolute.
    pub fn read(source: &mut String, snapped: Snapped, seed: u64, base_dir: &Path) -> Result<Self, Problem> {
        let absolute = |path: &mut String| *path = base_dir.join(&*path).display().to_string();
        if source == PIPE {
            return Ok(Traffic::Capture(PathBuf::from(PIPE), snapped)); // It is opened when the run begins.
        }
        if !TrafficSpec::is_definition(source) {
            if let Some(error) = TrafficSpec::unknown(source, TrafficSpec::KINDS)
                && !base_dir.join(&*source).exists()
            {
                return Err(error.into());
            }
            absolute(source);
            let metadata = std::fs::metadata(&*source);
            if metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
                return Err(Problem::NotAFile { file: source.clone() }); // Opening a pipe could wait forever.
            }
            CaptureReader::open(&*source)?;
            return Ok(Traffic::Capture(PathBuf::from(&*source), snapped));
        }
        let mut spec = TrafficSpec::parse(source)?;
        if !gives(source, "seed") {
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

/// Returns true if a definition for the generator contains this key: `udp:size=64,seed=7` contains `seed`.
pub(crate) fn gives(definition: &str, key: &str) -> bool {
    let pairs = definition.split_once(':').map_or("", |(_, pairs)| pairs);
    pairs.split(',').any(|pair| pair.split('=').next().map(str::trim) == Some(key))
}

/// A context with parsed texts.
#[derive(Clone, Debug)]
pub struct CheckedContext {
    /// Its position, from 0.
    pub index: usize,
    /// As it was written.
    pub spec: ContextSpec,
    /// Its matching packets; `None` is all.
    pub matcher: Option<Matcher>,
    /// The definition of its messages.
    pub message: MessageSpec,
    /// Treatment of packets when a buffer is full, a packet is early, or a message is late.
    pub delivery: Delivery,
    /// Position of its tenant among the experiment's; the first program's if there is none.
    pub tenant: Option<usize>,
}

impl Checked {
    /// The context with this name. Otherwise the context without a name that has this handler, if there is only one.
    pub fn context_index(&self, name: &str) -> Option<usize> {
        let named = self.contexts.iter().position(|context| context.spec.name.as_deref() == Some(name));
        let is_meant = |spec: &ContextSpec| spec.name.is_none() && spec.handler.as_deref() == Some(name);
        let mut meant = self.contexts.iter().enumerate().filter(|(_, context)| is_meant(&context.spec));
        named.or_else(|| meant.next().filter(|_| meant.next().is_none()).map(|(index, _)| index))
    }
}

impl Checked {
    /// Reads an experiment from `text`, which came from `file`. Relative paths in it start at `base_dir`.
    pub fn read(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ExperimentError> {
        Self::read_idle(text, file, base_dir, format)?.with_traffic()
    }

    /// The same, but an experiment without traffic is allowed, because packets may come from the caller.
    pub fn read_idle(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Self, ExperimentError> {
        let experiment: Experiment = read(text, file, format)?;
        let source_text = SourceText { text: text.into(), file: file.into(), format };
        Self::check(experiment, base_dir, source_text)
            .map_err(|(path, problem)| ExperimentError::at((text, file, format), &path, problem))
    }

    /// Refuses an experiment without traffic.
    pub fn with_traffic(self) -> Result<Self, ExperimentError> {
        if !self.sources.is_empty() {
            return Ok(self);
        }
        let SourceText { text, file, format } = self.text;
        Err(ExperimentError::at((&text, &file, format), &["traffic".into()], Box::new(Problem::NoTraffic)))
    }

    /// Parses every text of `experiment`; an error comes with the path of its key.
    fn check(mut experiment: Experiment, base_dir: &Path, text: SourceText) -> Result<Self, Fault> {
        let fail =
            |path: &[&str], problem: Problem| (path.iter().map(|&part| part.into()).collect(), Box::new(problem));
        let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
        let absolute = |path: &mut String| *path = base_dir.join(&*path).display().to_string();

        let Common { nic: NicSpec { preset, set }, faults, .. } = &experiment.common;
        let nic = nics::load(preset, &set.0, &base_dir);
        let key = if set.is_empty() { vec!["nic"] } else { vec!["nic", "set"] };
        let nic = nic.map_err(|problem| fail(&key, problem.into()))?;

        // A network that loses packets is not reliable, even if the card's parameter is true.
        let mut nic = nic;
        nic.network.reliable &= faults.0.is_reliable();
        nic.network.in_order &= faults.0.is_in_order();

        let is_chosen = preset.ends_with(".toml") || set.0.iter().any(|(path, _)| path == "delivery.timeout_cycles");
        let is_reliable = faults.0.is_reliable();
        check_program(&mut experiment.program, &base_dir).map_err(|problem| fail(&["program"], problem))?;
        check_tenants(&mut experiment, &nic, &base_dir)?;
        let sources = check_sources(&mut experiment.common, &base_dir)?;

        let found = experiment.context.len();
        if found == 0 || found > MAX_CONTEXTS {
            return Err(fail(&["context"], Problem::Number { found, allowed: MAX_CONTEXTS }));
        }
        // In captures, people and servers are silent for longer than cards wait by default. So the timeout is longer,
        // and messages that end with `last` have none if the network is reliable, because their last packet arrives.
        let silence = (SILENCE_S as f64 * nic.clock_mhz.as_f64() * 1e6) as u64;
        let has_own_times = sources
            .iter()
            .any(|source| matches!((&source.traffic, source.pacing), (Traffic::Capture(..), Pacing::Times { .. })));
        let may_be_silent = has_own_times && !is_chosen && (1..silence).contains(&nic.delivery.timeout_cycles);
        let mut contexts: Vec<CheckedContext> = Vec::new();
        for (index, spec) in experiment.context.iter_mut().enumerate() {
            let number = index.to_string();
            let path = |key| ["context", &number, key];
            if let Some(name) = spec.name.clone()
                && contexts.iter().any(|other| other.spec.name.as_ref() == Some(&name))
            {
                return Err(fail(&path("name"), Problem::Name { found: name }));
            }
            let (matcher, message) = match engine::limits(&nic) {
                Some(limits) => {
                    let key =
                        engine::checked(spec, index, &nic).map_err(|(key, problem)| fail(&path(key), problem.into()));
                    key?;
                    let compiled = spec.rule_set.as_ref().map(|set| set.compile(limits)).transpose();
                    let compiled = compiled.map_err(|problem| fail(&path("rule_set"), problem.into()))?;
                    compiled.map_or((None, MessageSpec::Each), |(matcher, message)| (Some(matcher), message))
                }
                None if spec.rule_set.is_some() => {
                    return Err(fail(&path("rule_set"), EngineError::NoEngine.into()));
                }
                None => {
                    let matcher = spec.matches.as_deref().map(Matcher::parse).transpose();
                    let message = MessageSpec::parse(&spec.message);
                    let matcher = matcher.map_err(|problem| fail(&path("match"), problem.into()))?;
                    (matcher, message.map_err(|problem| fail(&path("message"), problem.into()))?)
                }
            };
            for (key, memory) in [("handler_memory", &mut spec.handler_memory), ("host_memory", &mut spec.host_memory)]
            {
                if let Some(data) = &mut memory.data {
                    absolute(data);
                    readable(data).map_err(|problem| fail(&path(key), problem))?;
                }
            }
            let mut spec = spec.clone();
            if may_be_silent && spec.delivery.timeout_cycles.is_none() {
                let is_bound_to_end = message.needs_index() && is_reliable;
                spec.delivery.timeout_cycles = Some(if is_bound_to_end { 0 } else { silence });
            }
            let delivery = spec.delivery.over(nic.delivery);
            delivery.validate().map_err(|problem| fail(&path("delivery"), problem.into()))?;
            let tenant = spec.tenant.as_ref().map(|name| {
                let position = experiment.tenant.iter().position(|tenant| tenant.name == *name);
                position.ok_or_else(|| fail(&path("tenant"), Problem::NoTenant { found: name.clone() }))
            });
            let tenant = tenant.transpose()?;
            contexts.push(CheckedContext { index, spec, matcher, message, delivery, tenant });
        }
        let mut checked = Checked { experiment, nic, sources, contexts, text };
        checked.check_last()?;
        checked.check_actions(&base_dir)?;
        Ok(checked)
    }

    /// The place of a key in the experiment's file. For a missing key, the place of the nearest table around it.
    pub(crate) fn place(&self, path: &[&str]) -> KeyPosition {
        let path: Vec<String> = path.iter().map(|&part| part.into()).collect();
        self.text.place(&path)
    }

    /// Messages that end with the last packet of a flow need the packets of their context before the run. Returns an
    /// error if these are not known.
    fn check_last(&self) -> Result<(), Fault> {
        let Experiment { tenant, context, at, .. } = &self.experiment;
        let is_plain = context.iter().all(|context| context.installed && context.priority == 0)
            && tenant.iter().all(|tenant| tenant.scope.is_none())
            && at.iter().all(|action| action.install.is_none() && action.remove.is_none());
        match self.contexts.iter().find(|context| context.message.needs_index() && !is_plain) {
            Some(context) => {
                let path = ["context".into(), context.index.to_string(), "message".into()];
                Err((path.into(), Box::new(Problem::LastOfWhat)))
            }
            None => Ok(()),
        }
    }

    /// Checks that every action can succeed at its time.
    fn check_actions(&mut self, base_dir: &Path) -> Result<(), Fault> {
        let mut installed: Vec<bool> = self.contexts.iter().map(|context| context.spec.installed).collect();
        let mut order: Vec<usize> = (0..self.experiment.at.len()).collect();
        order.sort_by_key(|&i| self.experiment.at[i].time.time());
        for i in order {
            let number = i.to_string();
            let fail = |key: &str, problem: Problem| (vec!["at".into(), number.clone(), key.into()], Box::new(problem));
            let action = &self.experiment.at[i];
            if action.contexts().next().is_none() {
                return Err((
                    vec!["at".into(), number],
                    Box::new(Problem::Nothing { allowed: "`install`, `remove`, `write`, `read`" }),
                ));
            }
            for (key, name) in action.contexts() {
                let found = name.to_owned();
                let Some(context) = self.context_index(name) else {
                    return Err(fail(key, Problem::NoContext { found }));
                };
                match (key, installed[context]) {
                    ("install", true) => return Err(fail(key, Problem::Installed { found })),
                    ("remove", false) => return Err(fail(key, Problem::NotInstalled { found })),
                    ("install", false) => installed[context] = true,
                    ("remove", true) => installed[context] = false,
                    _ => {}
                }
            }
            if let Some(write) = &mut self.experiment.at[i].write {
                write.data = base_dir.join(&write.data).display().to_string();
                readable(&write.data).map_err(|problem| fail("write", problem))?;
            }
        }
        Ok(())
    }
}

/// The sources of packets.
fn check_sources(common: &mut Common, base_dir: &Path) -> Result<Vec<CheckedSource>, Fault> {
    let (ends, mut seed) = (Ends { kind: &kinds::HANDLERS, ports: 1, queues: 0 }, common.seed);
    let sources = common.read_sources(&ends, |spec, _| {
        spec.gap_cycles.get_or_insert(0);
        let source = spec.check(seed, base_dir)?;
        seed = seed.wrapping_add(1);
        Ok(source)
    });
    sources.map_err(|(path, problem)| (path, Box::new(problem)))
}

/// Makes paths of a program absolute, and checks that the files exist.
fn check_program(program: &mut OneOrMany<String>, base_dir: &Path) -> Result<(), Problem> {
    let found = program.len();
    if found == 0 || found > MAX_SOURCES {
        return Err(Problem::Number { found, allowed: MAX_SOURCES });
    }
    for path in program.iter_mut() {
        *path = base_dir.join(&*path).display().to_string();
        readable(path)?;
    }
    Ok(())
}

fn check_tenants(experiment: &mut Experiment, nic: &PspinParams, base_dir: &Path) -> Result<(), Fault> {
    let fail = |(key, error): (&str, IoError)| (vec!["io".into(), key.into()], Box::new(error.into()));
    experiment.io.terms(nic).map_err(fail)?;
    let found = experiment.tenant.len();
    if found > MAX_CONTEXTS {
        return Err((vec!["tenant".into()], Box::new(Problem::Number { found, allowed: MAX_CONTEXTS })));
    }
    for i in 0..found {
        let number = i.to_string();
        let fail = |key: &str, problem: Problem| (vec!["tenant".into(), number.clone(), key.into()], Box::new(problem));
        let (before, rest) = experiment.tenant.split_at_mut(i);
        let tenant = &mut rest[0];
        if before.iter().any(|other| other.name == tenant.name) {
            return Err(fail("name", Problem::TenantName { found: tenant.name.clone() }));
        }
        check_program(&mut tenant.program, base_dir).map_err(|problem| fail("program", problem))?;
        tenant.io.terms(nic).map_err(|(key, error)| {
            let (mut path, problem) = fail("io", error.into());
            path.push(key.into());
            (path, problem)
        })?;
        let scope = tenant.scope.as_deref().map(Matcher::parse).transpose();
        scope.map_err(|problem| fail("scope", problem.into()))?;
    }
    Ok(())
}

/// Returns an error if the file cannot be opened.
fn readable(path: &str) -> Result<(), Problem> {
    files::open(Path::new(path)).map(drop).map_err(|source| Problem::File { file: path.into(), source })
}
