//! The NIC, cycle by cycle.

use crate::Error;
use crate::callbacks::{Call, UserPtr, deliver};
use crate::edge::{Access, Port};
use crate::library;
use crate::stats;
use crate::watch::{SharedWatch, Watch, Watcher, trace_instructions};
use kernel::{Clock, Cycle, Outcome};
use pspin::iommu::SharedPageTables;
use pspin::world::Deaf;
use pspin::{Boundary, Image, Pspin, PspinError, PspinParams};
use spinet::instructions::CoreTraces;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Random streams of the NIC do not depend on anything that a C program can choose.
const SEED: u64 = 0;

/// Who asked for an access, and where the bytes of a read go.
enum Asker {
    Write(UserPtr),
    Read(UserPtr, UserPtr),
}

/// How things stand after a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Something is under way.
    Busy,
    /// All packets are done, and there will be no more.
    Done,
    /// Nothing can happen any more unless the C program does something.
    Stuck,
}

/// A NIC that a C program runs.
pub struct Simulation {
    nic: Pspin,
    clock: Clock,
    /// Cycles lived through.
    at: Cycle,
    /// Accesses under way, by tag.
    askers: BTreeMap<u64, Asker>,
    n_accesses: u64,
    /// Bytes that the host wrote to the NIC and read from it, as the functional model counts: when they are asked for.
    bytes_written: u64,
    bytes_read: u64,
    /// Nothing happened in the last cycle, nor will by itself.
    is_quiet: bool,
    watch: Option<SharedWatch>,
    traces: CoreTraces,
}

impl Simulation {
    /// A NIC with this program, in reset.
    pub fn new(params: &PspinParams, image: &Image) -> Result<Self, Error> {
        let clock = Clock::new(params.clock_mhz.freq().map_err(PspinError::from)?);
        let page_tables = SharedPageTables::default();
        let port = || Port::new(clock, params, page_tables.clone());
        let boundary = Boundary {
            source: Box::new(port()),
            completions: Box::new(port()),
            egress: Box::new(port()),
            host: Box::new(port()),
            page_tables: page_tables.clone(),
            events: Box::new(Deaf),
            console: Rc::new(RefCell::new(port())),
        };
        let mut nic = Pspin::new(params, image, boundary, SEED)?;
        nic.listen(Box::new(port()));
        // Last, so that no file is made if anything else is wrong.
        let traces = trace_instructions(&mut nic, params, clock)?;
        let watch = Watch::from_environment(params)?;
        if let Some(watch) = &watch {
            nic.listen(Box::new(Watcher(watch.clone())));
        }
        let askers = BTreeMap::new();
        Ok(Simulation {
            nic,
            clock,
            at: 0,
            askers,
            n_accesses: 0,
            bytes_written: 0,
            bytes_read: 0,
            is_quiet: false,
            watch,
            traces,
        })
    }

    /// Lives through the next cycle.
    pub fn tick(&mut self) -> Result<State, Error> {
        self.begin();
        let outcome = self.nic.run_until(self.at);
        if let Some(watch) = &self.watch {
            watch.borrow_mut().write_until(self.clock.edge(self.at).ps())?;
        }
        self.traces.check()?;
        self.end();
        let (is_done, is_quiet) = library::edge(|edge| (edge.is_done(), edge.is_quiet()));
        self.is_quiet = outcome == Outcome::Quiet;
        Ok(match (is_done, self.is_quiet && is_quiet) {
            _ if !self.askers.is_empty() => State::Busy,
            (true, _) => State::Done,
            (false, true) => State::Stuck,
            (false, false) => State::Busy,
        })
    }

    /// Runs until all packets are done, and what they wrote to the host is there: over PCIe that comes later.
    pub fn run(&mut self) -> Result<(), Error> {
        let state = loop {
            match self.tick()? {
                State::Busy => {}
                ended => break ended,
            }
        };
        while state == State::Done && !self.is_quiet {
            self.tick()?;
        }
        self.finish_watch()?;
        if state == State::Done { Ok(()) } else { Err(self.stuck()) }
    }

    /// Lets the next cycle begin with what the program asked for.
    fn begin(&mut self) {
        let (accesses, expects_packets) = library::edge(|edge| {
            let expects_packets = edge.expects_packets();
            edge.now = self.at + 1;
            (std::mem::take(&mut edge.accesses), expects_packets)
        });
        self.at += 1;
        if expects_packets {
            self.nic.expect_packets(self.at);
        }
        for (addr, access) in accesses {
            let tag = self.n_accesses;
            self.n_accesses += 1;
            let asker = match access {
                Access::Write(bytes, user) => {
                    self.bytes_written += bytes.len() as u64;
                    self.nic.host_write(self.at, addr, &bytes, tag);
                    Asker::Write(user)
                }
                Access::Read(size, data, user) => {
                    self.bytes_read += u64::from(size);
                    self.nic.host_read(self.at, addr, size, tag);
                    Asker::Read(data, user)
                }
            };
            self.askers.insert(tag, asker);
        }
    }

    /// Tells the program what it has to hear of this cycle and those before.
    fn end(&mut self) {
        for done in self.nic.take_host_accesses() {
            let bytes = done.result.expect("the address was checked when it was asked for");
            let call = match self.askers.remove(&done.tag).expect("somebody asked") {
                Asker::Write(user) => Call::MstWrite(user),
                Asker::Read(data, user) => Call::MstRead(data, bytes.into(), user),
            };
            library::edge(|edge| edge.tell(done.cycle, call));
        }
        if let Some(done) = self.nic.done_now() {
            library::edge(|edge| edge.foretell(&done, &self.clock));
        }
        deliver(self.at);
    }

    fn stuck(&self) -> Error {
        let mut text = library::edge(|edge| edge.complaint());
        for core in self.nic.cores().into_iter().filter(|core| core.task.is_some()) {
            text += &format!("\n  HPU {}.{} {} at {:#010x}", core.cluster, core.core, core.waits, core.pc);
        }
        Error::Stuck(text)
    }

    /// Writes what may be seen of the simulation and is not written yet.
    pub fn finish_watch(&mut self) -> Result<(), Error> {
        self.traces.flush()?;
        self.watch.as_ref().map_or(Ok(()), |watch| watch.borrow_mut().finish())
    }

    /// What `pspinsim_fini` prints.
    pub fn statistics(&mut self) -> String {
        // What was told of the last cycle is counted in the next.
        if library::edge(|edge| edge.is_foretold()) {
            self.nic.run_until(self.at + 1);
        }
        let moved = stats::Moved {
            asked: library::edge(|edge| edge.bytes_asked),
            written: self.bytes_written,
            read: self.bytes_read,
        };
        stats::text(&self.nic.counters(), &self.clock, moved)
    }
}
