//! `nic-feeder`: a host without a driver: plays traces of mailbox writes and serves the card's DMA.
//!
//! Ports:   `memory` (memory, answers): the card's references, one at a time; `bus` (memory, asks): the card's
//!           registers, one word per reference and one reference per edge, without waiting for replies.
//! Timing:  a reference is answered after `overhead_cycles` plus one cycle for each `bytes_per_cycle` or part
//!           thereof; at least one cycle.
//! Order:   first the script, then the mailboxes as fast as their limits allow.
//! Errors:  a reference outside host memory is answered with an error and counted; so are writes that the card
//!           refuses.
//! Source:  thesis, 3.2.3 (NIC feeder): fixed bus overhead for each transfer, rates of mailbox events, coalescing
//!           factors, a balanced ratio between the traces.

mod mailbox;

pub use mailbox::Mailbox;

use blocks::bus::{Access, Data, Reference, Requester, Responder};
use blocks::checks;
use blocks::feeders::HostMemory;
use blocks::netlist::{Built, Memory, Module, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};
use mailbox::MailboxPlayer;

/// Parameters of a [`NicFeeder`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicFeederParams {
    /// Address of the host memory that the card sees.
    pub memory_base: u64,
    /// Size of that memory in bytes.
    pub memory_bytes: u32,
    /// Initial contents; zeros elsewhere.
    pub contents: Vec<Contents>,
    /// Bus overhead of each reference of the card, in cycles.
    pub overhead_cycles: u64,
    /// Data bytes of the card's references per cycle.
    pub bytes_per_cycle: u32,
    /// Words written to the card first, one after the other.
    pub script: Vec<Write>,
    /// Mailboxes written after the script.
    pub mailboxes: Vec<Mailbox>,
}

/// Big-endian words in memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Address of the first word.
    pub at: u64,
    /// The words.
    pub words: Vec<u32>,
}

/// A write to the card.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Condition for the write.
    pub after: After,
    /// Card address.
    pub at: u64,
    /// The value to write.
    pub value: u32,
}

/// Condition that a write waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum After {
    /// A cycle is reached.
    Cycle(u64),
    /// Some bits of a word in host memory have a value, because the card wrote it.
    Word {
        /// Host address of the word.
        at: u64,
        /// Mask of the bits.
        mask: u32,
        /// Value of the masked bits.
        value: u32,
    },
}

/// The ports of a [`NicFeeder`].
pub struct NicFeederPorts {
    /// The card's references to host memory.
    pub memory: Responder,
    /// The card's registers.
    pub bus: Requester,
}

/// Plays a script, then mailboxes as fast as their limits allow, and answers the card's references to host memory.
pub struct NicFeeder {
    params: NicFeederParams,
    memory: HostMemory,
    port: Responder,
    bus: Requester,
    /// The reference on the bus, and the cycle in which it is answered.
    under_way: Option<(Cycle, Reference)>,
    next_write: usize,
    player: MailboxPlayer,
    stray_bytes: Counter,
    read_bytes: Counter,
    written_bytes: Counter,
    busy_cycles: Counter,
    refused: Counter,
}

impl NicFeeder {
    /// A feeder before its first write.
    pub fn new(params: NicFeederParams, ports: NicFeederPorts) -> NicFeeder {
        let mut memory = HostMemory::new(params.memory_base, params.memory_bytes as usize);
        for contents in &params.contents {
            for (at, &word) in (contents.at..).step_by(4).zip(&contents.words) {
                memory.put_word(at, word);
            }
        }
        NicFeeder {
            player: MailboxPlayer::new(params.mailboxes.clone()),
            params,
            memory,
            port: ports.memory,
            bus: ports.bus,
            under_way: None,
            next_write: 0,
            stray_bytes: Counter::default(),
            read_bytes: Counter::default(),
            written_bytes: Counter::default(),
            busy_cycles: Counter::default(),
            refused: Counter::default(),
        }
    }

    /// Host memory.
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    /// For each mailbox: events, mailbox writes, events completed by the card.
    pub fn events(&self) -> Vec<(u64, u64, u64)> {
        self.player.events()
    }

    /// Answers the reference on the bus if it is due, and starts the next. Returns when the current one is due.
    fn serve(&mut self, now: Cycle) -> Option<Cycle> {
        if self.under_way.as_ref().is_some_and(|&(end, _)| end <= now) && self.port.replies.has_room() {
            let (_, reference) = self.under_way.take().expect("a reference is on the bus");
            let (len, is_read) = (reference.access.len(), matches!(reference.access, Access::Read(_)));
            let reply = self.memory.answer(reference);
            let total = match (&reply.result, is_read) {
                (Err(_), _) => &mut self.stray_bytes,
                (Ok(_), true) => &mut self.read_bytes,
                (Ok(_), false) => &mut self.written_bytes,
            };
            total.add(u64::from(len));
            self.port.replies.send(reply);
        }
        if self.under_way.is_none()
            && let Some(reference) = self.port.references.take()
        {
            let data = reference.access.len().div_ceil(self.params.bytes_per_cycle);
            let cycles = (self.params.overhead_cycles + u64::from(data)).max(1);
            self.busy_cycles.add(cycles);
            self.under_way = Some((now + cycles, reference));
        }
        self.under_way.as_ref().map(|&(end, _)| end).filter(|&end| end > now)
    }

    /// Sends the next write if it is due. Returns the cycle of the next possible one.
    fn play(&mut self, now: Cycle) -> Option<Cycle> {
        if let Some(write) = self.params.script.get(self.next_write) {
            let is_due = match write.after {
                After::Cycle(cycle) if cycle > now => return Some(cycle),
                After::Cycle(_) => true,
                After::Word { at, mask, value } => self.memory.word(at) & mask == value,
            };
            if is_due && self.bus.references.has_room() {
                let (at, value) = (write.at, write.value);
                self.next_write += 1;
                self.write(at, value);
                return Some(now + 1);
            }
            return None; // A change of memory or room at the port wakes us.
        }
        let memory = &self.memory;
        self.player.read_progress(|at| memory.word(at));
        if !self.bus.references.has_room() {
            return None;
        }
        match self.player.next(now) {
            Ok((at, value)) => {
                self.write(at, value);
                Some(now + 1)
            }
            Err(later) => later,
        }
    }

    fn write(&mut self, addr: u64, value: u32) {
        let access = Access::Write(Data::from_slice(&value.to_be_bytes()));
        self.bus.references.send(Reference { id: 0, addr, access });
    }
}

impl Component for NicFeeder {
    fn tick(&mut self, now: Cycle) -> Activity {
        while let Some(reply) = self.bus.replies.take() {
            self.refused.add(u64::from(reply.result.is_err()));
        }
        let next = [self.serve(now), self.play(now)].into_iter().flatten().min();
        next.map_or(Activity::Idle, Activity::Until)
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("memory", ports);
        self.bus.port("bus", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("read_bytes", self.read_bytes.total());
        counters.add("written_bytes", self.written_bytes.total());
        counters.add("busy_cycles", self.busy_cycles.total());
        counters.add("stray_bytes", self.stray_bytes.total());
        counters.add("refused_writes", self.refused.total());
        for (index, (events, writes, done)) in self.player.events().into_iter().enumerate() {
            counters.add(&format!("mailboxes[{index}].events"), events);
            counters.add(&format!("mailboxes[{index}].writes"), writes);
            counters.add(&format!("mailboxes[{index}].done"), done);
        }
    }
}

impl Module for NicFeederParams {
    const NAME: &'static str = "nic-feeder";
    const ABOUT: &'static str = "A host without a driver: plays traces of mailbox writes and serves the card's DMA.";
    const EXAMPLE: &'static str = r#"memory_base = 0x10000
memory_bytes = 4096
contents = [{ at = 0x10000, words = [1, 2] }]
overhead_cycles = 4
bytes_per_cycle = 8
script = [{ after = { cycle = 100 }, at = 0x140, value = 0 }]
mailboxes = []"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("memory").about("the card's references to host memory"),
            PortSpec::from::<Memory>("bus").about("the card's registers"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::memory(self.memory_base, self.memory_bytes)?;
        checks::within("bytes_per_cycle", self.bytes_per_cycle, 1, 4096)?;
        let end = self.memory_base + u64::from(self.memory_bytes);
        let has_words = |name: String, at: u64, words: usize| {
            let last = (words as u64).checked_mul(4).and_then(|bytes| at.checked_add(bytes));
            let is_in = at >= self.memory_base && last.is_some_and(|last| last <= end);
            let base = self.memory_base;
            if is_in { Ok(()) } else { Err(format!("{name} is 0x{at:x}, must lie in memory, 0x{base:x} to 0x{end:x}")) }
        };
        for (index, contents) in self.contents.iter().enumerate() {
            has_words(format!("contents[{index}].at"), contents.at, contents.words.len())?;
        }
        for (index, write) in self.script.iter().enumerate() {
            if let After::Word { at, .. } = write.after {
                has_words(format!("script[{index}].after.word.at"), at, 1)?;
            }
        }
        for (index, mailbox) in self.mailboxes.iter().enumerate() {
            mailbox.check().map_err(|problem| format!("mailboxes[{index}].{problem}"))?;
            has_words(format!("mailboxes[{index}].consumer"), mailbox.consumer, 1)?;
        }
        Ok(())
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = NicFeederPorts { memory: site.to::<Memory>("memory"), bus: site.from::<Memory>("bus") };
        Built::new(NicFeeder::new(self, ports))
    }
}

#[cfg(test)]
mod tests;
