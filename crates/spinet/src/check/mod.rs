//! A memory checker for the programs of a card's cores.
//!
//! It gets the reports of cores ([`blocks::debug::Probe`]). From these it tracks the undefined bits of memory and of
//! registers, the order of accesses of different cores, and the locks that cores hold. It does not affect the
//! simulation.
//!
//! [`Memories`] contains the differences between cards.

pub mod races;
mod shadow;
mod values;

use crate::elf::Elf;
use crate::lines::line_of;
use blocks::debug::{Event, Report, Task};
use isa::riscv::{Class, Inst, Op, cause, decode};
use kernel::Cycle;
use races::{Kind as AccessKind, Races};
pub use shadow::Shadow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use values::{Origin, Values, extended};

/// Number of the register with the stack pointer.
const SP: usize = 2;

/// The kinds of findings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A result depends on memory that nobody has written.
    Uninitialised,
    /// An access outside what a handler may use.
    Bounds,
    /// Two cores access the same bytes, and nothing orders the accesses.
    Race,
    /// A lock is lost, or released by a core that does not hold it.
    Lock,
}

/// The packet that a core works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Number of the packet in its source.
    pub frame: u64,
    /// Position of its context.
    pub context: usize,
    /// Number of its message in its context.
    pub message: u64,
    /// The queue of its message.
    pub queue: u16,
    /// The handler: 0 header, 1 payload, 2 completion.
    pub stage: u8,
}

/// Where and when something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// The core.
    pub core: usize,
    /// When, in cycles of the core.
    pub at: Cycle,
    /// The instruction.
    pub pc: u32,
    /// The packet.
    pub work: Work,
}

/// A place related to a finding.
#[derive(Clone, Copy, Debug)]
pub enum Other {
    /// The undefined value was loaded here.
    Loaded(u32),
    /// The other access of a race.
    Access(Occurrence),
}

impl Other {
    fn pc(&self) -> u32 {
        match self {
            Other::Loaded(pc) => *pc,
            Other::Access(place) => place.pc,
        }
    }
}

/// A mistake of the program.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// Description of the first time.
    pub text: String,
    /// How often it happened at this place.
    pub count: u64,
    /// Where it happened first.
    pub place: Occurrence,
    /// Another place related to it, if there is one.
    pub other: Option<Other>,
}

/// The memories of a card, and its packets, for the checker.
pub trait Memories {
    /// Translates a core's address `addr` to an address that is the same for all cores. `None` outside of memories that
    /// programs write.
    fn shared(&self, core: usize, addr: u32) -> Option<u32>;

    /// The stack of a core: its address and its bytes.
    fn stack(&self, core: usize) -> (u32, u32);

    /// The packet of a task.
    fn work(&self, task: &Task) -> Option<Work>;

    /// Why a core may not access these bytes, at a shared address; `None` if it may.
    fn refuses(&self, core: usize, task: &Task, work: &Work, addr: u32, bytes: u32) -> Option<String>;

    /// The name of the memory at a shared address, such as `table+8`.
    fn name(&self, task: &Task, work: &Work, addr: u32) -> String;

    /// The program that has code at an address.
    fn program(&self, pc: u32) -> Option<&Rc<Elf>>;
}

/// The use that the SDK's lock functions make of an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LockCall {
    Try,
    Unlock,
    Init,
}

/// A memory instruction whose result the core does not have yet.
struct Pending {
    addr: u32,
    /// For an attempt to take a lock: the register that is 0 if the core now has it.
    takes: Option<(u8, Occurrence)>,
}

#[derive(Default)]
struct Core {
    values: Values,
    sp: u32,
    /// The instruction that it reported last.
    inst: Option<Inst>,
    pending: Option<Pending>,
    task: Option<(Task, Work)>,
    /// The handler took an exception, so the runtime runs now.
    is_over: bool,
}

/// The checker of a card.
pub struct Checker<M> {
    memories: M,
    shadow: Shadow,
    cores: Vec<Core>,
    races: Races<Occurrence>,
    /// Held locks, with the core and the place that took each.
    held: BTreeMap<u32, Occurrence>,
    code: HashMap<u32, Option<Inst>>,
    lock_calls: HashMap<u32, Option<LockCall>>,
    findings: Vec<Finding>,
    known: HashMap<(Kind, u32, u32), usize>,
}

impl<M: Memories> Checker<M> {
    /// A checker of `n` cores, with the memory that is undefined at reset.
    pub fn new(n: usize, memories: M, shadow: Shadow) -> Self {
        Checker {
            memories,
            shadow,
            cores: (0..n).map(|_| Core::default()).collect(),
            races: Races::new(n),
            held: BTreeMap::new(),
            code: HashMap::new(),
            lock_calls: HashMap::new(),
            findings: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The findings, in order of time.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Takes the report of a core.
    pub fn see(&mut self, core: usize, report: &Report<'_>) {
        match report.event {
            Event::Instruction => self.instruction(core, report),
            Event::Access { addr, bytes, loads, stores, .. } => self.access(core, report, addr, bytes, (loads, stores)),
            Event::Fault { cause, value } => self.fault(core, report, cause, value),
            Event::Begins(task) => self.begin(core, &task),
            Event::Ends => self.end(core, report),
            Event::Moves { from, to, bytes } => self.transfer(core, report, from, to, bytes),
        }
    }

    /// The place of a report, if the core runs a handler.
    fn place(&self, core: usize, report: &Report<'_>) -> Option<Occurrence> {
        let (_, work) = self.cores[core].task.filter(|_| !self.cores[core].is_over)?;
        Some(Occurrence { core, at: report.at, pc: report.pc, work })
    }

    fn find(&mut self, kind: Kind, place: Occurrence, other: Option<Other>, text: impl FnOnce(&M) -> String) {
        let key = (kind, place.pc, other.map_or(0, |other| other.pc()));
        if let Some(&known) = self.known.get(&key) {
            self.findings[known].count += 1;
            return;
        }
        self.known.insert(key, self.findings.len());
        self.findings.push(Finding { kind, text: text(&self.memories), count: 1, place, other });
    }

    /// Reports a result that depends on an undefined register.
    fn find_undefined(&mut self, place: Option<Occurrence>, register: u8, what: &str) {
        let origin = self.cores[place.map_or(0, |place| place.core)].values.origin(register);
        let Some(place) = place else { return };
        let Some((task, work)) = self.cores[place.core].task else { return };
        let other = Some(Other::Loaded(origin.pc)).filter(|_| origin.pc != place.pc);
        self.find(Kind::Uninitialised, place, other, |memories| {
            format!("{what} depends on memory that nobody has written: {}", memories.name(&task, &work, origin.addr))
        });
        self.cores[place.core].values.forgive(register);
    }

    fn instruction(&mut self, core: usize, report: &Report<'_>) {
        self.complete(core, report.registers);
        self.follow_stack(core, report.registers[SP]);
        let Some(inst) = self.decoded(report.pc) else {
            self.cores[core].inst = None;
            return;
        };
        self.cores[core].inst = Some(inst);
        let place = self.place(core, report);
        let values = &self.cores[core].values;
        match inst.class() {
            Class::Load | Class::Elw => {
                if let Some(register) = values.first_of(inst.reads()) {
                    self.find_undefined(place, register, "the address of a load");
                }
            }
            Class::Store | Class::Amo => {
                if let Some(register) = values.first_of((1 << inst.rs1 | 1 << inst.rs3) & !1) {
                    self.find_undefined(place, register, "the address of a store");
                }
            }
            Class::Branch => {
                if let Some(register) = values.decides(&inst, report.registers) {
                    self.find_undefined(place, register, "a branch");
                }
            }
            Class::JumpReg => {
                if let Some(register) = values.first_of(inst.reads()) {
                    self.find_undefined(place, register, "the target of a jump");
                }
                self.cores[core].values.forgive(inst.rd);
            }
            _ => self.cores[core].values.execute(&inst, report.registers),
        }
    }

    /// The core continues after a memory instruction.
    fn complete(&mut self, core: usize, registers: &[u32]) {
        let Some(Pending { addr, takes }) = self.cores[core].pending.take() else { return };
        self.races.acquire(core, addr);
        if let Some((register, place)) = takes
            && registers[register as usize & 31] == 0
        {
            self.held.insert(addr, place);
        }
    }

    /// Memory below the stack pointer is undefined.
    fn follow_stack(&mut self, core: usize, sp: u32) {
        let before = std::mem::replace(&mut self.cores[core].sp, sp);
        if sp <= before {
            return;
        }
        let (base, bytes) = self.memories.stack(core);
        let within = |sp: u32| self.memories.shared(core, sp).filter(|at| at.wrapping_sub(base) <= bytes);
        // A stack has several addresses: a larger one may be lower in it.
        if let (Some(from), Some(to)) = (within(before), within(sp))
            && from < to
        {
            self.shadow.fill(from, to - from, u8::MAX);
        }
    }

    fn decoded(&mut self, pc: u32) -> Option<Inst> {
        let memories = &self.memories;
        *self.code.entry(pc).or_insert_with(|| {
            let elf = memories.program(pc)?;
            let part = elf.sections.iter().find(|part| part.addr <= pc && u64::from(pc) < part.end())?;
            let bytes = &part.bytes[(pc - part.addr) as usize..];
            let byte = |i: usize| u32::from(bytes.get(i).copied().unwrap_or(0)) << (8 * i);
            Some(decode(byte(0) | byte(1) | byte(2) | byte(3)))
        })
    }

    fn access(&mut self, core: usize, report: &Report<'_>, addr: u32, bytes: u32, (loads, stores): (bool, bool)) {
        let Some(inst) = self.cores[core].inst else { return };
        let place = self.place(core, report);
        let Some(at) = self.memories.shared(core, addr) else {
            if stores && self.cores[core].values.of(inst.rs2) != 0 {
                self.find_undefined(place, inst.rs2, "a value that leaves the core for a register of the card");
            }
            if loads {
                self.cores[core].values.forgive(inst.rd);
            }
            return;
        };
        if let Some(place) = place
            && !self.is_allowed(place, at, bytes)
        {
            self.cores[core].values.forgive(inst.rd);
            return;
        }
        let is_atomic = inst.class() == Class::Amo;
        if let Some(place) = place {
            self.order(
                place,
                at,
                bytes,
                &inst,
                if is_atomic {
                    AccessKind::Atomic
                } else if stores {
                    AccessKind::Store
                } else {
                    AccessKind::Load
                },
            );
        }
        let stored = self.cores[core].values.of(inst.rs2);
        let old = self.shadow.load(at, bytes);
        if stores {
            let mixes = is_atomic && !matches!(inst.op, Op::AmoswapW | Op::ScW) && old | stored != 0;
            self.shadow.store(at, bytes, if mixes { u32::MAX } else { stored });
        }
        if inst.op == Op::ScW {
            self.cores[core].values.forgive(inst.rd);
        } else if loads {
            let bits = extended(inst.op, old, bytes);
            let first = self.shadow.undefined(at, bytes).map_or(at, |(first, _)| first);
            self.cores[core].values.set(inst.rd, bits, Origin { pc: report.pc, addr: first });
        }
    }

    /// Returns false, with a finding, if the handler may not access these bytes.
    fn is_allowed(&mut self, place: Occurrence, at: u32, bytes: u32) -> bool {
        let Some((task, work)) = self.cores[place.core].task else { return true };
        let refusal = self.memories.refuses(place.core, &task, &work, at, bytes);
        let is_allowed = refusal.is_none();
        if let Some(text) = refusal {
            self.find(Kind::Bounds, place, None, |_| text);
        }
        is_allowed
    }

    /// Orders an access with those of other cores.
    fn order(&mut self, place: Occurrence, at: u32, bytes: u32, inst: &Inst, kind: AccessKind) {
        let core = place.core;
        let (stack, stack_bytes) = self.memories.stack(core);
        if at.wrapping_sub(stack) < stack_bytes {
            return;
        }
        if let Some((_, other)) = self.races.access(core, at, bytes, kind, &place) {
            let Some((task, work)) = self.cores[core].task else { return };
            let what = match kind {
                AccessKind::Load => "a load",
                AccessKind::Store => "a store",
                AccessKind::Atomic => "an atomic",
            };
            self.find(Kind::Race, place, Some(Other::Access(other)), |memories| {
                format!("{what} races with another core: {}", memories.name(&task, &work, at))
            });
        }
        match kind {
            AccessKind::Load => self.cores[core].pending = Some(Pending { addr: at, takes: None }),
            AccessKind::Store => {}
            AccessKind::Atomic => {
                if inst.op != Op::LrW {
                    self.races.release(core, at);
                }
                let call = self.lock_call(place.pc);
                let takes = (call == Some(LockCall::Try)).then_some((inst.rd, place));
                self.cores[core].pending = Some(Pending { addr: at, takes });
                match call {
                    Some(LockCall::Unlock) => self.unlock(place, at),
                    Some(LockCall::Init) => drop(self.held.remove(&at)),
                    _ => {}
                }
            }
        }
    }

    fn unlock(&mut self, place: Occurrence, at: u32) {
        let holder = self.held.remove(&at);
        let Some((task, work)) = self.cores[place.core].task else { return };
        match holder {
            Some(holder) if holder.core == place.core => {}
            Some(holder) => self.find(Kind::Lock, place, Some(Other::Access(holder)), |memories| {
                format!("unlocks a lock that another core holds: {}", memories.name(&task, &work, at))
            }),
            None => self.find(Kind::Lock, place, None, |memories| {
                format!("unlocks a lock that no core holds: {}", memories.name(&task, &work, at))
            }),
        }
    }

    /// The lock function of the SDK that an atomic belongs to, by debug information. Locks of readers have no owner.
    fn lock_call(&mut self, pc: u32) -> Option<LockCall> {
        let memories = &self.memories;
        *self.lock_calls.entry(pc).or_insert_with(|| {
            let elf = memories.program(pc)?;
            let function = elf.place(pc);
            let inlined = line_of(elf, pc).inlined;
            let names = inlined.iter().filter_map(|call| call.function.as_deref());
            let names: Vec<&str> = names.chain(function.split('+').next()).collect();
            if names.iter().any(|name| name.starts_with("spin_rw_lock_r_")) {
                return None;
            }
            names.iter().find_map(|&name| match name {
                "futex_try_lock" => Some(LockCall::Try),
                "futex_unlock" => Some(LockCall::Unlock),
                "futex_init" => Some(LockCall::Init),
                _ => None,
            })
        })
    }

    fn fault(&mut self, core: usize, report: &Report<'_>, cause: u32, value: u32) {
        self.cores[core].pending = None;
        let place = self.place(core, report);
        self.cores[core].is_over = true;
        let is_access = matches!(cause, cause::LOAD_FAULT | cause::STORE_FAULT);
        let Some(place) = place.filter(|_| is_access && self.memories.shared(core, value).is_none()) else { return };
        if self.cores[core].inst.is_some_and(|inst| matches!(inst.class(), Class::Load | Class::Store | Class::Amo)) {
            let text = format!("no memory that a handler may use is at {value:#010x}");
            self.find(Kind::Bounds, place, None, |_| text);
        }
    }

    fn begin(&mut self, core: usize, task: &Task) {
        for (addr, bytes) in [task.copy, task.stored] {
            if let Some(at) = self.memories.shared(core, addr) {
                self.shadow.fill(at, bytes, 0);
                self.races.forget(at, bytes);
            }
        }
        let state = &mut self.cores[core];
        state.is_over = false;
        state.task = self.memories.work(task).map(|work| (*task, work));
        if let Some((_, work)) = state.task {
            self.races.begin(core, work.queue, (work.context, work.message), work.stage == 2);
        }
        let (stack, bytes) = self.memories.stack(core);
        if let Some(sp) = self.memories.shared(core, state.sp).filter(|sp| sp.wrapping_sub(stack) <= bytes) {
            self.shadow.fill(stack, sp - stack, u8::MAX);
        }
    }

    fn end(&mut self, core: usize, report: &Report<'_>) {
        self.cores[core].pending = None;
        let Some((task, work)) = self.cores[core].task.take() else { return };
        let lost: Vec<(u32, Occurrence)> =
            self.held.iter().filter(|(_, place)| place.core == core).map(|(&at, &place)| (at, place)).collect();
        for (at, taken) in lost {
            self.held.remove(&at);
            let place = Occurrence { at: report.at, ..taken };
            self.find(Kind::Lock, place, None, |memories| {
                format!("the handler ended and still held a lock, taken here: {}", memories.name(&task, &work, at))
            });
        }
        self.races.end(core, work.queue, work.stage == 0);
    }

    fn transfer(&mut self, core: usize, report: &Report<'_>, from: Option<u32>, to: Option<u32>, bytes: u32) {
        // The card refuses a range that leaves its memory.
        let shared = |addr: Option<u32>| {
            let at = self.memories.shared(core, addr?)?;
            let last = self.memories.shared(core, addr?.wrapping_add(bytes.saturating_sub(1)))?;
            (last.wrapping_sub(at) == bytes.saturating_sub(1)).then_some(at)
        };
        let (source, target) = (shared(from), shared(to));
        let place = self.place(core, report);
        for at in [source, target].into_iter().flatten().filter(|_| bytes > 0) {
            if let Some(place) = place
                && !self.is_allowed(place, at, bytes)
            {
                return;
            }
        }
        match (source, target) {
            (Some(source), Some(target)) => self.shadow.copy(source, target, bytes),
            (None, Some(target)) => self.shadow.fill(target, bytes, 0),
            (Some(source), None) if to.is_none() => {
                let Some((first, count)) = self.shadow.undefined(source, bytes) else { return };
                let (Some(place), Some((task, work))) = (place, self.cores[core].task) else { return };
                self.find(Kind::Uninitialised, place, None, |memories| {
                    let name = memories.name(&task, &work, first);
                    format!("{count} of {bytes} bytes that leave the card were never written; the first: {name}")
                });
            }
            _ => {}
        }
    }
}
