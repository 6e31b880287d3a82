//! The contract of the memory protocol (`blocks::bus`), and the modules that test it.
//!
//! A wiring around the module under test has `random-requester`s, each with its own bytes that no other one writes, and
//! `model-memory`s behind the module if it forwards. A requester sends reads and writes of random lengths at random
//! times, delays the acceptance of some answers, and knows every correct answer. It compares each answer with the next
//! expected one. The test therefore fails for a lost, duplicated, reordered or wrong answer.

use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder};
use blocks::netlist::{Built, Card, Catalog, Design, Environment, Memory, Module, Netlist, PortSpec, Site};
use kernel::{Activity, Component, Cycle, Mode, Outcome, Ports, RandomStream, Time};
use std::collections::VecDeque;

/// A requester with random references. Port: `memory`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomRequester {
    /// Number of references.
    pub references: u32,
    /// Its own bytes: start addresses and sizes.
    pub own: Vec<(u64, u64)>,
    /// Lengths of its references. Each reference is aligned to the largest power of two that divides its length.
    pub lengths: Vec<u32>,
    /// Addresses without a memory; may be empty.
    pub nowhere: Vec<u64>,
    /// Percentage of references that are sent without a pause and whose answers are accepted at once.
    pub haste_percent: u64,
}

/// A memory that answers in order after a random time. Port: `requester`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelMemory {
    /// Start address.
    pub base: u64,
    /// Size, in bytes.
    pub bytes: u32,
    /// Longest delay of an answer, in cycles.
    pub longest_cycles: u64,
}

/// Runs the card in `wiring`, built from modules of `catalog` and the two of this contract, with several seeds and in
/// all modes.
///
/// # Panics
///
/// Panics if the contract is broken. The message has the seed, the observer and the problem.
pub fn check_memory_contract(catalog: &Catalog, wiring: &str) {
    let catalog = catalog.clone().with::<RandomRequester>().with::<ModelMemory>();
    let alone = |wanted: &str, _: &str| Err(format!("the card of a contract cannot use files (found {wanted})"));
    let netlist = Netlist::read("contract", wiring, &[], &alone);
    let design = netlist.and_then(|netlist| netlist.design(&catalog)).unwrap_or_else(|errors| panic!("{errors}"));
    for seed in 1..=5 {
        let normal = run(&design, seed, Mode::Normal);
        assert_eq!(normal, run(&design, seed, Mode::Shuffled(3)), "seed {seed}: the order of ticks changed the result");
        assert_eq!(
            normal,
            run(&design, seed, Mode::TickAll),
            "seed {seed}: a component returned Idle, but another tick changed its state"
        );
    }
}

/// All answers with the cycles in which they were accepted.
fn run(design: &Design, seed: u64, mode: Mode) -> Vec<(String, Vec<(Cycle, Reply)>)> {
    let mut card = Card::build(design, seed, &Environment::default());
    card.system.set_mode(mode);
    let outcome = card.system.run_until(Time::from_ns(10_000_000));
    let parties = card.parts::<Asking>();
    for (path, party) in &parties {
        let party = party.borrow();
        let (taken, made) = (party.log.len(), party.params.references);
        assert!(taken as u32 == made, "seed {seed}, {mode:?}: {path} got {taken} answers to {made} references");
    }
    assert!(!parties.is_empty(), "the wiring needs a random-requester");
    assert_eq!(outcome, Outcome::Quiet, "seed {seed}, {mode:?}: a component is active forever");
    parties.iter().map(|(path, party)| ((*path).to_owned(), std::mem::take(&mut party.borrow_mut().log))).collect()
}

impl Module for RandomRequester {
    const NAME: &'static str = "random-requester";
    const ABOUT: &'static str = "Sends random references and checks the answers.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::from::<Memory>("memory")]
    }

    fn build(self, site: &mut Site) -> Built {
        let bytes = self.own.iter().map(|&(_, bytes)| vec![0; bytes as usize]).collect();
        Built::new(Asking {
            path: site.path.to_owned(),
            draws: site.system.stream(site.path),
            port: site.from::<Memory>("memory"),
            params: self,
            bytes,
            made: 0,
            ask_at: Some(0),
            expected: VecDeque::new(),
            take_at: None,
            log: Vec::new(),
        })
    }
}

struct Asking {
    path: String,
    params: RandomRequester,
    port: Requester,
    draws: RandomStream,
    /// Expected contents of its own bytes after all pending references.
    bytes: Vec<Vec<u8>>,
    made: u32,
    /// Cycle of its next reference.
    ask_at: Option<Cycle>,
    /// Expected answers, in order.
    expected: VecDeque<Reply>,
    /// Cycle in which it accepts the waiting answer.
    take_at: Option<Cycle>,
    log: Vec<(Cycle, Reply)>,
}

impl Asking {
    /// A pause of up to ten cycles, or none.
    fn pause(&mut self) -> u64 {
        if self.draws.below(100) < self.params.haste_percent { 0 } else { self.draws.below(10) }
    }

    fn next(&mut self) -> Reference {
        let id = self.draws.next_u64() as u32;
        let n_own = self.params.own.len() as u64;
        let which = self.draws.below(n_own + u64::from(!self.params.nowhere.is_empty())) as usize;
        let n = self.params.lengths[self.draws.below(self.params.lengths.len() as u64) as usize];
        let is_write = self.draws.below(2) == 0;
        let data: Data = (0..n).map(|_| self.draws.next_u64() as u8).collect();
        let access = if is_write { Access::Write(data.clone()) } else { Access::Read(n) };
        let Some(&(base, bytes)) = self.params.own.get(which) else {
            let n_nowhere = self.params.nowhere.len() as u64;
            let addr = self.params.nowhere[self.draws.below(n_nowhere) as usize];
            self.expected.push_back(Reply::new(id, Err(BusError::Nowhere(addr))));
            return Reference { id, addr, access };
        };
        let aligned = 1u64 << n.trailing_zeros();
        let place = self.draws.below((bytes - u64::from(n)) / aligned + 1) * aligned;
        let there = &mut self.bytes[which][place as usize..][..n as usize];
        let result = if is_write { Data::new() } else { Data::from_slice(there) };
        if is_write {
            there.copy_from_slice(&data);
        }
        self.expected.push_back(Reply::new(id, Ok(result)));
        Reference { id, addr: base + place, access }
    }

    fn take(&mut self, now: Cycle) {
        let reply = self.port.replies.take().expect("the port has an answer");
        let expected = self.expected.pop_front();
        let (n, found) = (self.log.len(), Reply::new(reply.id, reply.result.clone()));
        assert_eq!(Some(&found), expected.as_ref(), "{} at {now}: answer {n} is not the expected one", self.path);
        assert!(
            reply.waited <= self.port.replies.clock().edge(now),
            "{} at {now}: answer {n} waited too long",
            self.path
        );
        self.log.push((now, reply));
        self.take_at = None;
    }
}

impl Component for Asking {
    fn tick(&mut self, now: Cycle) -> Activity {
        if self.port.replies.has_item() {
            if self.take_at.is_none() {
                self.take_at = Some(now + self.pause());
            }
            if self.take_at == Some(now) {
                self.take(now);
            }
        }
        let mut waits_for_room = false;
        if self.ask_at.is_some_and(|at| at <= now) {
            if self.made == self.params.references {
                self.ask_at = None;
            } else if self.port.references.has_room() {
                let reference = self.next();
                self.port.references.send(reference);
                self.made += 1;
                self.ask_at = Some(now + 1 + self.pause());
            } else {
                waits_for_room = true;
            }
        }
        if self.port.replies.has_item() && self.take_at.is_none() {
            return Activity::Busy;
        }
        let next = [self.take_at, self.ask_at.filter(|_| !waits_for_room)].into_iter().flatten().min();
        next.map_or(Activity::Idle, Activity::Until)
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("memory", ports);
    }
}

impl Module for ModelMemory {
    const NAME: &'static str = "model-memory";
    const ABOUT: &'static str = "Answers in order after a random time.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::to::<Memory>("requester")]
    }

    fn build(self, site: &mut Site) -> Built {
        let bytes = vec![0; self.bytes as usize];
        let (draws, port) = (site.system.stream(site.path), site.to::<Memory>("requester"));
        Built::new(Answering { params: self, port, draws, bytes, answer_at: None })
    }
}

struct Answering {
    params: ModelMemory,
    port: Responder,
    draws: RandomStream,
    bytes: Vec<u8>,
    /// Cycle in which it answers the oldest reference.
    answer_at: Option<Cycle>,
}

impl Answering {
    fn serve(&mut self, reference: Reference) -> Reply {
        let Reference { id, addr, access } = reference;
        let place = addr.wrapping_sub(self.params.base) as usize;
        let there = self.bytes.get_mut(place..place.saturating_add(access.len() as usize));
        let result = match (there, access) {
            (None, _) => Err(BusError::Nowhere(addr)),
            (Some(there), Access::Read(_)) => Ok(Data::from_slice(there)),
            (Some(there), Access::Write(data)) => {
                there.copy_from_slice(&data);
                Ok(Data::new())
            }
            (Some(_), Access::Linked(_)) => Err(BusError::NoLink(addr)),
        };
        Reply::new(id, result)
    }
}

impl Component for Answering {
    fn tick(&mut self, now: Cycle) -> Activity {
        if !self.port.references.has_item() {
            return Activity::Idle;
        }
        let at = match self.answer_at {
            Some(at) => at,
            None => now + self.draws.below(self.params.longest_cycles + 1),
        };
        self.answer_at = Some(at);
        if now < at {
            return Activity::Until(at);
        }
        if !self.port.replies.has_room() {
            return Activity::Idle;
        }
        let reference = self.port.references.take().expect("the port has a reference");
        let reply = self.serve(reference);
        self.port.replies.send(reply);
        self.answer_at = None;
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("requester", ports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::trace::Counter;

    /// A memory with an occasional fault.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Faulty {
        fault: Fault,
    }

    #[derive(Clone, Copy, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Fault {
        None,
        Loses,
        Doubles,
        Renames,
        Corrupts,
        Reorders,
        Oversleeps,
        NeverSleeps,
    }

    struct FaultyPart {
        fault: Fault,
        inner: Answering,
        kept: Option<Reference>,
        served: Counter,
    }

    impl Module for Faulty {
        const NAME: &'static str = "faulty";
        const ABOUT: &'static str = "A memory with a fault.";

        fn ports(&self) -> Vec<PortSpec> {
            vec![PortSpec::to::<Memory>("requester")]
        }

        fn build(self, site: &mut Site) -> Built {
            let params = ModelMemory { base: 0, bytes: 64, longest_cycles: 0 };
            let (draws, port) = (site.system.stream(site.path), site.to::<Memory>("requester"));
            let inner = Answering { params, port, draws, bytes: vec![0; 64], answer_at: None };
            Built::new(FaultyPart { fault: self.fault, inner, kept: None, served: Counter::default() })
        }
    }

    impl FaultyPart {
        fn serve(&mut self, reference: Reference) {
            self.served.add(1);
            let shows = self.served.total().is_multiple_of(20);
            let mut reply = self.inner.serve(reference);
            match (self.fault, &mut reply.result) {
                (Fault::Loses, _) if shows => return,
                (Fault::Doubles, _) if shows => self.inner.port.replies.send(reply.clone()),
                (Fault::Renames, _) if shows => reply.id ^= 1,
                (Fault::Corrupts, Ok(data)) => data.iter_mut().take(usize::from(shows)).for_each(|byte| *byte ^= 1),
                _ => {}
            }
            self.inner.port.replies.send(reply);
        }
    }

    impl Component for FaultyPart {
        fn tick(&mut self, now: Cycle) -> Activity {
            let port = &self.inner.port;
            if self.fault == Fault::NeverSleeps {
                self.served.add(1); // A change without a cause at a port.
            }
            let room = if matches!(self.fault, Fault::Doubles | Fault::Reorders) { 2 } else { 1 };
            if !port.references.has_item() || port.replies.room() < room {
                port.replies.has_room();
                return if port.references.has_item() { Activity::Busy } else { Activity::Idle };
            }
            if self.fault == Fault::NeverSleeps && !self.served.total().is_multiple_of(7) {
                return Activity::Until(now + 3);
            }
            let reference = port.references.take().expect("the port has a reference");
            match self.kept.take() {
                Some(kept) => {
                    self.serve(reference);
                    self.serve(kept);
                }
                None if self.fault == Fault::Reorders && self.served.total() % 9 == 8 => self.kept = Some(reference),
                None => self.serve(reference),
            }
            let sleeps = self.fault == Fault::Oversleeps || !self.inner.port.references.has_item();
            if sleeps { Activity::Idle } else { Activity::Busy }
        }

        fn ports(&self, ports: &mut Ports) {
            self.inner.port.port("requester", ports);
        }
    }

    /// The contract's message for a memory with this fault; empty if the contract holds.
    fn message_for(fault: &str) -> String {
        let wiring = format!(
            "name = \"faulty\"\nconnections = [\"a.memory -> it.requester\"]\n[clocks]\nmain = \"1 GHz\"\n\
             [instances.a]\nmodule = \"random-requester\"\nreferences = 200\nown = [[0, 64]]\nlengths = [1, 4]\n\
             nowhere = []\nhaste_percent = 80\n[instances.it]\nmodule = \"faulty\"\nfault = \"{fault}\"\n"
        );
        let catalog = Catalog::default().with::<Faulty>();
        let check = || check_memory_contract(&catalog, &wiring);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).err();
        broken.map_or_else(String::new, |panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn every_fault_is_detected() {
        assert_eq!(message_for("none"), "");
        for (fault, what) in [
            ("loses", "is not the expected one"),
            ("doubles", "is not the expected one"),
            ("renames", "is not the expected one"),
            ("corrupts", "is not the expected one"),
            ("reorders", "is not the expected one"),
            ("oversleeps", "answers to 200 references"),
            ("never-sleeps", "returned Idle, but another tick changed its state"),
        ] {
            let message_for = message_for(fault);
            assert!(message_for.contains(what), "{fault}: {message_for}");
        }
    }
}
