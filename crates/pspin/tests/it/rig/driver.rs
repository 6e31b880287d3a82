//! Drives the model as PsPIN's generic driver drives the RTL, and measures the same quantities.

use super::measured::Boot;
use super::{Card, Seen, context, image, packet, published, simulate};
use kernel::Mode;
use pspin::Pspin;
use pspin::iommu::PageTables;
use pspin::world::{Arrival, PacketDone};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Where PsPIN's driver puts host memory, and the page that begins there.
const HOST: u64 = 0xdead_beef_dead_beef;
const HOST_PAGE: u64 = 0xdead_beef_dead_b000;

/// A program, and what arrives. The names of the driver's options are in brackets.
#[derive(Clone, Debug, Deserialize)]
pub struct Conditions {
    /// The handlers' name without its suffix; `chain` also has a header and a completion handler.
    pub handler: String,
    /// Alignment of functions; without one, handlers begin in the last halfword of a fetch line.
    pub align: Option<u32>,
    /// Messages [-m].
    #[serde(default = "one")]
    pub messages: u64,
    /// Packets of each message [-p].
    pub packets: u64,
    /// Bytes of each packet [-s].
    pub bytes: usize,
    /// Cycles from one packet to the next [-d]; 0 and 1 are the same.
    #[serde(default)]
    pub delay: u64,
    /// Cycles behind the last packet of a message [-l].
    #[serde(default)]
    pub last_delay: u64,
    /// If true, packets of the messages alternate; otherwise messages follow each other.
    #[serde(default)]
    pub interleaved: bool,
    /// If true, messages are numbered 0, 1, 2 and so on, like interleaved ones; otherwise 0, 2, 4 and so on.
    #[serde(default)]
    pub consecutive_ids: bool,
    /// Host memory begins at a page.
    #[serde(default)]
    pub host_aligned: bool,
    /// The state that boot code left before the first packet; by default, that of the boot code of `tests/rtl`.
    #[serde(skip)]
    pub boot: Option<Boot>,
    /// An ELF file that replaces the program of `tests/rtl`.
    #[serde(skip)]
    pub elf: Option<PathBuf>,
}

fn one() -> u64 {
    1
}

/// The default conditions of PsPIN's generic driver.
impl Default for Conditions {
    fn default() -> Conditions {
        Conditions {
            handler: String::new(),
            align: None,
            messages: 1,
            packets: 32,
            bytes: 1024,
            delay: 20,
            last_delay: 40,
            interleaved: false,
            consecutive_ids: false,
            host_aligned: false,
            boot: None,
            elf: None,
        }
    }
}

/// The steps of one packet, in cycles.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    pub number: u64,
    pub arrived: u64,
    pub her: u64,
    pub dispatched: u64,
    pub cluster: u64,
    pub accepted: u64,
    pub copied: u64,
    pub assigned: u64,
    pub core: u64,
    /// Cycles in which the nops before and after the payload handler leave decode.
    pub started: u64,
    pub ended: u64,
    pub doorbell_granted: u64,
    /// The feedback reaches the NIC.
    pub done: u64,
}

impl Packet {
    pub fn nic(&self) -> u64 {
        self.done - self.arrived
    }

    pub fn her_latency(&self) -> u64 {
        self.done - self.her
    }

    pub fn nic_to_her(&self) -> u64 {
        self.her - self.arrived
    }

    /// Cycles between the two nops.
    pub fn handler(&self) -> u64 {
        self.ended - self.started - 1
    }
}

/// A run.
pub struct Driven {
    pub seen: Seen,
    /// Packets that were not lost, in order of arrival.
    pub packets: Vec<Packet>,
    /// Cycles of the feedbacks, in order.
    pub feedbacks: Vec<u64>,
    bytes: usize,
}

/// The measured program with this handler.
fn program(conditions: &Conditions) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtl");
    let ending = conditions.align.map_or(String::new(), |align| format!("_a{align}"));
    let name = format!("{}_ph", conditions.handler);
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the programs are committed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "elf"))
        .filter(|path| {
            let stem = path.file_stem().expect("a name").to_string_lossy();
            if ending.is_empty() { !stem.contains("_a") } else { stem.ends_with(&ending) }
        })
        .collect();
    programs.retain(|path| {
        let bytes = std::fs::read(path).expect("a program that is committed");
        bytes
            .windows(name.len() + 2)
            .any(|at| at[0] == 0 && at.ends_with(b"\0") && at[1..].starts_with(name.as_bytes()))
    });
    assert_eq!(programs.len(), 1, "programs with the handler {name}: {programs:?}");
    programs.remove(0)
}

/// A cycle in which all cores have booted and wait.
const BOOTED: u64 = 2_000;

/// The first words that the runtime writes in the lowest stack. The runtimes of `tests/rtl` and of the measured programs
/// write the same words. Each stack begins at the same bank.
const STACK_WORDS: [u32; 6] = [0x3C0, 0x3C4, 0x3C8, 0x3CC, 0x3D8, 0x3DC];

/// Sets the arbiters to the state in which the boot code of measured programs left them. That boot code also let each core
/// write a word of its own, from the start of L1 on.
fn leave(boot: &Boot, nic: &mut Pspin) {
    for ((cluster, &grants), stacks) in (0..).zip(&boot.fetch_grants).zip(&boot.stacks) {
        nic.set_fetch_grants(cluster, grants);
        (0..8).for_each(|core| nic.set_bank_turn(cluster, 4 * core, core));
        assert_eq!(stacks.len(), STACK_WORDS.len(), "a core for each bank");
        let cores = stacks.chars().map(|core| core.to_digit(8).expect("a core of the cluster"));
        STACK_WORDS.into_iter().zip(cores).for_each(|(word, core)| nic.set_bank_turn(cluster, word, core));
    }
}

/// Runs the conditions.
pub fn drive(conditions: &Conditions) -> Driven {
    let path = conditions.elf.clone().unwrap_or_else(|| program(conditions));
    let elf = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = conditions.handler.as_str();
    let suffixes = ["hh", "ph", "th"].map(|kind| format!("{name}_{kind}"));
    let (image, handlers) = image(&elf, [&suffixes[0], &suffixes[1], &suffixes[2]]);
    let context = context(handlers, if conditions.host_aligned { HOST_PAGE } else { HOST });
    let Conditions { messages, packets, bytes, delay, last_delay, interleaved, consecutive_ids, .. } = *conditions;
    let boot = conditions.boot.as_ref();
    let earliest = if boot.is_some() { 2 * BOOTED } else { 0 };
    let source = (0..messages * packets).map(move |i| {
        let (message, number) = if interleaved { (i % messages, i / messages) } else { (i / packets, i % packets) };
        let eom = number == packets - 1;
        Arrival {
            earliest,
            gap: if eom && !interleaved { last_delay } else { delay },
            bytes: packet(i, bytes),
            msgid: (message * if interleaved || consecutive_ids { 1 } else { 2 }) as u16,
            som: None,
            eom,
            xfer_size: bytes as u32,
            context: context.clone(),
            evicts: None,
            user: i,
        }
    });
    let card = Card { params: published(), tables: PageTables::default(), mode: Mode::Normal };
    let seen = simulate(card, image, source, |nic| {
        if let Some(boot) = boot {
            nic.run_until(BOOTED);
            leave(boot, nic);
        }
    });
    let mut feedbacks: Vec<u64> = seen.done.iter().map(|done| done.feedback).collect();
    feedbacks.sort_unstable();
    let mut packets: Vec<Packet> = seen.done.iter().map(|done| events_of(&seen, done)).collect();
    packets.sort_by_key(|packet| packet.number);
    Driven { seen, packets, feedbacks, bytes }
}

/// The payload task's events. The runtime of `tests/rtl` has its first nop directly behind the read of the handler's address,
/// and its second one directly before the doorbell.
fn events_of(seen: &Seen, done: &PacketDone) -> Packet {
    let mut packet = Packet {
        number: done.user,
        arrived: done.nic_arrival,
        her: done.her,
        done: done.feedback,
        ..Packet::default()
    };
    let payload = |values: &[u64]| values[0] == done.packet.0 && values[1] == 1;
    for (cycle, _, name, values) in &seen.events {
        match *name {
            "task_dispatched" if payload(values) => (packet.dispatched, packet.cluster) = (*cycle, values[2]),
            "task_accepted" if payload(values) => packet.accepted = *cycle,
            "task_copied" if payload(values) => packet.copied = *cycle,
            "task_assigned" if payload(values) => (packet.assigned, packet.core) = (*cycle, values[2]),
            "handler_start" if payload(values) => packet.started = *cycle,
            "handler_end" if payload(values) => (packet.ended, packet.doorbell_granted) = (*cycle - 2, *cycle),
            _ => {}
        }
    }
    packet
}

impl Driven {
    pub fn all(&self, of: fn(&Packet) -> u64) -> Vec<u64> {
        self.packets.iter().map(of).collect()
    }

    /// Mean, least, largest.
    pub fn spread(&self, of: fn(&Packet) -> u64) -> [f64; 3] {
        let all = self.all(of);
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        [mean, *all.iter().min().expect("packets") as f64, *all.iter().max().expect("packets") as f64]
    }

    /// Mean cycles from one feedback to the next.
    pub fn interval(&self) -> f64 {
        let n = self.feedbacks.len();
        (self.feedbacks[n - 1] - self.feedbacks[0]) as f64 / (n - 1) as f64
    }

    /// Gbit/s of the packets that are done between two quantiles of the feedbacks, given as shares from 0 to 1.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        let n = self.feedbacks.len();
        let [first, last] = [from, to].map(|share| (n as f64 * share) as usize);
        let cycles = self.feedbacks[last.min(n - 1)] - self.feedbacks[first];
        ((last - first) * self.bytes * 8) as f64 / cycles as f64
    }

    /// Gbit/s that left for the network: from the end of the first packet to that of the last.
    pub fn out(&self) -> f64 {
        let sent = &self.seen.sent;
        let bits: usize = sent.iter().skip(1).map(|departure| departure.bytes.len() * 8).sum();
        bits as f64 / (sent.last().expect("a packet").cycle - sent[0].cycle) as f64
    }

    /// Gbit/s of all beats written to the host.
    pub fn written(&self) -> f64 {
        self.host("host_written", |bytes| bytes)
    }

    /// Gbit/s of all beats read from the host, as the RTL's model of the host counts them (`AXISlave.hpp`,
    /// get_next_r_beat): each as 64 bytes, even if fewer are requested.
    pub fn read(&self) -> f64 {
        self.host("host_read", |_| 64)
    }

    fn host(&self, event: &str, counted: impl Fn(u64) -> u64) -> f64 {
        let beats: Vec<_> = self.seen.named(event).collect();
        let bits: u64 = beats.iter().map(|(.., values)| counted(values[1]) * 8).sum();
        bits as f64 / (beats[beats.len() - 1].0 - beats[0].0) as f64
    }

    pub fn beats(&self, event: &str) -> f64 {
        self.seen.named(event).count() as f64
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A line for each packet: cycles from the first packet's arrival.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "packet,nic,her,dispatched,cluster,accepted,copied,assigned,core,start,end,doorbell_granted,feedback\n",
        );
        let first = self.packets.first().map_or(0, |packet| packet.arrived);
        for packet in &self.packets {
            let Packet { number, arrived, her, dispatched, cluster, accepted, copied, assigned, .. } = packet;
            let Packet { core, started, ended, doorbell_granted, done, .. } = packet;
            let [arrived, her, dispatched, accepted, copied] =
                [arrived, her, dispatched, accepted, copied].map(|at| at.saturating_sub(first));
            let [assigned, started, ended, doorbell_granted, done] =
                [assigned, started, ended, doorbell_granted, done].map(|at| at.saturating_sub(first));
            text += &format!(
                "{number},{arrived},{her},{dispatched},{cluster},{accepted},{copied},{assigned},{core},{started},{ended},\
                 {doorbell_granted},{done}\n"
            );
        }
        text
    }
}
