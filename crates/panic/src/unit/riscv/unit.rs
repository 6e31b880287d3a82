//! The unit: its memory, with one port shared by the core and the traffic manager, and the order of events within a cycle.

use super::bus::{Bus, Register, What};
use super::core::{Core, Spent, Trap, Wait};
use super::doorbell::{Doorbells, Packet, Written};
use super::params::{MEMORY_BASE, RiscvParams};
use super::trouble::{Cause, KEPT_TROUBLES, Program, Trouble};
use crate::drops::DropReason;
use crate::protocol::{Flit, Leg, n_flits};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Maximum number of cycles for which the core is simulated ahead while it has no interaction; a power of two.
const AHEAD: Cycle = 64;

/// Cause of a fault, for a debugger: the watchdog, which is not a RISC-V exception.
const WATCHDOG: u32 = 24;

/// Result of serving the core in a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Nothing,
    Register,
    Memory,
}

/// A packet that is being written into memory.
struct Incoming {
    packet: Packet,
    written: usize,
}

/// Properties of the surrounding NIC.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Width of a flit and of the memory port.
    pub flit_bytes: usize,
    /// The longest packet, in bytes.
    pub longest: usize,
    /// Number of services of the NIC.
    pub n_services: usize,
}

/// Runs a program on a RISC-V core with caches and local memory; doorbells pass packets to it.
///
/// Ports:   `input`, `output`: flits.
/// Timing:  the memory has one port, as wide as a flit, for one access a cycle: first the core, then incoming and outgoing
///          packets in turn. A packet is visible once its last bytes are in memory. An answer can leave from the cycle of its
///          doorbell on, with the bytes at the time they leave. See `core.rs` for the core.
/// Source:  4.4, Figure 6, 7.4.
/// Assumed: one memory port (a packet of 1500 bytes then takes 48 of its cycles, in and out, which is the published No-Touch
///          rate); reading the length of the next packet waits until there is one, instead of polling.
pub struct RiscvUnit {
    params: RiscvParams,
    flit_bytes: usize,
    longest: usize,
    input: Rx<Flit>,
    output: Tx<Flit>,
    program: Program,
    core: Core,
    bus: Bus,
    /// Port cycles used so far by the core's request at the port.
    beats: usize,
    doorbells: Doorbells,
    incoming: Option<Incoming>,
    /// Flits of the first answer that have left.
    n_sent: usize,
    /// If both directions request in the same cycle, the incoming one wins next time.
    is_in_turn: bool,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    packets: Counter,
    sent: Counter,
    dropped: Counter,
    instruction_fills: Counter,
    data_fills: Counter,
    stores: Counter,
    traps: Counter,
    watchdogs: Counter,
    bad_doorbells: Counter,
}

impl RiscvUnit {
    /// A unit at time 0. Parameters and image must have passed their checks.
    pub fn new(params: RiscvParams, program: Program, sizes: Sizes, input: Rx<Flit>, output: Tx<Flit>) -> RiscvUnit {
        let Sizes { flit_bytes, longest, n_services } = sizes;
        let checked =
            params.check().and_then(|()| params.check_longest(longest)).and_then(|()| program.image.check(&params));
        checked.unwrap_or_else(|error| panic!("the parameters must have passed their check: {error}"));
        *program.memory.borrow_mut() = program.image.memory(&params);
        RiscvUnit {
            flit_bytes,
            longest,
            input,
            output,
            core: Core::new(&params, program.image.entry, program.observed.clone()),
            bus: Bus::new(&params),
            beats: 0,
            doorbells: Doorbells::new(&params, longest, n_services),
            incoming: None,
            n_sent: 0,
            is_in_turn: true,
            counts: Counts::default(),
            program,
            params,
        }
    }

    /// Grants the core's oldest request if its cycle has come. Returns how the memory's port was used.
    fn serve_core(&mut self, now: Cycle) -> Served {
        let Some(&request) = self.bus.requests.front() else { return Served::Nothing };
        if request.due > now {
            return Served::Nothing;
        }
        let [memory, register, answer, refill] = [
            self.params.memory_cycles,
            self.params.register_cycles,
            self.params.answer_cycles,
            self.params.refill_cycles,
        ]
        .map(Cycle::from);
        let mut served = Served::Memory;
        match request.what {
            What::Instructions(addr) | What::Data(addr) => {
                let bytes = self.params.line_bytes as usize;
                self.beats += 1;
                if self.beats < bytes.div_ceil(self.flit_bytes) {
                    return served;
                }
                self.beats = 0;
                let at = (addr - MEMORY_BASE) as usize / bytes * bytes;
                let contents = self.program.memory.borrow();
                let line = &contents[at..at + bytes];
                if matches!(request.what, What::Data(_)) {
                    self.counts.data_fills.add(1);
                    self.core.data_cache.fill(addr, line);
                } else {
                    self.counts.instruction_fills.add(1);
                    self.core.instructions_cache.fill(addr, line);
                }
                self.core.restart(now + memory + answer + refill);
            }
            What::Store { addr, value, bytes } => {
                let at = (addr - MEMORY_BASE) as usize;
                let (word, bytes) = (value.to_le_bytes(), bytes as usize);
                self.program.memory.borrow_mut()[at..at + bytes].copy_from_slice(&word[..bytes]);
                self.counts.stores.add(1);
            }
            What::Read(which) => {
                let Some(value) = self.doorbells.read(which) else { return Served::Nothing };
                served = Served::Register;
                let Wait::Register { rd, .. } = self.core.wait else {
                    panic!("the core must be waiting for a register")
                };
                self.core.answer(rd, now + register + answer, value);
                if which == Register::InLength {
                    self.core.take_packet();
                    self.doorbells.take_packet(now);
                }
            }
            What::Write(which, value) => {
                served = Served::Register;
                match self.doorbells.write(now, which, value) {
                    Written::Kept => {}
                    Written::Answered => self.core.let_packet_go(now),
                    Written::Wrong(cause) => {
                        self.counts.bad_doorbells.add(1);
                        let is_at_hand = self.doorbells.is_at_hand;
                        let packet =
                            if is_at_hand { self.doorbells.drop_packet(now, DropReason::BadDoorbell) } else { None };
                        self.core.let_packet_go(now);
                        self.record_trouble(now, cause, packet, request.pc);
                    }
                }
            }
        }
        self.bus.requests.pop_front();
        match self.core.wait {
            Wait::Room => self.core.restart(now + 1),
            Wait::Stores if self.bus.requests.is_empty() => self.core.restart(now + 1),
            _ => {}
        }
        served
    }

    /// Runs the core until it needs the unit, and handles that. Returns true if the core made progress.
    fn run_core(&mut self, now: Cycle) -> bool {
        self.core.run(&mut self.bus, horizon(now));
        if !self.bus.requests.is_empty() {
            return false; // Earlier requests come first.
        }
        if let Wait::Trap(trap) = self.core.wait
            && self.core.time <= now
        {
            self.trap(now, trap);
        } else if self.core.is_late() && self.core.deadline <= now {
            self.counts.watchdogs.add(1);
            self.core.report_fault(WATCHDOG, 0);
            self.reset(now, Cause::Watchdog, self.core.pc, DropReason::Watchdog);
        } else {
            return false;
        }
        true
    }

    /// Drops the current packet and enters the program's trap handler. Without a handler, or if the handler trapped, restarts
    /// the program.
    fn trap(&mut self, now: Cycle, trap: Trap) {
        self.counts.traps.add(1);
        let cause = Cause::Trap { cause: trap.cause, value: trap.value };
        if !self.core.enter_trap(trap) {
            return self.reset(now, cause, trap.pc, DropReason::Trap);
        }
        let packet = if self.doorbells.is_at_hand { self.doorbells.drop_packet(now, DropReason::Trap) } else { None };
        self.record_trouble(now, cause, packet, trap.pc);
    }

    /// Restarts the program when a packet arrives; drops the current packet.
    fn reset(&mut self, now: Cycle, cause: Cause, pc: u32, reason: DropReason) {
        let packet = self.doorbells.drop_packet(now, reason);
        self.record_trouble(now, cause, packet, pc);
        self.core.reset(now + 1, self.program.image.entry);
        if self.doorbells.packets.is_empty() {
            self.core.wait = Wait::Packet;
        }
    }

    fn record_trouble(&mut self, at: Cycle, cause: Cause, packet: Option<u64>, pc: u32) {
        let mut troubles = self.program.troubles.borrow_mut();
        if troubles.len() < KEPT_TROUBLES {
            let symbol = self.program.image.symbol_at(pc).map(|(name, distance)| (name.to_owned(), distance));
            troubles.push(Trouble { at, packet, cause, pc, symbol });
        }
    }

    /// Takes a flit if possible. Returns true if it did.
    fn receive(&mut self, now: Cycle) -> bool {
        let Some(mut incoming) = self.incoming.take() else {
            if !self.input.has_item() {
                return false;
            }
            let Some(slot) = self.doorbells.take_slot() else { return false };
            let Some(Flit::Head(message)) = self.input.take() else {
                panic!("a message must begin with its descriptor")
            };
            assert!(message.data.len() <= self.longest, "no packet may exceed the longest");
            self.incoming = Some(Incoming { packet: Packet { slot, message }, written: 0 });
            return true;
        };
        let flit = self.input.take().expect("a flit must be there");
        let data = &incoming.packet.message.data;
        let end = if flit == Flit::Tail { data.len() } else { (incoming.written + self.flit_bytes).min(data.len()) };
        let at = self.doorbells.place(incoming.packet.slot);
        self.program.memory.borrow_mut()[at + incoming.written..at + end].copy_from_slice(&data[incoming.written..end]);
        incoming.written = end;
        if flit == Flit::Tail {
            self.counts.packets.add(1);
            self.doorbells.packets.push_back(incoming.packet);
            if self.core.wait == Wait::Packet {
                self.core.restart(now + 1);
            }
        } else {
            self.incoming = Some(incoming);
        }
        true
    }

    /// Sends a flit of the first answer; there must be an answer and room.
    fn send(&mut self) {
        let answer = self.doorbells.answers.front_mut().expect("an answer must be there");
        self.n_sent += 1;
        if self.n_sent == 1 {
            answer.packet.message.data = self.program.memory.borrow()[answer.at..answer.at + answer.len].to_vec();
            // Only the slot of the packet is still needed here.
            let message = answer.packet.message.clone();
            return self.output.send(Flit::Head(message));
        }
        if self.n_sent < n_flits(answer.len, self.flit_bytes) {
            return self.output.send(Flit::Body);
        }
        self.output.send(Flit::Tail);
        let is_dropped = matches!(answer.packet.message.leg, Leg::Dropped(_));
        if is_dropped { &mut self.counts.dropped } else { &mut self.counts.sent }.add(1);
        let slot = answer.packet.slot;
        self.doorbells.answers.pop_front();
        self.doorbells.free_slot(slot);
        self.n_sent = 0;
    }

    /// Moves packets in and out; data uses the memory's port, descriptors do not. Returns true if a flit moved.
    fn move_packets(&mut self, now: Cycle, port_is_free: bool) -> bool {
        let wants_in = self.input.has_item() && (self.incoming.is_some() || self.doorbells.has_slot());
        let wants_out = !self.doorbells.answers.is_empty() && self.output.has_room();
        let (in_takes_port, out_takes_port) = (self.incoming.is_some(), self.n_sent > 0);
        let both = wants_in && wants_out && in_takes_port && out_takes_port;
        let goes_in = wants_in && (!in_takes_port || port_is_free && (!both || self.is_in_turn));
        let goes_out = wants_out && (!out_takes_port || port_is_free && (!both || !self.is_in_turn));
        if both && port_is_free {
            self.is_in_turn = !self.is_in_turn;
        }
        if goes_out {
            self.send();
        }
        goes_in && self.receive(now) || goes_out
    }

    /// The next cycle with work if no port changes.
    fn next_event(&self, now: Cycle) -> Activity {
        let request = self.bus.requests.front().map(|request| request.due).filter(|&due| due > now);
        let core = match self.core.wait {
            Wait::Nothing if self.core.is_late() => Some(self.core.deadline).filter(|&at| at > now),
            Wait::Nothing => Some(horizon(now)),
            Wait::Trap(_) => Some(self.core.time).filter(|&at| at > now),
            _ => None,
        };
        match request.into_iter().chain(core).min() {
            Some(at) => Activity::Until(at),
            None => Activity::Idle,
        }
    }
}

/// The cycle up to which the core is simulated in cycle `now`.
fn horizon(now: Cycle) -> Cycle {
    (now | (AHEAD - 1)) + 1
}

impl Component for RiscvUnit {
    fn tick(&mut self, now: Cycle) -> Activity {
        let served = self.serve_core(now);
        let has_moved = self.move_packets(now, served != Served::Memory);
        let has_attended = self.run_core(now);
        if let Some(debug) = &mut self.program.observed.borrow_mut().debug {
            let packet = self.doorbells.packets.front().filter(|_| self.doorbells.is_at_hand);
            debug.end_cycle(&self.bus, packet.map(|packet| packet.message.descriptor.id));
        }
        if served != Served::Nothing || has_moved || has_attended {
            return Activity::Busy;
        }
        self.next_event(now)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("in", &self.input);
        ports.output("out", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        for (name, cycles) in Spent::NAMES.into_iter().zip(self.core.spent) {
            counters.add(&format!("cycles.{name}"), cycles);
        }
        let [_, _, flush, compute] = self.core.spent;
        counters.busy("busy_cycles", flush + compute, 1, "one packet at a time");
        counters.add("instructions", self.core.instructions);
        let Counts { packets, sent, dropped, instruction_fills, data_fills, stores, traps, watchdogs, bad_doorbells } =
            &self.counts;
        for (name, counter) in [
            ("packets", packets),
            ("sent", sent),
            ("dropped", dropped),
            ("fills.instructions", instruction_fills),
            ("fills.data", data_fills),
            ("stores", stores),
            ("traps", traps),
            ("watchdogs", watchdogs),
            ("bad_doorbells", bad_doorbells),
        ] {
            counters.add(name, counter.total());
        }
    }
}
