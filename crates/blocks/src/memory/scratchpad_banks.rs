//! A banked scratchpad behind a crossbar.

use super::Store;
use crate::bus::{Access, BusError, Data, Reply, Requester, Responder};
use crate::checks;
use crate::interconnect::Returns;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use crate::policy::{Arbitration, Arbitrator, Contest, Policy, Waits, members};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// Parameters of a [`ScratchpadBanks`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScratchpadBanksParams {
    /// Requesters on the crossbar, 1 to 64. Source: thesis, 4.2.3 (the processors and four assists).
    pub requesters: usize,
    /// Banks, a power of two. Source: thesis, 4.5 (4 are evaluated).
    pub banks: u32,
    /// Bytes of a word, a power of two up to 16: neighbouring words are in neighbouring banks, and a transaction moves up
    /// to one. Source: thesis, 4.2.3 (32 bits).
    pub word_bytes: u32,
    /// Address of the first byte.
    pub base: u64,
    /// Bytes of all banks together. Source: thesis, 4.2 (256 KB).
    pub bytes: u32,
    /// Longest reference; a longer one is answered with an error. Unit: bytes.
    pub reference_bytes: u32,
    /// References under way onward at most.
    pub outstanding: u32,
    /// Who goes first at a bank and at the onward port. Source: thesis, 4.2.3 (round robin for each resource).
    pub policy: Policy,
}

/// Serves several requesters from word-interleaved banks, and passes on what is addressed elsewhere.
///
/// Ports:    `requesters[i]` (memory, answers), `onward` (memory, asks; optional): what is outside the scratchpad.
/// Timing:   2 cycles from a reference seen to its answer seen: a bank is granted at the edge that sees the reference,
///           the answer is sent at the next. A bank and the onward port take one transaction a cycle, a requester has one
///           granted a cycle. A reference to n words takes n transactions, one after the other.
/// Order:    a requester's answers stand in the order of its references, so none is granted a bank while one of its
///           own is under way onward.
/// Without `onward`, an address outside is an error of the bus.
/// Source:   thesis, 4.2.3: 32-bit crossbar, one transaction to each bank and to the external memory interface a cycle,
///           one cycle to request and traverse, one to access and return.
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
    /// Requesters of the references under way onward.
    returns: Returns<u32>,
}

/// What the crossbar keeps of a requester.
#[derive(Default)]
struct Lane {
    /// Bytes of the reference at the head of the channel that have moved.
    done: u32,
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
    pub fn new(params: ScratchpadBanksParams, requesters: Vec<Responder>, onward: Option<Requester>) -> Self {
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
    pub fn with_arbitration(mut self, mut policy: impl FnMut() -> Box<dyn Arbitration>) -> Self {
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
        let Some(&requester) = self.returns.next() else { return false };
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
        port.replies.send(onward.replies.take().expect("an answer has come"));
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
    fn access(&mut self, requester: usize) {
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
        let read = std::mem::take(&mut lane.read);
        lane.answer = Some(Reply { id, result: result.map(|()| read) });
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
            self.waits.went(now, winner);
            if let Some(onward) = onward {
                let reference = self.requesters[winner as usize].references.take().expect("who is granted asks");
                onward.references.send(reference);
                self.returns.push(winner);
                self.lanes[winner as usize].n_onward += 1;
                self.lanes[winner as usize].onward.add(1);
            } else {
                self.access(winner as usize);
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
        let requesters = (0..self.requesters).map(|i| PortSpec::to::<Memory>(format!("requesters[{i}]")));
        requesters.chain([PortSpec::from::<Memory>("onward").optional()]).collect()
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
        let requesters = (0..self.requesters).map(|i| site.to::<Memory>(&format!("requesters[{i}]"))).collect();
        Built::new(ScratchpadBanks::new(self, requesters, site.try_from::<Memory>("onward")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answers, asks};
    use expect_test::{Expect, expect};

    /// Two banks of 32-bit words, 64 bytes from 0x100 on. Each requester says what it asks for; `>` is the memory onward.
    fn check(requesters: &[&str], want: Expect) {
        check_when(0, requesters, want);
    }

    /// The same with requesters that take no answer before `ready`.
    fn check_when(ready: Cycle, requesters: &[&str], want: Expect) {
        let params = ScratchpadBanksParams {
            requesters: requesters.len(),
            banks: 2,
            word_bytes: 4,
            base: 0x100,
            bytes: 64,
            reference_bytes: 16,
            outstanding: 4,
            policy: Policy::RoundRobin,
        };
        want.assert_eq(&testkit::bench(200, |bench| {
            let ports = requesters.iter().zip('a'..).map(|(text, name)| asks(bench, &name.to_string(), text, ready));
            let ports = ports.collect();
            let onward = answers(bench, ">", 2);
            let mut pad = ScratchpadBanks::new(params.clone(), ports, Some(onward));
            for (byte, place) in (0..).zip(pad.store_mut().get_mut(0x100, 64).expect("64 bytes")) {
                *place = byte;
            }
            bench.add("pad", pad);
            bench.log_counters();
        }));
    }

    #[test]
    fn an_answer_takes_two_cycles_and_each_cycle_has_one() {
        check(
            &["1 r 100+4; 1 r 104+4; 2 r 106+2; 3 r 108+1; 9 w 10a=ff; 9 r 108+4"],
            expect![[r#"
                3    a 0 00010203
                4    a 1 04050607
                5    a 2 0607
                6    a 3 08
                11   a 4 done
                12   a 5 0809ff0b
                pad.reads 5
                pad.requesters[0].reads 5
                pad.writes 1
                pad.requesters[0].writes 1
            "#]],
        );
    }

    #[test]
    fn requesters_of_one_bank_take_turns_and_other_banks_go_on() {
        check(
            &["1 r 100+4; 1 r 100+4", "1 r 108+4; 1 r 10c+4", "1 r 104+4; 1 r 104+4"],
            expect![[r#"
            3    a 0 00010203
            3    c 0 04050607
            4    b 0 08090a0b
            4    c 1 04050607
            5    a 1 00010203
            5    b 1 0c0d0e0f
            pad.reads 6
            pad.requesters[0].reads 2
            pad.requesters[1].reads 2
            pad.requesters[2].reads 2
            pad.conflicts 2
            pad.requesters[0].conflicts 1
            pad.requesters[1].conflicts 1
        "#]],
        );
    }

    #[test]
    fn a_long_reference_takes_a_transaction_a_word() {
        check(
            &["1 r 102+8; 1 w 104=0a0b0c0d0e0f; 1 r 104+8"],
            expect![[r#"
            5    a 0 0203040506070809
            7    a 1 done
            9    a 2 0a0b0c0d0e0f0a0b
            pad.reads 5
            pad.requesters[0].reads 5
            pad.writes 2
            pad.requesters[0].writes 2
        "#]],
        );
    }

    #[test]
    fn what_is_elsewhere_goes_onward_and_answers_keep_their_order() {
        check(
            &["1 r 100+4; 2 r 80+4; 3 r 84+4; 3 r 104+4; 3 r 88+4", "1 r 90+2"],
            expect![[r#"
            2    > r 90+2
            3    a 0 00010203
            5    > r 80+4
            6    b 0 9091
            8    > r 84+4
            9    a 1 80818283
            12   a 2 84858687
            13   > r 88+4
            13   a 3 04050607
            17   a 4 88898a8b
            pad.reads 2
            pad.requesters[0].reads 2
            pad.onward 4
            pad.requesters[0].onward 3
            pad.requesters[1].onward 1
        "#]],
        );
    }

    #[test]
    fn bad_references_are_refused() {
        check(
            &["1 r 100+17; 1 r 13c+8; 1 r 100+0; 1 r ffffffffffffffff+4; 1 r 1ffffffff+4; 20 r 100+4294967295"],
            expect![[r#"
            3    a 0 a reference to 17 bytes at 0x100 is not possible
            4    a 1 nothing answers at 0x140
            5    > r ffffffffffffffff+4
            5    a 2 a reference to 0 bytes at 0x100 is not possible
            8    > r 1ffffffff+4
            9    a 3 nothing answers at 0xffffffffffffffff
            12   a 4 nothing answers at 0x1ffffffff
            22   a 5 a reference to 4294967295 bytes at 0x100 is not possible
            pad.onward 2
            pad.requesters[0].onward 2
        "#]],
        );
    }

    #[test]
    fn answers_that_nobody_takes_stop_their_requester_only() {
        check_when(
            12,
            &["1 r 100+4; 1 r 100+4; 1 r 100+4; 1 r 80+4; 1 r 100+4", "20 r 100+4"],
            expect![[r#"
            12   a 0 00010203
            13   a 1 00010203
            14   > r 80+4
            14   a 2 00010203
            18   a 3 80818283
            19   a 4 00010203
            22   b 0 00010203
            pad.reads 5
            pad.requesters[0].reads 4
            pad.requesters[1].reads 1
            pad.onward 1
            pad.requesters[0].onward 1
        "#]],
        );
    }
}
