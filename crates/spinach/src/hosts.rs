//! Hosts that act as drivers of cards: the interface for a run, and the table of kinds.

use crate::tengig::{TengigHost, TengigHostParams};
use crate::tigon2::Tigon2Host;
use crate::tigon2::host::Tigon2HostParams;
use blocks::feeders::{Checker, FrameLog, HostPlace, Offered};
use blocks::netlist::{Card, Design, Module};
use kernel::Time;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A host, as a run sees it.
pub trait Host {
    /// Checks the traffic for this host.
    fn check(&self, offered: &Offered) -> Result<(), String>;
    /// End of start-up, if it is over.
    fn started(&self) -> Option<Time>;
    /// Returns true if all frames have been sent.
    fn is_done(&self) -> bool;
    /// Log of received frames.
    fn received(&self) -> &FrameLog;
    /// Log of posted frames.
    fn posted(&self) -> &FrameLog;
    /// Keeps the places of frames from now on.
    fn keep_places(&mut self);
    /// Places of posted frames, and places of received frames, in order of time; none unless they are kept.
    fn places(&self) -> [&[HostPlace]; 2];
    /// Check of the received frames.
    fn checker(&self) -> &Checker;
    /// Number of frames that the card marked as damaged.
    fn damaged(&self) -> u64;
    /// Due time of the next frame to send, after start-up.
    fn next_send(&self) -> Option<Time>;
    /// Moves the due times of remaining frames forward by `span`.
    fn skip(&self, now: Time, span: Time);
    /// The reason for which the host believes that the card no longer serves it.
    fn diagnosis(&self) -> Option<String>;
    /// State of its rings, as text.
    fn rings(&self) -> Vec<String>;
    /// The first violations of the protocol by the card.
    fn faults(&self) -> Vec<String>;
}

/// A host of a running card.
pub type SharedHost = Rc<RefCell<dyn Host>>;

/// A kind of host.
#[derive(Clone, Copy)]
pub struct HostKind {
    /// Name of its module.
    pub module: &'static str,
    /// The folder in `firmware/` with the firmware for this driver.
    pub firmware: &'static str,
    /// True if it writes a firmware image into the card's single memory; false if firmware is in the card before the first
    /// cycle.
    pub loads_image: bool,
    /// Longest frame that the host takes and sends, in bytes without check sequence, from its parameters.
    pub longest: fn(&BTreeMap<String, toml::Value>) -> Option<usize>,
    /// True if it can answer received frames with acknowledgments.
    pub acknowledges: bool,
    find: fn(&Card) -> Vec<SharedHost>,
}

/// All kinds. To add one, add its files and a row here.
pub const HOSTS: [HostKind; 2] = [
    HostKind {
        module: Tigon2HostParams::NAME,
        firmware: "tigon2",
        loads_image: true,
        longest: Tigon2HostParams::longest_of,
        acknowledges: true,
        find: found::<Tigon2Host>,
    },
    HostKind {
        module: TengigHostParams::NAME,
        firmware: "tengig",
        loads_image: false,
        longest: |parameters| usize::try_from(parameters.get("longest_frame")?.as_integer()?).ok(),
        acknowledges: false,
        find: found::<TengigHost>,
    },
];

fn found<H: Host + 'static>(card: &Card) -> Vec<SharedHost> {
    card.parts::<H>().into_iter().map(|(_, host)| host as SharedHost).collect()
}

/// The kinds of hosts on a card.
pub fn kinds(design: &Design) -> Vec<HostKind> {
    let is_there = |kind: &HostKind| design.parts.iter().any(|part| part.module == kind.module);
    HOSTS.into_iter().filter(is_there).collect()
}

/// Longest frame that every host of a card takes and sends, in bytes without check sequence.
pub fn longest(design: &Design) -> Option<usize> {
    let of = |kind: &HostKind| {
        let parts = design.parts.iter().filter(|part| part.module == kind.module);
        parts.filter_map(|part| (kind.longest)(&part.parameters)).min()
    };
    kinds(design).iter().filter_map(of).min()
}

/// All hosts of a card.
pub fn of(card: &Card) -> Vec<SharedHost> {
    HOSTS.iter().flat_map(|kind| (kind.find)(card)).collect()
}
