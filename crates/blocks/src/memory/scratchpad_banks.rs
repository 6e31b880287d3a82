//! `scratchpad-banks`: word-interleaved memory banks behind a crossbar; other addresses go to an onward port.
//!
//! Ports:   `requesters[i]` (memory, answer), `onward` (memory, asks, optional): references outside the scratchpad.
//! Timing:  2 cycles from seeing a reference to seeing its answer: a bank is granted at the edge that sees the
//!           reference, and the answer is sent at the next. Each bank and the onward port take one transaction per
//!           cycle, and each requester gets one grant per cycle. A reference to n words takes n transactions, one
//!           after the other.
//! Order:   a requester is answered in the order of its references, so it gets no bank while one of its references is
//! outstanding at `onward`.
//! Errors:  without `onward`, an address outside gets a bus error.
//! Source:  thesis, 4.2.3: one transaction per cycle to each bank and to the external memory interface; one cycle to
//!           request and traverse, one to access and return. docs/machines/tengig.md lists the numbers of the card
//!           for which it was made.

use super::Store;
use crate::bus::{
    Access, BusError, Data, Reference, Reply, Requester, Responder, WordAccess, WordAnswer, WordLane, WordOp, word,
    word_and_token,
};
use crate::checks;
use crate::interconnect::ReturnPaths;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, WaitTimes};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Time, members};
use std::cell::Cell;
use std::rc::Rc;

/// Parameters of a [`ScratchpadBanks`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadBanksParams {
    /// Number of requesters, 1 to 64.
    pub requesters: usize,
    /// Number of banks, a power of two.
    pub banks: u32,
    /// Bytes of a word, a power of two up to 16. Consecutive words are in consecutive banks; a transaction moves at
    /// most one.
    pub word_bytes: u32,
    /// Address of the first byte.
    pub base: u64,
    /// Size of all banks together in bytes.
    pub bytes: u32,
    /// Maximum bytes of a reference; a longer one is answered with an error.
    pub reference_bytes: u32,
    /// Maximum outstanding references at the onward port.
    pub outstanding: u32,
    /// Arbitration policy of each bank and of the onward port.
    pub policy: Policy,
}

/// The ports of a [`ScratchpadBanks`].
pub struct ScratchpadBanksPorts {
    /// The requesters.
    pub requesters: Vec<Responder>,
    /// The memory outside the scratchpad.
    pub onward: Option<Requester>,
}

/// Serves several requesters from word-interleaved banks, and forwards references to other addresses.
pub struct ScratchpadBanks {
    params: ScratchpadBanksParams,
    requesters: Vec<Responder>,
    onward: Option<Requester>,
    store: Store,
    lanes: Vec<BankLane>,
    /// Requesters that have sent references which were not taken yet.
    arrivals: Rc<Cell<u64>>,
    /// The requesters with an answer that leaves at the next edge.
    answering: u64,
    /// The requests at this edge: a set of requesters for each bank, then for the onward port.
    requests: Vec<u64>,
    /// The banks with requests.
    asked: u64,
    /// The requesters with a reference that is due.
    pending: u64,
    arbitrators: Vec<Arbitrator>,
    waits: WaitTimes,
    /// Requesters of the references outstanding at `onward`, and how long each waited for the grant.
    returns: ReturnPaths<(u32, Time)>,
}

/// State of a requester.
struct BankLane {
    /// Replaces the requester's channels, if it opens it.
    words: Rc<WordLane>,
    /// Bytes already moved of the first reference in the channel.
    done: u32,
    /// Cycles in which it was not granted a bank.
    waited: Cycle,
    /// Bytes already read of that reference.
    read: Data,
    /// The answer that leaves at the next edge.
    answer: Option<Reply>,
    /// Outstanding references at the onward port.
    n_onward: u32,
    /// Transactions with a bank.
    reads: Counter,
    writes: Counter,
    /// Cycles in which the bank served another requester.
    conflicts: Counter,
    /// References forwarded.
    onward: Counter,
}

impl BankLane {
    fn new(words: Rc<WordLane>) -> BankLane {
        BankLane {
            words,
            done: 0,
            waited: 0,
            read: Data::new(),
            answer: None,
            n_onward: 0,
            reads: Counter::default(),
            writes: Counter::default(),
            conflicts: Counter::default(),
            onward: Counter::default(),
        }
    }

    /// Answers an access to a word.
    fn answer_word(&self, port: &Responder, answer: WordAnswer, is_write: bool) {
        if self.words.answer(answer, is_write) {
            port.replies.wake_receiver(answer.at);
        }
    }
}

impl ScratchpadBanks {
    /// A scratchpad with these ports.
    pub fn new(params: ScratchpadBanksParams, ports: ScratchpadBanksPorts) -> ScratchpadBanks {
        let ScratchpadBanksPorts { requesters, onward } = ports;
        let arrivals: Rc<Cell<u64>> = Rc::default();
        // An access to a word must be one transaction.
        let serves_words = params.word_bytes >= 4 && params.reference_bytes >= 4;
        let lane = |(i, port): (usize, &Responder)| {
            let words = Rc::new(WordLane::new(params.base, params.bytes.into(), &arrivals, 1 << i));
            port.references.announce(&arrivals, 1 << i);
            if serves_words {
                port.references.offer(words.clone());
            }
            BankLane::new(words)
        };
        let lanes = requesters.iter().enumerate().map(lane).collect();
        ScratchpadBanks {
            arrivals,
            store: Store::new(params.base, params.bytes),
            lanes,
            answering: 0,
            requests: vec![0; params.banks as usize + 1],
            asked: 0,
            pending: 0,
            arbitrators: (0..=params.banks).map(|_| params.policy.start()).collect(),
            waits: WaitTimes::new(params.requesters),
            returns: ReturnPaths::new(params.outstanding),
            params,
            requesters,
            onward,
        }
    }

    /// Replaces the arbitration policy by a user-defined one: `policy` is called for each bank and for the onward
    /// port.
    pub fn with_arbitration(mut self, mut policy: impl FnMut() -> Box<dyn Arbitration>) -> ScratchpadBanks {
        self.arbitrators.iter_mut().for_each(|arbitrator| *arbitrator = Arbitrator::Own(policy()));
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

    /// Adds a counter, in total and for each requester.
    fn count(&self, name: &str, of: fn(&BankLane) -> &Counter, counters: &mut CounterList) {
        counters.add(name, self.lanes.iter().map(|lane| of(lane).total()).sum());
        for (i, lane) in self.lanes.iter().enumerate() {
            counters.add(&format!("requesters[{i}].{name}"), of(lane).total());
        }
    }

    /// Sends the answers of the grants at the previous edge. Returns the requesters answered.
    fn answer(&mut self) -> u64 {
        let mut answered = 0;
        for i in members(self.answering) {
            let replies = &self.requesters[i as usize].replies;
            if replies.has_room() {
                replies.send(self.lanes[i as usize].answer.take().expect("an answer is there"));
                answered |= 1 << i;
            }
        }
        self.answering &= !answered;
        answered
    }

    /// Returns an onward answer to its requester. The result is true if another can be returned at the next edge.
    fn return_onward(&mut self, now: Cycle, answered: u64) -> bool {
        let Some(onward) = &self.onward else { return false };
        let Some(&(requester, waited)) = self.returns.next() else { return false };
        if !onward.replies.has_item() {
            return false;
        }
        if answered >> requester & 1 == 1 {
            return true; // One answer per cycle.
        }
        let (lane, port) = (&mut self.lanes[requester as usize], &self.requesters[requester as usize]);
        if lane.words.is_open() {
            let reply = onward.replies.take().expect("an answer has arrived");
            let result = reply.result.map(|data| word_and_token(&data));
            lane.answer_word(port, WordAnswer { at: now + 1, result, waited: reply.waited + waited }, false);
            lane.n_onward -= 1;
            self.returns.pop();
            return onward.replies.has_item();
        }
        if lane.answer.is_some() || !port.replies.has_room() {
            return false; // Room at the requester wakes us.
        }
        port.replies.send(onward.replies.take().expect("an answer has arrived").having_waited(waited));
        lane.n_onward -= 1;
        self.returns.pop();
        onward.replies.has_item()
    }

    /// Finds the bank or port that each requester needs.
    fn find_requests(&mut self, now: Cycle) {
        let mut waiting = 0;
        (self.asked, self.pending) = (0, 0);
        for i in members(self.arrivals.get() & !self.answering) {
            let (lane, port) = (&self.lanes[i as usize], &self.requesters[i as usize]);
            let Some(addr) = lane.words.next_addr(now).or_else(|| Some(port.references.peek()?.addr)) else { continue };
            self.pending |= 1 << i;
            let resource = if self.onward.is_some() && !self.store.contains(addr) {
                self.params.banks
            } else if lane.n_onward > 0 {
                continue; // The onward answer comes first and wakes us.
            } else {
                // The bank that the address selects refuses an invalid reference.
                let at = addr.wrapping_sub(self.params.base).wrapping_add(u64::from(lane.done));
                (at >> self.params.word_bytes.trailing_zeros()) as u32 & (self.params.banks - 1)
            };
            self.requests[resource as usize] |= 1 << i;
            if resource < self.params.banks {
                self.asked |= 1 << resource;
            }
            waiting |= 1 << i;
        }
        self.waits.update(now, waiting);
    }

    /// Takes a requester's first reference.
    fn take_reference(&mut self, now: Cycle, requester: usize) -> Reference {
        let references = &self.requesters[requester].references;
        let reference = match self.lanes[requester].words.take(now) {
            Some(access) => access.reference(),
            None => references.take_due(now).expect("a granted requester has a reference"),
        };
        if references.due() == Cycle::MAX && !self.lanes[requester].words.is_open() {
            self.arrivals.set(self.arrivals.get() & !(1 << requester));
        }
        self.note_taken(now, requester);
        reference
    }

    /// Notes whether the requester has another reference that is due.
    fn note_taken(&mut self, now: Cycle, requester: usize) {
        if self.lanes[requester].words.due().min(self.requesters[requester].references.due()) > now {
            self.pending &= !(1 << requester);
        }
    }

    /// Chooses one of the requesters that wait for a bank or for the onward port. Also returns the cycles for which it waited.
    fn choose(&mut self, now: Cycle, resource: usize, waiting: u64) -> (usize, Cycle) {
        let contest = Contest { now, waiting, continues: 0, since: self.waits.since() };
        let winner = self.arbitrators[resource].choose(&contest);
        (winner as usize, self.waits.granted(now, winner))
    }

    /// Grants each bank to one requester. Returns true if there was any.
    fn grant_banks(&mut self, now: Cycle) -> bool {
        for bank in members(self.asked) {
            let waiting = std::mem::take(&mut self.requests[bank as usize]);
            let (winner, waited) = self.choose(now, bank as usize, waiting);
            self.lanes[winner].waited += waited;
            match self.lanes[winner].words.take(now) {
                Some(access) => self.access_word(now, winner, access),
                None => self.access(now, winner),
            }
            for other in members(waiting & !(1 << winner)) {
                self.lanes[other as usize].conflicts.add(1);
            }
        }
        self.asked != 0
    }

    /// Forwards a reference to the onward port. Returns true if there was one.
    fn forward(&mut self, now: Cycle) -> bool {
        let resource = self.params.banks as usize;
        let waiting = std::mem::take(&mut self.requests[resource]);
        let Some(onward) = self.onward.as_ref().filter(|_| waiting != 0) else { return false };
        if !self.returns.has_room() || !onward.references.has_room() {
            return false; // An answer or room wakes us.
        }
        let (winner, waited) = self.choose(now, resource, waiting);
        let reference = self.take_reference(now, winner);
        if let Some(onward) = &self.onward {
            onward.references.send(reference);
        }
        let waited = self.requesters[winner].span(now - waited, now);
        self.returns.push((winner as u32, waited));
        self.lanes[winner].n_onward += 1;
        self.lanes[winner].onward.add(1);
        true
    }

    /// Carries out an access to a word, and answers it.
    fn access_word(&mut self, now: Cycle, requester: usize, WordAccess { addr, op, .. }: WordAccess) {
        let (lane, store) = (&mut self.lanes[requester], &mut self.store);
        let result = match op {
            WordOp::Read => store.get(addr, 4).map(|bytes| (word(bytes), 0)),
            WordOp::Write { data, n } => store.get_mut(addr, n.into()).map(|place| {
                place.iter_mut().zip(data).for_each(|(place, byte)| *place = byte);
                (0, 0)
            }),
            WordOp::Linked(link) => store.link(link, addr).map(|data| word_and_token(&data)),
        };
        if result.is_ok() {
            if op.is_read() { lane.reads.add(1) } else { lane.writes.add(1) }
        }
        let port = &self.requesters[requester];
        let waited = port.span(now - std::mem::take(&mut lane.waited), now);
        // A bank's answer is sent at the next edge.
        lane.answer_word(port, WordAnswer { at: now + 2, result, waited }, matches!(op, WordOp::Write { .. }));
        self.note_taken(now, requester);
    }

    /// Moves one word of a requester's first reference, or answers it with an error.
    fn access(&mut self, now: Cycle, requester: usize) {
        let (lane, port) = (&mut self.lanes[requester], &self.requesters[requester]);
        let reference = port.references.peek().expect("a granted requester has a reference");
        let (addr, bytes) = (reference.addr, reference.access.len());
        let at = addr.wrapping_add(u64::from(lane.done));
        let moved = (self.params.word_bytes - (at % u64::from(self.params.word_bytes)) as u32).min(bytes - lane.done);
        let result = if bytes == 0 || bytes > self.params.reference_bytes {
            Err(BusError::Length(addr, bytes))
        } else {
            // Nothing moves unless the whole reference is inside.
            self.store.get(addr, bytes).map(|_| ())
        };
        let result = result.and_then(|()| match &reference.access {
            Access::Read(_) => {
                lane.reads.add(1);
                self.store.get(at, moved).map(|word| lane.read.extend_from_slice(word))
            }
            Access::Linked(link) => {
                if reference.access.is_write() {
                    lane.writes.add(1);
                } else {
                    lane.reads.add(1);
                }
                if moved < bytes {
                    return Err(BusError::NoLink(addr));
                }
                self.store.link(*link, addr).map(|reply| lane.read = reply)
            }
            Access::Write(data) => {
                lane.writes.add(1);
                let word = &data[lane.done as usize..(lane.done + moved) as usize];
                self.store.get_mut(at, moved).map(|place| place.copy_from_slice(word))
            }
        });
        lane.done += moved;
        if result.is_ok() && lane.done < bytes {
            return;
        }
        let id = reference.id;
        drop(reference);
        self.take_reference(now, requester);
        let (lane, port) = (&mut self.lanes[requester], &self.requesters[requester]);
        lane.done = 0;
        let waited = port.span(now - std::mem::take(&mut lane.waited), now);
        let read = std::mem::take(&mut lane.read);
        self.answering |= 1 << requester;
        lane.answer = Some(Reply::new(id, result.map(|()| read)).having_waited(waited));
    }
}

impl Component for ScratchpadBanks {
    fn tick(&mut self, now: Cycle) -> Activity {
        let answered = self.answer();
        let mut has_more = self.return_onward(now, answered);
        self.find_requests(now);
        let is_granted = self.grant_banks(now) | self.forward(now);
        // Answers over channels leave at the next edge.
        has_more |= self.answering != 0 || is_granted && self.pending != 0;
        if has_more { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, requester) in self.requesters.iter().enumerate() {
            requester.port(&format!("requesters[{i}]"), ports);
        }
        if let Some(onward) = &self.onward {
            onward.port("onward", ports);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        self.count("reads", |lane| &lane.reads, counters);
        self.count("writes", |lane| &lane.writes, counters);
        self.count("conflicts", |lane| &lane.conflicts, counters);
        self.count("onward", |lane| &lane.onward, counters);
    }
}

impl Module for ScratchpadBanksParams {
    const NAME: &'static str = "scratchpad-banks";
    const ABOUT: &'static str =
        "Word-interleaved memory banks behind a crossbar, with an onward port for other addresses.";
    const EXAMPLE: &'static str = r#"requesters = 10
banks = 4
word_bytes = 4
base = 0
bytes = 262144
reference_bytes = 16
outstanding = 8
policy = { kind = "round-robin" }"#;

    fn ports(&self) -> Vec<PortSpec> {
        let requesters =
            (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("a requester"));
        requesters.chain([PortSpec::from::<Memory>("onward").about("memory outside the banks").optional()]).collect()
    }

    fn check(&self) -> Result<(), String> {
        self.policy.check(self.requesters)?;
        checks::power_of_two("banks", self.banks, 1, 64)?;
        checks::power_of_two("word_bytes", self.word_bytes, 1, 16)?;
        checks::within("reference_bytes", self.reference_bytes, 1, 4096)?;
        checks::within("outstanding", self.outstanding, 1, 1024)?;
        checks::memory(self.base, self.bytes)?;
        let row = self.banks * self.word_bytes;
        if !self.bytes.is_multiple_of(row) || !self.base.is_multiple_of(u64::from(self.word_bytes)) {
            return Err(format!(
                "bytes is {} and base 0x{:x}, must be multiples of {row} (banks x word_bytes) and {}",
                self.bytes, self.base, self.word_bytes
            ));
        }
        Ok(())
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = ScratchpadBanksPorts {
            requesters: (0..self.requesters).map(|i| site.to::<Memory>(&format!("requesters[{i}]"))).collect(),
            onward: site.try_from::<Memory>("onward"),
        };
        Built::new(ScratchpadBanks::new(self, ports))
    }
}

#[cfg(test)]
mod tests;
