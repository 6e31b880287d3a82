//! Fetch: the instruction cache that the cores of a cluster share, with its switch and its refills.

use super::caching::{Caching, HeldLine};
use super::cores::Cores;
use super::hpu::{Hpu, Wait};
use super::icache::{CoreLines, Icache, LINE_BYTES};
use super::refills::{Miss, NOTICE_TO_LOOKUP, Refills, Taken};
use super::tick_plan::TickPlan;
use crate::map;
use crate::params::PspinParams;
use crate::pe::{CodeWrite, LineReply, LineRequest};
use blocks::cpu::{FetchLines, Program, Runway, Stop};
use kernel::trace::Counter;
use kernel::{Cycle, Ports, Rx, Tx, members};
use std::rc::Rc;

/// The instruction cache of a cluster and its way to program memory. Each part documents its own timing.
pub(super) struct Fetch {
    /// The content of program memory, decoded.
    pub program: Rc<Program>,
    cache: Icache,
    switch: Caching,
    refills: Refills,
    /// Bit set of the cores whose cache controllers miss a line.
    missing: u32,
    /// Requests to program memory, and the lines that arrive.
    lines: (Tx<LineRequest>, Rx<LineReply>),
    /// Writes of the host to program memory.
    code: Rx<CodeWrite>,
    /// Lines requested from program memory.
    pub line_misses: Counter,
}

impl Fetch {
    pub fn new(
        params: &PspinParams,
        program: Rc<Program>,
        lines: (Tx<LineRequest>, Rx<LineReply>),
        code: Rx<CodeWrite>,
    ) -> Self {
        let (icache, n_cores) = (&params.cluster.icache, params.cluster.n_cores);
        Fetch {
            program,
            cache: Icache::new(icache, n_cores, map::PROGRAM_BASE, params.l2.program_bytes),
            switch: Caching::new(icache),
            refills: Refills::new(n_cores),
            missing: 0,
            lines,
            code,
            line_misses: Counter::default(),
        }
    }

    pub fn ports(&self, ports: &mut Ports) {
        ports.output("line_requests", &self.lines.0);
        ports.input("line_replies", &self.lines.1);
        ports.input("code", &self.code);
    }

    /// Sets the arbiter of the requests to its state after `grants` grants.
    pub fn set_grants(&mut self, grants: u32) {
        self.refills.set_grants(grants);
    }

    /// Bounds of a run ahead to cycle `horizon`.
    #[inline(always)]
    pub fn runway(&self, horizon: Cycle) -> Runway<'_> {
        Runway::new(&self.program, self.cache.there(), horizon)
    }

    /// Runs a core that has just run ahead as far as it could.
    #[inline]
    pub fn run_carefully(&self, hpu: &mut Hpu, now: Cycle, horizon: Cycle) -> Stop {
        if !self.switch.is_on() {
            return self.run_uncached(hpu, now);
        }
        let Hpu { core, miss, held_line: held, .. } = hpu;
        core.run_carefully(&self.program, &CoreLines { cache: &self.cache, miss, held }, horizon)
    }

    /// Runs a core up to its next stop.
    #[inline(never)]
    pub fn run(&self, hpu: &mut Hpu, now: Cycle, horizon: Cycle) -> Stop {
        if !self.switch.is_on() {
            return self.run_uncached(hpu, now);
        }
        let Hpu { core, miss, held_line: held, .. } = hpu;
        core.run(&self.program, &CoreLines { cache: &self.cache, miss, held }, horizon)
    }

    /// Runs an instruction of a core while the cache is off. A jump fetches its target line again, even if the target
    /// is in the current line.
    #[cold]
    fn run_uncached(&self, hpu: &mut Hpu, now: Cycle) -> Stop {
        let held = self.held_line(hpu);
        let Hpu { core, deadline, .. } = hpu;
        let (pc, retired) = (core.pc(), core.instructions());
        let stop = core.run(&self.program, &held, (now + 1).min(*deadline));
        if core.instructions() != retired && held.addr == Some(pc & !(LINE_BYTES - 1)) {
            hpu.held_line = None;
        }
        stop
    }

    fn held_line(&self, hpu: &Hpu) -> HeldLine {
        HeldLine { addr: hpu.held_line, program_bytes: self.cache.program_bytes() }
    }

    /// Core `i` needs a line in this cycle. Returns true if it has the line; otherwise the core waits.
    pub fn request(&mut self, i: usize, addr: u32, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) -> bool {
        if self.switch.is_on() && cores[i].held_line != Some(addr) {
            cores[i].held_line = None;
        }
        match cores[i].miss {
            Some(Miss { addr: other, .. }) if other != addr => cores[i].wait = Wait::Abandoned(other),
            Some(_) => cores[i].wait = Wait::Line(addr),
            None if self.is_there(&cores[i], addr) => return true,
            // The prefetch buffer waited for another line when the core jumped. It requests this one a cycle later.
            None if cores[i].line_came == now => cores.wait(i, Wait::Fetch(addr), now, now + 1),
            None => {
                cores[i].wait = Wait::Line(addr);
                self.request_line(i, addr, cores, plan);
            }
        }
        false
    }

    /// Core `i` will need the line after its current one. Its controller looks for that line in cycle `looks_at`.
    pub fn prefetch(
        &mut self,
        i: usize,
        addr: u32,
        now: Cycle,
        looks_at: Cycle,
        cores: &mut Cores,
        plan: &mut TickPlan,
    ) {
        if cores[i].miss.is_some() {
            return;
        }
        match looks_at > now {
            true => self.set_miss(i, Some(Miss { addr, looks_at }), cores, plan),
            false if self.is_there(&cores[i], addr) => {}
            false => self.request_line(i, addr, cores, plan),
        }
    }

    /// Core `i` requests an access for the first time in this cycle, and may have to wait. Fetch does not wait with it.
    pub fn go_on_behind_access(&mut self, i: usize, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        let Hpu { core, miss, .. } = &cores[i];
        if core.time() + 1 != now {
            return;
        }
        // Almost always, all lines that fetch may need are present.
        if !(miss.is_none() && self.switch.is_on() && core.needs_no_fetch(&self.program, self.cache.there())) {
            self.miss_behind_access(i, now, cores, plan);
        }
    }

    #[inline(never)]
    fn miss_behind_access(&mut self, i: usize, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        let held = self.held_line(&cores[i]);
        let Hpu { core, miss, held_line, .. } = &mut cores[i];
        let lines = CoreLines { cache: &self.cache, miss, held: held_line };
        match self.switch.is_on() {
            true => core.wait_for_access(&self.program, &lines),
            false => core.wait_for_access(&self.program, &held),
        }
        if miss.is_some() {
            return;
        }
        let behind = match self.switch.is_on() {
            true => core.fetch_behind_access(&self.program, &self.cache),
            false => core.fetch_behind_access(&self.program, &held),
        };
        if let Some((addr, cycles)) = behind {
            self.set_miss(i, Some(Miss { addr, looks_at: now + cycles }), cores, plan);
        }
    }

    /// Returns true if a line is present for a core, which has no outstanding request for a line.
    fn is_there(&self, hpu: &Hpu, addr: u32) -> bool {
        self.cache.present(addr) || hpu.held_line == Some(addr)
    }

    /// The controller of core `i` does not find the line and requests it.
    fn request_line(&mut self, i: usize, addr: u32, cores: &mut Cores, plan: &mut TickPlan) {
        self.set_miss(i, Some(Miss { addr, looks_at: Cycle::MAX }), cores, plan);
        let way = if self.switch.is_on() { self.cache.choose_way(i, addr) } else { 0 };
        self.refills.request(i, addr, way);
    }

    fn set_miss(&mut self, i: usize, miss: Option<Miss>, cores: &mut Cores, plan: &mut TickPlan) {
        plan.do_all();
        cores[i].miss = miss;
        self.missing = self.missing & !(1 << i) | u32::from(miss.is_some()) << i;
        plan.misses_changed(self.missing != 0);
    }

    /// Returns true if nothing happens until a line arrives, a core misses one, or code is written.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.missing == 0 && self.switch.next_event().is_none() && self.refills.is_quiet()
    }

    /// Takes lines that arrive, takes one request, and lets controllers look for their lines.
    #[inline]
    pub fn refill(&mut self, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        if self.lines.1.is_due(now) || !self.is_quiet() {
            self.move_lines(now, cores, plan);
        }
    }

    #[inline(never)]
    fn move_lines(&mut self, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        while self.lines.1.is_due(now)
            && let Some(LineReply { addr }) = self.lines.1.take()
        {
            if !self.switch.is_on() {
                let core = self.refills.arrive_alone(addr);
                cores[core].held_line = Some(addr);
                self.deliver(core, now, cores, plan);
                continue;
            }
            let waiting = self.refills.arrive(now, addr);
            members(waiting).for_each(|core| cores[core as usize].look_at(now + NOTICE_TO_LOOKUP));
        }
        if self.switch.changes(now, self.refills.is_coming()) {
            self.cache.flush();
            self.refills.forget();
            self.plan_run_ahead(plan);
        }
        let serves = self.switch.is_on() && self.switch.serves(now);
        match if serves { self.refills.take(now, || self.lines.0.has_room()) } else { None } {
            Some(Taken::Requests(addr)) => self.send(addr),
            Some(Taken::Retries(core)) => cores[core].look_at(now + 1 + NOTICE_TO_LOOKUP),
            Some(Taken::Joins) | None => {}
        }
        while let Some((addr, way)) = self.refills.fill(now) {
            self.cache.fill(addr, way);
        }
        for i in members(self.missing.into()).map(|core| core as usize) {
            if let Some(Miss { addr, looks_at }) = cores[i].miss
                && looks_at == now
            {
                match self.is_there(&cores[i], addr) {
                    true => self.deliver(i, now, cores, plan),
                    false => self.request_line(i, addr, cores, plan),
                }
            }
        }
    }

    /// While the cache is off, requests a line from program memory in the cycle of the core's request.
    pub fn request_uncached(&mut self, now: Cycle) {
        if !self.switch.is_on()
            && self.switch.serves(now)
            && let Some(addr) = self.refills.take_alone(|| self.lines.0.has_room())
        {
            self.send(addr);
        }
    }

    fn send(&mut self, addr: u32) {
        self.line_misses.add(1);
        self.lines.0.send(LineRequest { addr });
    }

    /// Core `i` gets the line that it misses.
    fn deliver(&mut self, i: usize, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        self.set_miss(i, None, cores, plan);
        let at = match cores[i].wait {
            Wait::Line(_) => now,
            Wait::Abandoned(_) => now + 1,
            _ => {
                cores[i].line_came = now;
                cores[i].core.line_came();
                return self.fetch_at_target(i, now, cores, plan);
            }
        };
        cores[i].core.fetched(at);
        cores.wait(i, Wait::Run, now, at);
    }

    /// A line has come for which core `i` does not wait. If a jump waits in decode, fetch continues at its target.
    #[cold]
    fn fetch_at_target(&mut self, i: usize, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        let Hpu { core, wait, miss, held_line: held, .. } = &mut cores[i];
        let in_access = *wait != Wait::Run;
        if !self.switch.is_on() || in_access && core.time() >= now {
            return;
        }
        let lines = CoreLines { cache: &self.cache, miss, held };
        if let Some(addr) = core.fetch_at_target(&self.program, &lines, now, in_access) {
            self.set_miss(i, Some(Miss { addr, looks_at: now + 1 }), cores, plan);
        }
    }

    /// The next cycle with work for a line, if program memory does not respond before.
    #[inline]
    pub fn next_event(&self, now: Cycle, cores: &Cores) -> Cycle {
        if self.is_quiet() {
            return Cycle::MAX;
        }
        let looks = members(self.missing.into()).filter_map(|core| cores[core as usize].miss);
        let change = self.switch.next_event().filter(|_| !self.refills.is_coming()).map(|at| at.max(now + 1));
        let first = looks.map(|miss| miss.looks_at).chain(change).min().unwrap_or(Cycle::MAX);
        first.min(self.refills.next_event(now))
    }

    /// Applies the host's writes to program memory: replaces the decoded program and invalidates the written lines.
    ///
    /// The RTL's caches keep using a line that they hold, and the host cannot reach the register that flushes them. So
    /// with the RTL a driver must load code only to addresses from which no code has run. In this model the next fetch
    /// of a line always sees the loaded code.
    pub fn take_code(&mut self, now: Cycle, cores: &mut Cores, plan: &mut TickPlan) {
        while self.code.is_due(now)
            && let Some(CodeWrite { addr, data }) = self.code.take()
        {
            cores.settle_profiles(&self.program);
            // The first write copies the program for this cluster. Until then all clusters share one program.
            Rc::make_mut(&mut self.program).write(addr, &data);
            self.cache.forget(addr, data.len() as u32);
            self.plan_run_ahead(plan);
        }
    }

    /// Updates the run-ahead after a change of the program, of the switch or of the bound.
    pub fn plan_run_ahead(&self, plan: &mut TickPlan) {
        plan.set_run_ahead(self.switch.is_on(), self.program.used_bytes(), self.cache.params());
        plan.misses_changed(self.missing != 0);
    }

    /// A core accesses a register of the cache's control unit. Returns the word and the extra cycles of the access;
    /// `None` while the unit does not answer.
    pub fn access(&mut self, offset: u32, write: Option<u32>, now: Cycle, plan: &mut TickPlan) -> Option<(u32, Cycle)> {
        plan.do_all();
        // The control unit takes one cycle to detect that a write requests the state that the cache already has.
        let extra = write.is_some_and(|value| offset == 0 && self.switch.is_settled(value & 1 != 0));
        let word = match (offset, write) {
            (0, Some(value)) => self.switch.turn(value & 1 != 0, now).then_some(0),
            (4, Some(value)) if value & 1 != 0 => self.switch.flush(now).then_some(0),
            (0, None) => Some(self.switch.is_on().into()),
            _ => Some(0),
        };
        word.map(|word| (word, extra.into()))
    }
}
