//! A bench: a core between memories of a given latency.

use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder};
use blocks::memory::Links;
use blocks::mips::{
    AddressRange, CpuControl, CpuStatus, LockKind, Locks, MipsCore, MipsCoreParams, MipsCorePorts, PipelineKind,
    Profile, StoreKind,
};
use blocks::netlist::Module;
use blocks::profile::Counts;
use kernel::{Activity, Component, Cycle, Ports};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use testkit::mips::text::assemble;
use testkit::{Bench, Log, bench};

/// Address of the scratchpad.
pub const SCRATCHPAD: u32 = 0x00c0_0000;
/// Address of the memory with code.
pub const CODE: u32 = 0x4000;
/// Address of the registers.
pub const REGISTERS: u32 = 0xc000_0000;

/// Lock registers: loads of the first return 1, 1, then 0; loads of the second 0, 0, then 1.
pub const TAKEN_TWICE: u32 = 0x110;
pub const ASKED_TWICE: u32 = 0x210;

/// A core with its program and its surroundings.
pub struct Scene {
    pub params: MipsCoreParams,
    /// Program text, assembled at the core's first address.
    pub program: String,
    /// Cycles from a load to its answer at each port.
    pub memory_cycles: u64,
    pub register_cycles: u64,
    pub fetch_cycles: u64,
    /// Minimum cycles between references to memory.
    pub memory_gap: u64,
    /// Orders to the core, with their cycles.
    pub orders: Vec<(Cycle, CpuControl)>,
    /// Names of the counters to log.
    pub counters: &'static [&'static str],
    /// True to log references.
    pub shows_references: bool,
    /// Code range to profile.
    pub profile: Option<(u32, u32)>,
}

/// A five-stage core that runs a program from its scratchpad, with memories of one cycle.
pub fn scene(program: &str) -> Scene {
    Scene {
        params: MipsCoreParams {
            pipeline: PipelineKind::FiveStage,
            reset_pc: SCRATCHPAD,
            runs_at_start: true,
            scratchpad: Some(AddressRange { base: SCRATCHPAD, bytes: 0x4000 }),
            instruction_cache: None,
            registers: Some(AddressRange { base: REGISTERS, bytes: 0x400 }),
            locks: Some(Locks {
                window: AddressRange { base: REGISTERS + 0x100, bytes: 0x80 },
                kind: LockKind::LoadTakes,
            }),
            stack_window: Some(AddressRange { base: 0x00b0_0000, bytes: 0x10_0000 }),
            memory_cycles: 2,
            register_cycles: 2,
            stores: StoreKind::Posted,
            multiply_cycles: 10,
            divide_cycles: 69,
        },
        program: program.to_owned(),
        memory_cycles: 2,
        register_cycles: 2,
        fetch_cycles: 2,
        memory_gap: 1,
        orders: Vec::new(),
        counters: &["cycles"],
        shows_references: false,
        profile: None,
    }
}

impl Scene {
    /// The log, a line of counters, and why the core stopped, with its registers a0 to a3.
    pub fn run(&self) -> String {
        self.params.check().expect("the parameters are right");
        let last = Rc::new(RefCell::new(String::new()));
        let log = bench(100_000, |b| {
            b.log_counters();
            *last.borrow_mut() = String::new();
            self.build(b, &last);
        });
        let is_counter = |line: &&str| line.starts_with("cpu.");
        let mut text: String = log.lines().filter(|line| !is_counter(line)).map(|line| format!("{line}\n")).collect();
        let counters: Vec<_> = log.lines().filter(is_counter).filter_map(|line| line.strip_prefix("cpu.")).collect();
        for group in self.counters {
            let of =
                counters.iter().filter_map(|line| line.strip_prefix(group)).map(|line| line.trim_matches(['.', ' ']));
            text += &(of.collect::<Vec<_>>().join(", ") + "\n");
        }
        text + &last.borrow()
    }

    fn build(&self, b: &mut Bench, last: &Rc<RefCell<String>>) {
        let mut words: Vec<(u32, u32)> =
            (self.params.reset_pc..).step_by(4).zip(assemble(self.params.reset_pc, &self.program)).collect();
        let port = |b: &mut Bench, name: &str, cycles, gap, bytes: &Rc<RefCell<BTreeMap<u32, u8>>>| {
            let (references, requests) = b.channel(&format!("{name}.references"), 2, 1);
            let (answers, replies) = b.channel(&format!("{name}.replies"), 4, 1);
            let log = self.shows_references.then(|| b.log.clone());
            let responder = Responder { references: requests, replies: answers };
            let bytes = bytes.clone();
            b.add(
                name,
                Flat {
                    name: name.to_owned(),
                    responder,
                    cycles,
                    gap,
                    free: 0,
                    bytes,
                    links: Links::default(),
                    locks_read: 0,
                    log,
                },
            );
            Requester { references, replies }
        };
        let image: BTreeMap<u32, u8> =
            words.iter().flat_map(|&(addr, word)| (addr..).zip(word.to_be_bytes())).collect();
        // One memory, with one port for data and one for instructions.
        let (image, none) = (Rc::new(RefCell::new(image)), Rc::default());
        let memory = port(b, "memory", self.memory_cycles, self.memory_gap, &image);
        let fetch = self.params.instruction_cache.map(|_| port(b, "fetch", self.fetch_cycles, 1, &image));
        let registers = self.params.registers.map(|_| port(b, "registers", self.register_cycles, 1, &none));
        let (control, status) = if self.orders.is_empty() {
            (None, None)
        } else {
            let show = |status: &CpuStatus| {
                let a0 = status.registers.as_ref().map(|r| format!(", a0 is {}", r[4]));
                let how = if status.is_halted { "halted" } else { "runs" };
                format!("{how} at {:x}{}", status.pc, a0.unwrap_or_default())
            };
            (Some(b.input("control", 2, self.orders.clone())), Some(b.output("status", 2, |_| true, show)))
        };
        let ports = MipsCorePorts { memory, fetch, registers, control, status };
        let mut core = MipsCore::new(self.params.clone(), ports, b.tracer("cpu"));
        words.retain(|&(addr, word)| core.load_scratchpad(addr, word));
        if let Some(range) = self.profile {
            core.set_profile(Profile::new([range]));
        }
        let core = Rc::new(RefCell::new(core));
        b.add("cpu", core.clone());
        b.add("witness", Witness { core, last: last.clone() });
    }
}

/// Records how the core ended. It looks at every cycle until then; it is not part of the machine.
struct Witness {
    core: Rc<RefCell<MipsCore>>,
    last: Rc<RefCell<String>>,
}

impl Component for Witness {
    fn tick(&mut self, now: Cycle) -> Activity {
        let core = self.core.borrow();
        let [a0, a1, a2, a3] = [4, 5, 6, 7].map(|r| core.registers()[r]);
        let end = match core.fault() {
            Some(fault) => format!("{} at {:x}: {:x}", fault.cause.text(), fault.pc, fault.value),
            None => format!("at {:x}", core.pc()),
        };
        let profile: String = core.profile().map(lines).unwrap_or_default();
        let profile = match core.profile().map(Profile::lock_attempts) {
            Some((attempts, failed)) if attempts > 0 => format!("{profile}{attempts} attempts, {failed} failed\n"),
            _ => profile,
        };
        *self.last.borrow_mut() = format!("{profile}{end}; a0-a3 {a0:x} {a1:x} {a2:x} {a3:x}\n");
        if now > 600 { Activity::Idle } else { Activity::Busy }
    }

    fn ports(&self, _ports: &mut Ports) {}
}

/// A line for each instruction: executions, cycles, and cycles on locks.
fn lines(profile: &Profile) -> String {
    let locks: BTreeMap<u32, u64> = profile.locks().rows().map(|(pc, counts)| (pc, counts.cycles())).collect();
    let on_locks = |pc| locks.get(&pc).map_or(String::new(), |cycles| format!(", {cycles} of them on locks"));
    let line = |(pc, counts): (u32, Counts<'_>)| {
        format!("{pc:x} {} in {}{}\n", counts.executed, counts.cycles(), on_locks(pc))
    };
    profile.code().rows().map(line).collect()
}

/// A memory that answers a given number of cycles after a request. Only registers are above 16 MiB.
struct Flat {
    name: String,
    responder: Responder,
    cycles: u64,
    gap: u64,
    free: Cycle,
    bytes: Rc<RefCell<BTreeMap<u32, u8>>>,
    links: Links,
    locks_read: u32,
    log: Option<Log>,
}

impl Component for Flat {
    fn tick(&mut self, now: Cycle) -> Activity {
        if !self.responder.references.has_item() {
            return Activity::Idle;
        }
        if now < self.free {
            return Activity::Until(self.free);
        }
        if !self.responder.replies.has_room() {
            return Activity::Idle;
        }
        // A reference that comes too early waits for an earlier one.
        let late = now - self.responder.references.due();
        let Reference { id, addr, access } = self.responder.references.take().expect("it is there");
        self.free = now + self.gap;
        if let Some(log) = &self.log {
            let what = match &access {
                Access::Read(bytes) => format!("read {bytes}"),
                Access::Write(data) => format!("write {:02x?}", data.as_slice()),
                Access::Linked(link) => format!("{link:?}"),
            };
            log.note(now, format!("{} {addr:x} {what}", self.name));
        }
        let first = addr as u32;
        let result = match access {
            _ if (0x0100_0000..REGISTERS).contains(&first) => Err(BusError::Nowhere(addr)),
            // Another core has these locks for the first two requests.
            Access::Read(4) if [TAKEN_TWICE, ASKED_TWICE].contains(&first) => {
                self.locks_read += 1;
                let is_free = self.locks_read > 2;
                Ok(Data::from_slice(&u32::from(is_free == (first == ASKED_TWICE)).to_be_bytes()))
            }
            Access::Read(n) => {
                let bytes = self.bytes.borrow();
                Ok((first..first + n).map(|addr| bytes.get(&addr).copied().unwrap_or(0)).collect())
            }
            Access::Write(data) => {
                self.links.written(addr, data.len() as u32);
                self.bytes.borrow_mut().extend((first..).zip(data));
                Ok(Data::new())
            }
            Access::Linked(link) => {
                let mut bytes = self.bytes.borrow_mut();
                let word: Vec<u8> = (first..first + 4).map(|addr| bytes.get(&addr).copied().unwrap_or(0)).collect();
                self.links.serve(link, addr, &word).map(|(reply, written)| {
                    bytes.extend((first..).zip(written.into_iter().flatten()));
                    reply
                })
            }
        };
        // The channels take one cycle each way.
        let reply = Reply::new(id, result).having_waited(self.responder.span(now - late, now));
        self.responder.replies.send_late(reply, self.cycles - 2);
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.responder.port("port", ports);
    }
}
