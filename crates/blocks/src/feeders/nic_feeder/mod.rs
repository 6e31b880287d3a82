//! A host without a driver: it plays traces of mailbox writes and serves the card's DMA.

mod mailbox;

pub use mailbox::Mailbox;

use super::host_memory::HostMemory;
use crate::bus::{Access, Data, Reference, Requester, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use kernel::{Activity, Component, CounterList, Cycle, Ports};
use mailbox::Player;

/// Parameters of a [`NicFeeder`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicFeederParams {
    /// Where the memory begins that the card sees.
    pub memory_base: u64,
    /// Its bytes.
    pub memory_bytes: u32,
    /// What is in it at the start; zeros elsewhere.
    pub contents: Vec<Contents>,
    /// Cycles of each of the card's references beside its data: the bus.
    pub overhead_cycles: u64,
    /// Bytes of the card's references that move in a cycle.
    pub bytes_per_cycle: u32,
    /// Words that are written to the card before anything else, one after the other.
    pub script: Vec<Write>,
    /// Mailboxes that are written after that.
    pub mailboxes: Vec<Mailbox>,
}

/// Big-endian words in memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Address of the first.
    pub at: u64,
    /// The words.
    pub words: Vec<u32>,
}

/// A word that is written to the card.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// When.
    pub after: After,
    /// The card's address.
    pub at: u64,
    /// What.
    pub value: u32,
}

/// What a write waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum After {
    /// A cycle.
    Cycle(u64),
    /// A word of host memory, of which these bits have this value: the card wrote it.
    Word {
        /// Its address.
        at: u64,
        /// The bits.
        mask: u32,
        /// Their value.
        value: u32,
    },
}

impl Module for NicFeederParams {
    const NAME: &'static str = "nic-feeder";
    const ABOUT: &'static str = "A host without a driver: plays traces of mailbox writes and serves the card's DMA";
    const EXAMPLE: &'static str = r#"memory_base = 0x10000
memory_bytes = 4096
contents = [{ at = 0x10000, words = [1, 2] }]
overhead_cycles = 4
bytes_per_cycle = 8
script = [{ after = { cycle = 100 }, at = 0x140, value = 0 }]
mailboxes = []"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::to::<Memory>("memory"), PortSpec::from::<Memory>("bus")]
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
        let (memory, bus) = (site.to::<Memory>("memory"), site.from::<Memory>("bus"));
        Built::new(NicFeeder::new(self, memory, bus))
    }
}

/// Plays a script, then mailboxes as fast as they may go, and answers the card's references to memory.
///
/// Ports:  `memory`, one reference at a time; `bus`, the card's side, a word each, one an edge; replies are not waited for.
/// Timing: a reference is answered after `overhead_cycles` and a cycle for each `bytes_per_cycle` that it has begun; at least one.
/// Source: Willmann 2004, 3.2.3 (NIC feeder): fixed bus overhead for each transfer, rates of mailbox events, coalescing
///         factors, a balanced ratio of what the traces do.
pub struct NicFeeder {
    params: NicFeederParams,
    memory: HostMemory,
    port: Responder,
    bus: Requester,
    /// The reference on the bus, and when it is answered.
    under_way: Option<(Cycle, Reference)>,
    next_write: usize,
    player: Player,
    stray_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    busy_cycles: u64,
    refused: u64,
}

impl NicFeeder {
    /// A feeder before its first write.
    pub fn new(params: NicFeederParams, port: Responder, bus: Requester) -> NicFeeder {
        let mut memory = HostMemory::new(params.memory_base, params.memory_bytes as usize);
        for contents in &params.contents {
            for (at, &word) in (contents.at..).step_by(4).zip(&contents.words) {
                memory.put_word(at, word);
            }
        }
        NicFeeder {
            player: Player::new(params.mailboxes.clone()),
            params,
            memory,
            port,
            bus,
            under_way: None,
            next_write: 0,
            stray_bytes: 0,
            read_bytes: 0,
            written_bytes: 0,
            busy_cycles: 0,
            refused: 0,
        }
    }

    /// The memory that the card sees.
    pub fn memory(&self) -> &HostMemory {
        &self.memory
    }

    /// Of each mailbox: events played, mailbox writes, events that the card has worked off.
    pub fn events(&self) -> Vec<(u64, u64, u64)> {
        self.player.events()
    }

    /// Answers the reference on the bus if its time has come, and begins the next; returns when that ends.
    fn serve(&mut self, now: Cycle) -> Option<Cycle> {
        if self.under_way.as_ref().is_some_and(|&(end, _)| end <= now) && self.port.replies.has_room() {
            let (_, reference) = self.under_way.take().expect("one is under way");
            let (len, is_read) = (reference.access.len(), matches!(reference.access, Access::Read(_)));
            let reply = self.memory.answer(reference);
            let total = match (&reply.result, is_read) {
                (Err(_), _) => &mut self.stray_bytes,
                (Ok(_), true) => &mut self.read_bytes,
                (Ok(_), false) => &mut self.written_bytes,
            };
            *total += u64::from(len);
            self.port.replies.send(reply);
        }
        if self.under_way.is_none()
            && let Some(reference) = self.port.references.take()
        {
            let data = reference.access.len().div_ceil(self.params.bytes_per_cycle);
            let cycles = (self.params.overhead_cycles + u64::from(data)).max(1);
            self.busy_cycles += cycles;
            self.under_way = Some((now + cycles, reference));
        }
        self.under_way.as_ref().map(|&(end, _)| end).filter(|&end| end > now)
    }

    /// Does the next write if its time has come; returns when there may be another one.
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
            return None; // A word of memory or room at the port is what it waits for, and both wake us.
        }
        let memory = &self.memory;
        self.player.look(|at| memory.word(at));
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
            self.refused += u64::from(reply.result.is_err());
        }
        let next = [self.serve(now), self.play(now)].into_iter().flatten().min();
        next.map_or(Activity::Idle, Activity::Until)
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("memory", ports);
        self.bus.port("bus", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("read_bytes", self.read_bytes);
        counters.add("written_bytes", self.written_bytes);
        counters.add("busy_cycles", self.busy_cycles);
        counters.add("stray_bytes", self.stray_bytes);
        counters.add("refused_writes", self.refused);
        for (index, (events, writes, done)) in self.player.events().into_iter().enumerate() {
            counters.add(&format!("mailboxes[{index}].events"), events);
            counters.add(&format!("mailboxes[{index}].writes"), writes);
            counters.add(&format!("mailboxes[{index}].done"), done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{asks, show_reference};
    use expect_test::{Expect, expect};

    /// A mailbox of a ring of 8, in steps of 2, whose consumer is at 0x1000 and at most 3 events ahead of it.
    fn mailbox() -> Mailbox {
        let (at, consumer) = (0x500, 0x1000);
        Mailbox { at, consumer, step: 2, modulus: 8, events: 5, share: 1, ahead: 3, batch: 1, every_cycles: 1 }
    }

    fn params() -> NicFeederParams {
        NicFeederParams {
            memory_base: 0x1000,
            memory_bytes: 0x100,
            contents: vec![Contents { at: 0x1010, words: vec![0x0102_0304, 5] }],
            overhead_cycles: 3,
            bytes_per_cycle: 4,
            script: Vec::new(),
            mailboxes: Vec::new(),
        }
    }

    /// `dma` is what the card refers to.
    fn check(dma: &str, params: NicFeederParams, want: Expect) {
        params.check().expect("parameters that are allowed");
        let log = testkit::bench(1000, |bench| {
            let memory = asks(bench, "dma", dma, 0);
            let references = bench.output("card", 2, |_| true, show_reference);
            let bus = Requester { references, replies: bench.input("card!", 2, Vec::new()) };
            bench.add("feeder", NicFeeder::new(params.clone(), memory, bus));
            bench.log_counters();
        });
        want.assert_eq(&log);
    }

    #[test]
    fn references_take_the_bus_and_their_data() {
        check(
            "10 r 1010+8; 11 w 10fc=aabbccdd; 40 r 10fe+4; 50 r 1011+1",
            params(),
            expect![[r#"
                16   dma 0 0102030400000005
                20   dma 1 done
                45   dma 2 nothing answers at 0x10fe
                55   dma 3 02
                feeder.read_bytes 9
                feeder.written_bytes 4
                feeder.busy_cycles 17
                feeder.stray_bytes 4
            "#]],
        );
    }

    #[test]
    fn the_script_waits_for_cycles_and_words() {
        let word = After::Word { at: 0x1020, mask: 0xff, value: 1 };
        let script = vec![
            Write { after: After::Cycle(5), at: 0x40, value: 8 },
            Write { after: After::Cycle(5), at: 0x44, value: 9 },
            Write { after: word, at: 0x48, value: 10 },
        ];
        check(
            "20 w 1020=00000002; 30 w 1020=00000301",
            NicFeederParams { script, ..params() },
            expect![[r#"
            6    card w 40=00000008
            7    card w 44=00000009
            25   dma 0 done
            35   card w 48=0000000a
            35   dma 1 done
            feeder.written_bytes 8
            feeder.busy_cycles 8
        "#]],
        );
    }

    #[test]
    fn a_mailbox_goes_ahead_of_its_consumer_only_so_far() {
        let mailboxes = vec![mailbox()];
        check(
            "30 w 1000=00000002; 50 w 1000=00000006",
            NicFeederParams { mailboxes, ..params() },
            expect![[r#"
            1    card w 500=00000002
            2    card w 500=00000004
            3    card w 500=00000006
            35   card w 500=00000000
            35   dma 0 done
            55   card w 500=00000002
            55   dma 1 done
            feeder.written_bytes 8
            feeder.busy_cycles 8
            feeder.mailboxes[0].events 5
            feeder.mailboxes[0].writes 5
            feeder.mailboxes[0].done 3
        "#]],
        );
    }

    #[test]
    fn events_are_batched_and_have_a_rate() {
        let one = Mailbox { batch: 2, every_cycles: 10, ..mailbox() };
        let mailboxes = vec![Mailbox { ahead: 5, modulus: 64, ..one }];
        check(
            "",
            NicFeederParams { mailboxes, ..params() },
            expect![[r#"
            11   card w 500=00000004
            31   card w 500=00000008
            41   card w 500=0000000a
            feeder.mailboxes[0].events 5
            feeder.mailboxes[0].writes 3
        "#]],
        );
    }

    #[test]
    fn mailboxes_keep_their_shares() {
        let sends = Mailbox { modulus: 64, events: 6, ahead: 6, share: 1, ..mailbox() };
        let receives = Mailbox { at: 0x508, consumer: 0x1004, events: 6, share: 2, ..sends.clone() };
        let mailboxes = vec![sends, receives];
        check(
            "",
            NicFeederParams { mailboxes, ..params() },
            expect![[r#"
            1    card w 500=00000002
            2    card w 508=00000002
            3    card w 508=00000004
            4    card w 500=00000004
            5    card w 508=00000006
            6    card w 508=00000008
            7    card w 500=00000006
            8    card w 508=0000000a
            9    card w 508=0000000c
            10   card w 500=00000008
            11   card w 500=0000000a
            12   card w 500=0000000c
            feeder.mailboxes[0].events 6
            feeder.mailboxes[0].writes 6
            feeder.mailboxes[1].events 6
            feeder.mailboxes[1].writes 6
        "#]],
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let error = |change: fn(&mut NicFeederParams)| {
            let mut params = NicFeederParams { mailboxes: vec![mailbox()], ..params() };
            change(&mut params);
            params.check().expect_err("it is wrong")
        };
        let errors = [
            error(|params| params.memory_bytes = 0),
            error(|params| params.bytes_per_cycle = 0),
            error(|params| params.contents[0].at = 0x10fc),
            error(|params| params.mailboxes[0].consumer = 0),
            error(|params| params.mailboxes[0].share = 0),
            error(|params| params.mailboxes[0].ahead = 4),
            error(|params| params.mailboxes[0].batch = 4),
        ];
        expect![[r#"
            bytes is 0, must be 1 to 1073741824
            bytes_per_cycle is 0, must be 1 to 4096
            contents[0].at is 0x10fc, must lie in memory, 0x1000 to 0x1100
            mailboxes[0].consumer is 0x0, must lie in memory, 0x1000 to 0x1100
            mailboxes[0].share is 0, must be 1 to 65536
            mailboxes[0].ahead is 4, must be 1 to 3
            mailboxes[0].batch is 4, must be 1 to 3"#]]
        .assert_eq(&errors.join("\n"));
    }
}
