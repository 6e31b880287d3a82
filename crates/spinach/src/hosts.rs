//! Hosts that act as drivers of cards: what whoever runs a card asks of them, and what it must know before, a row each.

use crate::tengig::{TengigHost, TengigHostParams};
use crate::tigon2::Tigon2Host;
use crate::tigon2::host::Tigon2HostParams;
use blocks::feeders::{Checker, FrameLog, Offered};
use blocks::netlist::{Card, Design, Module};
use kernel::Time;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a run asks of a host.
pub trait Host {
    /// What is wrong with the traffic for it.
    fn check(&self, offered: &Offered) -> Result<(), String>;
    /// When start-up was over, if it is.
    fn started(&self) -> Option<Time>;
    /// Whether all that it is to send has been sent.
    fn is_done(&self) -> bool;
    /// When frames were received.
    fn received(&self) -> &FrameLog;
    /// When frames were posted.
    fn posted(&self) -> &FrameLog;
    /// What the check of those received says.
    fn checker(&self) -> &Checker;
    /// Frames that the card handed over as damaged.
    fn damaged(&self) -> u64;
    /// When the next frame that it is to send is due, once it has started.
    fn next_send(&self) -> Option<Time>;
    /// Lets frames that it is still to send be due earlier by `span`.
    fn skip(&self, now: Time, span: Time);
    /// Why it believes that the card does not serve it.
    fn diagnosis(&self) -> Option<String>;
    /// Rings as it sees them, in words.
    fn rings(&self) -> Vec<String>;
    /// The first things the card did that no card should do.
    fn faults(&self) -> Vec<String>;
}

/// A host of a running card.
pub type SharedHost = Rc<RefCell<dyn Host>>;

/// A kind of host.
#[derive(Clone, Copy)]
pub struct HostKind {
    /// Its module.
    pub module: &'static str,
    /// The folder in `firmware/` whose driver it is.
    pub firmware: &'static str,
    /// It writes an image of firmware into the card's one memory; else firmware is in its card before the first cycle.
    pub loads_image: bool,
    /// Bytes of the longest frame, without check sequence, that such a host of a card takes and sends.
    pub longest: fn(&BTreeMap<String, toml::Value>) -> Option<usize>,
    /// It can answer what it receives with acknowledgements.
    pub acknowledges: bool,
    find: fn(&Card) -> Vec<SharedHost>,
}

/// All kinds. A new one is its files and its row here.
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

/// The kinds of hosts that a card has.
pub fn kinds(design: &Design) -> Vec<HostKind> {
    let is_there = |kind: &HostKind| design.parts.iter().any(|part| part.module == kind.module);
    HOSTS.into_iter().filter(is_there).collect()
}

/// Bytes of the longest frame, without check sequence, that every host of a card takes and sends.
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
