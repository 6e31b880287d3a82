//! Code that tests of several components share.

use crate::host_events::Notice;
use crate::host_link::{HOST_CHANNEL_ITEMS, HostPort, HostTarget};
use crate::nhi::NhiPort;
use crate::params::PspinParams;
use crate::pcie::{Pcie, PciePorts};
use crate::protocol::{
    BEAT_BYTES, Burst, BurstReply, COMMAND_WORDS, Command, CommandId, CommandTarget, Context, Her, PacketId, Region,
    Sender, beats,
};
use crate::remap::Remap;
use crate::world::HostMemory;
use blocks::pcie::PcieParams;
use kernel::{Activity, Component, Cycle, Ports, Rx, Tx};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use testkit::{Bench, Log};

/// The machine as published in RTL.
pub fn params() -> PspinParams {
    testkit::preset(include_str!("../../../presets/pspin.toml"), include_str!("../../../presets/pspin-rtl.toml"))
}

/// The machine as the paper describes it.
pub fn paper_params() -> PspinParams {
    toml::from_str(include_str!("../../../presets/pspin.toml")).expect("the preset is a set of parameters")
}

/// A context with the handlers that `handlers` names: h header, p payload, c completion.
pub fn context(handlers: &str) -> Rc<Context> {
    let region = |letter: char, addr| Region { addr: if handlers.contains(letter) { addr } else { 0 }, size: 4096 };
    let (header, payload, completion) = (region('h', 0x1d00_0100), region('p', 0x1d00_0200), region('c', 0x1d00_0300));
    Rc::new(Context { header, payload, completion, ..Context::default() })
}

/// A request from `cycle:msgid`, with `^` behind a packet that the network says is the first of its message, `v` behind
/// one that it says is not, and `!` behind the last.
pub fn her(packet: usize, word: &str, context: &Rc<Context>) -> (Cycle, Her) {
    let (cycle, rest) = word.split_once(':').expect("a colon stands between cycle and message");
    let msgid = rest.trim_end_matches(['^', 'v', '!']).parse().expect("a message is a number");
    let som = if rest.contains('^') { Some(true) } else { rest.contains('v').then_some(false) };
    let addr = 0x1c40_0000 + 64 * packet as u32;
    let packet = PacketId(packet as u64);
    let (eom, context) = (rest.ends_with('!'), context.clone());
    let her = Her { packet, taken: 0, msgid, som, eom, addr, size: 64, xfer_size: 64, context };
    (cycle.parse().expect("a cycle is a number"), her)
}

/// Bytes that were written, shared with the test. A byte that was not written is the low byte of its address.
pub type Store = Rc<RefCell<BTreeMap<u64, u8>>>;

/// The byte of `store` at `addr`.
pub fn byte(store: &Store, addr: u64) -> u8 {
    store.borrow().get(&addr).copied().unwrap_or(addr as u8)
}

/// A memory at the far side of the NIC-host interconnect.
pub struct TestMemory {
    requests: Rx<Burst>,
    replies: Tx<BurstReply>,
    /// Cycles from a request to its first beat.
    read_latency: u64,
    log: Log,
    name: &'static str,
    store: Store,
    read_free: Cycle,
    write_free: Cycle,
    /// Replies, in the order of the cycles in which they are seen.
    pending: VecDeque<(Cycle, BurstReply)>,
}

/// Cycles from a write's last beat until its response is seen.
const WRITE_LATENCY: u64 = 3;

impl TestMemory {
    /// Adds a memory to `bench` and returns the channels to it.
    pub fn add(bench: &mut Bench, name: &'static str, read_latency: u64) -> NhiPort {
        Self::with_store(bench, name, read_latency, Store::default())
    }

    /// The same, with bytes that the test also holds.
    pub fn with_store(bench: &mut Bench, name: &'static str, read_latency: u64, store: Store) -> NhiPort {
        let (requests, from) = bench.channel(&format!("{name} requests"), 2, 1);
        let (to, replies) = bench.channel(&format!("{name} replies"), 4, 1);
        let (log, pending) = (bench.log.clone(), VecDeque::new());
        let (read_free, write_free) = (0, 0);
        let memory =
            TestMemory { requests: from, replies: to, read_latency, log, name, store, read_free, write_free, pending };
        bench.add(name, memory);
        NhiPort { requests, replies }
    }

    fn answer(&mut self, now: Cycle, burst: Burst) {
        let (due, reply) = match burst {
            Burst::Read { tag, addr, size, in_parts } => {
                let first = now.max(self.read_free) + self.read_latency;
                self.read_free = first - self.read_latency + u64::from(beats(addr, size));
                let last = first + u64::from(beats(addr, size)) - 1;
                self.log.note(now, format!("{}: read {size} at {addr:#x}", self.name));
                let byte = |addr: u32| byte(&self.store, addr.into());
                if in_parts {
                    let end = addr + size;
                    let lines = (addr - addr % BEAT_BYTES..end).step_by(BEAT_BYTES as usize);
                    for (at, line) in (first..).zip(lines) {
                        let bytes = line.max(addr)..(line + BEAT_BYTES).min(end);
                        let part = BurstReply::Data { tag, data: bytes.map(byte).collect(), last: at };
                        self.pending.push_back((at, part));
                    }
                    self.pending.make_contiguous().sort_by_key(|&(at, _)| at);
                    return;
                }
                (first, BurstReply::Data { tag, data: (addr..addr + size).map(byte).collect(), last })
            }
            Burst::Write { tag, addr, data, .. } => {
                assert!(now >= self.write_free, "one beat a cycle on the write data bus");
                self.log.note(now, format!("{}: write {} at {addr:#x}", self.name, data.len()));
                self.write_free = now + u64::from(beats(addr, data.len() as u32));
                self.store.borrow_mut().extend((u64::from(addr)..).zip(data));
                (self.write_free - 1 + WRITE_LATENCY, BurstReply::Written { tag, decoded: true })
            }
        };
        let at = self.pending.partition_point(|(other, _)| *other <= due);
        self.pending.insert(at, (due, reply));
    }
}

impl Component for TestMemory {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some(burst) = self.requests.take() {
            self.answer(now, burst);
        }
        while self.replies.has_room() && self.pending.front().is_some_and(|(due, _)| *due <= now + 1) {
            self.replies.send(self.pending.pop_front().expect("a reply is due").1);
        }
        self.pending.front().map_or(Activity::Idle, |(due, _)| Activity::Until((due - 1).max(now + 1)))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("requests", &self.requests);
        ports.output("replies", &self.replies);
    }
}

/// A channel of the remapper. The script says when its partner begins to wait (true) or ends its wait (false): in the
/// cycle after the given one.
pub fn remap(bench: &mut Bench, script: &[(Cycle, bool)]) -> Remap {
    let other_rx = bench.input("other address", 4, script.to_vec());
    let address_tx =
        bench.output("address", 4, |_| true, |waits: &bool| if *waits { "waits" } else { "taken" }.to_owned());
    Remap::new(address_tx, other_rx)
}

/// A command with these words, followed by zeros; its packet has the number of the core.
pub fn command(id: CommandId, target: CommandTarget, words: &[u32]) -> Command {
    let mut all = [0; COMMAND_WORDS];
    all[..words.len()].copy_from_slice(words);
    let (packet, sender) = (PacketId(u64::from(id.core)), Sender::default());
    Command { packet, context: 0, sender, id, target, generate_event: false, words: all }
}

/// The first command of a core of cluster 0.
pub fn id(core: usize) -> CommandId {
    CommandId { cluster: 0, core: core as u8, local: 0 }
}

/// Host memory.
#[derive(Default)]
pub struct TestHost(Store);

impl TestHost {
    /// Adds a link to such a memory and returns the port of the link.
    pub fn add(bench: &mut Bench, params: PcieParams, store: Store) -> HostPort {
        let (bursts, to_bursts) = bench.channel("host bursts", HOST_CHANNEL_ITEMS, 1);
        let (writes, to_writes) = bench.channel("host writes", HOST_CHANNEL_ITEMS, 1);
        let (from_written, written) = bench.channel("host written", 2, 1);
        let (reads, to_reads) = bench.channel("host reads", HOST_CHANNEL_ITEMS, 1);
        let (from_data, data) = bench.channel("host data", 2, 1);
        let target = HostTarget {
            bursts: to_bursts,
            writes: to_writes,
            written: from_written,
            reads: to_reads,
            data: from_data,
        };
        let trace = bench.tracer("pcie");
        let notices = bench.output("tells", 4, |_| true, |notice: &Notice| format!("{:?}", notice.event));
        let ports = PciePorts { initiators: vec![target], notices };
        let iommu = crate::testing::params().iommu;
        let memory = Box::new(TestHost(store));
        bench.add("pcie", Pcie::new(1_000_000_000, &params, &iommu, Rc::default(), ports, memory, trace));
        HostPort { bursts, writes, written, reads, data }
    }
}

impl HostMemory for TestHost {
    fn read(&mut self, addr: u64, data: &mut [u8]) {
        data.iter_mut().zip(addr..=u64::MAX).for_each(|(to, addr)| *to = byte(&self.0, addr));
    }

    fn write(&mut self, addr: u64, data: &[u8]) {
        self.0.borrow_mut().extend((addr..=u64::MAX).zip(data.iter().copied()));
    }
}
