//! The cores of a cluster, and when each has something to do.

use super::Cluster;
use super::access::DmaRegisters;
use super::guard::Guard;
use super::hpu::Hpu;
use super::l1::OUTSIDE_PORT;
use crate::events::HANDLER_TRAP;
use crate::host_events::{HandlerError, HostEvent};
use crate::map;
use crate::params::PspinParams;
use crate::pe::{LineReply, LineRequest, PeRequest};
use crate::protocol::WATCHDOG_CAUSE;
use blocks::cpu::{Access, AccessKind, Core, Lines, Privilege, Profile, Stop};
use isa::riscv::cause;
use kernel::Cycle;
use std::collections::VecDeque;

/// Cycles that a line asked for ahead takes longer, counted from the instruction at whose fetch that happens.
/// Source: RTL measurement: cold straight-line code stalls 8 to 9 cycles at each new line.
const PREFETCH: u64 = 1;

/// What a core does next, or what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// Goes on with the next instruction.
    Run,
    /// Asks for memory.
    Access,
    /// Misses the fetch line at this address, and has not asked for it yet.
    Fetch(u32),
    /// Should ask for the line at this address ahead, and then go on.
    Prefetch(u32),
    /// Has asked for the line.
    Line(u32),
    /// Waits for a line that it does not need any more, since it jumped.
    Abandoned(u32),
    /// Waits for its driver.
    Driver,
    /// Waits for the PE interconnect.
    Pe,
    /// Sleeps until an event.
    Event,
    /// Waits for a word in its inter-core FIFO, or for room in its neighbour's.
    Fifo,
    /// Never goes on: nothing grants its access, or it waits for an interrupt.
    Forever,
    /// Its watchdog has run out.
    Killed,
}

impl Wait {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Wait::Run => "runs",
            Wait::Access => "asks for memory",
            Wait::Fetch(_) | Wait::Prefetch(_) | Wait::Line(_) | Wait::Abandoned(_) => "waits for an instruction line",
            Wait::Driver => "waits for its driver",
            Wait::Pe => "waits for memory outside its cluster",
            Wait::Event => "sleeps until an event",
            Wait::Fifo => "waits for an inter-core FIFO",
            Wait::Forever => "waits for ever: asleep, or nothing answers its access",
            Wait::Killed => "is stopped by its watchdog",
        }
    }
}

/// A core with all that is its own.
pub(super) struct HpuCore {
    pub core: Core,
    pub hpu: Hpu,
    pub guard: Guard,
    /// Cycle in which its handler has run too long.
    pub deadline: Cycle,
    pub wait: Wait,
    /// The first part of a misaligned access that is half done.
    pub first_part: Option<u32>,
    /// What it asks the PE interconnect, and since when.
    pub pe_request: Option<(Cycle, PeRequest)>,
    pub dma: DmaRegisters,
    /// Words from its neighbour.
    pub fifo: VecDeque<u32>,
    /// The line of text it is writing.
    pub text: Vec<u8>,
    /// Instructions retired when its handler started.
    pub started: u64,
}

impl HpuCore {
    pub fn new(cluster: u32, core: u32, params: &PspinParams) -> Self {
        // Bits [10:5] are the cluster, [3:0] the core.
        let hart_id = cluster << 5 | core;
        HpuCore {
            core: Core::new(Profile::Ri5cy, hart_id, map::BOOT_ADDR),
            hpu: Hpu::new(cluster, core, params),
            guard: Guard::new(cluster, core, params),
            deadline: Cycle::MAX,
            wait: Wait::Run,
            first_part: None,
            pe_request: None,
            dma: DmaRegisters::default(),
            fifo: VecDeque::new(),
            text: Vec::new(),
            started: 0,
        }
    }
}

impl HpuCore {
    /// The address of the word or part of a word that the core asks for next.
    #[inline]
    pub fn next_address(&self) -> u32 {
        let addr = self.core.access().addr;
        if self.first_part.is_some() { (addr & !3).wrapping_add(4) } else { addr }
    }

    /// Whether that address is in the own L1 and the access permitted, with its second part.
    #[inline(always)]
    fn asks_l1(&self, addr: u32) -> bool {
        let access = self.core.access();
        self.guard.is_own_l1(addr)
            && (self.guard.allows_l1(access.addr, access.bytes()) || self.core.privilege() == Privilege::Machine)
    }

    /// Whether it waits for an AMO whose address is no multiple of 4.
    pub fn is_misaligned_amo(&self) -> bool {
        let access = self.core.access();
        !access.addr.is_multiple_of(4) && matches!(access.kind, AccessKind::Amo(_))
    }
}

/// Stands for the bank of a core that asks for none.
pub(super) const NO_BANK: u8 = u8::MAX;

/// Cycles ahead for which a core can be due: a run ahead (`MOST_RUN_AHEAD` in code.rs) and the longest instruction behind it, a
/// division.
const AHEAD: u64 = 64;

/// Which cores are due in which of the coming cycles.
pub(super) struct Ready {
    due: [u16; AHEAD as usize],
}

impl Ready {
    /// All cores are due in cycle 0.
    pub fn new(n_cores: u32) -> Self {
        let mut ready = Ready { due: [0; AHEAD as usize] };
        (0..n_cores).for_each(|core| ready.add(core as usize, 0, 0));
        ready
    }

    #[inline]
    pub fn add(&mut self, core: usize, now: Cycle, at: Cycle) {
        assert!(at - now < AHEAD, "a core is due too far ahead");
        self.due[(at % AHEAD) as usize] |= 1 << core;
    }

    #[inline]
    fn take(&mut self, now: Cycle) -> u32 {
        u32::from(std::mem::take(&mut self.due[(now % AHEAD) as usize]))
    }

    /// Whether a core is due in the next cycle.
    #[inline]
    pub fn is_due_next(&self, now: Cycle) -> bool {
        self.due[((now + 1) % AHEAD) as usize] != 0
    }

    /// The next cycle in which a core is due.
    #[inline]
    pub fn next(&self, now: Cycle) -> Option<Cycle> {
        (now + 1..=now + AHEAD).find(|at| self.due[(at % AHEAD) as usize] != 0)
    }
}

impl Cluster {
    /// Lets every core that is due in this cycle go on.
    pub(super) fn run_cores(&mut self, now: Cycle) {
        let mut due = self.ready.take(now);
        // Who asks for L1, and for which bank.
        let mut asking = 0u64;
        let (mut seen, mut contested) = (0u64, 0u64);
        while due != 0 {
            let i = due.trailing_zeros() as usize;
            due &= due - 1;
            let bank = self.banks[i];
            if bank != NO_BANK {
                contested |= seen & 1 << bank;
                seen |= 1 << bank;
                asking |= 1 << i;
                continue;
            }
            match self.cores[i].wait {
                Wait::Access => self.access(i, now),
                Wait::Fetch(addr) => self.fetch(i, addr, now),
                Wait::Prefetch(addr) => {
                    self.ask_for_line(addr, PREFETCH);
                    self.advance(i, now);
                }
                Wait::Killed => self.kill(i, now),
                _ => self.advance(i, now),
            }
        }
        self.take_remote(now);
        if let Some(remote) = &self.remote {
            let bank = self.l1.bank(remote.request.addr);
            self.banks[OUTSIDE_PORT as usize] = bank as u8;
            contested |= seen & 1 << bank;
            seen |= 1 << bank;
            asking |= 1 << OUTSIDE_PORT;
        }
        let blocked = self.l1.blocked(now);
        if (blocked & seen) | contested == 0 {
            while asking != 0 {
                let port = asking.trailing_zeros();
                asking &= asking - 1;
                self.l1.grant_alone(self.banks[port as usize].into(), port);
                self.grant(port, now);
            }
        } else {
            self.share_banks(asking, blocked, now);
        }
    }

    /// Core `i` asks for memory, and not for a bank of the own L1 that it may have.
    fn access(&mut self, i: usize, now: Cycle) {
        let addr = self.cores[i].next_address();
        if self.cores[i].guard.is_own_l1(addr) { self.refuse(i, now) } else { self.access_elsewhere(i, addr, now) }
    }

    /// Core `i` asks for memory from cycle `at` on.
    #[inline(always)]
    pub(super) fn ask(&mut self, i: usize, now: Cycle, at: Cycle) {
        let hpu_core = &mut self.cores[i];
        hpu_core.wait = Wait::Access;
        let addr = hpu_core.next_address();
        if hpu_core.asks_l1(addr) {
            self.banks[i] = self.l1.bank(addr) as u8;
        }
        self.ready.add(i, now, at);
    }

    /// Some of the requests want the same bank, or one that is taken.
    fn share_banks(&mut self, mut asking: u64, blocked: u64, now: Cycle) {
        while asking != 0 {
            let first = asking.trailing_zeros() as usize;
            let bank = self.banks[first];
            let is_same = |&port: &usize| asking >> port & 1 != 0 && self.banks[port] == bank;
            let same = (first..self.banks.len()).filter(is_same);
            let same = same.fold(0, |set, port| set | 1u64 << port);
            asking &= !same;
            let mut losers = same;
            if blocked >> bank & 1 == 0 {
                let winner = self.l1.arbitrate(u32::from(bank), same);
                losers &= !(1 << winner);
                self.grant(winner, now);
            }
            self.totals.l1_conflicts.add(u64::from(losers.count_ones()));
            while losers != 0 {
                let port = losers.trailing_zeros();
                losers &= losers - 1;
                // The outside port asks again by itself.
                if port != OUTSIDE_PORT {
                    self.ready.add(port as usize, now, now + 1);
                }
            }
        }
    }

    /// A narrow request gets its bank.
    #[inline(always)]
    fn grant(&mut self, port: u32, now: Cycle) {
        self.totals.l1_accesses.add(1);
        if port == OUTSIDE_PORT {
            return self.grant_remote(now);
        }
        let i = port as usize;
        self.banks[i] = NO_BANK;
        let hpu_core = &mut self.cores[i];
        let core = &mut hpu_core.core;
        let access = core.access();
        let Access { addr, value, kind, .. } = *access;
        let (shift, bytes) = (addr % 4 * 8, access.bytes());
        // Almost every access is within a word, and almost every core runs on to its next access.
        match kind {
            AccessKind::Load(load) if shift + 8 * bytes <= 32 => {
                core.loaded(now, load.extend(self.l1.load(addr) >> shift));
            }
            AccessKind::Store(_) if shift + 8 * bytes <= 32 => {
                self.l1.store(addr, value << shift, (u32::MAX >> (32 - 8 * bytes)) << shift);
                core.stored(now);
            }
            AccessKind::Amo(_) if addr & 3 != 0 && self.misaligned_amo_traps => return self.refuse_misaligned(i, now),
            AccessKind::Amo(amo) => core.loaded(now, self.l1.amo(now, addr & !3, amo, value)),
            _ => return self.grant_part(i, now),
        }
        debug_assert!(hpu_core.first_part.is_none(), "an access within a word has one part");
        let stop = core.run(&self.program, &self.icache, (now + self.run_ahead).min(hpu_core.deadline));
        if stop != Stop::Access {
            return self.stopped(i, stop, now);
        }
        // As `ask`, for a core that asked before and begins an access.
        let addr = hpu_core.core.access().addr;
        if hpu_core.asks_l1(addr) {
            self.banks[i] = self.l1.bank(addr) as u8;
        }
        self.ready.add(i, now, hpu_core.core.time() + 1);
    }

    /// A part of an access across two words gets its bank.
    #[cold]
    fn grant_part(&mut self, i: usize, now: Cycle) {
        let op = self.word_op(i);
        let word = self.word_on_l1(self.cores[i].next_address(), op, now);
        self.word_done(i, now, now, word);
    }

    /// The access of core `i` is granted in cycle `granted` and answered; the core runs on.
    #[inline]
    pub(super) fn complete(&mut self, i: usize, now: Cycle, granted: Cycle, raw: u32) {
        self.cores[i].core.complete(granted, raw);
        self.advance(i, now);
    }

    /// Runs core `i` up to the first instruction that needs somebody else.
    pub(super) fn advance(&mut self, i: usize, now: Cycle) {
        let stop = self.run_core(i, now);
        self.stopped(i, stop, now);
    }

    fn run_core(&mut self, i: usize, now: Cycle) -> Stop {
        let HpuCore { core, deadline, .. } = &mut self.cores[i];
        core.run(&self.program, &self.icache, (now + self.run_ahead).min(*deadline))
    }

    /// Core `i` came back from running: what it waits for, and when it is looked at again.
    fn stopped(&mut self, i: usize, mut stop: Stop, now: Cycle) {
        loop {
            let hpu_core = &mut self.cores[i];
            let time = hpu_core.core.time();
            let (wait, at) = match stop {
                Stop::Access => return self.ask(i, now, (time + 1).max(now + 1)),
                Stop::Yield if time >= hpu_core.deadline => (Wait::Killed, time),
                Stop::Yield | Stop::FenceI => (Wait::Run, time),
                Stop::Fetch(addr) if time > now => (Wait::Fetch(addr), time),
                Stop::Fetch(addr) => return self.fetch(i, addr, now),
                Stop::Prefetch(addr) if time > now => (Wait::Prefetch(addr), time),
                Stop::Prefetch(addr) => {
                    self.ask_for_line(addr, PREFETCH);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Abandon(addr) => {
                    hpu_core.wait = Wait::Abandoned(addr);
                    return;
                }
                Stop::Trap => {
                    self.tell_trap(i, now);
                    stop = self.run_core(i, now);
                    continue;
                }
                Stop::Wait => {
                    hpu_core.wait = Wait::Forever;
                    return;
                }
            };
            hpu_core.wait = wait;
            self.ready.add(i, now, at.max(now + 1));
            return;
        }
    }

    /// An AMO to an address that is no multiple of 4.
    #[cold]
    pub(super) fn refuse_misaligned(&mut self, i: usize, now: Cycle) {
        self.cores[i].core.refuse(now, cause::STORE_MISALIGNED);
        self.tell_trap(i, now);
        self.advance(i, now);
    }

    /// Watchdogs run out: who waits for what may never come is ended now, the others when they have what they wait for.
    #[cold]
    pub(super) fn watch_deadlines(&mut self, now: Cycle) {
        for i in 0..self.cores.len() {
            let may_never_come = matches!(self.cores[i].wait, Wait::Driver | Wait::Fifo | Wait::Event | Wait::Forever);
            if self.cores[i].deadline <= now && may_never_come {
                self.cores[i].wait = Wait::Killed;
                self.ready.add(i, now, now + 1);
            }
        }
    }

    /// Finds the first cycle in which a watchdog runs out, or has run out.
    pub(super) fn set_alarm(&mut self) {
        self.alarm = self.cores.iter().map(|core| core.deadline).min().unwrap_or(Cycle::MAX);
    }

    /// Ends the handler of core `i`, which has run too long, by an exception.
    #[cold]
    fn kill(&mut self, i: usize, now: Cycle) {
        let hpu_core = &mut self.cores[i];
        hpu_core.first_part = None;
        hpu_core.core.interrupt(now, WATCHDOG_CAUSE);
        self.tell_trap(i, now);
        self.advance(i, now);
    }

    pub(super) fn tell_trap(&mut self, i: usize, now: Cycle) {
        self.is_calm = false;
        self.totals.traps.add(1);
        let trap = self.cores[i].core.last_trap();
        let at = self.cores[i].core.time();
        if trap.from == Privilege::User {
            self.cores[i].deadline = Cycle::MAX;
            self.set_alarm();
            if self.cores[i].guard.is_exact() {
                // Loops go back in machine mode too: the handler would go on in the runtime's place.
                self.cores[i].core.forget_loops();
            }
            self.cores[i].hpu.trapped();
            self.watch_driver(i);
        }
        if trap.from == Privilege::User
            && let Some(held) = self.cores[i].hpu.running()
        {
            let (packet, stage) = (held.task.packet.0, held.task.stage as u64);
            let values = [packet, stage, i as u64, trap.cause.into(), trap.pc.into(), trap.value.into()];
            self.trace.emit(&HANDLER_TRAP, at, &values);
            let error = HandlerError {
                packet: held.task.packet,
                msgid: held.task.msgid,
                stage: held.task.stage,
                handler: held.task.handler.addr,
                cause: trap.cause,
                pc: trap.pc,
                addr: trap.value,
                cluster: self.id as u8,
                core: i as u8,
            };
            let notice = held.task.context.notice(HostEvent::HandlerError(error));
            // The host takes what is there in every cycle; only a core that traps without end can be too fast for that.
            match self.ports.notices.room() {
                0 => self.totals.untold.add(1),
                _ => self.ports.notices.send_late(notice, at.saturating_sub(now)),
            }
        }
    }

    /// Core `i` needs a line in this cycle.
    fn fetch(&mut self, i: usize, addr: u32, now: Cycle) {
        if self.icache.present(addr) {
            return self.advance(i, now);
        }
        self.cores[i].wait = Wait::Line(addr);
        self.ask_for_line(addr, 0);
    }

    /// Asks program memory for a line that is not there, unless it is on its way.
    fn ask_for_line(&mut self, addr: u32, extra: u64) {
        if !self.icache.present(addr) && self.icache.miss(addr) {
            self.totals.line_misses.add(1);
            self.watch_icache();
            self.lines.0.send_late(LineRequest { addr }, extra);
        }
    }

    /// While a line is coming that could push out another, a core may not run ahead.
    fn watch_icache(&mut self) {
        let may_lose_a_line = !self.lines_fit && self.icache.refilling();
        self.run_ahead = if may_lose_a_line { 1 } else { self.most_run_ahead };
    }

    /// Lines have come: who waits for them goes on.
    pub(super) fn take_lines(&mut self, now: Cycle) {
        while self.lines.1.is_due(now)
            && let Some(LineReply { addr }) = self.lines.1.take()
        {
            self.icache.fill(addr);
            self.watch_icache();
            for i in 0..self.cores.len() {
                let at = match self.cores[i].wait {
                    Wait::Line(line) if line == addr => now,
                    Wait::Abandoned(line) if line == addr => now + 1,
                    _ => continue,
                };
                self.cores[i].core.fetched(at);
                self.cores[i].wait = Wait::Run;
                self.ready.add(i, now, at);
            }
        }
    }

    /// Lets core `i` ask its driver again in cycle `at`, if it waits for it.
    pub(super) fn retry_driver(&mut self, i: usize, at: Cycle) {
        if self.cores[i].wait == Wait::Driver {
            self.cores[i].wait = Wait::Access;
            self.ready.add(i, at, at);
        }
    }
}
