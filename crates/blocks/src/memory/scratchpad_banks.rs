//! `scratchpad-banks`: word-interleaved memory banks behind a crossbar, with a way onward for other addresses.
//!
//! Ports:   `requesters[i]` (memory, answer), `onward` (memory, asks, optional): what is outside the scratchpad.
//! Timing:  2 cycles from a reference seen to its answer seen: a bank is granted at the edge that sees the reference,
//!          the answer is sent at the next. A bank and the onward port take one transaction a cycle, a requester has one
//!          granted a cycle. A reference to n words takes n transactions, one after the other.
//! Order:   a requester's answers stand in the order of its references, so none is granted a bank while one of its
//!          own is under way onward.
//! Errors:  without `onward`, an address outside is an error of the bus.
//! Source:  thesis, 4.2.3: one transaction to each bank and to the external memory interface a cycle, one cycle to request
//!          and traverse, one to access and return. The numbers of the card that it was made for are in
//!          docs/machines/tengig.md.

use super::Store;
use crate::bus::{Access, BusError, Data, Reply, Requester, Responder};
use crate::checks;
use crate::interconnect::Returns;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, Waits};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Time, members};

/// Parameters of a [`ScratchpadBanks`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadBanksParams {
    /// Requesters on the crossbar, 1 to 64.
    pub requesters: usize,
    /// Banks, a power of two.
    pub banks: u32,
    /// Bytes of a word, a power of two up to 16: neighbouring words are in neighbouring banks, and a transaction moves up
    /// to one.
    pub word_bytes: u32,
    /// Address of the first byte.
    pub base: u64,
    /// Bytes of all banks together.
    pub bytes: u32,
    /// Longest reference; a longer one is answered with an error. Unit: bytes.
    pub reference_bytes: u32,
    /// References under way onward at most.
    pub outstanding: u32,
    /// Who goes first at a bank and at the onward port.
    pub policy: Policy,
}

/// The ports of a [`ScratchpadBanks`].
pub struct ScratchpadBanksPorts {
    /// Who is served.
    pub requesters: Vec<Responder>,
    /// What is outside the scratchpad.
    pub onward: Option<Requester>,
}

/// Serves several requesters from word-interleaved banks, and passes on what is addressed elsewhere.
pub struct ScratchpadBanks {
    params: ScratchpadBanksParams,
    requesters: Vec<Responder>,
    onward: Option<Requester>,
    store: Store,
    lanes: Vec<Lane>,
    /// Who asks for what at this edge: a set of requesters for each bank, then for the onward port.
    asked: Vec<u64>,
    arbitrators: Vec<Arbitrator>,
    waits: Waits,
    /// Requesters of the references under way onward,
    /// and how long each waited to get there.
    returns: Returns<(u32, Time)>,
}

/// What the crossbar keeps of a requester.
#[derive(Default)]
struct Lane {
    /// Bytes of the reference at the head of the channel that have moved.
    done: u32,
    /// Cycles for which it was not granted a bank.
    waited: Cycle,
    /// What has been read of it.
    read: Data,
    /// The answer that leaves at the next edge.
    answer: Option<Reply>,
    /// References under way onward.
    n_onward: u32,
    /// Transactions with a bank.
    reads: Counter,
    writes: Counter,
    /// Cycles in which a bank served another.
    conflicts: Counter,
    /// References passed on.
    onward: Counter,
}

impl ScratchpadBanks {
    /// A scratchpad at these ports.
    pub fn new(params: ScratchpadBanksParams, ports: ScratchpadBanksPorts) -> ScratchpadBanks {
        let ScratchpadBanksPorts { requesters, onward } = ports;
        ScratchpadBanks {
            store: Store::new(params.base, params.bytes),
            lanes: requesters.iter().map(|_| Lane::default()).collect(),
            asked: vec![0; params.banks as usize + 1],
            arbitrators: (0..=params.banks).map(|_| params.policy.start()).collect(),
            waits: Waits::new(params.requesters),
            returns: Returns::new(params.outstanding),
            params,
            requesters,
            onward,
        }
    }

    /// The same with a policy of the user's own: one for each bank and one for the onward port.
    pub fn with_arbitration(mut self, mut policy: impl FnMut() -> Box<dyn Arbitration>) -> ScratchpadBanks {
        self.arbitrators.iter_mut().for_each(|arbitrator| *arbitrator = Arbitrator::Own(policy()));
        self
    }

    /// Bytes of the scratchpad, for whoever looks between two runs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The same, to be written: contents at the start.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Adds a counter and what of it each requester has.
    fn count(&self, name: &str, of: fn(&Lane) -> &Counter, counters: &mut CounterList) {
        counters.add(name, self.lanes.iter().map(|lane| of(lane).total()).sum());
        for (i, lane) in self.lanes.iter().enumerate() {
            counters.add(&format!("requesters[{i}].{name}"), of(lane).total());
        }
    }

    /// Sends what was granted at the edge before; the result is who was answered.
    fn answer(&mut self) -> u64 {
        let mut answered = 0;
        for (i, (lane, port)) in self.lanes.iter_mut().zip(&self.requesters).enumerate() {
            if lane.answer.is_some() && port.replies.has_room() {
                port.replies.send(lane.answer.take().expect("an answer is there"));
                answered |= 1 << i;
            }
        }
        answered
    }

    /// Passes an answer from onward back to its requester. The result is whether there is more to pass at the next edge.
    fn pass_back(&mut self, answered: u64) -> bool {
        let Some(onward) = &self.onward else { return false };
        let Some(&(requester, waited)) = self.returns.next() else { return false };
        if !onward.replies.has_item() {
            return false;
        }
        if answered >> requester & 1 == 1 {
            return true; // One answer a cycle.
        }
        let (lane, port) = (&mut self.lanes[requester as usize], &self.requesters[requester as usize]);
        if lane.answer.is_some() || !port.replies.has_room() {
            return false; // Room wakes us.
        }
        port.replies.send(onward.replies.take().expect("an answer has come").having_waited(waited));
        lane.n_onward -= 1;
        self.returns.pop();
        onward.replies.has_item()
    }

    /// Finds what each requester asks for.
    fn look(&mut self, now: Cycle) {
        self.asked.fill(0);
        let mut waiting = 0;
        for (i, (lane, port)) in self.lanes.iter().zip(&self.requesters).enumerate() {
            if lane.answer.is_some() || !port.references.is_due(now) {
                continue;
            }
            let addr = port.references.peek().expect("a reference is due").addr;
            let resource = if self.onward.is_some() && !self.store.contains(addr) {
                self.params.banks
            } else if lane.n_onward > 0 {
                continue; // The answer from onward comes first and wakes us.
            } else {
                // What no bank can serve is refused by the bank that its address points to.
                let at = addr.wrapping_sub(self.params.base).wrapping_add(u64::from(lane.done));
                (at / u64::from(self.params.word_bytes)) as u32 & (self.params.banks - 1)
            };
            self.asked[resource as usize] |= 1 << i;
            waiting |= 1 << i;
        }
        self.waits.note(now, waiting);
    }

    /// Moves one word of the reference at the head of a requester's channel, or says why not.
    fn access(&mut self, now: Cycle, requester: usize) {
        let (lane, port) = (&mut self.lanes[requester], &self.requesters[requester]);
        let reference = port.references.peek().expect("who is granted asks");
        let (addr, bytes) = (reference.addr, reference.access.len());
        let at = addr.wrapping_add(u64::from(lane.done));
        let moved = (self.params.word_bytes - (at % u64::from(self.params.word_bytes)) as u32).min(bytes - lane.done);
        let result = if bytes == 0 || bytes > self.params.reference_bytes {
            Err(BusError::Length(addr, bytes))
        } else {
            // The whole reference is inside or nothing of it moves.
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
        port.references.take();
        lane.done = 0;
        let waited = port.span(now - std::mem::take(&mut lane.waited), now);
        let read = std::mem::take(&mut lane.read);
        lane.answer = Some(Reply::new(id, result.map(|()| read)).having_waited(waited));
    }
}

impl Component for ScratchpadBanks {
    fn tick(&mut self, now: Cycle) -> Activity {
        let answered = self.answer();
        let mut goes_on = self.pass_back(answered);
        self.look(now);
        for resource in 0..self.asked.len() {
            let waiting = self.asked[resource];
            if waiting == 0 {
                continue;
            }
            let is_bank = resource < self.params.banks as usize;
            let onward = self.onward.as_ref().filter(|_| !is_bank);
            if onward.is_some_and(|onward| !self.returns.has_room() || !onward.references.has_room()) {
                continue; // An answer or room wakes us.
            }
            let contest = Contest { now, waiting, continues: 0, since: self.waits.since() };
            let winner = self.arbitrators[resource].choose(&contest);
            let waited = self.waits.went(now, winner);
            if let Some(onward) = onward {
                let reference = self.requesters[winner as usize].references.take().expect("who is granted asks");
                onward.references.send(reference);
                let waited = self.requesters[winner as usize].span(now - waited, now);
                self.returns.push((winner, waited));
                self.lanes[winner as usize].n_onward += 1;
                self.lanes[winner as usize].onward.add(1);
            } else {
                self.lanes[winner as usize].waited += waited;
                self.access(now, winner as usize);
                for other in members(waiting & !(1 << winner)) {
                    self.lanes[other as usize].conflicts.add(1);
                }
            }
            goes_on = true;
        }
        if goes_on { Activity::Busy } else { Activity::Idle }
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
        "Word-interleaved memory banks behind a crossbar, with a way onward for other addresses.";
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
            (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")).about("who asks"));
        requesters.chain([PortSpec::from::<Memory>("onward").about("what is outside the banks").optional()]).collect()
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
