//! The card of a C program: it simulates cycle by cycle, because the program may act in each.

use crate::Error;
use crate::callbacks::{Call, UserPtr, deliver};
use crate::edge::{Access, Port};
use crate::library;
use crate::stats;
use crate::watch::{SharedWatch, Watch, Watcher, trace_instructions};
use kernel::{Clock, Cycle, Mode, Outcome, Time};
use pspin::iommu::SharedPageTables;
use pspin::world::IgnoreEvents;
use pspin::{Boundary, Image, Pspin, PspinError, PspinParams};
use spinet::instructions::CoreTraces;
use spinet::run::{Ended, Progress, RunError, Simulated};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Seed of the NIC's random streams. C programs cannot choose it.
const SEED: u64 = 0;

/// Originator of an access, and the destination of a read's bytes.
enum Originator {
    Write(UserPtr),
    Read(UserPtr, UserPtr),
}

/// A NIC under the control of a C program.
pub struct Simulation {
    nic: Pspin,
    clock: Clock,
    /// Number of simulated cycles.
    at: Cycle,
    /// Accesses in progress, by tag.
    originators: BTreeMap<u64, Originator>,
    n_accesses: u64,
    /// Bytes that the host wrote to and read from the NIC, counted at the request, as in the functional model.
    bytes_written: u64,
    bytes_read: u64,
    /// After the last cycle, all packets were done and the stream had ended.
    is_done: bool,
    /// The same after any cycle since [`Simulation::resume`].
    was_done: bool,
    /// `Complete` if all is done and nothing is pending. `Quiet` if not all is done, and only the C program can
    /// continue.
    ended: Option<Ended>,
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
            events: Box::new(IgnoreEvents),
            console: Rc::new(RefCell::new(port())),
            policies: Default::default(),
        };
        let mut nic = Pspin::new(params, image, boundary, SEED)?;
        nic.listen(Box::new(port()));
        // Last, so that no file is created if another step fails.
        let traces = trace_instructions(&mut nic, params, clock)?;
        let watch = Watch::from_environment(params)?;
        if let Some(watch) = &watch {
            nic.listen(Box::new(Watcher(watch.clone())));
        }
        let originators = BTreeMap::new();
        Ok(Simulation {
            nic,
            clock,
            at: 0,
            originators,
            n_accesses: 0,
            bytes_written: 0,
            bytes_read: 0,
            is_done: false,
            was_done: false,
            ended: None,
            watch,
            traces,
        })
    }

    /// Continues after an end: the C program may have caused more.
    pub fn resume(&mut self) {
        (self.was_done, self.ended) = (false, None);
    }

    /// Returns true if all packets were done and the stream had ended after the last cycle.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns an error if the run cannot end.
    pub fn check(&self) -> Result<(), Error> {
        if self.ended == Some(Ended::Quiet) { Err(self.stuck()) } else { Ok(()) }
    }

    /// Time of the next cycle.
    pub fn next_cycle(&self) -> Time {
        self.clock.edge(self.at + 1)
    }

    /// Simulates the next cycle. A run continues after all packets are done until their host writes are complete: over PCIe, writes
    /// complete later.
    fn cycle(&mut self) -> Result<(), Error> {
        self.begin();
        let outcome = self.nic.run_until(self.at);
        if let Some(watch) = &self.watch {
            watch.borrow_mut().write_until(self.clock.edge(self.at).ps())?;
        }
        self.traces.check()?;
        self.end();
        let (is_done, waits) = library::edge(|edge| (edge.is_done(), edge.is_quiet()));
        let (is_quiet, has_accesses) = (outcome == Outcome::Quiet, !self.originators.is_empty());
        self.is_done = is_done && !has_accesses;
        self.was_done |= self.is_done;
        self.ended = match self.was_done {
            true => is_quiet.then_some(Ended::Complete),
            false => (is_quiet && waits && !has_accesses).then_some(Ended::Quiet),
        };
        Ok(())
    }

    /// Starts the next cycle with the requests of the program.
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
                    Originator::Write(user)
                }
                Access::Read(size, data, user) => {
                    self.bytes_read += u64::from(size);
                    self.nic.host_read(self.at, addr, size, tag);
                    Originator::Read(data, user)
                }
            };
            self.originators.insert(tag, asker);
        }
    }

    /// Delivers the callbacks up to this cycle.
    fn end(&mut self) {
        for done in self.nic.take_host_accesses() {
            let bytes = done.result.expect("the request's address was checked");
            let call = match self.originators.remove(&done.tag).expect("each access has an originator") {
                Originator::Write(user) => Call::MstWrite(user),
                Originator::Read(data, user) => Call::MstRead(data, bytes.into(), user),
            };
            library::edge(|edge| edge.schedule(done.cycle, call));
        }
        if let Some(done) = self.nic.done_now() {
            library::edge(|edge| edge.report_early(&done, &self.clock));
        }
        deliver(self.at);
    }

    fn stuck(&self) -> Error {
        let mut text = library::edge(|edge| edge.stuck_reason());
        for core in self.nic.cores().into_iter().filter(|core| core.task.is_some()) {
            text += &format!("\n  HPU {}.{} {} at {:#010x}", core.cluster, core.core, core.waits, core.pc);
        }
        Error::Stuck(text)
    }

    /// The text that `pspinsim_fini` prints.
    pub fn statistics(&mut self) -> String {
        // The counters include the last cycle's early feedback only after one more cycle.
        if library::edge(|edge| edge.awaits_notice()) {
            self.nic.run_until(self.at + 1);
        }
        let moved = stats::Moved {
            requested: library::edge(|edge| edge.bytes_requested),
            written: self.bytes_written,
            read: self.bytes_read,
        };
        stats::text(&self.nic.counters(), &self.clock, moved)
    }
}

impl Simulated for Simulation {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        while self.ended.is_none() && self.now() < until {
            self.cycle().map_err(RunError::new)?;
        }
        Ok(())
    }

    fn now(&self) -> Time {
        self.clock.edge(self.at)
    }

    fn next_event(&self) -> Option<Time> {
        self.nic.next_edge()
    }

    fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn progress(&self) -> Progress {
        let (packets_in, packets_done) = library::edge(|edge| edge.packets_in_and_done());
        Progress {
            is_done: self.ended.is_some(),
            packets_in,
            packets_done,
            packets_total: None,
            fraction: None,
            simulated: self.now(),
            cycles: Some(self.at),
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        self.nic.set_mode(mode);
    }

    /// Writes the remaining output of the transcript and the waveforms.
    fn close(&mut self) -> Result<(), RunError> {
        self.traces.flush().map_err(|error| RunError::new(Error::from(error)))?;
        let finish = |watch: &SharedWatch| watch.borrow_mut().finish();
        self.watch.as_ref().map_or(Ok(()), finish).map_err(RunError::new)
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        self.nic.counters().into_iter().collect()
    }
}
