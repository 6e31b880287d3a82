//! `frame-memory`: double data rate memory with one wide bus, which moves one transfer at a time.
//!
//! Ports:   `requesters[i]` (memory, answer, optional). Its clock is that of the memory.
//! Timing:  a transfer takes the cycles to open its rows, plus the cycles of all words that it touches, at `bus_bytes`
//!           per cycle. The answer is visible when these cycles have passed since the reference. Nothing else moves
//!           meanwhile, and the next transfer starts in the following cycle. An invalid reference takes one cycle.
//! Order:   whole transfers one after the other, as the arbitration policy decides.
//! Source:  thesis, 4.2.1 and 4.2.3: in order, the whole bus blocked while a row opens, unused bytes of misaligned
//!           words lost. docs/machines/tengig.md lists the numbers of the card for which it was made.

use super::Store;
use super::rows::{Rows, RowsParams};
use crate::bus::{BusError, Reference, Reply, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, WaitTimes};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// Parameters of a [`FrameMemory`]. Its clock is that of the memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameMemoryParams {
    /// Number of requesters, 1 to 64; their ports may stay unconnected.
    pub requesters: usize,
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Bytes that the bus moves per cycle.
    pub bus_bytes: u32,
    /// Bytes of a memory word; a transfer moves whole words.
    pub word_bytes: u32,
    /// Maximum bytes of a transfer.
    pub transfer_bytes: u32,
    /// DRAM rows.
    pub rows: RowsParams,
    /// Arbitration policy.
    pub policy: Policy,
}

/// Serves whole transfers, one after the other.
pub struct FrameMemory {
    params: FrameMemoryParams,
    requesters: Vec<Option<Responder>>,
    store: Store,
    rows: Rows,
    arbitrator: Arbitrator,
    waits: WaitTimes,
    free_at: Cycle,
    busy_cycles: Counter,
    /// Bytes requested.
    useful_bytes: Counter,
    moved_bytes: Counter,
    lanes: Vec<FrameLane>,
}

/// State of a requester.
#[derive(Clone, Default)]
struct FrameLane {
    /// Cycle in which its last transfer has moved.
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
            waits: WaitTimes::new(params.requesters),
            free_at: 0,
            busy_cycles: Counter::default(),
            useful_bytes: Counter::default(),
            moved_bytes: Counter::default(),
            lanes: vec![FrameLane::default(); params.requesters],
            params,
            requesters,
        }
    }

    /// Replaces the arbitration policy by a user-defined one.
    pub fn with_arbitration(mut self, policy: Box<dyn Arbitration>) -> FrameMemory {
        self.arbitrator = Arbitrator::Own(policy);
        self
    }

    /// The contents; for use while the simulation is paused.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The contents, writable; for use while the simulation is paused.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The requesters with a reference and room for its answer.
    fn waiting(&self, now: Cycle) -> u64 {
        let asks = |port: &Option<Responder>| {
            port.as_ref().is_some_and(|port| port.references.is_due(now) && port.replies.has_room())
        };
        self.requesters.iter().enumerate().filter(|(_, port)| asks(port)).fold(0, |set, (i, _)| set | 1 << i)
    }

    /// The cycles that the transfer takes.
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

    /// Carries out the transfer at a port. Returns its cycles.
    fn transfer(&mut self, now: Cycle, requester: usize) -> u64 {
        let port = self.requesters[requester].as_ref().expect("a waiting requester is connected");
        let waited = port.span(port.references.due().max(self.lanes[requester].free_at), now);
        let reference = port.references.take().expect("a waiting requester has a reference");
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
        let port = self.requesters[requester].as_ref().expect("a waiting requester is connected");
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
        self.waits.update(now, waiting);
        if waiting == 0 {
            return Activity::Idle;
        }
        let winner = self.arbitrator.choose(&Contest { now, waiting, continues: 0, since: self.waits.since() });
        self.lanes[winner as usize].wait_cycles.add(self.waits.granted(now, winner));
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
        counters.busy("busy_cycles", self.busy_cycles.total(), 1, "one access at a time");
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
        "Double data rate memory for frames: one whole transfer at a time, blocked while a row opens.";
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
            .map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester").optional())
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::memory(self.base, self.bytes)?;
        checks::power_of_two("bus_bytes", self.bus_bytes, 1, 256)?;
        checks::power_of_two("word_bytes", self.word_bytes, 1, 256)?;
        checks::within("transfer_bytes", self.transfer_bytes, 1, 1 << 16)?;
        if !self.base.is_multiple_of(u64::from(self.rows.row_bytes.max(self.word_bytes))) {
            return Err(format!("base is 0x{:x}, must be the start of a row", self.base));
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
    use crate::testing::scripted_requester;
    use expect_test::{Expect, expect};

    /// 16 bytes per cycle, words of 8 bytes; rows of 256 bytes in two banks; 5 cycles to open a row, 9 if another is
    /// open.
    fn params(requesters: usize) -> FrameMemoryParams {
        FrameMemoryParams {
            requesters,
            base: 0,
            bytes: 4096,
            bus_bytes: 16,
            word_bytes: 8,
            transfer_bytes: 1518,
            rows: RowsParams { row_bytes: 256, banks: 2, activation_cycles: 5, conflict_cycles: 9 },
            policy: Policy::RoundRobin {},
        }
    }

    fn check(requesters: &[&str], want: Expect) {
        want.assert_eq(&testkit::bench(500, |bench| {
            let asks = |(text, name): (&&str, char)| Some(scripted_requester(bench, &name.to_string(), text, 0));
            let ports = requesters.iter().zip('a'..).map(asks).collect();
            bench.add("memory", FrameMemory::new(params(requesters.len()), ports));
            bench.log_counters();
        }));
    }

    #[test]
    fn a_transfer_takes_the_cycles_of_its_rows_and_words() {
        // Open in 5 cycles and move in 1; already open, move in 2; then misaligned bytes, which move whole words.
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
    fn opening_another_row_of_a_bank_takes_longer() {
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
    fn transfers_take_turns_and_are_not_interrupted() {
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
    fn an_invalid_reference_takes_one_cycle() {
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

    /// Cycle of the last answer to two requesters with `n` transfers each, all waiting from cycle 1 on.
    fn last_answer(n: usize, transfer: &str) -> u64 {
        let rows = RowsParams { row_bytes: 4096, banks: 1, activation_cycles: 27, conflict_cycles: 27 };
        let log = testkit::bench(100_000, |bench| {
            let script = vec![format!("1 {transfer}"); n].join(";");
            let ports = ["a", "b"].map(|name| Some(scripted_requester(bench, name, &script, 0)));
            bench.add("memory", FrameMemory::new(FrameMemoryParams { rows: rows.clone(), ..params(2) }, ports.into()));
        });
        let last = log.lines().last().expect("there were answers");
        last.split(' ').next().expect("a line begins with its cycle").parse().expect("a number")
    }

    #[test]
    fn the_peak_rate_is_the_width_of_the_bus() {
        // 64 Gbit/s at 500 MHz: a row is opened once, then 16 bytes move in every cycle.
        assert_eq!(last_answer(20, "r 0+1504"), 1 + 27 + 40 * 1504 / 16);
        // A frame of 1518 bytes that starts 2 bytes into a word takes 190 words; its header of 42 bytes takes 6.
        assert_eq!(last_answer(20, "r 2+1518"), 1 + 27 + 40 * 190 / 2);
        assert_eq!(last_answer(20, "r 2+42"), 1 + 27 + 40 * 6 / 2);
    }
}
