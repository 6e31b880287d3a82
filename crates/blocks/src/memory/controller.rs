//! A memory and its controller: bursts of words on one bus, shared by several requesters.

use super::{Rows, RowsParams};
use crate::bus::{Access, BusError, Data, Reference, Reply, Responder};
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, Waits};
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// A synchronous memory of bursts behind one bus.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryControllerParams {
    /// Bytes of memory; a power of two. Addresses above alias.
    pub bytes: u64,
    /// Width of the bus in bytes: what moves in a cycle.
    pub word_bytes: u32,
    /// Cycles of the first word of a burst.
    pub first_word_cycles: u64,
    /// Words of a burst at most; after that a new one begins.
    pub burst_words: u32,
    /// How many may refer to it.
    pub requesters: usize,
    /// Longest reference in bytes.
    pub max_bytes: u32,
    /// The rows of a DRAM; without them it is an SRAM. A word in a row that is not open takes that many cycles more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsParams>,
    /// Who goes first.
    pub policy: Policy,
}

impl Module for MemoryControllerParams {
    const NAME: &'static str = "memory-controller";
    const ABOUT: &'static str =
        "A synchronous memory and its controller: bursts of words on one bus, shared by several requesters";
    const EXAMPLE: &'static str = r#"bytes = 1048576
word_bytes = 8
first_word_cycles = 2
burst_words = 4
requesters = 3
max_bytes = 128
policy = { kind = "fixed-priority", groups = [[0], [1, 2]], keeps_bursts = true, timeout_cycles = 64 }"#;

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).optional()).collect()
    }

    fn check(&self) -> Result<(), String> {
        let in_range = |name: &str, value: u64, least: u64, most: u64| {
            let is_in = (least..=most).contains(&value);
            if is_in { Ok(()) } else { Err(format!("{name} is {value}, must be {least} to {most}")) }
        };
        in_range("bytes", self.bytes, 8, 1 << 30)?;
        if !self.bytes.is_power_of_two() || !self.word_bytes.is_power_of_two() {
            return Err(format!("bytes {} and word_bytes {} must be powers of two", self.bytes, self.word_bytes));
        }
        in_range("word_bytes", u64::from(self.word_bytes), 1, 64)?;
        in_range("first_word_cycles", self.first_word_cycles, 1, 1000)?;
        in_range("burst_words", u64::from(self.burst_words), 1, 1024)?;
        in_range("requesters", self.requesters as u64, 1, 64)?;
        in_range("max_bytes", u64::from(self.max_bytes), 1, 65_536)?;
        self.rows.as_ref().map_or(Ok(()), RowsParams::check)?;
        self.policy.check(self.requesters)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = (0..self.requesters).map(|i| site.try_to::<Memory>(&format!("requesters[{i}]"))).collect();
        Built::new(MemoryController::new(self, ports))
    }
}

/// A reference that is being served.
struct Active {
    reference: Reference,
    /// Bytes moved so far.
    done: u32,
    /// What was read so far.
    read: Data,
}

/// A requester's port and what is under way there.
struct Lane {
    port: Option<Responder>,
    active: Option<Active>,
    served_words: u64,
    wait_cycles: u64,
}

/// The word with which the burst under way would go on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Burst {
    lane: usize,
    next_addr: u64,
    is_write: bool,
    words_left: u32,
    /// The cycle at which that word would be in time.
    at: Cycle,
}

/// Serves one word at a time, in bursts where addresses follow each other.
///
/// Ports:   `requesters[i]`, references of up to `max_bytes`, answered in order.
/// Timing:  a word that begins a burst takes `first_word_cycles`, one that goes on with it 1. A word goes on with a burst
///          if it is the next in address, of the same requester and direction, and there in the cycle after the last.
///          The reply is seen at the earliest when the last word has moved.
///          A DRAM's word in a row that is not open takes the cycles of opening it besides.
/// Source:  Willmann 2004, 3.2 and table 3.2 (memory controller: burst length and a fixed gap between bursts; row length
///          and row activation latency).
pub struct MemoryController {
    params: MemoryControllerParams,
    lanes: Vec<Lane>,
    arbitrator: Arbitrator,
    waits: Waits,
    burst: Option<Burst>,
    rows: Option<Rows>,
    free_at: Cycle,
    bytes: Vec<u8>,
    busy_cycles: u64,
    bursts: u64,
}

impl MemoryController {
    /// A memory of zeros. A port that is `None` is not connected.
    pub fn new(params: MemoryControllerParams, ports: Vec<Option<Responder>>) -> MemoryController {
        assert_eq!(ports.len(), params.requesters, "a port for each requester");
        let lane = |port| Lane { port, active: None, served_words: 0, wait_cycles: 0 };
        MemoryController {
            lanes: ports.into_iter().map(lane).collect(),
            arbitrator: params.policy.start(),
            waits: Waits::new(params.requesters),
            burst: None,
            rows: params.rows.clone().map(Rows::new),
            free_at: 0,
            bytes: vec![0; usize::try_from(params.bytes).expect("a memory fits the host's")],
            busy_cycles: 0,
            bursts: 0,
            params,
        }
    }

    /// The same with a policy of the user's own.
    pub fn with_arbitration(mut self, policy: Box<dyn Arbitration>) -> MemoryController {
        self.arbitrator = Arbitrator::Own(policy);
        self
    }

    /// What stands at `addr`, between two slices of time.
    pub fn read(&self, addr: u64, len: usize) -> Vec<u8> {
        (0..len as u64).map(|i| self.bytes[self.place(addr + i)]).collect()
    }

    /// Puts `bytes` at `addr`, between two slices of time.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        for (i, &byte) in (0..).zip(bytes) {
            let place = self.place(addr + i);
            self.bytes[place] = byte;
        }
    }

    fn place(&self, addr: u64) -> usize {
        (addr & (self.params.bytes - 1)) as usize
    }

    /// Takes new references; the result is who asks, and who of them would go on with the burst under way.
    fn listen(&mut self, now: Cycle) -> (u64, u64) {
        let burst = self.burst.filter(|burst| burst.at == now && burst.words_left > 0);
        let (mut waiting, mut continues) = (0, 0);
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            let Some(port) = &lane.port else { continue };
            if lane.active.is_none() && port.references.is_due(now) {
                let reference = port.references.take().expect("one is due");
                lane.active = Some(Active { reference, done: 0, read: Data::new() });
            }
            // Room for the reply is made sure of before the first word moves.
            let Some(active) = lane.active.as_ref().filter(|_| port.replies.has_room()) else { continue };
            waiting |= 1 << i;
            let here = (i, active.addr(), active.is_write());
            if burst.is_some_and(|burst| (burst.lane, burst.next_addr, burst.is_write) == here) {
                continues |= 1 << i;
            }
        }
        self.waits.note(now, waiting);
        (waiting, continues)
    }

    /// Moves one word of requester `winner`; returns the cycles it takes.
    fn serve(&mut self, now: Cycle, winner: usize, goes_on: bool) -> u64 {
        let word = u64::from(self.params.word_bytes);
        let MemoryController { lanes, bytes, params, .. } = self;
        let lane = &mut lanes[winner];
        lane.wait_cycles += self.waits.went(now, winner as u32);
        let active = lane.active.as_mut().expect("the winner asks");
        let is_wrong = active.reference.access.is_empty() || active.reference.access.len() > params.max_bytes;
        let (addr, is_write) = (active.addr(), active.is_write());
        // A word ends where the bus's words end.
        let here = ((word - addr % word) as u32).min(active.reference.access.len() - active.done);
        if !is_wrong {
            for i in 0..u64::from(here) {
                let place = (addr.wrapping_add(i) & (params.bytes - 1)) as usize;
                match &active.reference.access {
                    Access::Read(_) => active.read.push(bytes[place]),
                    Access::Write(data) => bytes[place] = data[(u64::from(active.done) + i) as usize],
                }
            }
        }
        active.done += here;
        let opening = self.rows.as_mut().filter(|_| !is_wrong).map_or(0, |rows| rows.open(addr & (params.bytes - 1)));
        let cycles = opening + if goes_on { 1 } else { params.first_word_cycles };
        let words_left = match self.burst {
            Some(burst) if goes_on => burst.words_left - 1,
            _ => {
                self.bursts += 1;
                params.burst_words - 1
            }
        };
        let next_addr = (addr & !(word - 1)).wrapping_add(word);
        self.burst = Some(Burst { lane: winner, next_addr, is_write, words_left, at: now + cycles });
        lane.served_words += 1;
        if is_wrong || active.done == active.reference.access.len() {
            let Active { reference, read, .. } = lane.active.take().expect("it was served");
            let error = BusError::Length(reference.addr, reference.access.len());
            let result = if is_wrong { Err(error) } else { Ok(read) };
            let port = lane.port.as_ref().expect("who asks is connected");
            port.replies.send_late(Reply { id: reference.id, result }, cycles - 1);
        }
        cycles
    }
}

impl Active {
    /// Address of the next word.
    fn addr(&self) -> u64 {
        self.reference.addr.wrapping_add(u64::from(self.done))
    }

    fn is_write(&self) -> bool {
        matches!(self.reference.access, Access::Write(_))
    }
}

impl Component for MemoryController {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now < self.free_at {
            return Activity::Until(self.free_at);
        }
        let (waiting, continues) = self.listen(now);
        if waiting == 0 {
            return Activity::Idle;
        }
        let since = self.waits.since();
        let winner = self.arbitrator.choose(&Contest { now, waiting, continues, since });
        let cycles = self.serve(now, winner as usize, continues >> winner & 1 == 1);
        self.free_at = now + cycles;
        self.busy_cycles += cycles;
        Activity::Until(self.free_at)
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, lane) in self.lanes.iter().enumerate() {
            if let Some(port) = &lane.port {
                port.port(&format!("requesters[{i}]"), ports);
            }
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("busy_cycles", self.busy_cycles);
        counters.add("bursts", self.bursts);
        if let Some(rows) = &self.rows {
            counters.add("rows_opened", rows.n_opened);
            counters.add("row_cycles", rows.cycles);
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            counters.add(&format!("requesters[{i}].words"), lane.served_words);
            counters.add(&format!("requesters[{i}].wait_cycles"), lane.wait_cycles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::FixedPriority;
    use expect_test::{Expect, expect};
    use kernel::{Freq, Inlet, Mode, Rx, SystemBuilder, Time};
    use std::cell::RefCell;
    use std::fmt::Write;
    use std::rc::Rc;

    /// Writes down when replies are seen.
    struct Log(Vec<Rx<Reply>>, Rc<RefCell<String>>);

    impl Component for Log {
        fn tick(&mut self, now: Cycle) -> Activity {
            for (i, rx) in self.0.iter().enumerate() {
                while let Some(Reply { id, result }) = rx.take() {
                    let what = result.map_or_else(|error| error.to_string(), |data| format!("{data:02x?}"));
                    writeln!(self.1.borrow_mut(), "{now} port {i} #{id} {what}").expect("a string");
                }
            }
            Activity::Idle
        }

        fn ports(&self, ports: &mut Ports) {
            ports.inputs("replies", &self.0);
        }
    }

    fn sram(policy: Policy) -> MemoryControllerParams {
        let (bytes, word_bytes, first_word_cycles, burst_words) = (1024, 8, 2, 4);
        MemoryControllerParams {
            bytes,
            word_bytes,
            first_word_cycles,
            burst_words,
            requesters: 2,
            max_bytes: 128,
            rows: None,
            policy,
        }
    }

    fn priority(keeps_bursts: bool, timeout_cycles: u64) -> Policy {
        Policy::FixedPriority(FixedPriority { groups: vec![vec![0], vec![1]], keeps_bursts, timeout_cycles })
    }

    /// `script`: cycle at which a reference is seen, port, `r` or `w`, address, bytes.
    fn check(policy: Policy, script: &[(u64, usize, char, u64, u32)], want: Expect) {
        check_memory(&sram(policy), script, want);
    }

    fn check_memory(params: &MemoryControllerParams, script: &[(u64, usize, char, u64, u32)], want: Expect) {
        let run = |mode| {
            let mut system = SystemBuilder::new(1);
            let clock = system.clock(Freq::mhz(100).expect("a frequency"));
            let (mut inlets, mut ports, mut replies): (Vec<Inlet<Reference>>, _, _) = (vec![], vec![], vec![]);
            for i in 0..2 {
                let (inlet, references) = system.inlet(&format!("references{i}"), clock);
                let (tx, rx) = system.channel(&format!("replies{i}"), 8, 1);
                inlets.push(inlet);
                ports.push(Some(Responder { references, replies: tx }));
                replies.push(rx);
            }
            let log = Rc::new(RefCell::new(String::new()));
            system.add("memory", clock, MemoryController::new(params.clone(), ports));
            system.add("log", clock, Log(replies, log.clone()));
            let mut system = system.build().expect("it is wired");
            system.set_mode(mode);
            for (id, &(at, port, kind, addr, len)) in (0..).zip(script) {
                let access = match kind {
                    'r' => Access::Read(len),
                    _ => Access::Write((0..len).map(|i| i as u8 + 1).collect()),
                };
                inlets[port].send_at(at, Reference { id, addr, access });
            }
            system.run_until(Time::from_fs(u64::MAX / 2));
            log.take()
        };
        let normal = run(Mode::Normal);
        assert_eq!(normal, run(Mode::Sleepless));
        want.assert_eq(&normal);
    }

    #[test]
    fn four_words_take_five_cycles() {
        let words =
            [(10, 0, 'r', 0, 8), (10, 0, 'r', 8, 8), (10, 0, 'r', 16, 8), (10, 0, 'r', 24, 8), (10, 0, 'r', 32, 8)];
        check(
            priority(true, 100),
            &words,
            expect![[r#"
             12 port 0 #0 [00, 00, 00, 00, 00, 00, 00, 00]
             13 port 0 #1 [00, 00, 00, 00, 00, 00, 00, 00]
             14 port 0 #2 [00, 00, 00, 00, 00, 00, 00, 00]
             15 port 0 #3 [00, 00, 00, 00, 00, 00, 00, 00]
             17 port 0 #4 [00, 00, 00, 00, 00, 00, 00, 00]
        "#]],
        );
    }

    #[test]
    fn a_long_reference_is_its_bursts() {
        check(
            priority(true, 100),
            &[(10, 0, 'w', 0, 64), (10, 0, 'r', 60, 3)],
            expect![[r#"
             20 port 0 #0 []
             22 port 0 #1 [3d, 3e, 3f]
        "#]],
        );
    }

    #[test]
    fn what_is_too_long_is_an_error() {
        check(
            priority(true, 100),
            &[(10, 0, 'r', 0, 129), (10, 0, 'r', 4, 0)],
            expect![[r#"
             12 port 0 #0 a reference to 129 bytes at 0x0 is not possible
             14 port 0 #1 a reference to 0 bytes at 0x4 is not possible
        "#]],
        );
    }

    /// Port 1 wants a line of 32 bytes while port 0, which goes first, asks for single words.
    const RIVALS: [(u64, usize, char, u64, u32); 3] = [(10, 1, 'r', 0, 32), (11, 0, 'w', 512, 8), (11, 0, 'w', 600, 8)];

    #[test]
    fn a_burst_is_kept_only_where_the_policy_says_so() {
        check(
            priority(true, 100),
            &RIVALS,
            expect![[r#"
             15 port 1 #0 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]
             17 port 0 #1 []
             19 port 0 #2 []
        "#]],
        );
        check(
            priority(false, 100),
            &RIVALS,
            expect![[r#"
             14 port 0 #1 []
             16 port 0 #2 []
             20 port 1 #0 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]
        "#]],
        );
    }

    #[test]
    fn turns_cut_bursts_to_pieces() {
        let script = [(10, 0, 'w', 0, 16), (10, 1, 'w', 512, 16)];
        check(
            Policy::RoundRobin,
            &script,
            expect![[r#"
             16 port 0 #0 []
             18 port 1 #1 []
        "#]],
        );
    }

    #[test]
    fn who_has_waited_long_enough_goes_first() {
        let mut script: Vec<_> = (0..6).map(|i| (10, 0, 'w', 64 * i, 8)).collect();
        script.push((10, 1, 'w', 512, 8));
        let served_at = |timeout, want: Expect| check(priority(true, timeout), &script, want);
        served_at(
            6,
            expect![[r#"
             12 port 0 #0 []
             14 port 0 #1 []
             16 port 0 #2 []
             18 port 1 #6 []
             20 port 0 #3 []
             22 port 0 #4 []
             24 port 0 #5 []
        "#]],
        );
        served_at(
            7,
            expect![[r#"
             12 port 0 #0 []
             14 port 0 #1 []
             16 port 0 #2 []
             18 port 0 #3 []
             20 port 1 #6 []
             22 port 0 #4 []
             24 port 0 #5 []
        "#]],
        );
    }

    #[test]
    fn a_row_of_a_dram_is_opened_before_its_words_move() {
        let rows = Some(RowsParams { row_bytes: 64, banks: 2, activation_cycles: 5, conflict_cycles: 9 });
        let dram = MemoryControllerParams { rows, ..sram(Policy::RoundRobin) };
        check_memory(
            &dram,
            &[
                (10, 0, 'r', 0, 8),
                (20, 0, 'r', 8, 8),
                (30, 0, 'r', 56, 16),
                (50, 0, 'r', 128, 8),
                (70, 0, 'r', 1024, 8),
            ],
            expect![[r#"
                17 port 0 #0 [00, 00, 00, 00, 00, 00, 00, 00]
                22 port 0 #1 [00, 00, 00, 00, 00, 00, 00, 00]
                38 port 0 #2 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]
                61 port 0 #3 [00, 00, 00, 00, 00, 00, 00, 00]
                81 port 0 #4 [00, 00, 00, 00, 00, 00, 00, 00]
            "#]],
        );
    }
}
