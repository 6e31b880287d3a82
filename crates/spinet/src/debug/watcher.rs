//! Breakpoints, watchpoints and steps, compared with the reports of cores.

use blocks::debug::{Event, Probe, Report};
use gdbstub::target::ext::breakpoints::WatchKind;
use kernel::{Clock, Time};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why the run stopped at a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A breakpoint at this address.
    Breakpoint(u32),
    /// The core has done the step.
    Step,
    /// It accessed memory with a watchpoint.
    Watch(WatchKind, u32),
    /// An exception: cause, and the address or instruction that caused it.
    Fault(u32, u32),
    /// Its handler for a packet begins.
    Packet,
}

/// A stop of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Number of the core.
    pub core: usize,
    /// Why.
    pub reason: Reason,
}

/// An instruction or a fault that a core has reported. It is later than the simulated time, or the run is stopped at
/// it.
struct Reported {
    core: usize,
    pc: u32,
    registers: Vec<u32>,
    /// Its cause and value, if it is a fault.
    fault: Option<(u32, u32)>,
    access: Option<Access>,
    /// Address of the word that it has written in the core's own memory, and the value before.
    replaces: Option<(u32, u32)>,
}

/// An access to memory.
#[derive(Clone, Copy)]
struct Access {
    addr: u32,
    bytes: u32,
    loads: bool,
    stores: bool,
}

/// A watchpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Watchpoint {
    kind: WatchKind,
    addr: u32,
    bytes: u32,
}

impl Watchpoint {
    fn hits(&self, Access { addr, bytes, loads, stores }: Access) -> bool {
        let is_asked = match self.kind {
            WatchKind::Write => stores,
            WatchKind::Read => loads,
            WatchKind::ReadWrite => true,
        };
        let overlaps = addr.wrapping_sub(self.addr) < self.bytes || self.addr.wrapping_sub(addr) < bytes;
        is_asked && overlaps
    }
}

/// A core that executes single instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SteppedCore {
    /// Its number.
    pub core: usize,
    /// The run continues while the program counter is in this range.
    pub range: (u32, u32),
    /// Only this core may run: gdb has removed a breakpoint and steps the core over its address. If another core is
    /// reported during this step, gdb 13 ends with an internal error (`finish_step_over`).
    pub is_alone: bool,
}

/// Number of edges for which a core that steps alone delays the stops of other cores. After that, its step counts as
/// done: a core that waits for a packet may never complete the step.
const MOST_EDGES: u32 = 10_000;

/// Compares what cores report with the requests of the debugger.
///
/// Cores may report ahead of time. Reports wait in a queue until simulated time reaches them, so that the run stops at them in the order
/// of time. While the run is stopped, the debugger sees each core before its first report in the queue.
///
/// While a core steps alone, the reports of another core that would stop the run stay in the queue. That core stops
/// when the step is done. It has continued until then, as all cores do, but the debugger sees it where it should have
/// stopped.
#[derive(Default)]
pub struct Watcher {
    /// Reports in order of time, then of arrival.
    queue: BTreeMap<(Time, u64), Reported>,
    /// Reports so far.
    count: u64,
    /// The report at which the run is stopped.
    stopped_at: Option<(Time, u64)>,
    /// Cores that should have stopped while another core stepped alone, and number of edges since the first of these
    /// stops.
    held: Vec<usize>,
    n_edges: u32,
    /// For each core, the access of its last instruction: the run stops at a watchpoint when the access is done.
    done: Vec<Option<Access>>,
    breakpoints: Vec<u32>,
    /// Breakpoints that gdb has removed since the last stop. They count for other cores while gdb steps a core over one of them, and
    /// until gdb has added them again.
    lifted: Vec<u32>,
    watchpoints: Vec<Watchpoint>,
    /// A watchpoint stops before its access, as gdb expects for MIPS.
    stops_before_access: bool,
    /// Faults stop the run.
    pub breaks_on_faults: bool,
    step: Option<SteppedCore>,
    /// No debugger is connected any more, so reports are not kept.
    is_over: bool,
}

/// Provides what cores do not report.
pub trait Knows {
    /// Returns true if this cause is a fault, and not a call by the program.
    fn is_fault(&self, cause: u32) -> bool;

    /// Returns true if the run must stop where a core begins to process its packet at this address.
    fn is_packet(&self, core: usize, pc: u32) -> bool;
}

impl Watcher {
    /// A watcher of `n` cores without requests.
    pub fn new(n: usize, stops_before_access: bool) -> Watcher {
        Watcher { done: vec![None; n], stops_before_access, ..Watcher::default() }
    }

    /// The probe of a core with this clock.
    pub fn probe(watcher: &Rc<RefCell<Watcher>>, core: usize, clock: Clock) -> Probe {
        let watcher = watcher.clone();
        Box::new(move |report| watcher.borrow_mut().see(core, clock.edge(report.at), report))
    }

    fn see(&mut self, core: usize, at: Time, report: &Report<'_>) {
        if self.is_over {
            return;
        }
        let fault = match report.event {
            Event::Instruction => None,
            Event::Fault { cause, value } => Some((cause, value)),
            Event::Access { addr, bytes, loads, stores, replaces } => {
                if let Some(last) = self.queue.values_mut().rev().find(|last| last.core == core) {
                    (last.access, last.replaces) = (Some(Access { addr, bytes, loads, stores }), replaces);
                }
                return;
            }
            Event::Begins(_) | Event::Ends | Event::Moves { .. } => return,
        };
        self.count += 1;
        let registers = report.registers.to_vec();
        let reported = Reported { core, pc: report.pc, registers, fault, access: None, replaces: None };
        self.queue.insert((at, self.count), reported);
    }

    /// Continues from the last stop up to `now`, or to the next stop. It is called at each edge.
    pub fn advance(&mut self, now: Time, known: &dyn Knows) -> Option<Stop> {
        if let Some(at) = self.stopped_at.take() {
            self.pass(at);
        }
        let alone = self.alone();
        let mut next = (Time::ZERO, 0);
        while let Some((&at, first)) = self.queue.range(next..).next()
            && at.0 <= now
        {
            next = (at.0, at.1 + 1);
            let core = first.core;
            if self.held.contains(&core) {
                continue;
            }
            match self.judge(first, known) {
                Some(_) if alone.is_some_and(|alone| alone != core) => self.held.push(core),
                Some(reason) => {
                    self.stopped_at = Some(at);
                    return Some(Stop { core, reason });
                }
                None => self.pass(at),
            }
        }
        self.n_edges += u32::from(!self.held.is_empty());
        if self.n_edges > MOST_EDGES { self.give_up_step() } else { None }
    }

    /// Ends the step of a core that steps alone, if other cores wait for its end.
    pub fn give_up_step(&mut self) -> Option<Stop> {
        let step = self.step.take().filter(|_| !self.held.is_empty())?;
        Some(Stop { core: step.core, reason: Reason::Step })
    }

    /// The only core that may run.
    pub fn alone(&self) -> Option<usize> {
        self.step.filter(|step| step.is_alone).map(|step| step.core)
    }

    /// Removes a report that is in the past.
    fn pass(&mut self, at: (Time, u64)) {
        if let Some(passed) = self.queue.remove(&at) {
            self.done[passed.core] = passed.access;
        }
    }

    fn judge(&self, reported: &Reported, known: &dyn Knows) -> Option<Reason> {
        let &Reported { core, pc, fault, access, .. } = reported;
        if let Some((cause, value)) = fault {
            return (self.breaks_on_faults && known.is_fault(cause)).then_some(Reason::Fault(cause, value));
        }
        let steps = |step: SteppedCore| step.core == core && !(step.range.0..step.range.1).contains(&pc);
        let access = if self.stops_before_access { access } else { self.done[core] };
        let hit = access.and_then(|access| self.watchpoints.iter().find(|point| point.hits(access)));
        match hit {
            Some(point) => Some(Reason::Watch(point.kind, point.addr)),
            None if self.is_breakpoint(core, pc) => Some(Reason::Breakpoint(pc)),
            None if self.step.is_some_and(steps) => Some(Reason::Step),
            None => known.is_packet(core, pc).then_some(Reason::Packet),
        }
    }

    fn is_breakpoint(&self, core: usize, pc: u32) -> bool {
        let counts = |step: SteppedCore| step.is_alone && step.core != core;
        self.breakpoints.contains(&pc) || self.step.is_some_and(counts) && self.lifted.contains(&pc)
    }

    /// Program counter and registers of a core before its first reported instruction that is later than the simulated
    /// time; `None` without such a report.
    pub fn reported(&self, core: usize) -> Option<(u32, Vec<u32>)> {
        let first = self.queue.values().find(|reported| reported.core == core)?;
        Some((first.pc, first.registers.clone()))
    }

    /// Undoes the stores that are later than the simulated time in the bytes that a core read from `addr` on. `order`
    /// converts a word to its bytes.
    pub fn undo(&self, core: usize, addr: u32, data: &mut [u8], order: fn(u32) -> [u8; 4]) {
        for (at, word) in self.queue.values().rev().filter(|one| one.core == core).filter_map(|one| one.replaces) {
            for (at, byte) in (at..).zip(order(word)) {
                if let Some(held) = data.get_mut(at.wrapping_sub(addr) as usize) {
                    *held = byte;
                }
            }
        }
    }

    /// Continues the run; with a step, until the step is done.
    pub fn resume(&mut self, step: Option<SteppedCore>) {
        (self.step, self.n_edges) = (step, 0);
        self.held.clear();
        if !step.is_some_and(|step| step.is_alone) {
            self.lifted.clear();
        }
    }

    /// Adds a breakpoint.
    pub fn add_breakpoint(&mut self, addr: u32) {
        self.breakpoints.push(addr);
        self.lifted.retain(|&other| other != addr);
    }

    /// Removes a breakpoint; false if there is none.
    pub fn remove_breakpoint(&mut self, addr: u32) -> bool {
        let Some(at) = self.breakpoints.iter().position(|&other| other == addr) else { return false };
        self.lifted.push(self.breakpoints.swap_remove(at));
        true
    }

    /// Adds a watchpoint for accesses from now on.
    pub fn add_watchpoint(&mut self, kind: WatchKind, addr: u32, bytes: u32) {
        self.watchpoints.push(Watchpoint { kind, addr, bytes });
    }

    /// Removes a watchpoint; false if there is none.
    pub fn remove_watchpoint(&mut self, kind: WatchKind, addr: u32, bytes: u32) -> bool {
        let point = Watchpoint { kind, addr, bytes };
        let at = self.watchpoints.iter().position(|other| *other == point);
        at.map(|at| self.watchpoints.swap_remove(at)).is_some()
    }

    /// Kind, address and size in bytes of each watchpoint for stores.
    pub fn for_stores(&self) -> impl Iterator<Item = (WatchKind, u32, u32)> {
        let points = self.watchpoints.iter().filter(|point| point.kind != WatchKind::Read);
        points.map(|&Watchpoint { kind, addr, bytes }| (kind, addr, bytes))
    }

    /// Returns true if a core has just stored to these bytes, so that the run stops at that core.
    pub fn stops_at_core(&self, addr: u32, bytes: u32) -> bool {
        let point = Watchpoint { kind: WatchKind::Write, addr, bytes };
        !self.stops_before_access && self.done.iter().flatten().any(|&access| point.hits(access))
    }

    /// Nothing stops the run any more.
    pub fn end(&mut self) {
        *self = Watcher { is_over: true, ..Watcher::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Knows for Nothing {
        fn is_fault(&self, cause: u32) -> bool {
            cause != 8
        }

        fn is_packet(&self, _: usize, _: u32) -> bool {
            false
        }
    }

    fn see(watcher: &mut Watcher, core: usize, at: u64, event: Event, pc: u32) {
        watcher.see(core, Time::from_ns(at), &Report { event, at, pc, registers: &[pc + 1] });
    }

    /// Stops up to a time.
    fn stops(watcher: &mut Watcher, now: u64) -> Vec<(usize, Reason)> {
        std::iter::from_fn(|| watcher.advance(Time::from_ns(now), &Nothing))
            .map(|stop| (stop.core, stop.reason))
            .collect()
    }

    const STEP: SteppedCore = SteppedCore { core: 0, range: (0, 0), is_alone: true };

    #[test]
    fn reports_wait_for_their_time_and_cores_are_seen_before_them() {
        let mut watcher = Watcher::new(2, false);
        watcher.add_breakpoint(0x104);
        for (at, pc) in [(5, 0x100), (6, 0x104), (7, 0x104)] {
            see(&mut watcher, 0, at, Event::Instruction, pc);
        }
        see(&mut watcher, 1, 5, Event::Instruction, 0x104);
        assert_eq!(stops(&mut watcher, 4), []);
        assert_eq!(watcher.reported(0), Some((0x100, vec![0x101])));
        assert_eq!(stops(&mut watcher, 6), [(1, Reason::Breakpoint(0x104)), (0, Reason::Breakpoint(0x104))]);
        assert_eq!((watcher.reported(0), watcher.reported(1)), (Some((0x104, vec![0x105])), None));
        assert_eq!(stops(&mut watcher, 7), [(0, Reason::Breakpoint(0x104))]);
    }

    #[test]
    fn a_core_that_should_stop_while_another_steps_alone_stops_afterwards() {
        let mut watcher = Watcher::new(2, false);
        watcher.add_breakpoint(0x100);
        see(&mut watcher, 0, 1, Event::Instruction, 0x100);
        assert_eq!(stops(&mut watcher, 1), [(0, Reason::Breakpoint(0x100))]);
        watcher.remove_breakpoint(0x100);
        watcher.resume(Some(STEP));
        see(&mut watcher, 1, 2, Event::Instruction, 0x100);
        see(&mut watcher, 0, 2, Event::Instruction, 0x104);
        see(&mut watcher, 1, 2, Event::Instruction, 0x200);
        assert_eq!(stops(&mut watcher, 2), [(0, Reason::Step)]);
        assert_eq!(watcher.reported(1), Some((0x100, vec![0x101])), "core 1 stands where it should have stopped");
        watcher.add_breakpoint(0x100);
        watcher.resume(None);
        assert_eq!(stops(&mut watcher, 2), [(1, Reason::Breakpoint(0x100))]);
        watcher.remove_breakpoint(0x100);
        watcher.resume(None);
        see(&mut watcher, 1, 3, Event::Instruction, 0x100);
        assert_eq!(stops(&mut watcher, 3), []);
    }

    #[test]
    fn a_step_that_does_not_end_holds_others_back_for_a_while() {
        let mut watcher = Watcher::new(2, false);
        watcher.add_breakpoint(0x100);
        watcher.resume(Some(STEP));
        see(&mut watcher, 1, 1, Event::Instruction, 0x100);
        let mut edges = (1..=2 * u64::from(MOST_EDGES)).map(|at| watcher.advance(Time::from_ns(at), &Nothing));
        let step_end = Stop { core: 0, reason: Reason::Step };
        assert_eq!(edges.position(|stop| stop == Some(step_end)), Some(MOST_EDGES as usize));
        watcher.resume(None);
        assert_eq!(stops(&mut watcher, 1), [(1, Reason::Breakpoint(0x100))]);
    }

    fn store(addr: u32) -> Event {
        Event::Access { addr, bytes: 4, loads: false, stores: true, replaces: Some((addr, 0x0102_0304)) }
    }

    #[test]
    fn a_watchpoint_stops_after_its_access_and_for_mips_before() {
        for (addr, hits) in [(0x0ffe, false), (0x0fff, true), (0x1000, true), (0x1002, true), (0x1003, false)] {
            for before in [false, true] {
                let mut watcher = Watcher::new(1, before);
                watcher.add_watchpoint(WatchKind::Write, 0x1002, 1);
                see(&mut watcher, 0, 1, Event::Instruction, 0x100);
                see(&mut watcher, 0, 1, store(addr), 0x100);
                let want = [(0, Reason::Watch(WatchKind::Write, 0x1002))];
                assert_eq!(stops(&mut watcher, 1), &want[..usize::from(hits && before)], "{addr:#x}");
                see(&mut watcher, 0, 2, Event::Instruction, 0x104);
                assert_eq!(stops(&mut watcher, 2), &want[..usize::from(hits && !before)], "{addr:#x}");
            }
        }
    }

    #[test]
    fn an_access_of_the_other_kind_or_that_is_refused_does_not_hit() {
        let mut watcher = Watcher::new(1, false);
        watcher.add_watchpoint(WatchKind::Write, 0x1000, 4);
        let load = Event::Access { addr: 0x1000, bytes: 4, loads: true, stores: false, replaces: None };
        see(&mut watcher, 0, 1, Event::Instruction, 0x100);
        see(&mut watcher, 0, 1, load, 0x100);
        see(&mut watcher, 0, 2, Event::Instruction, 0x104);
        see(&mut watcher, 0, 2, store(0x1000), 0x104);
        see(&mut watcher, 0, 3, Event::Fault { cause: 7, value: 0x1000 }, 0x104);
        see(&mut watcher, 0, 4, Event::Instruction, 0x200);
        assert_eq!(stops(&mut watcher, 4), []);
    }

    #[test]
    fn stores_whose_time_has_not_come_are_undone() {
        let mut watcher = Watcher::new(1, false);
        see(&mut watcher, 0, 3, Event::Instruction, 0x100);
        see(&mut watcher, 0, 3, store(0x1004), 0x100);
        let read = |watcher: &Watcher| {
            let mut data = [9; 8];
            watcher.undo(0, 0x1002, &mut data, u32::to_be_bytes);
            data
        };
        assert_eq!(read(&watcher), [9, 9, 1, 2, 3, 4, 9, 9]);
        assert_eq!(stops(&mut watcher, 3), []);
        assert_eq!(read(&watcher), [9; 8]);
    }

    #[test]
    fn faults_stop_if_asked_and_calls_do_not() {
        for (cause, breaks, want) in [(5, false, 0), (8, true, 0), (5, true, 1)] {
            let mut watcher = Watcher::new(1, false);
            watcher.breaks_on_faults = breaks;
            see(&mut watcher, 0, 1, Event::Fault { cause, value: 3 }, 0x100);
            assert_eq!(stops(&mut watcher, 1), &[(0, Reason::Fault(5, 3))][..want]);
        }
    }

    #[test]
    fn a_step_over_a_line_ends_outside_its_range() {
        let mut watcher = Watcher::new(2, false);
        watcher.resume(Some(SteppedCore { range: (0x100, 0x108), is_alone: false, ..STEP }));
        see(&mut watcher, 0, 1, Event::Instruction, 0x104);
        see(&mut watcher, 1, 1, Event::Instruction, 0x108);
        assert_eq!(stops(&mut watcher, 1), []);
        see(&mut watcher, 0, 2, Event::Instruction, 0x108);
        assert_eq!(stops(&mut watcher, 2), [(0, Reason::Step)]);
    }
}
