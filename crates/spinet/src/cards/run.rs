//! A run of a card that is wired from modules: firmware and traffic in, frames and where the time went out.

use super::setup::{CardProgram, MOST_IMAGE_BYTES, Setup};
use super::traffic::CardTrafficError;
use super::{CardError, design};
use crate::elf::{Elf, ElfError};
use crate::slices::{Sliced, Slices};
use blocks::feeders::{FrameSink, Offered, PacketFeeder};
use blocks::mips::{MipsCore, Profile};
use blocks::netlist::{Card, Design, Environment};
use kernel::{Mode, Outcome, Time};
use spinach::LoadError;
use spinach::hosts::{self, SharedHost};
use spinach::tigon2::ImageError;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use wire::capture::WriteError;

/// Simulated time of the first slice.
const FIRST_SLICE: Time = Time::from_ns(10_000);
/// The shortest slice, and how often ends are looked for.
const SHORTEST_SLICE: Time = Time::from_ns(2_000);
/// A run whose frames are all through goes on for so long: nothing may come twice.
const GRACE: Time = Time::from_ns(200_000);
/// A run some of whose frames have not come out goes on for so long after the last that did: they may still be in the card.
const LONG_GRACE: Time = Time::from_ns(5_000_000);
/// A run in which no frame moves for so long, though some are still to come, is over.
const PATIENCE: Time = Time::from_ns(50_000_000);
/// A run that cannot be.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum CardRunError {
    #[error(transparent)]
    Card(#[from] CardError),
    #[error(transparent)]
    Traffic(#[from] CardTrafficError),
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{file}: {source}")]
    Write { file: String, source: WriteError },
    #[error("{file}: {source}")]
    Image { file: String, source: ImageError },
    #[error("{file}: {source}")]
    Load { file: String, source: LoadError },
    #[error("{file}: firmware of {nic} must be an ELF file: an image says nothing of its two memories")]
    NoElf { file: String, nic: String },
    #[error("{file}: it has more than {MOST_IMAGE_BYTES} bytes, which no card holds")]
    Long { file: String },
    #[error("{nic}: its host loads firmware; name some with --firmware")]
    NoFirmware { nic: String },
    #[error("{nic}: {problem}")]
    Offered { nic: String, problem: String },
    #[error("{nic}: there is no {what} on this card, so nothing can come of `{text}`")]
    NoSuchSide { nic: String, what: &'static str, text: String },
}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CardEnded {
    /// All frames are through.
    Complete,
    /// The limit in simulated time.
    Limit,
    /// A core stopped by itself.
    Trouble(String),
    /// The host found that the card does not serve it, or no frame moved for too long.
    Stalled(String),
    /// Everything sleeps though frames are still to come.
    Quiet,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CardProgress {
    /// It has ended.
    pub is_done: bool,
    /// Frames that came out of the card, on both sides.
    pub frames: u64,
    /// Simulated time.
    pub simulated: Time,
    /// Part of the run that is over, by frames or time, whichever is further.
    pub fraction: f64,
}

/// A run. It lives on one thread.
pub struct CardRun {
    pub(super) setup: Setup,
    pub(super) design: Design,
    pub(super) card: Card,
    pub(super) elf: Option<Elf>,
    pub(super) hosts: Vec<SharedHost>,
    pub(super) cores: Vec<(String, Rc<RefCell<MipsCore>>)>,
    pub(super) feeders: Vec<Rc<RefCell<PacketFeeder>>>,
    pub(super) sinks: Vec<Rc<RefCell<FrameSink>>>,
    pub(super) offered: Offered,
    pub(super) now: Time,
    /// When a frame last came out, and how many had by then.
    moved: (Time, u64),
    pub(super) slices: Slices,
    pub(super) ended: Option<CardEnded>,
}

impl CardRun {
    /// Builds the card.
    pub fn new(setup: Setup) -> Result<CardRun, CardRunError> {
        let design = design(&setup.nic, &setup.settings, &setup.base_dir)?;
        let offered = setup.offered(&design)?;
        let CardProgram { elf, image } = setup.program(&design)?;
        let mut environment = Environment::default();
        environment.insert(Rc::new(offered.clone()));
        let is_loaded_by_host = image.is_some();
        image.into_iter().for_each(|image| environment.insert(Rc::new(image)));
        let card = Card::build(&design, setup.seed, &environment);
        if let (false, Some(elf)) = (is_loaded_by_host, &elf) {
            let parts = elf.sections.iter().map(|part| (part.addr, &part.bytes[..]));
            spinach::load(&card, elf.entry, parts)
                .map_err(|source| CardRunError::Load { file: elf.file.clone(), source })?;
        }
        let cores = card.parts::<MipsCore>();
        let cores: Vec<_> = cores.into_iter().map(|(path, core)| (path.to_owned(), core)).collect();
        if setup.profile {
            let ranges = counted(elf.as_ref());
            cores.iter().for_each(|(_, core)| core.borrow_mut().set_profile(Profile::new(ranges.clone())));
        }
        let feeders = card.parts::<PacketFeeder>().into_iter().map(|(_, feeder)| feeder).collect();
        let sinks = card.parts::<FrameSink>().into_iter().map(|(_, sink)| sink).collect();
        let hosts = hosts::of(&card);
        for host in &hosts {
            host.borrow()
                .check(&offered)
                .map_err(|problem| CardRunError::Offered { nic: setup.nic.clone(), problem })?;
        }
        Ok(CardRun {
            setup,
            design,
            card,
            elf,
            hosts,
            cores,
            feeders,
            sinks,
            offered,
            now: Time::ZERO,
            moved: (Time::ZERO, 0),
            slices: Slices::new(FIRST_SLICE.fs(), SHORTEST_SLICE.fs()),
            ended: None,
        })
    }

    /// In which order components tick; no result depends on it.
    pub fn set_mode(&mut self, mode: Mode) {
        self.card.system.set_mode(mode);
    }

    /// The running card, for tests and tools that look into it.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Why it ended, if it did.
    pub fn ended(&self) -> Option<&CardEnded> {
        self.ended.as_ref()
    }

    /// Runs for about `budget` of wall time, or to the end. How it is sliced changes no result.
    pub fn advance(&mut self, budget: Duration) -> CardProgress {
        let Ok(()) = self.run_for(budget);
        self.progress()
    }

    /// Frames that came out: at the network and at the hosts.
    fn frames(&self) -> u64 {
        let sent: u64 = self.sinks.iter().map(|sink| sink.borrow().log().frames()).sum();
        sent + self.hosts.iter().map(|host| host.borrow().received().frames()).sum::<u64>()
    }

    fn judge(&mut self, outcome: Outcome) -> Option<CardEnded> {
        let frames = self.frames();
        let has_started = self.hosts.iter().all(|host| host.borrow().started().is_some());
        if frames != self.moved.1 || !has_started {
            self.moved = (self.now, frames);
        }
        if let Some(text) = self.trouble() {
            return Some(CardEnded::Trouble(text));
        }
        if let Some(text) = self.hosts.iter().find_map(|host| host.borrow().diagnosis()) {
            return Some(CardEnded::Stalled(text));
        }
        // Nothing moves before the hosts have started.
        let begun = self.hosts.iter().filter_map(|host| host.borrow().started()).max().unwrap_or(Time::ZERO);
        let still = self.now - self.moved.0.max(begun);
        let offered = [&self.offered.network, &self.offered.host].map(|traffic| traffic.count().unwrap_or(u64::MAX));
        let grace = if frames >= offered[0].saturating_add(offered[1]) { GRACE } else { LONG_GRACE };
        let is_through = self.is_through();
        match () {
            _ if is_through && still >= grace => Some(CardEnded::Complete),
            _ if outcome == Outcome::Quiet => Some(if is_through { CardEnded::Complete } else { CardEnded::Quiet }),
            _ if self.now >= self.setup.limit => Some(CardEnded::Limit),
            _ if still >= PATIENCE && has_started => {
                let text = format!("no frame came out of the card for {} ms", PATIENCE.fs() / 1_000_000_000_000);
                Some(CardEnded::Stalled(text))
            }
            _ => None,
        }
    }

    /// Whether all that was offered has been given to the card and has come out or been dropped, as far as sides know.
    pub(super) fn is_through(&self) -> bool {
        let any = self.offers_frames();
        let finite = self.offered.network.count().is_some() && self.offered.host.count().is_some();
        any && finite
            && self.feeders.iter().all(|feeder| feeder.borrow().is_done())
            && self.hosts.iter().all(|host| host.borrow().started().is_some() && host.borrow().is_done())
    }

    /// Whether there is anything to come through.
    pub(super) fn offers_frames(&self) -> bool {
        [&self.offered.network, &self.offered.host].iter().any(|traffic| traffic.count() != Some(0))
    }

    /// The first core that stopped by itself, in words.
    fn trouble(&self) -> Option<String> {
        self.cores.iter().find_map(|(path, core)| {
            let trouble = core.borrow().trouble()?;
            let place = self.elf.as_ref().map_or_else(|| format!("0x{:08x}", trouble.pc), |elf| elf.place(trouble.pc));
            Some(format!(
                "{path} stopped at {place} (pc 0x{:08x}): {}, 0x{:x}",
                trouble.pc,
                trouble.cause.text(),
                trouble.value
            ))
        })
    }

    /// How far the run is.
    pub fn progress(&self) -> CardProgress {
        let frames = self.frames();
        let part = |done: u64, all: u64| if all == 0 { 0.0 } else { done as f64 / all as f64 };
        let by_time = part(self.now.fs(), self.setup.limit.fs());
        let counts = [self.offered.network.count(), self.offered.host.count()];
        let by_frames = match counts {
            [Some(network), Some(host)] => part(frames, network + host),
            _ => 0.0,
        };
        let is_done = self.ended.is_some();
        let fraction = if is_done { 1.0 } else { by_time.max(by_frames).min(1.0) };
        CardProgress { is_done, frames, simulated: self.now, fraction }
    }
}

impl Sliced for CardRun {
    type Error = Infallible;

    fn slices(&mut self) -> &mut Slices {
        &mut self.slices
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn slice(&mut self, length: u64) -> Result<(), Infallible> {
        let end = Time::from_fs(self.now.fs().saturating_add(length)).min(self.setup.limit);
        let mut outcome = Outcome::Limit;
        // Ends are looked for at the same times however long slices are.
        while self.ended.is_none() && self.now < end {
            let next = Time::from_fs((self.now.fs() / SHORTEST_SLICE.fs() + 1) * SHORTEST_SLICE.fs());
            let next = next.min(self.setup.limit);
            outcome = self.card.system.run_until(next);
            self.now = next;
            self.ended = self.judge(outcome);
        }
        debug_assert!(self.ended.is_some() || outcome == Outcome::Limit, "a quiet card has ended");
        Ok(())
    }
}

/// Addresses and bytes of what is counted by program counter. A file may claim any size; of what is beyond what a card holds,
/// the sum is counted.
fn counted(elf: Option<&Elf>) -> Vec<(u32, u32)> {
    let mut room = MOST_IMAGE_BYTES as u32;
    let ranges = elf.into_iter().flat_map(|elf| &elf.segments).map(|part| {
        let bytes = part.size.min(room);
        room -= bytes;
        (part.addr, bytes)
    });
    ranges.collect()
}
