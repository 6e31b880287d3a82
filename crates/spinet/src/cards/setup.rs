//! What a run of a card is given: firmware, and traffic for its sides, checked against the card.

use super::run::CardRunError;
use super::traffic::{self, Side, Terms, Way};
use crate::elf::{Elf, Machine};
use crate::files::read_at_most;
use crate::nics::Setting;
use blocks::feeders::{Acknowledgements, Offered};
use blocks::netlist::{Design, Module};
use kernel::Time;
use spinach::BootLoaderParams;
use spinach::hosts;
use spinach::tigon2::FirmwareImage;
use std::path::{Path, PathBuf};
use wire::eth::Mac;

/// Bytes that an image of firmware may have.
pub(super) const MOST_IMAGE_BYTES: u64 = 16 << 20;

/// Firmware as somebody has it.
#[derive(Clone, Debug)]
pub enum Firmware {
    /// A program, linked for the card.
    Elf(PathBuf),
    /// An image behind a header of 12 bytes: version, entry, load address.
    Image(PathBuf),
    /// An image without a header: load address and entry.
    Raw(PathBuf, u32, u32),
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name of a card, or path of its file.
    pub nic: String,
    /// Single values over it.
    pub settings: Vec<Setting>,
    /// Where paths begin.
    pub base_dir: PathBuf,
    /// What the cores execute; cards without cores need none.
    pub firmware: Option<Firmware>,
    /// What comes from the network, as a text.
    pub traffic: Option<String>,
    /// What the host sends, as a text.
    pub send: Option<String>,
    /// What is said of the frames of both sides.
    pub terms: Terms,
    /// End of the run in simulated time. Without one, a run ends when all frames are accounted for; one with endless
    /// traffic, or without any, some time after the card has started.
    pub limit: Option<Time>,
    /// Count by program counter.
    pub profile: bool,
}

/// What comes from the network and from the host.
pub(super) struct Sides {
    pub network: Side,
    pub host: Side,
    replies: Option<Acknowledgements>,
}

impl Sides {
    /// The same as the parts of a card know it.
    pub fn offered(&self) -> Offered {
        Offered { network: self.network.traffic.clone(), host: self.host.traffic.clone(), replies: self.replies }
    }
}

/// What the cores execute, as far as anybody knows it.
pub(super) struct CardProgram {
    pub elf: Option<Elf>,
    /// The same as a host loads it, on a card whose host does; else the program is in the memories before the run.
    pub image: Option<FirmwareImage>,
}

fn has(design: &Design, module: &str) -> bool {
    design.parts.iter().any(|part| part.module == module)
}

impl Setup {
    /// What comes from the network and from the host of a card that has both.
    pub(super) fn sides(&self, design: &Design) -> Result<Sides, CardRunError> {
        let refuse = |text: &Option<String>, what| {
            Err(CardRunError::NoSuchSide { nic: self.nic.clone(), what, text: text.clone().unwrap_or_default() })
        };
        let (mac, longest) = (card_mac(design), hosts::longest(design));
        let read = |text: &Option<String>, way| match text {
            Some(text) => traffic::parse(text, way, mac, longest, &self.terms, &self.base_dir),
            None => Ok(Side::default()),
        };
        if self.traffic.is_some() && !has(design, "packet-feeder") {
            return refuse(&self.traffic, "`packet-feeder`");
        }
        let kinds = hosts::kinds(design);
        if self.send.is_some() && kinds.is_empty() {
            return refuse(&self.send, "host");
        }
        let replies = self.send.as_deref().map(|text| traffic::replies(text, mac)).transpose()?.flatten();
        if replies.is_some() && !kinds.iter().any(|kind| kind.acknowledges) {
            return refuse(&self.send, "host that acknowledges");
        }
        let network = read(&self.traffic, Way::Receive)?;
        let host = if replies.is_some() { Side::default() } else { read(&self.send, Way::Send)? };
        Ok(Sides { network, host, replies })
    }

    /// The firmware, as this card takes it.
    pub(super) fn program(&self, design: &Design) -> Result<CardProgram, CardRunError> {
        let kinds = hosts::kinds(design);
        // A host that loads an image does so into a card of one memory; with others, and without any, there may be several.
        let loads_image = !kinds.is_empty() && kinds.iter().all(|kind| kind.loads_image);
        let has_memories = !loads_image || has(design, BootLoaderParams::NAME);
        match &self.firmware {
            Some(Firmware::Elf(path)) if has_memories => {
                Ok(CardProgram { elf: Some(Elf::open_for(Machine::Mips, path)?), image: None })
            }
            Some(Firmware::Image(path) | Firmware::Raw(path, ..)) if has_memories => {
                Err(CardRunError::NoElf { file: path.display().to_string(), nic: self.nic.clone() })
            }
            Some(firmware) => {
                let (image, elf) = read_firmware(firmware)?;
                Ok(CardProgram { elf, image: Some(image) })
            }
            None if kinds.is_empty() => Ok(CardProgram { elf: None, image: None }),
            None => Err(CardRunError::NoFirmware { nic: self.nic.clone() }),
        }
    }
}

/// The address of the card, as its host says it.
fn card_mac(design: &Design) -> Mac {
    let named = |key| design.parts.iter().find_map(|part| part.parameters.get(key)?.as_str()?.parse().ok());
    let mac = named("mac").or_else(|| named("mac_address"));
    mac.unwrap_or(Mac([2, 0, 0, 0, 0, 2]))
}

/// The image, and the program if the file is one.
fn read_firmware(firmware: &Firmware) -> Result<(FirmwareImage, Option<Elf>), CardRunError> {
    let name = |path: &Path| path.display().to_string();
    let read = |path: &Path| match read_at_most(path, MOST_IMAGE_BYTES) {
        Ok(data) if data.len() as u64 > MOST_IMAGE_BYTES => Err(CardRunError::Long { file: name(path) }),
        Ok(data) => Ok(data),
        Err(source) => Err(CardRunError::Read { file: name(path), source }),
    };
    let bad = |path: &Path, source| CardRunError::Image { file: name(path), source };
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
                return Err(CardRunError::Long { file: name(path) });
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
