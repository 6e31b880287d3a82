//! The MIPS core: a component.

use super::code::{InstructionCache, Scratchpad, Slot, What};
use super::control::{CpuControl, CpuStatus};
use super::params::{MipsCoreParams, PipelineKind, StoreKind};
use super::pipeline::{Cycles, Pipeline, Rule, Start, cycle_names};
use super::profile::Profile;
use super::refer::{self, DataPort, Pending, Purpose};
use super::state::{Asked, State};
use crate::bus::{Access, Requester};
use isa::mips::{Class, Exception, Load, Store, execute};
use kernel::trace::{EventKind, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// A core stopped because of what its program did.
static STOPPED: EventKind = EventKind { name: "cpu_stopped", fields: &["cause", "pc", "value"] };

/// Cycles that a core runs ahead of the others at most, while it meets nobody; a power of two.
const AHEAD: Cycle = 64;

/// Loads and held stores under way: one in the memory stage, one that waits for it.
const MAX_HOLDING: usize = 2;

/// Why a core stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A word that is no instruction; the value is the word.
    Reserved,
    /// A signed sum or difference did not fit.
    Overflow,
    /// A trap instruction; the value is its code.
    Trap,
    /// `break`; the value is its code.
    Breakpoint,
    /// `syscall`; the value is its code.
    Syscall,
    /// A jump to an address that is no word's; the value is the address.
    MisalignedFetch,
    /// A load across words; the value is the address.
    MisalignedLoad,
    /// A store across words; the value is the address.
    MisalignedStore,
    /// No instruction memory answers; the value is the address.
    FetchBus,
    /// No memory answers a load; the value is the address.
    LoadBus,
    /// No memory answers a store, which may have executed some time before; the value is the address.
    StoreBus,
}

impl Cause {
    /// What happened, for a report.
    pub const fn text(self) -> &'static str {
        match self {
            Cause::Reserved => "a word that is no instruction",
            Cause::Overflow => "signed overflow",
            Cause::Trap => "a trap instruction",
            Cause::Breakpoint => "a break instruction",
            Cause::Syscall => "a syscall instruction",
            Cause::MisalignedFetch => "a jump to a misaligned address",
            Cause::MisalignedLoad => "a misaligned load",
            Cause::MisalignedStore => "a misaligned store",
            Cause::FetchBus => "a fetch from where no memory is",
            Cause::LoadBus => "a load from where no memory is",
            Cause::StoreBus => "a store to where no memory is",
        }
    }
}

/// A core stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Why.
    pub cause: Cause,
    /// Address of the instruction.
    pub pc: u32,
    /// Address, word or code, as the cause says.
    pub value: u32,
    /// Cycle of the core's clock.
    pub cycle: Cycle,
}

/// The ends of a core's connections.
pub struct Ends {
    /// Loads and stores.
    pub memory: Requester,
    /// Lines of the instruction cache, if there is one.
    pub fetch: Option<Requester>,
    /// Loads and stores in the register window, if there is one.
    pub registers: Option<Requester>,
    /// Orders.
    pub control: Option<Rx<CpuControl>>,
    /// How the core is.
    pub status: Option<Tx<CpuStatus>>,
}

/// Where instructions come from that are not in the scratchpad.
struct Fetch {
    requester: Requester,
    id: u32,
    cache: InstructionCache,
    /// The line that was asked for, and how many cycles too late.
    missing: Option<(u32, u64)>,
    fills: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Halted,
    Running,
    Stepping,
}

/// Loads and stores by where they went.
#[derive(Clone, Copy, Default)]
struct References {
    loads: [u64; 3],
    stores: [u64; 3],
}

/// Where an address leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Scratchpad,
    Registers,
    Memory,
}

/// Executes MIPS instructions in order.
///
/// Ports:   `memory` out: loads and stores that no nearer place takes, one a cycle. `registers` out: those in the register window.
///          `fetch` out: lines of the instruction cache. `control` in, `status` out.
/// Timing:  `pipeline.rs`. A reference is sent in the cycle in which its instruction executes; loads read the whole word
///          around their address. A reference to one port waits until the other is quiet, so others see them in order. An order
///          is obeyed in the cycle in which it comes, or up to 64 later: where it meets nobody the core is
///          simulated ahead.
/// Source:  P. Willmann's thesis (Rice University, 2004), 3.2.4, 3.3.1 and 4.2.
/// Differs: the word behind a load that waits is fetched when the load is done, not while it waits; so a miss in the instruction
///          cache just behind a load that waits long begins up to that much later. The link of `ll` and `sc` is the
///          core's own, as without a coherent bus: other writers do not break it.
pub struct MipsCore {
    params: MipsCoreParams,
    memory: DataPort,
    registers: Option<DataPort>,
    fetch: Option<Fetch>,
    control: Option<Rx<CpuControl>>,
    status: Option<Tx<CpuStatus>>,
    tracer: Tracer,
    state: State,
    scratchpad: Scratchpad,
    pipeline: Pipeline,
    stack_offset: u32,
    mode: Mode,
    /// The others are to hear how the core is.
    owes_status: bool,
    /// Loads and held stores under way.
    holding: usize,
    /// The first cycle in which the next reference may leave.
    memory_free: Cycle,
    trouble: Option<Trouble>,
    profile: Option<Profile>,
    by_class: [u64; Class::ALL.len()],
    annulled: u64,
    references: References,
}

/// What came of an instruction that asked for something.
enum Outcome {
    Done(Start),
    Waits(Activity),
}

impl MipsCore {
    /// A core with parameters that passed [`check`](crate::netlist::Module::check).
    ///
    /// # Panics
    ///
    /// When an end is missing that the parameters ask for.
    pub fn new(params: MipsCoreParams, ends: Ends, tracer: Tracer) -> MipsCore {
        let rule = Rule {
            is_five_stage: params.pipeline == PipelineKind::FiveStage,
            multiply_cycles: params.multiply_cycles,
            divide_cycles: params.divide_cycles,
        };
        assert_eq!(params.instruction_cache.is_some(), ends.fetch.is_some(), "a cache is filled through port fetch");
        assert_eq!(params.registers.is_some(), ends.registers.is_some(), "the register window has a port");
        let fetch = params.instruction_cache.zip(ends.fetch).map(|(cache, requester)| Fetch {
            requester,
            id: 0,
            cache: InstructionCache::new(cache),
            missing: None,
            fills: 0,
        });
        MipsCore {
            memory: DataPort::new(ends.memory, params.memory_cycles),
            registers: ends.registers.map(|requester| DataPort::new(requester, params.register_cycles)),
            fetch,
            control: ends.control,
            status: ends.status,
            tracer,
            state: State::new(params.reset_pc),
            scratchpad: Scratchpad::new(params.scratchpad),
            pipeline: Pipeline::new(rule),
            stack_offset: 0,
            mode: if params.runs_at_start { Mode::Running } else { Mode::Halted },
            owes_status: true,
            holding: 0,
            memory_free: 0,
            trouble: None,
            profile: None,
            by_class: [0; Class::ALL.len()],
            annulled: 0,
            references: References::default(),
            params,
        }
    }

    /// Whether it stands still.
    pub fn is_halted(&self) -> bool {
        self.mode == Mode::Halted
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.state.pc
    }

    /// The general registers. One that a load under way will write has its old value.
    pub fn registers(&self) -> &[u32; 32] {
        &self.state.r
    }

    /// Why the core stopped by itself, if it did since the last reset.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// Where its cycles went.
    pub fn cycles(&self) -> Cycles {
        self.pipeline.cycles
    }

    /// Instructions executed, by class.
    pub fn instructions(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::ALL.into_iter().zip(self.by_class)
    }

    /// Counts by program counter from now on.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
    }

    /// What was counted by program counter.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Puts a word into the scratchpad, as a loader would; says whether it is in there.
    pub fn load_scratchpad(&mut self, addr: u32, word: u32) -> bool {
        let holds = self.scratchpad.window.holds(addr);
        if holds {
            self.scratchpad.write(addr, word, u32::MAX);
        }
        holds
    }

    /// The word of the scratchpad around `addr`.
    pub fn scratchpad_word(&self, addr: u32) -> Option<u32> {
        self.scratchpad.window.holds(addr).then(|| self.scratchpad.read(addr))
    }

    fn take_orders(&mut self, now: Cycle) {
        while let Some(order) = self.control.as_ref().and_then(Rx::take) {
            let is_halted = self.is_halted();
            match order {
                CpuControl::Reset => self.reset(),
                CpuControl::Halt => self.halt(),
                CpuControl::Run | CpuControl::Step if is_halted => {
                    self.mode = if order == CpuControl::Run { Mode::Running } else { Mode::Stepping };
                    self.owes_status = true;
                    self.pipeline.begin(now);
                }
                CpuControl::SetPc(pc) if is_halted => self.state.set_pc(pc),
                CpuControl::SetRegister(r, value) if is_halted => isa::mips::Cpu::set(&mut self.state, r, value),
                CpuControl::StackOffset(offset) => self.stack_offset = offset,
                // For a halted core, and this one runs.
                CpuControl::Run | CpuControl::Step | CpuControl::SetPc(_) | CpuControl::SetRegister(..) => (),
            }
        }
    }

    fn reset(&mut self) {
        self.state = State::new(self.params.reset_pc);
        self.pipeline.forget();
        self.holding = 0;
        self.trouble = None;
        self.memory.forget();
        self.registers.iter_mut().for_each(DataPort::forget);
        if let Some(fetch) = &mut self.fetch {
            fetch.cache.clear();
        }
        self.halt();
    }

    fn halt(&mut self) {
        self.mode = Mode::Halted;
        self.owes_status = true;
    }

    fn stop(&mut self, now: Cycle, cause: Cause, pc: u32, value: u32) {
        self.trouble = Some(Trouble { cause, pc, value, cycle: now });
        self.tracer.emit(&STOPPED, now, &[cause as u64, pc.into(), value.into()]);
        self.halt();
    }

    fn take_answers(&mut self, now: Cycle) {
        for is_register in [false, true] {
            let port = if is_register { self.registers.as_mut() } else { Some(&mut self.memory) };
            let Some(port) = port else { continue };
            let cycles = port.cycles;
            while let Some((pending, result)) = port.answer() {
                let Pending { purpose, addr, pc, sent } = pending;
                match (purpose, result) {
                    (Purpose::Forgotten, _) | (Purpose::Posted, Ok(_)) => (),
                    (Purpose::Held, Ok(_)) => {
                        self.holding -= 1;
                        self.pipeline.answered(0, sent, cycles, now);
                    }
                    (Purpose::Load { rt, kind }, Ok(word)) => {
                        self.holding -= 1;
                        self.pipeline.answered(rt, sent, cycles, now);
                        let r = &mut self.state.r[usize::from(rt & 31)];
                        *r = kind.value(addr, word, *r);
                        self.state.r[0] = 0;
                    }
                    (purpose, Err(_)) => {
                        let cause =
                            if matches!(purpose, Purpose::Load { .. }) { Cause::LoadBus } else { Cause::StoreBus };
                        if purpose != Purpose::Posted {
                            self.holding -= 1;
                        }
                        if let Purpose::Load { rt, .. } = purpose {
                            self.pipeline.answered(rt, sent, cycles, now);
                        }
                        self.trouble = Some(Trouble { cause, pc, value: addr, cycle: now });
                        self.tracer.emit(&STOPPED, now, &[cause as u64, pc.into(), addr.into()]);
                        self.mode = Mode::Halted;
                        self.owes_status = true;
                    }
                }
            }
        }
        self.take_line(now);
    }

    fn take_line(&mut self, now: Cycle) {
        let Some(fetch) = &mut self.fetch else { return };
        let Some(reply) = fetch.requester.replies.take() else { return };
        let (line, late) = fetch.missing.take().expect("an answer is to a reference");
        match reply.result {
            Ok(data) => {
                fetch.cache.fill(line, &data);
                self.pipeline.line_came(now - late);
            }
            // What is not wanted any more may be missing.
            Err(_) if self.mode != Mode::Halted && fetch.cache.line(self.state.pc) == line => {
                self.stop(now, Cause::FetchBus, self.state.pc, self.state.pc);
            }
            Err(_) => (),
        }
    }

    /// Runs as far as it can without others.
    fn run(&mut self, now: Cycle) -> Activity {
        let horizon = (now | (AHEAD - 1)) + 1;
        while self.mode != Mode::Halted {
            if self.pipeline.executed() + 1 >= horizon {
                return Activity::Until(horizon);
            }
            let pc = self.state.pc;
            if pc & 3 != 0 {
                if self.pipeline.executed() >= now {
                    return Activity::Until(self.pipeline.executed() + 1);
                }
                self.stop(now, Cause::MisalignedFetch, pc, pc);
                break;
            }
            let (slot, is_near) = match self.scratchpad.slot(pc) {
                Some(slot) => (slot, true),
                None => match self.fetch.as_mut().and_then(|fetch| fetch.cache.slot(pc)) {
                    Some(slot) => (slot, false),
                    None => match self.miss(now, pc) {
                        Some(activity) => return activity,
                        None => break,
                    },
                },
            };
            if self.holding > 0 && self.waits_for_answer(&slot) {
                return Activity::Idle;
            }
            if self.state.annuls {
                self.annul(pc, is_near);
                continue;
            }
            let mut start = self.pipeline.start(&slot, is_near);
            let before = self.pipeline.executed();
            execute(&mut self.state, &slot.inst);
            if matches!(slot.what, What::Memory | What::Special) && self.state.asked != Asked::Nothing {
                let asked = std::mem::replace(&mut self.state.asked, Asked::Nothing);
                match self.attend(now, asked, start) {
                    Outcome::Done(later) => start = later,
                    Outcome::Waits(activity) => return activity,
                }
                if self.mode == Mode::Halted {
                    break;
                }
                self.pipeline.retire(&slot, &start);
                self.settle(&slot, asked, start.executes);
            } else {
                self.pipeline.retire(&slot, &start);
            }
            self.by_class[slot.inst.class() as usize] += 1;
            if let Some(profile) = &mut self.profile {
                profile.add(pc, start.executes - before, 1);
            }
            self.state.advance();
            if self.mode == Mode::Stepping {
                self.halt();
            }
        }
        self.rest()
    }

    /// Whether an instruction must see what is under way before its time is known: all but references that do not use it.
    #[inline(always)]
    fn waits_for_answer(&self, slot: &Slot) -> bool {
        self.state.annuls || slot.what != What::Memory || self.pipeline.misses_operand(slot)
    }

    fn annul(&mut self, pc: u32, is_near: bool) {
        let before = self.pipeline.executed();
        self.pipeline.annul(is_near);
        self.annulled += 1;
        self.state.annuls = false;
        self.state.advance();
        if let Some(profile) = &mut self.profile {
            profile.add(pc, self.pipeline.executed() - before, 0);
        }
    }

    /// The word at `pc` is not here: asks for it. `None` if there is nobody to ask, and the core stopped.
    #[cold]
    fn miss(&mut self, now: Cycle, pc: u32) -> Option<Activity> {
        let wanted = self.pipeline.fetches();
        if wanted > now {
            return Some(Activity::Until(wanted));
        }
        let Some(fetch) = &mut self.fetch else {
            self.stop(now, Cause::FetchBus, pc, pc);
            return None;
        };
        if fetch.missing.is_none() && fetch.requester.references.has_room() {
            let line = fetch.cache.line(pc);
            // Decode and execute are the slack in which a late start is made good.
            fetch.missing = Some((line, (now - wanted).min(2)));
            fetch.fills += 1;
            refer::send(&fetch.requester.references, &mut fetch.id, line, Access::Read(fetch.cache.line_bytes()));
        }
        Some(Activity::Idle)
    }

    /// Gives an instruction what it asked for, or makes it wait.
    fn attend(&mut self, now: Cycle, asked: Asked, start: Start) -> Outcome {
        match asked {
            Asked::Load { addr, kind, .. } if !kind.is_aligned(addr) => {
                self.refuse(now, start, Cause::MisalignedLoad, addr)
            }
            Asked::Store { addr, kind, .. } if !kind.is_aligned(addr) => {
                self.refuse(now, start, Cause::MisalignedStore, addr)
            }
            Asked::Conditional { addr, .. } if addr & 3 != 0 => self.refuse(now, start, Cause::MisalignedStore, addr),
            Asked::Load { rt, addr, kind } => self.load(now, start, rt, addr, kind),
            Asked::Store { addr, value, kind } => self.store(now, start, addr, value, kind),
            Asked::Conditional { addr, .. } if self.state.linked != Some(addr) => Outcome::Done(start),
            Asked::Conditional { addr, value, .. } => self.store(now, start, addr, value, Store::Word),
            Asked::Sync if self.is_quiet() => Outcome::Done(start),
            Asked::Sync => Outcome::Waits(Activity::Idle),
            Asked::Exception(what) => {
                let (cause, value) = match what {
                    Exception::Overflow => (Cause::Overflow, 0),
                    Exception::Trap(code) => (Cause::Trap, code),
                    Exception::Breakpoint(code) => (Cause::Breakpoint, code),
                    Exception::Syscall(code) => (Cause::Syscall, code),
                    Exception::Reserved(word) => (Cause::Reserved, word),
                };
                self.refuse(now, start, cause, value)
            }
            Asked::Nothing => Outcome::Done(start),
        }
    }

    /// The registers that an access writes, once its time is known.
    fn settle(&mut self, slot: &Slot, asked: Asked, executes: Cycle) {
        match asked {
            Asked::Load { rt, addr, kind } => {
                if kind == Load::Linked {
                    self.state.linked = Some(addr);
                }
                if self.place(addr) == Place::Scratchpad {
                    self.pipeline.loads_at_once(executes, rt);
                } else {
                    self.pipeline.awaits(rt);
                }
            }
            Asked::Conditional { rt, addr, .. } => {
                let holds = self.state.linked.take() == Some(addr);
                isa::mips::Cpu::set(&mut self.state, rt, holds.into());
                self.pipeline.loads_at_once(executes, slot.writes);
            }
            _ => (),
        }
    }

    /// The instruction ends in trouble, at its time.
    fn refuse(&mut self, now: Cycle, start: Start, cause: Cause, value: u32) -> Outcome {
        if self.holding > 0 {
            return Outcome::Waits(Activity::Idle);
        }
        if start.executes > now {
            return Outcome::Waits(Activity::Until(start.executes));
        }
        self.stop(now, cause, self.state.pc, value);
        Outcome::Done(start)
    }

    fn place(&self, addr: u32) -> Place {
        if self.scratchpad.window.holds(addr) {
            Place::Scratchpad
        } else if self.params.registers.is_some_and(|window| window.holds(addr)) {
            Place::Registers
        } else {
            Place::Memory
        }
    }

    fn load(&mut self, now: Cycle, mut start: Start, rt: u8, addr: u32, kind: Load) -> Outcome {
        let place = self.place(addr);
        if place == Place::Scratchpad {
            if self.holding > 0 {
                return Outcome::Waits(Activity::Idle);
            }
            let r = self.state.r[usize::from(rt & 31)];
            isa::mips::Cpu::set(&mut self.state, rt, kind.value(addr, self.scratchpad.read(addr), r));
            self.pipeline.uses_scratchpad(start.executes);
        } else {
            let pending = Pending { purpose: Purpose::Load { rt, kind }, addr, pc: self.state.pc, sent: now };
            if let Err(activity) = self.send(now, &mut start, place, addr & !3, Access::Read(4), pending) {
                return Outcome::Waits(activity);
            }
        }
        self.references.loads[place as usize] += 1;
        Outcome::Done(start)
    }

    fn store(&mut self, now: Cycle, mut start: Start, addr: u32, value: u32, kind: Store) -> Outcome {
        let place = self.place(addr);
        let (bits, mask) = kind.bits(addr, value);
        if place == Place::Scratchpad {
            if self.holding > 0 {
                return Outcome::Waits(Activity::Idle);
            }
            self.scratchpad.write(addr, bits, mask);
            self.pipeline.uses_scratchpad(start.executes);
        } else {
            let purpose = if self.params.stores == StoreKind::Held { Purpose::Held } else { Purpose::Posted };
            let pending = Pending { purpose, addr, pc: self.state.pc, sent: now };
            let (first, access) = refer::write(addr, bits, mask);
            if let Err(activity) = self.send(now, &mut start, place, first, access, pending) {
                return Outcome::Waits(activity);
            }
            if let Some(fetch) = &mut self.fetch {
                fetch.cache.stored(addr);
            }
        }
        self.references.stores[place as usize] += 1;
        Outcome::Done(start)
    }

    /// Sends a reference at its time, or says what it waits for.
    fn send(
        &mut self,
        now: Cycle,
        start: &mut Start,
        place: Place,
        addr: u32,
        access: Access,
        pending: Pending,
    ) -> Result<(), Activity> {
        let free = start.executes.max(self.memory_free);
        if free > now {
            return Err(Activity::Until(free));
        }
        let is_register = place == Place::Registers;
        let (port, other) = match &mut self.registers {
            Some(registers) if is_register => (registers, Some(&self.memory)),
            registers => (&mut self.memory, registers.as_ref()),
        };
        let is_in_order = other.is_none_or(DataPort::is_quiet);
        if !is_in_order || self.holding >= MAX_HOLDING || !port.has_room() {
            return Err(Activity::Idle);
        }
        let in_stack = !is_register && self.params.stack_window.is_some_and(|window| window.holds(addr));
        let bus_addr = if in_stack { addr.wrapping_sub(self.stack_offset) } else { addr };
        let holds = pending.purpose != Purpose::Posted;
        let cycles = port.cycles;
        port.send(bus_addr, access, pending);
        start.wait(free, now);
        self.holding += usize::from(holds);
        self.memory_free = now + if holds { cycles - 1 } else { 1 };
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.memory.is_quiet() && self.registers.as_ref().is_none_or(DataPort::is_quiet)
    }

    /// What a core does that stands still: it says how it is.
    fn rest(&mut self) -> Activity {
        self.tell();
        Activity::Idle
    }

    fn tell(&mut self) {
        let is_halted = self.is_halted();
        if !self.owes_status || is_halted && self.holding > 0 {
            return;
        }
        if let Some(status) = &self.status {
            if !status.has_room() {
                return;
            }
            let registers = is_halted.then(|| Box::new(self.state.r));
            status.send(CpuStatus { is_halted, pc: self.state.pc, registers });
        }
        self.owes_status = false;
    }
}

impl Component for MipsCore {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_answers(now);
        self.take_orders(now);
        if self.owes_status {
            self.tell();
        }
        self.run(now)
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
        for (name, count) in cycle_names().into_iter().zip(self.pipeline.cycles.counts()) {
            counters.add(&format!("cycles.{name}"), count);
        }
        for (class, count) in self.instructions() {
            counters.add(&format!("instructions.{}", class.name()), count);
        }
        counters.add("annulled", self.annulled);
        if let Some(fetch) = &self.fetch {
            counters.add("fills", fetch.fills);
        }
        let References { loads, stores } = self.references;
        for (place, name) in
            [Place::Scratchpad, Place::Registers, Place::Memory].into_iter().zip(["scratchpad", "registers", "memory"])
        {
            counters.add(&format!("loads.{name}"), loads[place as usize]);
            counters.add(&format!("stores.{name}"), stores[place as usize]);
        }
    }
}
