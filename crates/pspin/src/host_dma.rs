//! Off-cluster DMA: moves bytes between NIC memory and host memory for the handlers' commands.

use crate::arbiter::requests;
use crate::events::COMMAND_FAULT;
use crate::host_link::{HostPort, Issuer};
use crate::nhi::NhiMaster;
use crate::params::RtlMistakes;
use crate::protocol::{
    BEAT_BYTES, BurstReply, Command, CommandFault, CommandId, CommandResponse, CommandTarget, PAGE_BYTES,
};
use crate::remap::Remap;
use blocks::activity::{busy_if, earliest};
use blocks::policy::RoundRobinTree;
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

mod data_path;
mod from_host;
mod to_host;
use from_host::FromHost;
use to_host::ToHost;

// Registers on the paths through the unit, `soc_dma_wrap.sv`.

/// Cycles from when a command is seen until its first burst leaves: request FIFO, burst reshaper, emitter, and one of
/// the two cuts around the crossbar. The channel is the other cut.
const COMMAND_TO_BURST: u64 = 4;
/// Cycles from when the last write response is seen until the command's response: two cuts, completion.
const WRITTEN_TO_RESPONSE: u64 = 3;
/// Bursts of an engine that may be under way at its source, `SOC_DMA_AXI_REQ_DEPTH`.
const SOURCE_BURSTS: usize = 12;

/// A decoded command.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    id: CommandId,
    nic: u32,
    host: u64,
    size: u32,
    issuer: Issuer,
    /// When its first burst may leave.
    start: Cycle,
}

/// A transfer with `left` bytes to read or write; the next byte is at `addr`.
struct PendingTransfer<A> {
    addr: A,
    left: u32,
    issuer: Issuer,
    start: Cycle,
}

/// The commands of an engine that have no response yet, and the number of unfinished parts of each transfer.
///
/// Source:  PsPIN RTL a49fec8, `soc_dma_wrap.sv`, i_rx_resp_fifo and i_tx_resp_fifo: responses go to commands in order.
#[derive(Default)]
struct Open {
    commands: VecDeque<CommandId>,
    parts: VecDeque<u32>,
}

impl Open {
    fn start(&mut self, id: CommandId, parts: u32) {
        self.commands.push_back(id);
        self.parts.push_back(parts);
    }

    /// Starts a command that moves nothing.
    fn start_empty(&mut self, id: CommandId) {
        self.commands.push_back(id);
    }

    /// A part is done. If this ends its transfer, returns the command that gets the response.
    fn done(&mut self) -> Option<CommandId> {
        let parts = self.parts.front_mut().expect("a response belongs to a transfer");
        *parts -= 1;
        if *parts > 0 {
            return None;
        }
        self.parts.pop_front();
        self.commands.pop_front()
    }
}

/// Bursts of a transfer at a side where it begins at `addr`: none crosses a page.
fn n_bursts(addr: u64, size: u32) -> u32 {
    1 + (to_page_end(addr, size)..size).step_by(PAGE_BYTES as usize).count() as u32
}

/// Bytes from `addr` on within the page.
fn to_page_end(addr: u64, left: u32) -> u32 {
    left.min(PAGE_BYTES - (addr % u64::from(PAGE_BYTES)) as u32)
}

/// The part of an engine that cuts transfers at pages.
///
/// Timing:  a cycle cuts one burst for the source and one for the target. The next transfer is taken when both sides have
///          finished the previous one: a transfer with one burst at the source and two at the target lasts two cycles.
/// Source:  PsPIN RTL a49fec8, `axi_dma_burst_reshaper.sv`, ready_o.
#[derive(Default)]
struct Reshaper {
    /// When it can take the next transfer.
    is_free: Cycle,
}

impl Reshaper {
    /// The cycle in which it takes a transfer that comes now. `n_bursts` is the number of bursts at the side with more of them.
    fn take(&mut self, now: Cycle, n_bursts: u32) -> Cycle {
        let taken = now.max(self.is_free);
        self.is_free = taken + Cycle::from(n_bursts);
        taken
    }
}

/// The ports of a [`HostDma`].
pub struct HostDmaPorts {
    /// From the command unit.
    pub commands: Rx<Command>,
    /// To the command unit; capacity 2, latency 1.
    pub responses: Tx<CommandResponse>,
    /// To L2 and every L1, for reads.
    pub sources: NhiMaster,
    /// The same for writes.
    pub targets: NhiMaster,
    /// The addresses of writes to L1s.
    pub remap: Remap,
    /// To the host.
    pub host: HostPort,
}

/// Two engines, one to the host and one from it. Each executes its commands in order. Words of a command: 0 and 1 host
/// address, 2 NIC address, 3 length, 4 direction (1 is to the host).
///
/// Ports:    `commands` in, `responses` out, 1 a cycle each; a master on the NIC-host interconnect; a port to the host.
/// Timing:   for a command of 64 bytes that is seen in cycle c, with nothing else under way. To the host: NIC memory sees
///           the read in c + 5. The host sees the data 5 cycles after this unit does. The response leaves 3 cycles after
///           the host's response is seen: in c + 17 from L2, in c + 15 from L1. From the host: the host sees the read in
///           c + 6. NIC memory sees the data 5 cycles after this unit does. The response leaves 3 cycles after the
///           memory's response is seen: in c + 18 into L2, in c + 16 into L1. Each further beat takes a cycle.
/// Source:   PsPIN RTL a49fec8, `soc_dma_wrap.sv`, `hw/deps/axi/src/dma`.
/// Mistakes: `rtl_mistakes.empty_commands_hang`: a command of length 0 causes no response. Responses of an engine go to its commands in
///           order, so this command takes the response of the next one. `rtl_mistakes.unmapped_commands_succeed`: see [`crate::nhi`].
/// Differs:  without these mistakes, a command of length 0 or for unmapped NIC memory moves nothing, ends at once and is counted. The same
///           happens always to a command across the end of the host's address space, and with `reads_aligned` to a read whose host address
///           is not a multiple of 64, which FPsPIN does not support.
pub struct HostDma {
    fifo: usize,
    commands: Rx<Command>,
    responses: Tx<CommandResponse>,
    sources: NhiMaster,
    targets: NhiMaster,
    remap: Remap,
    host: HostPort,
    /// Reads must begin at host addresses that are multiples of a beat.
    reads_aligned: bool,
    trace: Tracer,
    to_host: ToHost,
    from_host: FromHost,
    /// The reshaper of the engine to the host, then that of the engine from the host.
    reshapers: [Reshaper; 2],
    empty_commands_hang: bool,
    /// Finished commands to the host, then those from the host, each with the first cycle for its response.
    ended: [VecDeque<(Cycle, CommandId)>; 2],
    turn: RoundRobinTree,
    n_commands: Counter,
    n_faults: Counter,
}

impl HostDma {
    /// A unit whose engines hold up to `fifo` commands each. `reads_aligned` refuses reads whose host address is not a multiple of a beat.
    pub fn new(fifo: u32, reads_aligned: bool, mistakes: RtlMistakes, ports: HostDmaPorts, trace: Tracer) -> Self {
        HostDma {
            fifo: fifo as usize,
            commands: ports.commands,
            responses: ports.responses,
            sources: ports.sources,
            targets: ports.targets,
            remap: ports.remap,
            host: ports.host,
            reads_aligned,
            trace,
            to_host: ToHost::new(mistakes.unaligned_host_writes),
            from_host: FromHost::default(),
            reshapers: Default::default(),
            empty_commands_hang: mistakes.empty_commands_hang,
            ended: Default::default(),
            turn: RoundRobinTree::default(),
            n_commands: Counter::default(),
            n_faults: Counter::default(),
        }
    }

    /// Returns true if a command is not done, or done without a response.
    fn has_commands(&self) -> bool {
        self.to_host.n_commands() + self.from_host.n_commands() > 0 || self.ended.iter().any(|ended| !ended.is_empty())
    }

    /// Responses of memory and host.
    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        let [to_host, from_host] = &mut self.ended;
        let at = now + WRITTEN_TO_RESPONSE;
        while let Some(reply) = self.targets.reply(now) {
            assert!(matches!(reply, BurstReply::Written { .. }), "nothing is read here");
            from_host.extend(self.from_host.written().map(|id| (at, id)));
            changed = true;
        }
        while self.host.written.take().is_some() {
            to_host.extend(self.to_host.written().map(|id| (at, id)));
            changed = true;
        }
        changed
    }

    fn take_command(&mut self, now: Cycle) -> bool {
        let Some(full) = self.commands.peek().map(|command| match command.writes_host() {
            true => self.to_host.n_commands() == self.fifo,
            false => self.from_host.n_commands() == self.fifo,
        }) else {
            return false;
        };
        if full {
            return false;
        }
        let command = self.commands.take().expect("a command waits");
        self.n_commands.add(1);
        let [low, high, nic, size, ..] = command.words;
        let host = u64::from(high) << 32 | u64::from(low);
        let fault = match self.sources.check(nic, size) {
            _ if size == 0 && self.empty_commands_hang => None,
            _ if size == 0 => Some((CommandFault::Length, u64::from(nic))),
            Err(undecoded) => Some((CommandFault::Address, undecoded.addr.into())),
            Ok(()) => {
                let is_misplaced = self.reads_aligned && !command.writes_host() && host % u64::from(BEAT_BYTES) != 0;
                let is_beyond = host.checked_add(u64::from(size - 1)).is_none();
                (is_misplaced || is_beyond).then_some((CommandFault::Address, host))
            }
        };
        if let Some((why, addr)) = fault {
            let (packet, target) = (command.packet.0, CommandTarget::HostDma as u64);
            self.trace.emit(&COMMAND_FAULT, now, &[packet, target, addr, size.into(), why as u64]);
            self.n_faults.add(1);
            self.ended[0].push_front((now, command.id));
            return true;
        }
        let to_host = command.writes_host();
        if size == 0 {
            self.reshapers[usize::from(!to_host)].take(now, 1);
            let open = if to_host { &mut self.to_host.open } else { &mut self.from_host.open };
            open.start_empty(command.id);
            return true;
        }
        let reshaper = &mut self.reshapers[usize::from(!to_host)];
        let start = reshaper.take(now, n_bursts(nic.into(), size).max(n_bursts(host, size))) + COMMAND_TO_BURST;
        let transfer = Transfer { id: command.id, nic, host, size, issuer: (&command).into(), start };
        match to_host {
            true => self.to_host.start(transfer),
            false => self.from_host.start(transfer),
        }
        true
    }

    /// Gives a response. The two engines take turns.
    fn respond(&mut self, now: Cycle) -> Activity {
        let Some(next) = self.ended.iter().filter_map(|ended| ended.front()).map(|&(at, _)| at).min() else {
            return Activity::Idle;
        };
        if now < next {
            return Activity::Until(next);
        }
        if !self.responses.has_room() {
            return Activity::Idle;
        }
        let asking = requests(2, |engine| self.ended[engine].front().is_some_and(|&(at, _)| at <= now));
        let engine = self.turn.take(asking).expect("a response is due") as usize;
        let (_, id) = self.ended[engine].pop_front().expect("just seen");
        self.responses.send(CommandResponse { id });
        Activity::Busy
    }
}

impl Component for HostDma {
    fn tick(&mut self, now: Cycle) -> Activity {
        if !self.has_commands() && !self.commands.is_due(now) {
            // Another channel of the remapper has changed.
            self.remap.passes();
            return Activity::Idle;
        }
        // Each stage sees the room from before the cycle. The path to NIC memory is an exception: it waits for answers
        // behind the unit's register, so the room that an answer frees is usable at once.
        self.to_host.begin();
        self.from_host.begin();
        let mut changed = self.to_host.send(&self.host);
        changed |= self.take_answers(now);
        let mut activity = self.from_host.send(now, &mut self.targets, &mut self.remap);
        changed |= self.to_host.shift(now, &mut self.sources);
        changed |= self.from_host.shift(&self.host);
        activity = earliest(activity, self.to_host.read(now, &mut self.sources));
        activity = earliest(activity, self.to_host.announce(now, &self.host));
        activity = earliest(activity, self.from_host.read(now, &self.host));
        changed |= self.take_command(now);
        activity = earliest(activity, busy_if(changed));
        activity = earliest(activity, earliest(self.sources.wake(now), self.targets.wake(now)));
        earliest(activity, self.respond(now))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("commands", &self.commands);
        ports.output("responses", &self.responses);
        self.sources.ports(ports);
        self.targets.ports(ports);
        self.remap.ports(ports);
        self.host.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("commands", self.n_commands.total());
        counters.add("faults", self.n_faults.total());
    }
}

#[cfg(test)]
mod tests;
