//! `mips-core`: a MIPS core with its scratchpad, address filter and instruction cache.
//!
//! Ports:   `memory` (memory, asks): loads and stores outside the scratchpad and the register window, one per cycle;
//!           `registers` (memory, asks): those in the register window; `fetch` (memory, asks): lines of the
//!           instruction cache; `control` (cpu-control, receives, optional), `status` (cpu-status, sends, optional).
//! Timing:  see `pipeline.rs`. A reference is sent in the cycle in which its instruction executes; loads read the
//!           whole word that contains their address. An order takes effect in the cycle in which it arrives, or up to
//!           64 cycles later if the core was simulated ahead.
//! Order:   references take effect in order. A reference to the registers waits until memory has answered all earlier
//!           references; a reference to memory waits as long as the registers take without contention.
//! Errors:  an exception, or a reference that a memory refuses, stops the core with a cause.
//! Source:  thesis, 3.2.4, 3.3.1 and 4.2.
//! Differs: while a load waits, the word after the next instruction is fetched, unless that instruction is a load or
//!           store itself.
//! Links:   for `ll` and `sc` at port `memory`, the memory keeps the link, to an aligned word of four bytes; any
//! store to the word breaks it, by this core or by another initiator such as DMA. The core itself keeps links to the
//! scratchpad and to registers.

use super::access::{References, Target};
use super::code::{InstructionCache, Scratchpad, Slot, What};
use super::control::{CpuControl, CpuStatus};
use super::debug::Debug;
use super::fault::{Cause, Fault};
use super::fetch::Fetch;
use super::locking::Touch;
use super::log::InstructionLog;
use super::params::{MipsCoreParams, PipelineKind, StoreKind};
use super::pipeline::{CYCLE_NAMES, Cycles, MISSES, Pipeline, Rule};
use super::profile::Profile;
use super::refer::DataPort;
use super::state::{Request, State};
use crate::bus::Requester;
use isa::mips::{Class, execute};
use kernel::trace::Tracer;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// The ports of a [`MipsCore`].
pub struct MipsCorePorts {
    /// Loads and stores.
    pub memory: Requester,
    /// Lines of the instruction cache, if there is one.
    pub fetch: Option<Requester>,
    /// Loads and stores in the register window, if there is one.
    pub registers: Option<Requester>,
    /// Orders to the core.
    pub control: Option<Rx<CpuControl>>,
    /// State of the core.
    pub status: Option<Tx<CpuStatus>>,
}

/// Executes MIPS instructions in order.
pub struct MipsCore {
    pub(super) params: MipsCoreParams,
    pub(super) memory: DataPort,
    pub(super) registers: Option<DataPort>,
    pub(super) fetch: Option<Fetch>,
    pub(super) control: Option<Rx<CpuControl>>,
    pub(super) status: Option<Tx<CpuStatus>>,
    pub(super) tracer: Tracer,
    pub(super) state: State,
    pub(super) scratchpad: Scratchpad,
    pub(super) pipeline: Pipeline,
    pub(super) stack_offset: u32,
    pub(super) mode: Mode,
    /// Cycle of the last tick.
    pub(super) ticked: Cycle,
    /// Cycle that the core has reached: that of the last tick, or of the last reference that was sent ahead.
    pub(super) now: Cycle,
    /// Answers to posted stores wake the core.
    pub(super) is_listening: bool,
    /// True if the new state of the core has not been sent yet.
    pub(super) owes_status: bool,
    /// Loads and held stores outstanding.
    pub(super) holding: usize,
    /// Cycles for which posted stores waited for others; later loads may have waited for the same reason.
    pub(super) posted_waited: Cycle,
    /// First cycle in which the next reference can be sent.
    pub(super) memory_free: Cycle,
    pub(super) fault: Option<Fault>,
    pub(super) profile: Option<Profile>,
    pub(super) log: Option<InstructionLog>,
    pub(super) debug: Option<Box<Debug>>,
    /// True if the core has a profile, a log or a debugger.
    pub(super) is_observed: bool,
    pub(super) by_class: [u64; Class::ALL.len()],
    pub(super) annulled: u64,
    pub(super) references: References,
}

/// Maximum cycles for which a core is simulated ahead while it accesses only its own memories; a power of two.
const AHEAD: Cycle = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Halted,
    Running,
    Stepping,
}

impl MipsCore {
    /// A core with parameters that passed [`check`](crate::netlist::Module::check).
    ///
    /// # Panics
    ///
    /// If a port that the parameters require is missing.
    pub fn new(params: MipsCoreParams, ports: MipsCorePorts, tracer: Tracer) -> MipsCore {
        let rule = Rule {
            is_five_stage: params.pipeline == PipelineKind::FiveStage,
            multiply_cycles: params.multiply_cycles.into(),
            divide_cycles: params.divide_cycles.into(),
        };
        assert_eq!(params.instruction_cache.is_some(), ports.fetch.is_some(), "a cache is filled through port fetch");
        assert_eq!(params.registers.is_some(), ports.registers.is_some(), "the register window has a port");
        let cache = params.instruction_cache.map(InstructionCache::new);
        let fetch = ports.fetch.zip(cache).map(|(requester, cache)| Fetch::new(requester, cache));
        MipsCore {
            memory: DataPort::new(ports.memory, params.memory_cycles.into()),
            registers: ports.registers.map(|requester| DataPort::new(requester, params.register_cycles.into())),
            fetch,
            control: ports.control,
            status: ports.status,
            tracer,
            state: State::new(params.reset_pc),
            scratchpad: Scratchpad::new(params.scratchpad),
            pipeline: Pipeline::new(rule),
            stack_offset: 0,
            mode: if params.runs_at_start { Mode::Running } else { Mode::Halted },
            ticked: 0,
            now: 0,
            is_listening: true,
            owes_status: true,
            holding: 0,
            posted_waited: 0,
            memory_free: 0,
            fault: None,
            profile: None,
            log: None,
            debug: None,
            is_observed: false,
            by_class: [0; Class::ALL.len()],
            annulled: 0,
            references: References::default(),
            params,
        }
    }

    /// Returns true if the core is halted.
    pub fn is_halted(&self) -> bool {
        self.mode == Mode::Halted
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.state.pc
    }

    /// The general registers. A register with an outstanding load has its old value.
    pub fn registers(&self) -> &[u32; 32] {
        &self.state.r
    }

    /// The reason for which the core stopped by itself since its last start, if it did.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Cycles by cause.
    pub fn cycles(&self) -> Cycles {
        self.pipeline.cycles
    }

    /// Instructions executed, by class.
    pub fn instructions(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::ALL.into_iter().zip(self.by_class)
    }

    /// Starts counting by program counter.
    pub fn set_profile(&mut self, mut profile: Profile) {
        profile.set_locks(self.params.locks);
        self.profile = Some(profile);
        self.is_observed = true;
    }

    /// The counts by program counter.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Writes a word to the scratchpad, as a loader does. Returns false if the address is outside.
    pub fn load_scratchpad(&mut self, addr: u32, word: u32) -> bool {
        let holds = self.scratchpad.window.holds(addr);
        if holds {
            self.scratchpad.write(addr, word, u32::MAX);
        }
        holds
    }

    /// Simulates the core until it needs another component.
    fn run(&mut self) -> Activity {
        if self.is_observed {
            self.begin_debugged();
        }
        let is_plain = self.mode == Mode::Running && !self.is_observed;
        while self.mode != Mode::Halted {
            let horizon = (self.now | (AHEAD - 1)) + 1;
            if self.pipeline.executed() + 1 >= horizon {
                return Activity::Until(horizon);
            }
            let pc = self.state.pc;
            if pc & 3 != 0 {
                if self.pipeline.executed() >= self.now {
                    return Activity::Until(self.pipeline.executed() + 1);
                }
                self.stop(self.now, Cause::MisalignedFetch, pc, pc);
                break;
            }
            let (slot, is_near) = match self.scratchpad.slot(pc) {
                Some(slot) => (*slot, true),
                None => match self.cached(pc) {
                    Some(slot) => (*slot, false),
                    None => match self.miss(pc) {
                        Some(activity) => return activity,
                        None => break,
                    },
                },
            };
            if is_plain && matches!(slot.what, What::Plain | What::Branch) && self.flows(is_near) {
                execute(&mut self.state, &slot.inst);
                self.pipeline.flow(&slot);
                self.by_class[slot.class as usize] += 1;
                self.state.advance();
                continue;
            }
            if self.holding > 0 && self.waits_for_answer(&slot) {
                return self.look_ahead(&slot, is_near);
            }
            if self.state.annuls {
                self.annul(pc, is_near);
                continue;
            }
            let mut start = self.pipeline.start(&slot, is_near);
            // Behind an outstanding load, a reference also waits for the memory stage.
            let free = if self.holding > 0 { start.executes.max(self.memory_free) } else { start.executes };
            if free > self.now && slot.what == What::Memory && self.goes_out(&slot.inst) && !self.goes_ahead_to(free) {
                return Activity::Until(free);
            }
            let watched = self.profile.as_ref().and_then(|profile| profile.tested_register(&slot));
            let tested = watched.map(|r| self.state.r[usize::from(r & 31)]);
            let (mut touch, mut request) = (Touch::Nothing, Request::Nothing);
            execute(&mut self.state, &slot.inst);
            if matches!(slot.what, What::Memory | What::Special) && self.state.request != Request::Nothing {
                request = std::mem::replace(&mut self.state.request, Request::Nothing);
                if let Err(waits) = self.serve(request, &mut start) {
                    return waits;
                }
                if self.mode == Mode::Halted {
                    break;
                }
                if let Some(profile) = &self.profile {
                    touch = profile.touch(request);
                }
                self.pipeline.retire(&slot, &start);
                self.settle(&slot, request, start.executes);
            } else {
                self.pipeline.retire(&slot, &start);
            }
            self.by_class[slot.class as usize] += 1;
            if self.is_observed {
                if let Some(profile) = &mut self.profile {
                    profile.retired(pc, start.lost(), 1, touch, tested);
                }
                self.log_retired(start.executes, pc, &slot, request);
                self.report_retired(start.executes, pc, request);
            }
            self.state.advance();
            if self.mode == Mode::Stepping {
                self.halt();
            }
        }
        self.report_halt()
    }

    /// The instruction at `pc`, if it is in the instruction cache.
    #[inline(always)]
    fn cached(&mut self, pc: u32) -> Option<&Slot> {
        let fetch = self.fetch.as_mut()?;
        if !fetch.cache.is_current(pc)
            && let Some(cycle) = fetch.turn_to(pc)
        {
            self.pipeline.line_came(cycle);
        }
        fetch.cache.slot(pc)
    }

    /// Returns true if nothing delays a plain instruction.
    #[inline(always)]
    fn flows(&self, is_near: bool) -> bool {
        self.holding == 0 && !self.state.annuls && self.pipeline.flows(is_near)
    }

    /// Returns true if an instruction must wait for outstanding answers before its time is known: all instructions
    /// except memory references that do not use the loaded register.
    #[inline(always)]
    fn waits_for_answer(&self, slot: &Slot) -> bool {
        self.state.annuls || slot.what != What::Memory || self.pipeline.misses_operand(slot)
    }

    fn annul(&mut self, pc: u32, is_near: bool) {
        let lost = self.pipeline.annul(is_near);
        self.annulled += 1;
        self.state.annuls = false;
        self.state.advance();
        if let Some(profile) = &mut self.profile {
            profile.retired(pc, lost, 0, Touch::Nothing, None);
        }
    }

    /// Fetches the word after an instruction that waits for a load.
    fn look_ahead(&mut self, slot: &Slot, is_near: bool) -> Activity {
        let pc = self.state.next;
        let is_here = pc & 3 != 0 || self.scratchpad.window.holds(pc);
        if let Some(fetch) = self.fetch.as_mut().filter(|fetch| !is_here && !fetch.cache.holds(pc))
            && self.pipeline.is_five_stage()
        {
            let wanted = self.pipeline.start(slot, is_near).decodes();
            if self.now == self.ticked && wanted <= self.now {
                fetch.ask(self.now, wanted, pc, &self.memory);
            }
            return self.wait();
        }
        Activity::Idle
    }

    /// Requests the missing word at `pc`. Returns `None` if there is no fetch port, which stops the core.
    #[cold]
    fn miss(&mut self, pc: u32) -> Option<Activity> {
        let wanted = self.pipeline.fetches();
        if wanted.max(self.now) > self.ticked {
            return Some(Activity::Until(wanted.max(self.now)));
        }
        let Some(fetch) = &mut self.fetch else {
            self.stop(self.now, Cause::FetchBus, pc, pc);
            return None;
        };
        fetch.ask(self.now, wanted, pc, &self.memory);
        Some(self.wait())
    }

    /// The first tick, and ticks in which the core owes its status.
    #[cold]
    fn start(&mut self) {
        // An offset of stacks need not be a multiple of a word.
        if self.params.stack_window.is_none() {
            self.memory.open_lane();
        }
        self.registers.iter_mut().for_each(DataPort::open_lane);
        self.send_status();
    }

    /// The tick of a halted core: reports its state.
    fn report_halt(&mut self) -> Activity {
        self.send_status();
        Activity::Idle
    }
}

impl Component for MipsCore {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_answers(now);
        self.take_orders(now);
        if self.owes_status {
            self.start();
        }
        self.ticked = now;
        self.now = self.now.max(now);
        // A held store occupies the memory stage until its answer.
        self.set_listening(self.params.stores == StoreKind::Held);
        self.run()
    }

    fn ports(&self, ports: &mut Ports) {
        self.memory.requester().port("memory", ports);
        if let Some(fetch) = &self.fetch {
            fetch.requester.port("fetch", ports);
        }
        if let Some(registers) = &self.registers {
            registers.requester().port("registers", ports);
        }
        if let Some(control) = &self.control {
            ports.input("control", control);
        }
        if let Some(status) = &self.status {
            ports.output("status", status);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        for (name, count) in CYCLE_NAMES.into_iter().zip(self.pipeline.cycles.counts()) {
            let is_miss = self.fetch.is_some() && name == MISSES;
            let name = format!("cycles.{name}");
            match is_miss {
                true => counters.busy(&name, count, 1, "the core's instruction cache: waits for a line"),
                false => counters.add(&name, count),
            }
        }
        for (class, count) in self.instructions() {
            counters.add(&format!("instructions.{}", class.name()), count);
        }
        counters.add("annulled", self.annulled);
        if let Some(fetch) = &self.fetch {
            counters.add("fills", fetch.fills);
        }
        let References { loads, stores } = self.references;
        for (place, name) in [Target::Scratchpad, Target::Registers, Target::Memory].into_iter().zip([
            "scratchpad",
            "registers",
            "memory",
        ]) {
            counters.add(&format!("loads.{name}"), loads[place as usize]);
            counters.add(&format!("stores.{name}"), stores[place as usize]);
        }
    }
}
