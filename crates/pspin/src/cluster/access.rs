//! What cores ask that is not their own L1: registers beside them, peripherals of the cluster, and the rest of the NIC.

use super::Cluster;
use super::cores::{HpuCore, Wait};
use super::dma::Owner;
use super::events::Reply;
use super::hpu::{Answer, ERROR, ISSUE, Trapped};
use super::l1::WidePort;
use crate::events::{COMMAND_ISSUED, HANDLER_END, HANDLER_START};
use crate::map;
use crate::pe::{PeOp, PeReply, PeRequest, RemoteReply};
use crate::protocol::{CONTEXT_CAUSE, CommandTarget};
use blocks::cpu::{AccessKind, Privilege};
use isa::riscv::Load;
use kernel::Cycle;

/// Cycles that an access to a slow peripheral of the cluster, or a character, stalls EX.
/// Source: PsPIN RTL a49fec8, `periph_FIFO.sv`, `XBAR_PE`: request, arbitration, response, grant.
const SLOW_PERIPHERAL: u64 = 3;

/// Longest line of text that is kept before it is printed without its end.
const MAX_TEXT: usize = 4096;

/// The registers by which a core, or the public port, describes a transfer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DmaRegisters {
    src: u32,
    dst: u32,
    bytes: u32,
    config: u32,
}

impl Cluster {
    /// What core `i` asks of the word at [`HpuCore::next_address`].
    pub(super) fn word_op(&self, i: usize) -> PeOp {
        let access = self.cores[i].core.access();
        let shift = access.addr % 4 * 8;
        match access.kind {
            AccessKind::Load(_) => PeOp::Load,
            AccessKind::Amo(amo) => PeOp::Amo { amo, operand: access.value },
            AccessKind::Store(width) => {
                let ones = u32::MAX >> (32 - 8 * width.bytes());
                if self.cores[i].first_part.is_some() {
                    PeOp::Store { value: access.value >> (32 - shift), mask: ones >> (32 - shift) }
                } else {
                    PeOp::Store { value: access.value << shift, mask: ones << shift }
                }
            }
        }
    }

    /// Does an operation on a word of L1; the word before it.
    pub(super) fn word_on_l1(&mut self, addr: u32, op: PeOp, now: Cycle) -> u32 {
        let old = self.l1.load(addr);
        match op {
            PeOp::Load => old,
            PeOp::Store { value, mask } => {
                self.l1.store(addr, value, mask);
                old
            }
            PeOp::Amo { amo, operand } => self.l1.amo(now, addr, amo, operand),
        }
    }

    /// The word that core `i` asked for was granted in cycle `granted`: the access is done, or its second half is next.
    pub(super) fn word_done(&mut self, i: usize, now: Cycle, granted: Cycle, word: u32) {
        let access = self.cores[i].core.access();
        let shift = access.addr % 4 * 8;
        let crosses = access.addr % 4 + access.bytes() > 4 && !matches!(access.kind, AccessKind::Amo(_));
        let raw = match (crosses, self.cores[i].first_part) {
            (true, None) => {
                self.cores[i].first_part = Some(word >> shift);
                return self.ask(i, now, granted + 1);
            }
            (true, Some(low)) => low | word << (32 - shift),
            (false, _) if matches!(access.kind, AccessKind::Amo(_)) => word,
            (false, _) => word >> shift,
        };
        self.cores[i].first_part = None;
        self.complete(i, now, granted, raw);
    }

    /// An access of core `i` that is not to the own L1.
    pub(super) fn access_elsewhere(&mut self, i: usize, addr: u32, now: Cycle) {
        self.is_calm = false;
        let own = map::L1_BASE + self.id * map::L1_STRIDE + map::CLUSTER_PERIPHERALS;
        let window = addr >> 20;
        let is_beside = window == map::ALIAS_PERIPHERALS >> 20 || window == own >> 20;
        if !self.is_permitted(i, addr, is_beside) {
            self.refuse(i, now);
        } else if self.misaligned_amo_traps && self.cores[i].is_misaligned_amo() {
            self.refuse_misaligned(i, now);
        } else if is_beside {
            if addr & 0x4000 != 0 { self.access_link(i, addr, now) } else { self.access_slow(i, addr, now) }
        } else if addr >> 12 == map::STDOUT >> 12 && matches!(self.word_op(i), PeOp::Store { .. }) {
            self.put_character(i, now);
            self.word_done(i, now, now + SLOW_PERIPHERAL, 0);
        } else {
            let request = PeRequest { core: i as u32, addr: addr & !3, op: self.word_op(i) };
            self.cores[i].pe_request = Some((now, request));
            self.cores[i].wait = Wait::Pe;
            self.pe_asking |= 1 << i;
        }
    }

    /// Physical memory protection outside the own L1; machine mode may do all.
    fn is_permitted(&self, i: usize, addr: u32, is_beside: bool) -> bool {
        let HpuCore { core, guard, first_part, .. } = &self.cores[i];
        let access = core.access();
        core.privilege() == Privilege::Machine
            // What the first part was granted, the second is too; registers are asked for part by part.
            || first_part.is_some() && !is_beside
            || match (is_beside, addr & 0x4000 != 0) {
                (true, true) => guard.allows_link(addr),
                (true, false) => guard.allows_peripherals(),
                (false, _) => {
                    guard.allows(addr, access.bytes(), !matches!(access.kind, AccessKind::Load(_)))
                }
            }
    }

    /// The access of core `i` is refused: an exception.
    #[cold]
    pub(super) fn refuse(&mut self, i: usize, now: Cycle) {
        self.cores[i].core.fault(now);
        self.cores[i].first_part = None;
        self.tell_trap(i, now);
        self.advance(i, now);
    }

    /// An access over core `i`'s own link: event unit, DMA, inter-core FIFOs, driver. Granted at once or not yet.
    fn access_link(&mut self, i: usize, addr: u32, now: Cycle) {
        let write = match self.word_op(i) {
            PeOp::Load => None,
            PeOp::Store { value, .. } | PeOp::Amo { operand: value, .. } => Some(value),
        };
        match (addr >> 14 & 0x3f, addr >> 10 & 0xf) {
            (1, 0) => {
                let elw = self.cores[i].core.access().kind == AccessKind::Load(Load::Elw);
                let reply = self.event_unit.access(i as u32, addr & 0x3ff, write, elw);
                self.wake_sleepers(now);
                match reply {
                    Reply::Value(value) => self.word_done(i, now, now, value),
                    Reply::Sleep => self.cores[i].wait = Wait::Event,
                }
            }
            (1, 1) => self.access_dma(i, addr & 0x3c, write, now),
            (1, 2) => self.access_fifo(i, i, addr, write, now),
            (1, 3) => self.access_fifo(i, (i + 1) % self.cores.len(), addr, write, now),
            (1, 4) => self.access_driver(i, addr & 0x3fc, write, now),
            _ => self.cores[i].wait = Wait::Forever,
        }
    }

    fn wake_sleepers(&mut self, now: Cycle) {
        let woken = self.event_unit.take_woken();
        for i in (0..self.cores.len()).filter(|i| woken >> i & 1 != 0) {
            if self.cores[i].wait == Wait::Event {
                self.cores[i].wait = Wait::Access;
                self.ready.add(i, now, now + 1);
            }
        }
    }

    fn access_driver(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        let instructions = self.cores[i].core.instructions();
        if !self.cores[i].hpu.is_active() {
            self.cores[i].hpu.first_request(now);
            self.watch_driver(i);
        }
        if (offset, write) == (ISSUE, None) && !self.may_issue(i) {
            return self.refuse(i, now);
        }
        let HpuCore { core, hpu, .. } = &mut self.cores[i];
        let before = hpu.task().map(|held| (held.task.packet.0, held.task.stage as u64, held.task.handler.addr));
        let was_running = hpu.running().is_some();
        let mut issued = None;
        let answer = match (offset, write) {
            (ERROR, Some(cause)) => {
                let trap = core.last_trap();
                let is_handlers = core.privilege() == Privilege::User;
                let trapped = if is_handlers { Trapped::default() } else { Trapped { value: trap.value, pc: trap.pc } };
                hpu.report(now, cause, trapped, &mut issued)
            }
            _ => hpu.access(now, offset, write, &mut issued),
        };
        let (granted, word) = match answer {
            Answer::Granted(granted, word) => (granted, word),
            Answer::Blocked => {
                self.cores[i].wait = Wait::Driver;
                return;
            }
            Answer::OtherContext if self.cores[i].core.privilege() == Privilege::Machine => {
                // A runtime that never leaves machine mode isolates nothing.
                self.cores[i].hpu.need_not_clear();
                return self.access_driver(i, offset, write, now);
            }
            Answer::OtherContext => return self.clear_core(i, now),
        };
        let is_running = hpu.running().is_some();
        self.watch_driver(i);
        if let Some((packet, stage, handler)) = before
            && was_running != is_running
        {
            self.guard_changes(i, granted);
            if is_running {
                self.cores[i].started = instructions;
                self.trace.emit(&HANDLER_START, granted, &[packet, stage, i as u64, handler.into()]);
            } else {
                let n = instructions - self.cores[i].started;
                self.trace.emit(&HANDLER_END, granted, &[packet, stage, i as u64, n]);
            }
        }
        if let Some(command) = issued {
            let values = [command.packet.0, i as u64, command.target as u64, command.writes_host().into()];
            self.trace.emit(&COMMAND_ISSUED, granted, &values);
            self.commands[i].push_back(command);
            self.commanding |= 1 << i;
        }
        self.word_done(i, now, granted, word);
    }

    /// Clears the stack of core `i`, and has the runtime clear its registers, by an exception, before it runs a handler of
    /// another context. The stack takes a beat of the cluster DMA's port for each 64 bytes, long before the runtime uses it.
    fn clear_core(&mut self, i: usize, now: Cycle) {
        if !self.cores[i].text.is_empty() {
            self.end_line(i, now);
        }
        let (stack, bytes) = self.cores[i].guard.stack();
        self.l1.reserve(WidePort::Dma, now, stack, bytes);
        self.l1.write(stack, &[0; map::STACK_BYTES as usize][..bytes as usize]);
        self.cores[i].first_part = None;
        self.cores[i].core.refuse(now, CONTEXT_CAUSE);
        self.advance(i, now);
    }

    /// Whether the command that core `i` has prepared moves only what its handler may touch.
    fn may_issue(&self, i: usize) -> bool {
        let HpuCore { core, hpu, guard, .. } = &self.cores[i];
        if core.privilege() == Privilege::Machine {
            return true;
        }
        let Some(held) = hpu.running() else { return false };
        let command = hpu.prepared();
        let [low, high, addr, size, word, ..] = command.words;
        let host = u64::from(high) << 32 | u64::from(low);
        match command.target {
            CommandTarget::NicSend => guard.allows_transfer(addr, word),
            CommandTarget::HostDma => guard.allows_transfer(addr, size) && guard.allows_host(&held.task, host, size),
            CommandTarget::HostDirect => guard.allows_host(&held.task, host, addr >> 1 & 0x1ff),
        }
    }

    /// A task of core `i` starts or ends in this cycle: what the core may touch changes, and how long.
    fn guard_changes(&mut self, i: usize, at: Cycle) {
        let HpuCore { core, hpu, guard, deadline, dma, .. } = &mut self.cores[i];
        if guard.is_exact() {
            core.forget_loops();
            hpu.forget_command();
            *dma = DmaRegisters::default();
        }
        let running = hpu.running();
        guard.set(running.map(|held| (&held.task, held.pkt_ptr)));
        core.set_user_code(guard.code());
        let limit = running.map_or(0, |held| held.task.context.protection.watchdog_cycles);
        let before = std::mem::replace(deadline, if limit == 0 { Cycle::MAX } else { at + Cycle::from(limit) });
        self.alarm = self.alarm.min(self.cores[i].deadline);
        if before == self.alarm {
            self.set_alarm();
        }
    }

    /// The DMA registers of core `i`: `axidma__dma_conf_t` of the runtime.
    fn access_dma(&mut self, i: usize, offset: u32, write: Option<u32>, now: Cycle) {
        let HpuCore { core, dma, guard, .. } = &self.cores[i];
        let mut registers = *dma;
        let launches = offset == 0x18 && write.is_none() && registers.bytes > 0;
        let DmaRegisters { src, dst, bytes, .. } = registers;
        let is_allowed = guard.allows_transfer(src, bytes) && guard.allows_transfer(dst, bytes);
        if launches && core.privilege() == Privilege::User && !is_allowed {
            return self.refuse(i, now);
        }
        let answer = self.dma_register(&mut registers, offset, write, Owner::Core(i as u32), now);
        self.cores[i].dma = registers;
        match answer {
            Some(word) => {
                if launches {
                    self.cores[i].hpu.transfers += 1;
                }
                self.word_done(i, now, now, word);
            }
            // The launch is held until the engine takes the transfer.
            None => self.ready.add(i, now, now + 1),
        }
    }

    /// Reads or writes a DMA register; `None` while the engine does not take the transfer.
    fn dma_register(
        &mut self,
        registers: &mut DmaRegisters,
        offset: u32,
        write: Option<u32>,
        owner: Owner,
        now: Cycle,
    ) -> Option<u32> {
        let DmaRegisters { src, dst, bytes, .. } = *registers;
        match (offset, write) {
            (0x00, Some(value)) => registers.src = value,
            (0x08, Some(value)) => registers.dst = value,
            (0x10, Some(value)) => registers.bytes = value,
            (0x28, Some(value)) => registers.config = value & 7,
            (_, Some(_)) => {}
            (0x00, None) => return Some(src),
            (0x08, None) => return Some(dst),
            (0x10, None) => return Some(bytes),
            // No bytes: the next id is shown and not used up.
            (0x18, None) if bytes == 0 => return Some(self.dma.next_id()),
            (0x18, None) => return self.dma.launch(now, owner, src, dst, bytes),
            (0x20, None) => return Some(self.dma.done_id(now)),
            (0x28, None) => return Some(registers.config | u32::from(self.dma.is_busy()) << 16),
            (_, None) => {}
        }
        Some(0)
    }

    /// Core `i` reads its own inter-core FIFO or writes its neighbour's; all else shows how full the FIFO is.
    fn access_fifo(&mut self, i: usize, target: usize, addr: u32, write: Option<u32>, now: Cycle) {
        let depth = self.inter_core_fifo;
        let fifo = &mut self.cores[target].fifo;
        let word = match (addr & 0x3fc, write, target == i) {
            (0, Some(word), false) => {
                if fifo.len() == depth {
                    self.cores[i].wait = Wait::Fifo;
                    return;
                }
                fifo.push_back(word);
                self.retry_fifo(target, now);
                0
            }
            (0, None, true) => match fifo.pop_front() {
                Some(word) => {
                    self.retry_fifo((i + self.cores.len() - 1) % self.cores.len(), now);
                    word
                }
                None => {
                    self.cores[i].wait = Wait::Fifo;
                    return;
                }
            },
            _ => fifo.len() as u32,
        };
        self.word_done(i, now, now, word);
    }

    fn retry_fifo(&mut self, i: usize, now: Cycle) {
        if self.cores[i].wait == Wait::Fifo {
            self.cores[i].wait = Wait::Access;
            self.ready.add(i, now, now + 1);
        }
    }

    /// An access of core `i` to a peripheral of the cluster over the PE path.
    fn access_slow(&mut self, i: usize, addr: u32, now: Cycle) {
        match self.slow_register(i as u32, addr, self.word_op(i), now) {
            Some(word) => self.word_done(i, now, now + SLOW_PERIPHERAL, word),
            None => self.ready.add(i, now, now + 1),
        }
    }

    /// A register of the cluster's slow peripherals; `None` while it does not grant.
    fn slow_register(&mut self, core: u32, addr: u32, op: PeOp, now: Cycle) -> Option<u32> {
        let write = match op {
            PeOp::Load => None,
            PeOp::Store { value, .. } | PeOp::Amo { operand: value, .. } => Some(value),
        };
        match addr >> 10 & 0xf {
            // Cluster control: end of computation, at which nothing happens here.
            0 => Some(0),
            1 => Some(self.timer.access(addr & 0x3ff, write, now)),
            2 | 3 => match self.event_unit.access(core, addr & 0x3ff, write, false) {
                Reply::Value(word) => {
                    self.wake_sleepers(now);
                    Some(word)
                }
                Reply::Sleep => Some(0),
            },
            // The accelerator that the cluster could have, and has not.
            4 => Some(0xdead_beef),
            5 => {
                if write.is_some() && addr & 0x3ff == 4 {
                    self.icache.flush();
                }
                Some(0)
            }
            6 => {
                let mut registers = self.public_dma;
                let word = self.dma_register(&mut registers, addr & 0x3c, write, Owner::Public, now);
                self.public_dma = registers;
                word
            }
            // What leads nowhere.
            _ => Some(0),
        }
    }

    fn put_character(&mut self, i: usize, now: Cycle) {
        let character = self.cores[i].core.access().value as u8;
        let text = &mut self.cores[i].text;
        if character != b'\n' && text.len() < MAX_TEXT {
            text.push(character);
            return;
        }
        self.end_line(i, now);
        if character != b'\n' {
            self.cores[i].text.push(character);
        }
    }

    /// Prints the line of text that core `i` has written.
    fn end_line(&mut self, i: usize, now: Cycle) {
        let text = std::mem::take(&mut self.cores[i].text);
        self.console.borrow_mut().line(now, self.id, i as u32, &String::from_utf8_lossy(&text));
    }

    /// One request a cycle leaves for the PE interconnect, a cycle after the core asked at the earliest.
    pub(super) fn send_pe_request(&mut self, now: Cycle) {
        if self.pe_asking == 0 || !self.pe.0.has_room() {
            return;
        }
        let waiting = (0..self.cores.len()).filter(|&i| self.cores[i].pe_request.is_some_and(|(since, _)| since < now));
        let waiting = waiting.fold(0, |set, i| set | 1u64 << i);
        if let Some(i) = self.pe_turn.take(waiting) {
            let (_, request) = self.cores[i as usize].pe_request.take().expect("a core that asks");
            self.pe_asking &= !(1 << i);
            self.pe.0.send(request);
        }
    }

    /// Answers of the PE interconnect; the core's grant is a cycle later.
    pub(super) fn take_pe_replies(&mut self, now: Cycle) {
        if self.pe.1.is_due(now)
            && let Some(PeReply { core, value }) = self.pe.1.take()
        {
            self.word_done(core as usize, now, now + 1, value);
        }
    }

    /// An access from another cluster: L1 takes it among its narrow requests, a peripheral at once.
    pub(super) fn take_remote(&mut self, now: Cycle) {
        if !self.remotes.0.is_due(now) || self.remote.is_some() || !self.remotes.1.has_room() {
            return;
        }
        let Some(remote) = self.remotes.0.take() else { return };
        let offset = (remote.request.addr - map::L1_BASE) % map::L1_STRIDE;
        if offset < map::CLUSTER_PERIPHERALS {
            self.remote = Some(remote);
        } else {
            let value = self.slow_register(0, remote.request.addr, remote.request.op, now).unwrap_or(0);
            let reply = PeReply { core: remote.request.core, value };
            self.remotes.1.send(RemoteReply { to: remote.from, reply, op: remote.request.op });
        }
    }

    /// The access from another cluster gets its bank.
    pub(super) fn grant_remote(&mut self, now: Cycle) {
        let remote = self.remote.take().expect("an access that asked");
        let value = self.word_on_l1(remote.request.addr, remote.request.op, now);
        let reply = PeReply { core: remote.request.core, value };
        self.remotes.1.send(RemoteReply { to: remote.from, reply, op: remote.request.op });
    }
}
