//! The card as gdb's target.

use super::monitor::{self, PacketBreak};
use super::registers::{AnyCore, Raw, description, memory_map, raw};
use super::watcher::{Reason, SteppedCore, Stop, Watcher};
use super::{CoreKind, Cores};
use crate::run::Run;
use gdbstub::common::{Signal, Tid};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadRangeStepping, MultiThreadRangeSteppingOps, MultiThreadResume, MultiThreadResumeOps,
    MultiThreadSchedulerLocking, MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::memory_map::{MemoryMap, MemoryMapOps};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;

/// A run, and the state of the debugger that concerns the run.
pub struct CardTarget {
    /// The run.
    pub run: Run,
    pub(super) watcher: Rc<RefCell<Watcher>>,
    pub(super) kind: CoreKind,
    pub(super) n_cores: usize,
    /// The core that stopped last, or whose registers gdb read last.
    pub(super) current: usize,
    pub(super) packets: Vec<PacketBreak>,
    /// Last known bytes of the watchpoints for stores: address, the core that uses the address, and the bytes.
    watched: Vec<(u32, usize, Vec<u8>)>,
    /// The last stop.
    pub(super) stop: Option<Stop>,
    /// Gdb's request for the next resumption: the core that steps and its range, the core that continues, and whether
    /// other cores are excluded.
    step: Option<(usize, (u32, u32))>,
    continued: Option<usize>,
    is_alone: bool,
}

/// The thread of a core.
pub(super) fn thread(core: usize) -> Tid {
    NonZeroUsize::new(core + 1).expect("a number after another one is not 0")
}

/// A range with all instructions, so that no step ends.
const EVERYWHERE: (u32, u32) = (0, u32::MAX);

fn core(thread: Tid) -> usize {
    thread.get() - 1
}

impl CardTarget {
    /// Observes the cores of a run; `None` if the card has none.
    pub(super) fn new(mut run: Run) -> Option<CardTarget> {
        let cores = run.card.cores_mut()?;
        let (kind, n_cores) = (cores.kind(), cores.names().len());
        if n_cores == 0 {
            return None;
        }
        let watcher = Rc::new(RefCell::new(Watcher::new(n_cores, kind == CoreKind::Mips)));
        cores.observe(&|core, clock| Watcher::probe(&watcher, core, clock));
        Some(CardTarget {
            run,
            watcher,
            kind,
            n_cores,
            current: 0,
            packets: Vec::new(),
            watched: Vec::new(),
            stop: None,
            step: None,
            continued: None,
            is_alone: false,
        })
    }

    pub(super) fn cores(&self) -> &dyn Cores {
        self.run.card.cores().expect("a card keeps its cores")
    }

    pub(super) fn cores_mut(&mut self) -> &mut dyn Cores {
        self.run.card.cores_mut().expect("a card keeps its cores")
    }

    /// The bytes of a watchpoint, as a core sees them.
    fn bytes_at(&self, core: usize, addr: u32, bytes: u32) -> Vec<u8> {
        let mut data = vec![0; bytes as usize];
        let n = self.cores().read(core, addr, &mut data);
        data.truncate(n);
        self.watcher.borrow().undo(core, addr, &mut data, self.kind.order());
        data
    }

    /// Notes the bytes of all watchpoints for stores.
    fn look_at_watched(&mut self) {
        let points: Vec<_> = self.watcher.borrow().for_stores().collect();
        let seen = |(_, addr, bytes): &(WatchKind, u32, u32)| {
            let known = self.watched.iter().find(|(at, _, data)| at == addr && data.len() == *bytes as usize);
            let core = known.map_or(self.current, |&(_, core, _)| core);
            (*addr, core, self.bytes_at(core, *addr, *bytes))
        };
        self.watched = points.iter().map(seen).collect();
    }

    /// Returns a stop if the bytes of a watchpoint changed although no core has just stored there: DMA or the NIC wrote them,
    /// or a store reached the memory after its instruction had ended.
    pub(super) fn changed(&mut self) -> Option<Stop> {
        let mut found = None;
        for at in 0..self.watched.len() {
            let &(addr, core, ref before) = &self.watched[at];
            let now = self.bytes_at(core, addr, before.len() as u32);
            if now != *before {
                let watcher = self.watcher.borrow();
                let kind = watcher.for_stores().find(|point| (point.1, point.2 as usize) == (addr, now.len()));
                let is_of_core = watcher.stops_at_core(addr, now.len() as u32);
                if let Some((kind, ..)) = kind.filter(|_| !is_of_core) {
                    let core = watcher.alone().unwrap_or(self.current);
                    found = found.or(Some(Stop { core, reason: Reason::Watch(kind, addr) }));
                }
                drop(watcher);
                self.watched[at].2 = now;
            }
        }
        found
    }

    /// Program counter and registers of a core before its first instruction that is later than the simulated time.
    pub(super) fn view(&self, core: usize) -> (u32, Vec<u32>) {
        let reported = self.watcher.borrow().reported(core);
        reported.unwrap_or_else(|| self.cores().registers(core))
    }
}

impl Target for CardTarget {
    type Arch = AnyCore;
    type Error = &'static str;

    fn base_ops(&mut self) -> BaseOps<'_, AnyCore, &'static str> {
        BaseOps::MultiThread(self)
    }

    // Breakpoints are never written to memory.
    fn guard_rail_implicit_sw_breakpoints(&self) -> bool {
        true
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(&mut self) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }

    fn support_memory_map(&mut self) -> Option<MemoryMapOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for CardTarget {
    fn read_registers(&mut self, registers: &mut Raw, tid: Tid) -> TargetResult<(), Self> {
        self.current = core(tid);
        let (pc, values) = self.view(core(tid));
        *registers = raw(self.kind, pc, &values);
        Ok(())
    }

    /// Registers cannot be written: at a stop the instruction is already under way.
    fn write_registers(&mut self, _: &Raw, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        match self.cores().read(core(tid), start, data) {
            0 => Err(TargetError::NonFatal),
            n => {
                self.watcher.borrow().undo(core(tid), start, &mut data[..n], self.kind.order());
                Ok(n)
            }
        }
    }

    fn write_addrs(&mut self, start: u32, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let written = self.cores_mut().write(core(tid), start, data);
        self.look_at_watched();
        match written {
            n if n == data.len() => Ok(()),
            _ => Err(TargetError::NonFatal),
        }
    }

    fn list_active_threads(&mut self, found: &mut dyn FnMut(Tid)) -> Result<(), Self::Error> {
        (0..self.n_cores).for_each(|core| found(thread(core)));
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadResume for CardTarget {
    fn resume(&mut self) -> Result<(), Self::Error> {
        let is_alone = self.is_alone;
        // gdb steps cores of RISC-V with a breakpoint at the next instruction, and lets only this core continue to it.
        let continues = self.continued.filter(|_| is_alone).map(|core| (core, EVERYWHERE));
        let step = self.step.or(continues).map(|(core, range)| SteppedCore { core, range, is_alone });
        self.watcher.borrow_mut().resume(step);
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Self::Error> {
        (self.step, self.continued, self.is_alone) = (None, None, false);
        Ok(())
    }

    /// All cores always run.
    fn set_resume_action_continue(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        self.continued = Some(core(tid));
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<MultiThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for CardTarget {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        self.step = Some((core(tid), (0, 0)));
        Ok(())
    }
}

impl MultiThreadRangeStepping for CardTarget {
    fn set_resume_action_range_step(&mut self, tid: Tid, start: u32, end: u32) -> Result<(), Self::Error> {
        self.step = Some((core(tid), (start, end)));
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for CardTarget {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Self::Error> {
        self.is_alone = true;
        Ok(())
    }
}

impl Breakpoints for CardTarget {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for CardTarget {
    fn add_sw_breakpoint(&mut self, addr: u32, _: usize) -> TargetResult<bool, Self> {
        self.watcher.borrow_mut().add_breakpoint(addr);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, addr: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.watcher.borrow_mut().remove_breakpoint(addr))
    }
}

impl HwWatchpoint for CardTarget {
    fn add_hw_watchpoint(&mut self, addr: u32, bytes: u32, kind: WatchKind) -> TargetResult<bool, Self> {
        self.watcher.borrow_mut().add_watchpoint(kind, addr, bytes);
        self.look_at_watched();
        Ok(true)
    }

    fn remove_hw_watchpoint(&mut self, addr: u32, bytes: u32, kind: WatchKind) -> TargetResult<bool, Self> {
        let is_known = self.watcher.borrow_mut().remove_watchpoint(kind, addr, bytes);
        self.look_at_watched();
        Ok(is_known)
    }
}

impl MonitorCmd for CardTarget {
    fn handle_monitor_cmd(&mut self, command: &[u8], mut out: ConsoleOutput<'_>) -> Result<(), Self::Error> {
        let answer = monitor::answer(self, &String::from_utf8_lossy(command));
        out.write_raw(answer.as_bytes());
        Ok(())
    }
}

impl TargetDescriptionXmlOverride for CardTarget {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        match annex {
            b"target.xml" => Ok(part(description(self.kind).as_bytes(), offset, length, buffer)),
            _ => Err(TargetError::NonFatal),
        }
    }
}

impl MemoryMap for CardTarget {
    fn memory_map_xml(&self, offset: u64, length: usize, buffer: &mut [u8]) -> TargetResult<usize, Self> {
        Ok(part(memory_map(&self.cores().regions()).as_bytes(), offset, length, buffer))
    }
}

impl ThreadExtraInfo for CardTarget {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        Ok(part(monitor::about(self, core(tid)).as_bytes(), 0, buffer.len(), buffer))
    }
}

/// Copies a part of a text that gdb requested. Returns the number of bytes, 0 at the end.
fn part(text: &[u8], offset: u64, length: usize, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|offset| text.get(offset..)).unwrap_or_default();
    let n = rest.len().min(length).min(buffer.len());
    buffer[..n].copy_from_slice(&rest[..n]);
    n
}
