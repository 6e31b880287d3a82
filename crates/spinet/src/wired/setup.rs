//! The input of a run of a card: firmware, and traffic for its sides, checked against the card.

use super::card::WiredError;
use super::experiment::{FirmwareExperiment, FirmwareSpec};
use super::timeline;
use super::traffic::{self, CardTrafficError, SideTraffic, Way};
use crate::elf::{Elf, Machine};
use crate::experiment::{
    self, Address, Common, Ends, ExperimentError, NicSpec, OneOrMany, Problem, SourceSpec, SourceText, Span,
};
use crate::files::{self, read_at_most};
use crate::kinds;
use crate::program;
use crate::toml_text::{self, Format};
use blocks::feeders::{Acknowledgements, Offered};
use blocks::netlist::{Design, Module};
use kernel::Time;
use spinach::BootLoaderParams;
use spinach::hosts;
use spinach::tigon2::FirmwareImage;
use std::io::Read;
use std::path::{Path, PathBuf};
use wire::eth::Mac;
use wire::pacing::Pacing;

/// Maximum size of a firmware image, in bytes.
pub(crate) const MOST_IMAGE_BYTES: u64 = 16 << 20;

/// Largest gap between frames from the network: 8 s of Gigabit Ethernet.
const MOST_GAP_CYCLES: u64 = 1_000_000_000;

/// Firmware in one of the accepted forms.
#[derive(Clone, Debug)]
pub enum Firmware {
    /// A program, linked for the card.
    Elf(PathBuf),
    /// An image after a header of 12 bytes: version, entry, load address.
    Image(PathBuf),
    /// An image without a header: load address and entry.
    Raw(PathBuf, u32, u32),
}

/// A checked experiment, and its firmware.
#[derive(Clone, Debug)]
pub struct Setup {
    /// As it was written, with defaults filled in.
    pub experiment: FirmwareExperiment,
    /// The folder at which relative paths start.
    pub base_dir: PathBuf,
    /// The program of the cores, if it replaces the one in the experiment.
    pub firmware: Option<Firmware>,
    /// The text that the experiment was read from.
    pub text: Option<SourceText>,
}

/// The first bytes of an ELF file.
const ELF_MAGIC: &[u8] = b"\x7fELF";

impl Setup {
    /// Reads an experiment from `text`, which came from `file`. Relative paths in it start at `base_dir`.
    pub fn read(text: &str, file: &str, base_dir: &Path, format: Format) -> Result<Setup, ExperimentError> {
        let mut experiment: FirmwareExperiment = experiment::read(text, file, format)?;
        check(&mut experiment, base_dir)
            .map_err(|(path, problem)| ExperimentError::at((text, file, format), &path, Box::new(problem)))?;
        let text = Some(SourceText { text: text.to_owned(), file: file.to_owned(), format });
        Ok(Setup { experiment, base_dir: base_dir.to_owned(), firmware: None, text })
    }

    /// The error for a key of the experiment.
    pub(super) fn fault(&self, (path, problem): Fault) -> WiredError {
        let place = self.text.as_ref().map(|text| text.place(&path)).unwrap_or_default();
        WiredError::Key { place, key: toml_text::show_path(&path), problem: Box::new(problem) }
    }

    pub(super) fn nic(&self) -> &str {
        &self.experiment.common.nic.preset
    }

    /// End of the run in simulated time. Without it, a run ends when all frames are accounted for. If traffic is
    /// endless or empty, it ends some time after the card has started.
    pub(super) fn limit(&self) -> Option<Time> {
        self.experiment.common.limit.map(Span::time)
    }
}

/// A key of the experiment, and its fault.
pub(super) type Fault = (Vec<String>, Problem);

/// Checks the card, the actions and the sources of packets; paths become absolute.
fn check(experiment: &mut FirmwareExperiment, base_dir: &Path) -> Result<(), Fault> {
    let common = &mut experiment.common;
    let base_dir = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.into());
    let absolute = |path: &mut String| {
        let found = base_dir.join(&*path);
        if found.is_file() {
            *path = found.display().to_string();
        }
    };
    if common.nic.preset.ends_with(".toml") {
        absolute(&mut common.nic.preset);
    }
    experiment.at.iter_mut().filter_map(|spec| spec.write.as_mut()).for_each(|spec| absolute(&mut spec.data));
    let NicSpec { preset, set } = &common.nic;
    let design = super::design(preset, &set.0, &base_dir).map_err(|problem| {
        let is_by_settings = !set.is_empty() && super::design(preset, &[], &base_dir).is_ok();
        let key: &[&str] = if is_by_settings { &["nic", "set"] } else { &["nic"] };
        (key.iter().map(|&key| key.to_owned()).collect(), problem.into())
    })?;
    timeline::check(&experiment.at, &design, &base_dir)?;
    let ends = Ends { kind: &kinds::MODULES, ports: 1, queues: 1 };
    let sources = common.read_sources(&ends, |spec, _| {
        if let Some(found) = spec.gap_cycles.filter(|&gap| gap > MOST_GAP_CYCLES) {
            return Err(("gap_cycles", Problem::Gap { found, allowed: MOST_GAP_CYCLES }));
        }
        spec.pacing.parse::<Pacing>().map_err(|problem| ("pacing", problem.into()))?;
        absolute(&mut spec.source);
        Ok(())
    });
    sources.map(drop)
}

/// The firmware that an experiment names.
fn named(spec: &FirmwareSpec, base_dir: &Path) -> Result<Firmware, Fault> {
    let at = |key: &str| vec!["firmware".to_owned(), key.to_owned()];
    let (Some(program), 1) = (spec.program.iter().next(), spec.program.len()) else {
        return Err((at("program"), Problem::NotCompiled));
    };
    if program::is_source(program) {
        return Err((at("program"), Problem::NotCompiled));
    }
    // Errors name the file as the user does.
    let path = base_dir.strip_prefix(".").unwrap_or(base_dir).join(program);
    let mut head = [0; 4];
    let read = files::open(&path).and_then(|mut file| file.read(&mut head));
    read.map_err(|source| (at("program"), Problem::File { file: path.display().to_string(), source }))?;
    let address = |key, Address(found)| u32::try_from(found).map_err(|_| (at(key), Problem::Address { found }));
    let load = spec.load.map(|addr| address("load", addr)).transpose()?;
    let entry = spec.entry.map(|addr| address("entry", addr)).transpose()?;
    match (head == *ELF_MAGIC, load, entry) {
        (true, None, None) => Ok(Firmware::Elf(path)),
        (true, ..) => Err((at(if load.is_some() { "load" } else { "entry" }), Problem::AddressOfElf)),
        (false, Some(load), entry) => Ok(Firmware::Raw(path, load, entry.unwrap_or(load))),
        (false, None, None) => Ok(Firmware::Image(path)),
        (false, None, Some(_)) => Err((at("entry"), Problem::EntryAlone)),
    }
}

/// The traffic from the network and from the host.
pub(super) struct Sides {
    pub network: SideTraffic,
    pub host: SideTraffic,
    replies: Option<Acknowledgements>,
    gap_cycles: u64,
}

impl Sides {
    /// The traffic in the form that the parts of a card take.
    pub fn offered(&self) -> Offered {
        let (network, host) = (self.network.traffic.clone(), self.host.traffic.clone());
        Offered { network, host, replies: self.replies, gap_cycles: self.gap_cycles }
    }
}

/// The program of the cores, with its symbols if they are known.
pub(super) struct CardProgram {
    pub elf: Option<Elf>,
    /// The image that a host loads, on a card with such a host; otherwise the program is in the memories before the run.
    pub image: Option<FirmwareImage>,
}

fn has(design: &Design, module: &str) -> bool {
    design.parts.iter().any(|part| part.module == module)
}

impl Setup {
    /// The traffic from the network and from the host of a card that has both.
    pub(super) fn sides(&self, design: &Design) -> Result<Sides, WiredError> {
        let refuse = |spec: &SourceSpec, what| {
            Err(WiredError::NoSuchSide { nic: self.nic().into(), what, text: spec.source.clone() })
        };
        let (mac, longest) = (card_mac(design), hosts::longest(design));
        let Common { traffic, send, faults, seed, .. } = &self.experiment.common;
        let read = |specs: &OneOrMany<SourceSpec>, way| {
            let parse = |(i, spec): (u64, &SourceSpec)| {
                traffic::parse(spec, way, mac, longest, (faults.0, seed.wrapping_add(i)), &self.base_dir)
            };
            traffic::merged(way, (0..).zip(specs.iter()).map(parse).collect::<Result<_, _>>()?)
        };
        let kinds = hosts::kinds(design);
        match (traffic.iter().next(), send.iter().next()) {
            (Some(spec), _) if !has(design, "packet-feeder") => return refuse(spec, "`packet-feeder`"),
            (_, Some(spec)) if kinds.is_empty() => return refuse(spec, "host"),
            _ => {}
        }
        let mut replies = None;
        for spec in send.iter() {
            let found = traffic::replies(&spec.source, mac)?;
            match found {
                Some(_) if !kinds.iter().any(|kind| kind.acknowledges) => {
                    return refuse(spec, "host that acknowledges");
                }
                Some(_) if send.len() > 1 => return Err(CardTrafficError::NotAlone { place: "send" }.into()),
                _ => replies = found,
            }
        }
        let network = read(traffic, Way::Receive)?;
        let host = if replies.is_some() { SideTraffic::default() } else { read(send, Way::Send)? };
        let gap_cycles = traffic.iter().filter_map(|spec| spec.gap_cycles).max().unwrap_or(0);
        Ok(Sides { network, host, replies, gap_cycles })
    }

    /// The firmware, as this card takes it; `compiled` is the compiled program of the experiment.
    pub(super) fn program(&self, design: &Design, compiled: Option<&Path>) -> Result<CardProgram, WiredError> {
        let firmware = match (&self.firmware, compiled, &self.experiment.firmware) {
            (Some(firmware), ..) => Some(firmware.clone()),
            (None, Some(elf), _) => Some(Firmware::Elf(elf.to_owned())),
            (None, None, Some(spec)) => Some(named(spec, &self.base_dir).map_err(|fault| self.fault(fault))?),
            (None, None, None) => None,
        };
        let kinds = hosts::kinds(design);
        // A host that loads an image needs a card with one memory; other cards may have several.
        let loads_image = !kinds.is_empty() && kinds.iter().all(|kind| kind.loads_image);
        let has_memories = !loads_image || has(design, BootLoaderParams::NAME);
        match &firmware {
            Some(Firmware::Elf(path)) if has_memories => {
                Ok(CardProgram { elf: Some(Elf::open_for(Machine::Mips, path)?), image: None })
            }
            Some(Firmware::Image(path) | Firmware::Raw(path, ..)) if has_memories => {
                Err(WiredError::NoElf { file: path.display().to_string(), nic: self.nic().into() })
            }
            Some(firmware) => {
                let (image, elf) = read_firmware(firmware)?;
                Ok(CardProgram { elf, image: Some(image) })
            }
            None if kinds.is_empty() => Ok(CardProgram { elf: None, image: None }),
            None => Err(WiredError::NoFirmware { nic: self.nic().into() }),
        }
    }
}

/// The address of the card, from its host's parameters.
fn card_mac(design: &Design) -> Mac {
    let named = |key| design.parts.iter().find_map(|part| part.parameters.get(key)?.as_str()?.parse().ok());
    let mac = named("mac").or_else(|| named("mac_address"));
    mac.unwrap_or(Mac([2, 0, 0, 0, 0, 2]))
}

/// The image, and the program if the file is one.
fn read_firmware(firmware: &Firmware) -> Result<(FirmwareImage, Option<Elf>), WiredError> {
    let name = |path: &Path| path.display().to_string();
    let read = |path: &Path| match read_at_most(path, MOST_IMAGE_BYTES) {
        Ok(data) if data.len() as u64 > MOST_IMAGE_BYTES => Err(WiredError::Long { file: name(path) }),
        Ok(data) => Ok(data),
        Err(source) => Err(WiredError::Read { file: name(path), source }),
    };
    let bad = |path: &Path, source| WiredError::Image { file: name(path), source };
    match firmware {
        Firmware::Image(path) => {
            Ok((FirmwareImage::with_header(&read(path)?).map_err(|source| bad(path, source))?, None))
        }
        Firmware::Raw(path, load, entry) => {
            Ok((FirmwareImage::raw(read(path)?, *load, *entry).map_err(|source| bad(path, source))?, None))
        }
        Firmware::Elf(path) => {
            let elf = Elf::open_for(Machine::Mips, path)?;
            let first = elf.sections.iter().map(|part| part.addr).min().unwrap_or(0);
            let end = elf.sections.iter().map(|part| part.end()).max().unwrap_or(0);
            if end - u64::from(first) > MOST_IMAGE_BYTES {
                return Err(WiredError::Long { file: name(path) });
            }
            let mut bytes = vec![0; (end - u64::from(first)) as usize];
            for part in &elf.sections {
                let at = (part.addr - first) as usize;
                bytes[at..at + part.bytes.len()].copy_from_slice(&part.bytes);
            }
            let image = FirmwareImage::raw(bytes, first, elf.entry).map_err(|source| bad(path, source))?;
            Ok((image, Some(elf)))
        }
    }
}
