//! Engines in the whole card, as in the paper's end-to-end experiment (7.6): two hash units of four engines and two AES units.

use ctr::cipher::{KeyIvInit, StreamCipher};
use expect_test::{Expect, expect};
use kernel::{Cycle, Time};
use panic::drops::DropReason;
use panic::nic::{Outside, Panic};
use panic::params::{PanicParams, ServiceSpec};
use panic::protocol::{Hop, Message};
use panic::world::{Arrival, Classifier, ExternalPort, Outlet, PortSource, Verdict};
use sha3::{Digest, Sha3_512};
use std::cell::RefCell;
use std::rc::Rc;

const SERVICES: &str = r#"
    [[service]]
    name = "sha"
    units = 2
    credits = 4
    [service.engine]
    kind = "sha-3-512"
    clock = { kind = "own", khz = 150_000, crossing_cycles = 2 }
    engines = 4
    fifo_flits = 25
    gap_cycles = 33
    region = { kind = "all" }
    digest = { kind = "check", mismatch = "drop" }
    headers = "keep"

    [[service]]
    name = "aes"
    units = 2
    credits = 2
    [service.engine]
    kind = "aes-256-ctr"
    clock = { kind = "nic" }
    fifo_flits = 25
    pipeline_cycles = 29
    region = { kind = "from", offset = 42 }
    trailer_bytes = 64
    headers = "keep"
    [[service.engine.keys]]
    of = { kind = "all" }
    key = "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104"
    counter = { kind = "rfc3686", nonce = "00000060" }
"#;

const KEY: [u8; 32] = [
    0x77, 0x6b, 0xef, 0xf2, 0x85, 0x1d, 0xb0, 0x6f, 0x4c, 0x8a, 0x05, 0x42, 0xc8, 0x69, 0x6f, 0x6c, 0x6a, 0x81, 0xaf,
    0x1e, 0xec, 0x96, 0xb4, 0xd3, 0x7f, 0xc1, 0xd6, 0x89, 0xe6, 0xc1, 0xc1, 0x04,
];

const BYTES: usize = 1472;
const N_PACKETS: u64 = 1500;

/// The content of a packet before encryption.
fn plain(id: u64) -> Vec<u8> {
    (0..BYTES as u64 - 42 - 8 - 64).map(|i| (i * (id + 3) >> 2) as u8).collect()
}

/// Headers, initialization vector, ciphertext, and a digest of all of it; the digest of every `bad`th packet is wrong.
fn packet(id: u64, bad: u64) -> Vec<u8> {
    let (mut packet, iv) = (vec![0x42; 42], id.to_be_bytes());
    let mut block = [0; 16];
    block[3] = 0x60;
    block[4..12].copy_from_slice(&iv);
    block[15] = 1;
    let mut data = plain(id);
    ctr::Ctr128BE::<aes::Aes256>::new(&KEY.into(), &block.into()).apply_keystream(&mut data);
    packet.extend(iv);
    packet.extend(data);
    let digest = Sha3_512::digest(&packet);
    packet.extend(digest);
    packet[0] ^= u8::from(bad > 0 && id.is_multiple_of(bad));
    packet
}

struct Paced {
    next: u64,
    gbps: u64,
    bad: u64,
}

impl Paced {
    fn due(&self) -> Option<Cycle> {
        (self.next < N_PACKETS).then(|| (self.next * BYTES as u64 * 8).div_ceil(self.gbps * 4))
    }
}

impl PortSource for Paced {
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        let id = self.next;
        self.due().filter(|&due| due <= now).map(|_| {
            self.next += 1;
            Arrival { id, bytes: packet(id, self.bad) }
        })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        self.due()
    }
}

struct Chain(Vec<u8>);

impl Classifier for Chain {
    fn classify(&mut self, _now: Cycle, _from: ExternalPort, _packet: &mut Vec<u8>) -> Verdict {
        Verdict::along(self.0.iter().map(|&service| Hop::new(service, 0)), Some(ExternalPort::Host(0)))
    }
}

#[derive(Default)]
struct Log {
    /// Packets that left, and when.
    left: Vec<(Cycle, Message)>,
    drops: u64,
    /// Reason of the last drop.
    reason: &'static str,
}

impl Outlet for Log {
    fn leave(&mut self, now: Cycle, _side: ExternalPort, message: Message) {
        self.left.push((now, message));
    }

    fn drop(&mut self, _now: Cycle, _message: Message, reason: DropReason) {
        self.drops += 1;
        self.reason = reason.word();
    }
}

#[derive(serde::Deserialize)]
struct Services {
    service: Vec<ServiceSpec>,
}

fn run(services: &str, chain: &[u8], gbps: u64, bad: u64) -> Log {
    let preset = include_str!("../../../../presets/panic.toml");
    let mut params: PanicParams = toml::from_str(preset).expect("the preset must be valid");
    params.services = toml::from_str::<Services>(services).expect("the services must be valid").service;
    let log = Rc::new(RefCell::new(Log::default()));
    let networks: Vec<Box<dyn PortSource>> = vec![Box::new(Paced { next: 0, gbps, bad })];
    let outside = Outside::new(networks, Rc::new(RefCell::new(Chain(chain.to_vec()))), log.clone());
    Panic::new(&params, 1, outside).system.run_until(Time::from_ns(100_000_000));
    let log = std::mem::take(&mut *log.borrow_mut());
    assert_eq!(log.left.len() as u64 + log.drops, N_PACKETS, "every packet must leave or be dropped");
    log
}

/// Checks the throughput in Gbit/s, without the first packets, and the share of drops.
fn check(services: &str, chain: &[u8], gbps: u64, want: Expect) {
    let log = run(services, chain, gbps, 0);
    let (from, to) = (log.left.len() / 5, log.left.len() * 4 / 5);
    let cycles = log.left[to].0 - log.left[from].0;
    let gbps = (8 * BYTES * (to - from)) as f64 / (4 * cycles) as f64;
    want.assert_eq(&format!("{gbps:.1} Gbit/s, {:.0} % lost", 100.0 * log.drops as f64 / N_PACKETS as f64));
}

/// The paper: 48 Gbit/s hashed, 64 Gbit/s decrypted.
#[test]
fn two_units_of_each_kind_have_the_papers_rates() {
    check(SERVICES, &[0], 100, expect!["48.0 Gbit/s, 46 % lost"]);
    check(&SERVICES.replace("gap_cycles = 33", "gap_cycles = 0"), &[0], 100, expect!["48.3 Gbit/s, 46 % lost"]);
    check(SERVICES, &[1], 100, expect!["64.0 Gbit/s, 30 % lost"]);
    check(SERVICES, &[0, 1], 100, expect!["47.8 Gbit/s, 46 % lost"]);
    check(SERVICES, &[0, 1], 30, expect!["30.0 Gbit/s, 0 % lost"]);
}

#[test]
fn packets_are_checked_and_decrypted() {
    let bad = (N_PACKETS.div_ceil(7), "bad-digest");
    let log = run(SERVICES, &[0, 1], 30, 7);
    assert_eq!((log.drops, log.reason), bad, "one in seven");
    for (_, message) in &log.left {
        let id = message.descriptor.id;
        let sent = packet(id, 0);
        assert_eq!(message.data, [&sent[..50], &plain(id), &sent[BYTES - 64..]].concat(), "packet {id}");
    }
}

/// The engines on the documentation page form a valid card.
#[test]
fn the_documented_engines_are_valid() {
    let page = include_str!("../../../../docs/machines/panic-engines.md");
    let services: String = page.split("```toml\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    let preset = include_str!("../../../../presets/panic.toml");
    let card = preset.split("[[service]]").next().expect("the preset must have services");
    let params: PanicParams = toml::from_str(&format!("{card}\n{services}")).expect("the page must be valid");
    params.check().expect("the page must be valid");
    let names: Vec<_> = params.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["aes", "sha", "compress", "infer", "sha1"]);
}
