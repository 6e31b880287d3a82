//! Cores over scratchpad banks and registers: the direct connection gives the same times as channels.

use super::bench::{REGISTERS, SCRATCHPAD, scene};
use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder, word};
use blocks::bus::{WordAccess, WordAnswer, WordLane, WordOp};
use blocks::memory::{ScratchpadBanks, ScratchpadBanksParams, ScratchpadBanksPorts};
use blocks::mips::{AddressRange, MipsCore, MipsCoreParams, MipsCorePorts, PipelineKind, StoreKind};
use blocks::policy::Policy;
use kernel::{Activity, Component, Cycle, Ports, Time};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use testkit::mips::text::assemble;
use testkit::{Bench, Log, bench};

/// Cycle in which the states are compared.
const END: Cycle = 8000;
/// Bytes of the banks.
const BYTES: u32 = 256;

/// A program that loops over `body`.
fn program(body: &[String]) -> String {
    let body = body.join(" \n ");
    format!(
        "lui gp, 49152 \n addiu s0, zero, 7 \n loop: \n addiu s0, s0, -1 \n {body} \n bgtz s0, loop \n nop \n sync \n break 0"
    )
}

fn instruction() -> impl Strategy<Value = String> {
    let register = || prop::sample::select(vec!["a0", "a1", "a2", "a3"]);
    let word = || (0..4u32).prop_map(|word| 4 * word);
    // Addresses of at least 0x100 are outside the banks.
    let addr = || prop_oneof![12 => (0..24u32).prop_map(|word| 4 * word), 1 => (64..66u32).prop_map(|word| 4 * word)];
    prop_oneof![
        4 => (register(), addr()).prop_map(|(r, addr)| format!("lw {r}, {addr}(zero)")),
        4 => (register(), addr()).prop_map(|(r, addr)| format!("sw {r}, {addr}(zero)")),
        1 => (register(), addr(), 0..4u32).prop_map(|(r, addr, byte)| format!("lbu {r}, {}(zero)", addr + byte)),
        1 => (register(), addr(), 0..4u32).prop_map(|(r, addr, byte)| format!("sb {r}, {}(zero)", addr + byte)),
        1 => (register(), addr()).prop_map(|(r, addr)| format!("ll {r}, {addr}(zero)")),
        1 => (register(), addr()).prop_map(|(r, addr)| format!("sc {r}, {addr}(zero)")),
        2 => (register(), word()).prop_map(|(r, addr)| format!("lw {r}, {addr}(gp)")),
        2 => (register(), word()).prop_map(|(r, addr)| format!("sw {r}, {addr}(gp)")),
        4 => (register(), register()).prop_map(|(a, b)| format!("addu {a}, {a}, {b}")),
        1 => (register(), 1..99).prop_map(|(r, n)| format!("addiu {r}, {r}, {n}")),
    ]
}

/// Cores and banks.
#[derive(Clone, Debug)]
struct Machine {
    programs: Vec<Vec<String>>,
    pipeline: PipelineKind,
    stores: StoreKind,
    memory_cycles: u32,
    banks: u32,
    /// An onward port, which refuses everything after 5 cycles, instead of none.
    has_onward: bool,
}

fn machine() -> impl Strategy<Value = Machine> {
    let programs = prop::collection::vec(prop::collection::vec(instruction(), 3..20), 1..4);
    let pipeline = prop::sample::select(vec![PipelineKind::FiveStage, PipelineKind::Functional]);
    let stores = prop::sample::select(vec![StoreKind::Posted, StoreKind::Held]);
    let banks = prop::sample::select(vec![1, 2, 8]);
    (programs, pipeline, stores, 2..5u32, banks, any::<bool>()).prop_map(
        |(programs, pipeline, stores, memory_cycles, banks, has_onward)| Machine {
            programs,
            pipeline,
            stores,
            memory_cycles,
            banks,
            has_onward,
        },
    )
}

impl Machine {
    /// All counters, and the states of the cores. Cores with a window of stacks use no lane.
    fn run(&self, uses_lanes: bool) -> String {
        let stack_window = (!uses_lanes).then_some(AddressRange { base: 0x00b0_0000, bytes: 0x1000 });
        let of_scene = scene("").params;
        let params = MipsCoreParams {
            pipeline: self.pipeline,
            stores: self.stores,
            memory_cycles: self.memory_cycles,
            stack_window,
            registers: Some(AddressRange { base: REGISTERS, bytes: 0x400 }),
            locks: None,
            ..of_scene
        };
        bench(END + 100, |b| {
            b.log_counters();
            let (mut requesters, mut registers) = (Vec::new(), Registers::default());
            for (i, body) in self.programs.iter().enumerate() {
                let (memory, responder) = connection(b, &format!("cpu{i}.memory"));
                requesters.push(responder);
                let (own_registers, responder) = connection(b, &format!("cpu{i}.registers"));
                registers.connect(responder, uses_lanes);
                let registers = Some(own_registers);
                let ports = MipsCorePorts { memory, fetch: None, registers, control: None, status: None };
                let name = format!("cpu{i}");
                let mut core = MipsCore::new(params.clone(), ports, b.tracer(&name));
                for (addr, word) in (SCRATCHPAD..).step_by(4).zip(assemble(SCRATCHPAD, &program(body))) {
                    core.load_scratchpad(addr, word);
                }
                let core = Rc::new(RefCell::new(core));
                b.add(&name, core.clone());
                let log = b.log.clone();
                b.add(&format!("witness{i}"), Witness { core, log });
            }
            b.add("registers", registers);
            let params = ScratchpadBanksParams {
                requesters: requesters.len(),
                banks: self.banks,
                word_bytes: 4,
                base: 0,
                bytes: BYTES,
                reference_bytes: 16,
                outstanding: 2,
                policy: Policy::RoundRobin {},
            };
            let onward = self.has_onward.then(|| {
                let (requester, responder) = connection(b, "onward");
                b.add("refuser", Refuser(responder));
                requester
            });
            b.add("banks", ScratchpadBanks::new(params, ScratchpadBanksPorts { requesters, onward }));
        })
    }
}

fn connection(b: &mut Bench, name: &str) -> (Requester, Responder) {
    let (references, requests) = b.channel(&format!("{name}.references"), 4, 1);
    let (answers, replies) = b.channel(&format!("{name}.replies"), 4, 1);
    (Requester { references, replies }, Responder { references: requests, replies: answers })
}

/// Four words, with an access a cycle at each port.
#[derive(Default)]
struct Registers {
    ports: Vec<(Responder, Rc<WordLane>)>,
    arrivals: Rc<Cell<u64>>,
    words: [u32; 4],
}

impl Registers {
    fn connect(&mut self, port: Responder, has_lane: bool) {
        let lane = Rc::new(WordLane::new(0, 16, &self.arrivals, 1 << self.ports.len()).of_whole_words());
        if has_lane {
            port.references.offer(lane.clone());
        }
        self.ports.push((port, lane));
    }
}

impl Component for Registers {
    fn tick(&mut self, now: Cycle) -> Activity {
        let Registers { ports, words, .. } = self;
        let mut serve = |addr: u64, data: Option<u32>| {
            let place = &mut words[addr as usize / 4];
            let before = *place;
            *place = data.unwrap_or(before);
            before
        };
        for (port, lane) in ports.iter() {
            if let Some(WordAccess { addr, op, .. }) = lane.take(now) {
                let written = if let WordOp::Write { data, .. } = op { Some(word(&data)) } else { None };
                let result = Ok((serve(addr, written), 0));
                if lane.answer(WordAnswer { at: now + 1, result, waited: Time::ZERO }, written.is_some()) {
                    port.replies.wake_receiver(now + 1);
                }
            } else if let Some(Reference { id, addr, access }) = port.references.take() {
                let written = if let Access::Write(data) = &access { Some(word(data)) } else { None };
                let data = serve(addr, written).to_be_bytes();
                let data = if written.is_some() { Data::new() } else { Data::from_slice(&data) };
                port.replies.send(Reply::new(id, Ok(data)));
            }
        }
        let is_due = |(port, lane): &(Responder, Rc<WordLane>)| lane.due().min(port.references.due()) <= now + 1;
        if self.ports.iter().any(is_due) { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, (port, _)) in self.ports.iter().enumerate() {
            port.port(&format!("cpus[{i}]"), ports);
        }
    }
}

/// Refuses all references.
struct Refuser(Responder);

impl Component for Refuser {
    fn tick(&mut self, _now: Cycle) -> Activity {
        while self.0.replies.has_room()
            && let Some(reference) = self.0.references.take()
        {
            self.0.replies.send_late(Reply::new(reference.id, Err(BusError::Nowhere(reference.addr))), 5);
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        self.0.port("port", ports);
    }
}

/// Logs the state of a core at the end.
struct Witness {
    core: Rc<RefCell<MipsCore>>,
    log: Log,
}

impl Component for Witness {
    fn tick(&mut self, now: Cycle) -> Activity {
        if now == END {
            let core = self.core.borrow();
            self.log.note(now, format!("{:?} {:x} {:x?}", core.fault(), core.pc(), core.registers()));
        }
        if now < END { Activity::Until(END) } else { Activity::Idle }
    }

    fn ports(&self, _ports: &mut Ports) {}
}

proptest! {
    #[test]
    fn a_lane_has_the_times_of_channels(machine in machine()) {
        prop_assert_eq!(machine.run(true), machine.run(false));
    }
}

#[test]
fn cores_end_with_the_result_of_their_program() {
    let body = ["lw a0, 0(zero)", "addiu a0, a0, 3", "sw a0, 0(zero)"].map(str::to_owned);
    let machine = Machine {
        programs: vec![body.into()],
        pipeline: PipelineKind::FiveStage,
        stores: StoreKind::Posted,
        memory_cycles: 3,
        banks: 2,
        has_onward: false,
    };
    let log = machine.run(true);
    assert!(log.contains("Breakpoint") && log.contains(", 15, "), "{log}");
}
