//! `frame-memory`: double data rate memory behind one wide bus, which moves a transfer at a time.
//!
//! Ports:   `requesters[i]` (memory, answer, optional). Its clock is that of the memory.
//! Timing:  the answer is seen as many cycles after the reference as the transfer takes: the cycles to open its rows
//!          and, at `bus_bytes` a cycle, those of all words it touches. Nothing else moves meanwhile; the next transfer
//!          begins in the cycle behind. A reference that cannot be served takes one cycle.
//! Order:   whole transfers one after the other, of whom the policy says.
//! Source:  thesis, 4.2.1 and 4.2.3: in order, the whole bus blocked while a row is opened, unused bytes of misaligned words
//!          lost. The numbers of the card that it was made for are in docs/machines/tengig.md.

use super::Store;
use super::rows::{Rows, RowsParams};
use crate::bus::{BusError, Reference, Reply, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, Waits};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// Parameters of a [`FrameMemory`]. Its clock is that of the memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameMemoryParams {
    /// How many may refer to it, 1 to 64; the ports may stay unconnected.
    pub requesters: usize,
    /// Address of the first byte.
    pub base: u64,
    /// Bytes of memory.
    pub bytes: u32,
    /// Bytes that the bus moves in a cycle.
    pub bus_bytes: u32,
    /// Bytes of a word of the memory: a transfer begins and ends with whole words.
    pub word_bytes: u32,
    /// Longest transfer. Unit: bytes.
    pub transfer_bytes: u32,
    /// Its rows.
    pub rows: RowsParams,
    /// Whose transfer is next.
    pub policy: Policy,
}

/// Serves whole transfers, one after the other.
pub struct FrameMemory {
    params: FrameMemoryParams,
    requesters: Vec<Option<Responder>>,
    store: Store,
    rows: Rows,
    arbitrator: Arbitrator,
    waits: Waits,
    free_at: Cycle,
    busy_cycles: Counter,
    /// Bytes that were asked for, and bytes that moved.
    useful_bytes: Counter,
    moved_bytes: Counter,
    lanes: Vec<Lane>,
}

/// What is kept of a requester.
#[derive(Clone, Default)]
struct Lane {
    /// When its last transfer has moved.
    free_at: Cycle,
    transfers: Counter,
    bytes: Counter,
    wait_cycles: Counter,
}

impl FrameMemory {
    /// A memory of zeros. A port that is `None` is not connected.
    pub fn new(params: FrameMemoryParams, requesters: Vec<Option<Responder>>) -> FrameMemory {
        assert_eq!(requesters.len(), params.requesters, "a port for each requester");
        FrameMemory {
            store: Store::new(params.base, params.bytes),
            rows: Rows::new(params.rows.clone()),
            arbitrator: params.policy.start(),
            waits: Waits::new(params.requesters),
            free_at: 0,
            busy_cycles: Counter::default(),
            useful_bytes: Counter::default(),
            moved_bytes: Counter::default(),
            lanes: vec![Lane::default(); params.requesters],
            params,
            requesters,
        }
    }

    /// The same with a policy of the user's own.
    pub fn with_arbitration(mut self, policy: Box<dyn Arbitration>) -> FrameMemory {
        self.arbitrator = Arbitrator::Own(policy);
        self
    }

    /// Its bytes, for whoever looks between two runs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The same, to be written.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Who asks and could be answered.
    fn waiting(&self, now: Cycle) -> u64 {
        let asks = |port: &Option<Responder>| {
            port.as_ref().is_some_and(|port| port.references.is_due(now) && port.replies.has_room())
        };
        self.requesters.iter().enumerate().filter(|(_, port)| asks(port)).fold(0, |set, (i, _)| set | 1 << i)
    }

    /// Cycles that the transfer takes.
    fn cycles(&mut self, reference: &Reference) -> u64 {
        let bytes = reference.access.len();
        let word = u64::from(self.params.word_bytes);
        let first = (reference.addr - self.params.base) / word;
        let last = (reference.addr - self.params.base + u64::from(bytes) - 1) / word;
        let moved = (last - first + 1) * word;
        self.useful_bytes.add(u64::from(bytes));
        self.moved_bytes.add(moved);
        self.rows.open_all(reference.addr, bytes) + moved.div_ceil(u64::from(self.params.bus_bytes))
    }

    /// Carries out the transfer at a port; the result is how long it takes.
    fn transfer(&mut self, now: Cycle, requester: usize) -> u64 {
        let port = self.requesters[requester].as_ref().expect("who asks is connected");
        let waited = port.span(port.references.due().max(self.lanes[requester].free_at), now);
        let reference = port.references.take().expect("who asks has sent");
        let bytes = reference.access.len();
        let result = match bytes {
            0 => Err(BusError::Length(reference.addr, 0)),
            _ if bytes > self.params.transfer_bytes => Err(BusError::Length(reference.addr, bytes)),
            _ => self.store.serve(&reference),
        };
        let cycles = if result.is_ok() { self.cycles(&reference) } else { 1 };
        self.lanes[requester].free_at = now + cycles;
        self.lanes[requester].transfers.add(1);
        self.lanes[requester].bytes.add(if result.is_ok() { u64::from(bytes) } else { 0 });
        let port = self.requesters[requester].as_ref().expect("who asks is connected");
        port.replies.send_late(Reply::new(reference.id, result).having_waited(waited), cycles - 1);
        cycles
    }
}

impl Component for FrameMemory {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now < self.free_at {
            return Activity::Until(self.free_at);
        }
        let waiting = self.waiting(now);
        self.waits.note(now, waiting);
        if waiting == 0 {
            return Activity::Idle;
        }
        let winner = self.arbitrator.choose(&Contest { now, waiting, continues: 0, since: self.waits.since() });
        self.lanes[winner as usize].wait_cycles.add(self.waits.went(now, winner));
        let cycles = self.transfer(now, winner as usize);
        self.busy_cycles.add(cycles);
        self.free_at = now + cycles;
        Activity::Until(self.free_at)
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, port) in self.requesters.iter().enumerate() {
            if let Some(port) = port {
                port.port(&format!("requesters[{i}]"), ports);
            }
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("busy_cycles", self.busy_cycles.total());
        counters.add("row_cycles", self.rows.cycles);
        counters.add("rows_opened", self.rows.n_opened);
        counters.add("useful_bytes", self.useful_bytes.total());
        counters.add("moved_bytes", self.moved_bytes.total());
        for (i, lane) in self.lanes.iter().enumerate() {
            counters.add(&format!("requesters[{i}].transfers"), lane.transfers.total());
            counters.add(&format!("requesters[{i}].bytes"), lane.bytes.total());
            counters.add(&format!("requesters[{i}].wait_cycles"), lane.wait_cycles.total());
        }
    }
}

impl Module for FrameMemoryParams {
    const NAME: &'static str = "frame-memory";
    const ABOUT: &'static str =
        "Double data rate memory for frames: whole transfers in order, blocked while a row opens.";
    const EXAMPLE: &'static str = r#"requesters = 4
base = 0
bytes = 1048576
bus_bytes = 16
word_bytes = 8
transfer_bytes = 1518
rows = { row_bytes = 2048, banks = 8, activation_cycles = 12, conflict_cycles = 27 }
policy = { kind = "round-robin" }"#;

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.requesters)
            .map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("who asks").optional())
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::memory(self.base, self.bytes)?;
        checks::power_of_two("bus_bytes", self.bus_bytes, 1, 256)?;
        checks::power_of_two("word_bytes", self.word_bytes, 1, 256)?;
        checks::within("transfer_bytes", self.transfer_bytes, 1, 1 << 16)?;
        if !self.base.is_multiple_of(u64::from(self.rows.row_bytes.max(self.word_bytes))) {
            return Err(format!("base is 0x{:x}, must be the beginning of a row", self.base));
        }
        self.rows.check()?;
        self.policy.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = (0..self.requesters).map(|i| site.try_to::<Memory>(&format!("requesters[{i}]"))).collect();
        Built::new(FrameMemory::new(self, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::asks;
    use expect_test::{Expect, expect};

    /// 16 bytes a cycle, words of 8; rows of 256 bytes in two banks, 5 cycles to open one and 9 where another is open.
    fn params(requesters: usize) -> FrameMemoryParams {
        FrameMemoryParams {
            requesters,
            base: 0,
            bytes: 4096,
            bus_bytes: 16,
            word_bytes: 8,
            transfer_bytes: 1518,
            rows: RowsParams { row_bytes: 256, banks: 2, activation_cycles: 5, conflict_cycles: 9 },
            policy: Policy::RoundRobin,
        }
    }

    fn check(requesters: &[&str], want: Expect) {
        want.assert_eq(&testkit::bench(500, |bench| {
            let asks = |(text, name): (&&str, char)| Some(asks(bench, &name.to_string(), text, 0));
            let ports = requesters.iter().zip('a'..).map(asks).collect();
            bench.add("memory", FrameMemory::new(params(requesters.len()), ports));
            bench.log_counters();
        }));
    }

    #[test]
    fn a_transfer_takes_its_rows_and_its_words() {
        // Opened in 5 and moved in 1; open and moved in 2; then each word touched moves whole.
        check(
            &["1 r 0+16; 1 w 10=0102030405060708090a0b0c0d0e0f10; 20 r 10+4; 30 r 17+2; 40 r f+18"],
            expect![[r#"
            7    a 0 00000000000000000000000000000000
            8    a 1 done
            21   a 2 01020304
            31   a 3 0809
            42   a 4 000102030405060708090a0b0c0d0e0f1000
            memory.busy_cycles 11
            memory.row_cycles 5
            memory.rows_opened 1
            memory.useful_bytes 56
            memory.moved_bytes 88
            memory.requesters[0].transfers 5
            memory.requesters[0].bytes 56
        "#]],
        );
    }

    #[test]
    fn another_row_of_a_bank_costs_more() {
        check(
            &["1 r 0+1; 20 r 100+1; 40 r 200+1; 60 r 2ff+2; 80 r 0+1"],
            expect![[r#"
            7    a 0 00
            26   a 1 00
            50   a 2 00
            70   a 3 0000
            90   a 4 00
            memory.busy_cycles 42
            memory.row_cycles 37
            memory.rows_opened 5
            memory.useful_bytes 6
            memory.moved_bytes 48
            memory.requesters[0].transfers 5
            memory.requesters[0].bytes 6
        "#]],
        );
    }

    #[test]
    fn transfers_take_turns_and_none_is_cut() {
        check(
            &["1 r 0+64; 1 r 40+64", "2 r 0+16; 2 r 0+16"],
            expect![[r#"
                10   a 0 00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
                11   b 0 00000000000000000000000000000000, waited 8 ns
                15   a 1 00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000, waited 1 ns
                16   b 1 00000000000000000000000000000000, waited 4 ns
                memory.busy_cycles 15
                memory.row_cycles 5
                memory.rows_opened 1
                memory.useful_bytes 160
                memory.moved_bytes 160
                memory.requesters[0].transfers 2
                memory.requesters[0].bytes 128
                memory.requesters[0].wait_cycles 1
                memory.requesters[1].transfers 2
                memory.requesters[1].bytes 32
                memory.requesters[1].wait_cycles 4
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_served_takes_a_cycle() {
        check(
            &["1 r 0+0; 1 r 0+1519; 1 r fff+2; 1 r ffffffffffffffff+1"],
            expect![[r#"
            2    a 0 a reference to 0 bytes at 0x0 is not possible
            3    a 1 a reference to 1519 bytes at 0x0 is not possible
            4    a 2 nothing answers at 0x1000
            5    a 3 nothing answers at 0xffffffffffffffff
            memory.busy_cycles 4
            memory.requesters[0].transfers 4
        "#]],
        );
    }

    /// Cycle in which the last answer of two requesters with `n` transfers each is seen, all there from cycle 1 on.
    fn last_answer(n: usize, transfer: &str) -> u64 {
        let rows = RowsParams { row_bytes: 4096, banks: 1, activation_cycles: 27, conflict_cycles: 27 };
        let log = testkit::bench(100_000, |bench| {
            let script = vec![format!("1 {transfer}"); n].join(";");
            let ports = ["a", "b"].map(|name| Some(asks(bench, name, &script, 0)));
            bench.add("memory", FrameMemory::new(FrameMemoryParams { rows: rows.clone(), ..params(2) }, ports.into()));
        });
        let last = log.lines().last().expect("there were answers");
        last.split(' ').next().expect("a line begins with its cycle").parse().expect("a number")
    }

    #[test]
    fn the_peak_is_the_width_of_the_bus() {
        // 64 Gb/s at 500 MHz: a row is opened once, then 16 bytes move in every cycle.
        assert_eq!(last_answer(20, "r 0+1504"), 1 + 27 + 40 * 1504 / 16);
        // A frame of 1518 bytes that begins 2 bytes into a word takes 190 words, and its header of 42 bytes 6.
        assert_eq!(last_answer(20, "r 2+1518"), 1 + 27 + 40 * 190 / 2);
        assert_eq!(last_answer(20, "r 2+42"), 1 + 27 + 40 * 6 / 2);
    }
}
