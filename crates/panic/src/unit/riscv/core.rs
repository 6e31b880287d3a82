//! The core: in-order, five stages, two caches.
//!
//! Cycle numbers refer to the execute stage. Instructions execute one per cycle, except:
//!
//! - an operand is not ready: a load from the cache is ready `load_use_cycles` later than a computed result;
//! - after a jump or branch: see [`Core::jump_cycles`];
//! - a cache miss, which fills the line and retries, or a register read, which waits for the answer. Stores go through a buffer
//!   and wait only if it is full. Flushes and fences wait until it is empty.
//!
//! Source: VexRiscv, README ("Plugins"), with static prediction and branches decided in the memory stage; it gives ranges for
//!         the penalties, so the numbers are assumed.

use super::bus::{Bus, Register, Target, What};
use super::cache::{DataCache, InstructionCache, Slot};
use super::csr::Csrs;
use super::params::RiscvParams;
use super::trouble::SharedObserved;
use blocks::debug::Event;
use isa::riscv::{Amo, Class, CsrWrite, Hart, Inst, Load, LoopPart, System, Width, cause, execute};
use kernel::Cycle;

/// Why a core waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    Nothing,
    /// For a cache line; then the instruction is retried.
    Line,
    /// For the answer of a register; for a packet, if it is the length of the next one.
    Register {
        rd: u8,
        is_packet: bool,
    },
    /// For room in the store buffer; then the instruction is retried.
    Room,
    /// For the store buffer to drain; then the instruction is retried.
    Stores,
    /// For a packet, after a reset.
    Packet,
    /// For the unit to handle an instruction that cannot be executed.
    Trap(Trap),
}

kernel::words! {
    /// Activities over which a core's cycles are divided. Source: 7.4, Figure 10.
    pub(super) enum Spent {
        /// From reset to the first wait for a packet.
        Start = "start",
        /// Access to doorbells, and waiting for packets.
        NetworkIo = "network_io",
        /// Cache flushes.
        Flush = "flush",
        /// Everything else.
        Compute = "compute",
    }
}

kernel::words! {
    /// Causes of cycles in which no instruction executes.
    pub enum Lost {
        /// The instruction uses the result of a load.
        LoadUse = "load_use",
        /// A jump or a branch.
        Branch = "branch",
        /// A line of the instruction cache or of the data cache is missing.
        CacheMiss = "cache_miss",
        /// The answer of a doorbell register.
        Doorbell = "doorbell",
        /// The store buffer is full, or must drain.
        StoreBuffer = "store_buffer",
        /// Lines of the data cache are removed.
        Flush = "flush",
        /// A packet.
        Idle = "idle",
        /// Fences, and traps.
        System = "system",
    }
}

/// An instruction that cannot be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trap {
    pub cause: u32,
    pub value: u32,
    pub pc: u32,
}

/// Effect of an instruction outside the registers.
#[derive(Clone, Copy)]
enum Effect {
    Nothing,
    Load { rd: u8, addr: u32, load: Load },
    Store { addr: u32, value: u32, bytes: u32 },
    System(System),
    Illegal,
}

pub(super) struct Core {
    load_use: Cycle,
    predicted: Cycle,
    mispredicted: Cycle,
    watchdog: Cycle,
    x: [u32; 32],
    /// Cycle in which each register can be an operand; matters for loads.
    ready: [Cycle; 32],
    pub pc: u32,
    next: u32,
    effect: Effect,
    csrs: Csrs,
    pub instructions_cache: InstructionCache,
    pub data_cache: DataCache,
    /// First cycle in which the next instruction can execute.
    pub time: Cycle,
    pub wait: Wait,
    /// Activity charged for instructions that are not about doorbells or flushes.
    phase: Spent,
    /// Cycles spent, by [`Spent`], up to cycle `accounted`.
    pub spent: [u64; 4],
    accounted: Cycle,
    /// Watchdog deadline.
    pub deadline: Cycle,
    /// True after a trap since reset and since the last packet.
    has_trapped: bool,
    pub instructions: u64,
    observed: SharedObserved,
    /// Cycle in which the current instruction began to execute.
    began: Cycle,
}

impl Core {
    pub fn new(params: &RiscvParams, entry: u32, observed: SharedObserved) -> Core {
        let mut core = Core {
            load_use: params.load_use_cycles.into(),
            predicted: params.predicted_cycles.into(),
            mispredicted: params.mispredicted_cycles.into(),
            watchdog: params.watchdog_cycles.into(),
            x: [0; 32],
            ready: [0; 32],
            pc: entry,
            next: entry,
            effect: Effect::Nothing,
            csrs: Csrs::default(),
            instructions_cache: InstructionCache::new(params.instruction_cache_bytes, params.line_bytes),
            data_cache: DataCache::new(params.data_cache_bytes, params.line_bytes),
            time: 0,
            wait: Wait::Nothing,
            phase: Spent::Start,
            spent: [0; 4],
            accounted: 0,
            deadline: 0,
            has_trapped: false,
            instructions: 0,
            observed,
            began: 0,
        };
        core.reset(0, entry);
        core
    }

    /// Restarts at `entry` in cycle `at`: clears registers and caches, keeps memory.
    pub fn reset(&mut self, at: Cycle, entry: u32) {
        self.lose(Lost::System, at.wrapping_sub(self.time));
        (self.x, self.ready, self.pc) = ([0; 32], [0; 32], entry);
        self.csrs = Csrs::default();
        self.instructions_cache.forget();
        self.data_cache.forget();
        self.time = at;
        self.wait = Wait::Nothing;
        self.spend(at, self.phase);
        self.phase = Spent::Start;
        self.deadline = at + self.watchdog;
        self.has_trapped = false;
        self.report_redirection();
    }

    fn report_redirection(&self) {
        if let Some(debug) = &mut self.observed.borrow_mut().debug {
            debug.redirected(&self.x, self.pc);
        }
    }

    /// Reports a fault of the current instruction, or of the watchdog, to the debugger.
    pub fn report_fault(&self, cause: u32, value: u32) {
        if let Some(debug) = &mut self.observed.borrow_mut().debug {
            debug.fault(self.time, self.pc, cause, value);
        }
    }

    /// Continues in the program's trap handler. Returns false if there is none, or if the handler itself has trapped.
    pub fn enter_trap(&mut self, trap: Trap) -> bool {
        if self.csrs.mtvec == 0 || std::mem::replace(&mut self.has_trapped, true) {
            return false;
        }
        self.lose(Lost::System, 1 + self.mispredicted);
        self.pc = self.csrs.enter_trap(trap.cause, trap.value, trap.pc);
        self.report_redirection();
        self.time += 1 + self.mispredicted;
        self.wait = Wait::Nothing;
        self.spend(self.time, self.phase);
        true
    }

    /// Returns true if the watchdog deadline has passed.
    pub fn is_late(&self) -> bool {
        self.wait == Wait::Nothing && self.time >= self.deadline
    }

    /// Ends a wait in cycle `at`: a line arrived, there is room, or all stores are done.
    pub fn restart(&mut self, at: Cycle) {
        self.lose_until(self.waits_for(), at);
        self.wait = Wait::Nothing;
    }

    /// The cause of the cycles that the core loses while it waits.
    fn waits_for(&self) -> Lost {
        match self.wait {
            Wait::Line => Lost::CacheMiss,
            Wait::Register { is_packet: false, .. } => Lost::Doorbell,
            Wait::Room | Wait::Stores => Lost::StoreBuffer,
            Wait::Packet | Wait::Register { is_packet: true, .. } => Lost::Idle,
            Wait::Nothing | Wait::Trap(_) => Lost::System,
        }
    }

    /// Waits until cycle `at`, if it is later.
    fn lose_until(&mut self, cause: Lost, at: Cycle) {
        self.lose(cause, at.saturating_sub(self.time));
        self.time = self.time.max(at);
    }

    /// Counts cycles that the current instruction loses.
    fn lose(&mut self, cause: Lost, cycles: Cycle) {
        if let Some(profile) = &mut self.observed.borrow_mut().profile {
            profile.lost(self.pc, cause as usize, cycles);
        }
    }

    /// Answers the register read that the core waits for; the value is ready in cycle `at`.
    pub fn answer(&mut self, rd: u8, at: Cycle, value: u32) {
        self.set(rd, value);
        self.ready[usize::from(rd)] = 0;
        // One of these cycles is the cycle of the instruction itself.
        self.lose(self.waits_for(), at.saturating_sub(self.time).wrapping_sub(1));
        self.time = self.time.max(at);
        self.wait = Wait::Nothing;
        self.next = self.pc.wrapping_add(4);
        self.retire(Spent::NetworkIo);
    }

    /// The register read has delivered a packet, which the program now processes.
    pub fn take_packet(&mut self) {
        if let Some(debug) = &mut self.observed.borrow_mut().debug {
            debug.took_packet(self.pc);
        }
        self.phase = Spent::Compute;
        self.has_trapped = false;
        self.deadline = self.time + self.watchdog;
    }

    /// The packet was answered in cycle `at`.
    pub fn let_packet_go(&mut self, at: Cycle) {
        self.deadline = at + self.watchdog;
    }

    /// Runs instructions before cycle `horizon`, until one must wait.
    pub fn run(&mut self, bus: &mut Bus, horizon: Cycle) {
        let horizon = horizon.min(self.deadline);
        while self.wait == Wait::Nothing && self.time < horizon {
            if !matches!(bus.target(self.pc), Target::Memory) {
                return self.refuse(cause::INSTRUCTION_FAULT, self.pc);
            }
            let Some(&slot) = self.instructions_cache.slot(self.pc) else {
                bus.ask(self.time, self.pc, What::Instructions(self.pc));
                self.wait = Wait::Line;
                break;
            };
            match slot {
                Slot::Rv32i(inst, reads) => {
                    let ready = reads.map(|r| self.ready[usize::from(r)]);
                    self.lose_until(Lost::LoadUse, ready[0].max(ready[1]));
                    if self.time < horizon {
                        self.step(bus, &inst);
                    }
                }
                Slot::Flush(r) => self.flush(bus, r),
                Slot::Illegal(word) => self.refuse(cause::ILLEGAL_INSTRUCTION, word),
            }
        }
    }

    /// The memory access of the current instruction, for a debugger.
    #[cold]
    fn access(&self) -> Option<Event> {
        let (addr, bytes, stores) = match self.effect {
            Effect::Load { addr, load, .. } => (addr, load.bytes(), false),
            Effect::Store { addr, bytes, .. } => (addr, bytes, true),
            Effect::Nothing | Effect::System(_) | Effect::Illegal => return None,
        };
        Some(Event::Access { addr, bytes, loads: !stores, stores, replaces: None })
    }

    /// Executes an instruction whose operands are ready.
    fn step(&mut self, bus: &mut Bus, inst: &Inst) {
        self.began = self.time;
        self.next = self.pc.wrapping_add(4);
        self.effect = Effect::Nothing;
        let before = self.x[usize::from(inst.rd)];
        execute(self, inst);
        match self.effect {
            // The jump itself traps and does not link. RISC-V Unprivileged ISA 20191213, 2.5.
            Effect::Nothing if !self.next.is_multiple_of(4) => {
                self.set(inst.rd, before);
                self.refuse(cause::INSTRUCTION_MISALIGNED, self.next);
            }
            Effect::Nothing => {
                self.ready[usize::from(inst.rd)] = 0;
                self.lose(Lost::Branch, self.jump_cycles(inst));
                self.time += 1 + self.jump_cycles(inst);
                self.retire(self.phase);
            }
            Effect::Load { rd, addr, load } => self.load_from(bus, rd, addr, load),
            Effect::Store { addr, value, bytes } => self.store_to(bus, addr, value, bytes),
            Effect::System(system) => self.attend(bus, system),
            Effect::Illegal => {
                let word = inst.row().and_then(|row| row.encode(inst.operands()));
                self.refuse(cause::ILLEGAL_INSTRUCTION, word.unwrap_or(0));
            }
        }
    }

    /// Cycles lost after an instruction if it does not continue with the next one. Decode predicts backward branches and jumps
    /// to a constant distance as taken; the memory stage corrects wrong predictions.
    fn jump_cycles(&self, inst: &Inst) -> Cycle {
        let jumps = self.next != self.pc.wrapping_add(4);
        match (inst.class(), jumps) {
            (Class::Jump, _) => self.predicted,
            (Class::JumpReg, _) => self.mispredicted,
            (Class::Branch, _) if jumps != (inst.imm < 0) => self.mispredicted,
            (Class::Branch, true) => self.predicted,
            _ => 0,
        }
    }

    fn load_from(&mut self, bus: &mut Bus, rd: u8, addr: u32, load: Load) {
        if !addr.is_multiple_of(load.bytes()) {
            return self.refuse(cause::LOAD_MISALIGNED, addr);
        }
        match bus.target(addr) {
            Target::Memory => match self.data_cache.read(addr, load.bytes()) {
                Some(raw) => {
                    self.set(rd, load.extend(raw));
                    self.time += 1;
                    self.ready[usize::from(rd)] = self.time + self.load_use;
                    self.retire(self.phase);
                }
                None => {
                    bus.ask(self.time, self.pc, What::Data(addr));
                    self.wait = Wait::Line;
                }
            },
            Target::Register(register) if register.is_readable() && load == Load::Word => {
                // Cycles up to here belong to the previous activity; later ones belong to doorbells.
                self.spend(self.time, self.phase);
                bus.ask(self.time, self.pc, What::Read(register));
                self.wait = Wait::Register { rd, is_packet: register == Register::InLength };
            }
            _ => self.refuse(cause::LOAD_FAULT, addr),
        }
    }

    fn store_to(&mut self, bus: &mut Bus, addr: u32, value: u32, bytes: u32) {
        if !addr.is_multiple_of(bytes) {
            return self.refuse(cause::STORE_MISALIGNED, addr);
        }
        let (what, spent) = match bus.target(addr) {
            Target::Memory => (What::Store { addr, value, bytes }, self.phase),
            Target::Register(register) if !register.is_readable() && bytes == 4 => {
                (What::Write(register, value), Spent::NetworkIo)
            }
            _ => return self.refuse(cause::STORE_FAULT, addr),
        };
        if !bus.has_room() {
            self.wait = Wait::Room;
            return;
        }
        bus.ask(self.time, self.pc, what);
        match what {
            What::Write(register, _) if register.answers() => self.phase = Spent::NetworkIo,
            _ => self.data_cache.write(addr, value, bytes),
        }
        self.time += 1;
        self.retire(spent);
    }

    fn attend(&mut self, bus: &mut Bus, system: System) {
        match system {
            System::Ecall => return self.refuse(cause::ECALL_MACHINE, 0),
            System::Ebreak => return self.refuse(cause::BREAKPOINT, self.pc),
            System::Uret => return self.refuse(cause::ILLEGAL_INSTRUCTION, 0x0020_0073),
            System::Fence | System::FenceI if !bus.requests.is_empty() => {
                self.wait = Wait::Stores;
                return;
            }
            System::FenceI => {
                self.instructions_cache.forget();
                self.lose(Lost::System, self.mispredicted);
                self.time += self.mispredicted;
            }
            System::Mret => {
                self.next = self.csrs.leave_trap();
                self.lose(Lost::System, self.mispredicted);
                self.time += self.mispredicted;
            }
            System::Fence | System::Wfi => {}
        }
        self.time += 1;
        self.retire(self.phase);
    }

    /// When all stores are in memory, walks the cache, one line a cycle.
    fn flush(&mut self, bus: &Bus, r: u8) {
        if !bus.requests.is_empty() {
            self.spend(self.time, self.phase);
            self.wait = Wait::Stores;
            return;
        }
        (self.began, self.effect) = (self.time, Effect::Nothing);
        if r == 0 {
            self.data_cache.forget();
            let n_lines = self.data_cache.n_lines() as Cycle;
            self.lose(Lost::Flush, n_lines);
            self.time += n_lines;
        } else {
            self.lose_until(Lost::LoadUse, self.ready[usize::from(r)]);
            self.data_cache.forget_line(self.x[usize::from(r)]);
        }
        self.time += 1;
        self.next = self.pc.wrapping_add(4);
        self.retire(Spent::Flush);
    }

    fn refuse(&mut self, cause: u32, value: u32) {
        self.report_fault(cause, value);
        self.wait = Wait::Trap(Trap { cause, value, pc: self.pc });
    }

    /// The current instruction is done; continues with the next one.
    fn retire(&mut self, on: Spent) {
        let mut observed = self.observed.borrow_mut();
        if let Some(profile) = &mut observed.profile {
            profile.executed(self.pc, 1);
        }
        if let Some(debug) = &mut observed.debug {
            debug.retired(self.began, self.pc, self.access(), &self.x, self.next);
        }
        drop(observed);
        self.pc = self.next;
        self.instructions += 1;
        self.spend(self.time, on);
    }

    fn spend(&mut self, until: Cycle, on: Spent) {
        self.spent[on as usize] += until.saturating_sub(self.accounted);
        self.accounted = self.accounted.max(until);
    }
}

impl Hart for Core {
    fn x(&self, r: u8) -> u32 {
        self.x[usize::from(r)]
    }

    fn set(&mut self, r: u8, value: u32) {
        if r != 0 {
            self.x[usize::from(r)] = value;
        }
    }

    fn pc(&self) -> u32 {
        self.pc
    }

    fn jump(&mut self, target: u32) {
        self.next = target;
    }

    fn load(&mut self, rd: u8, addr: u32, load: Load) {
        self.effect = Effect::Load { rd, addr, load };
    }

    fn store(&mut self, addr: u32, value: u32, width: Width) {
        self.effect = Effect::Store { addr, value, bytes: width.bytes() };
    }

    fn csr(&mut self, rd: u8, number: u16, write: CsrWrite, reads: bool) {
        match self.csrs.access(number, write, self.time, self.instructions) {
            Some(old) => self.set(rd, if reads { old } else { 0 }),
            None => self.effect = Effect::Illegal,
        }
    }

    fn system(&mut self, what: System) {
        self.effect = Effect::System(what);
    }

    fn illegal(&mut self, _word: u32) {
        self.effect = Effect::Illegal;
    }

    fn amo(&mut self, _rd: u8, _addr: u32, _value: u32, _amo: Amo) {
        unreachable!("only RV32I is decoded, which has no atomics");
    }

    fn advance(&mut self, _r: u8, _value: u32) {
        unreachable!("only RV32I is decoded, which has no post-increment");
    }

    fn hardware_loop(&mut self, _id: u8, _part: LoopPart, _value: u32) {
        unreachable!("only RV32I is decoded, which has no hardware loops");
    }
}
