//! The timed core with memories of random latency and the system calls of the random programs. Time must not change the
//! results of a program.

use blocks::bus::{Access, Data, Reference, Reply, Requester, Responder};
use blocks::memory::Links;
use blocks::mips::{
    AddressRange, Cause, CpuControl, Cycles, InstructionCacheParams, MipsCore, MipsCoreParams, MipsCorePorts,
    PipelineKind, StoreKind,
};
use kernel::{Activity, Component, Cycle, Freq, Mode, Outcome as Ending, Ports, RandomStream, SystemBuilder, Time};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::linked::Outcome;
use testkit::mips::program::{Batch, SYS_EXIT, SYS_WRITE};

/// Final state of a core, and its cycle accounting.
pub struct Run {
    pub outcomes: Vec<Outcome>,
    pub cycles: Cycles,
}

/// Runs `programs`. Returns the position and cause of a failure.
pub fn run_core(
    programs: &Batch,
    pipeline: PipelineKind,
    stores: StoreKind,
    mode: Mode,
    n_cycles: u64,
) -> Result<Run, String> {
    let mut builder = SystemBuilder::new(1);
    let clock = builder.clock(Freq::mhz(1000).expect("1 GHz is a frequency"));
    let mut port = |name: &str| {
        let (references, requests) = builder.channel(&format!("{name}.references"), 2, 1);
        let (answers, replies) = builder.channel(&format!("{name}.replies"), 2, 1);
        (Requester { references, replies }, Responder { references: requests, replies: answers })
    };
    let ((memory, data), (fetch, code)) = (port("data"), port("code"));
    let (orders, control) = builder.inlet("orders", clock);
    let ports = MipsCorePorts { memory, fetch: Some(fetch), registers: None, control: Some(control), status: None };
    let core = MipsCore::new(params(programs, pipeline, stores), ports, builder.tracer("cpu", clock));
    let core = Rc::new(RefCell::new(core));
    builder.add("cpu", clock, core.clone());
    let mut bytes = programs.image.clone();
    bytes.resize(bytes.len().next_multiple_of(64), 0); // Complete lines.
    let memory = Memory {
        ports: [data, code],
        base: programs.base,
        bytes,
        links: Links::default(),
        free: [0; 2],
        draws: RandomStream::new(1, "memory"),
    };
    let memory = Rc::new(RefCell::new(memory));
    builder.add("memory", clock, memory.clone());
    let mut system = builder.build().map_err(|error| error.to_string())?;
    system.set_mode(mode);

    let mut output = Vec::new();
    let mut start = 1;
    loop {
        orders.send_at(start, CpuControl::Run);
        if system.run_until(Time::from_ns(n_cycles)) != Ending::Quiet {
            return Err(format!("still running after {n_cycles} cycles, at {:#x}", core.borrow().pc()));
        }
        let core = core.borrow();
        let fault = core.fault().ok_or("the core stopped without a reason")?;
        let r = core.registers();
        match (fault.cause, r[2]) {
            (Cause::Syscall, SYS_WRITE) => {
                let from = (r[5] - programs.base) as usize;
                output.extend_from_slice(&memory.borrow().bytes[from..from + r[6] as usize]);
            }
            (Cause::Syscall, SYS_EXIT) => return Ok(Run { outcomes: Batch::outcomes(&output), cycles: core.cycles() }),
            _ => return Err(format!("{fault:x?}")),
        }
        start = system.now(clock) + 1;
        orders.send_at(start, CpuControl::SetPc(fault.pc + 4));
    }
}

fn params(programs: &Batch, pipeline: PipelineKind, stores: StoreKind) -> MipsCoreParams {
    MipsCoreParams {
        pipeline,
        reset_pc: programs.base,
        runs_at_start: false,
        scratchpad: None,
        instruction_cache: Some(InstructionCacheParams {
            bytes: 512,
            line_bytes: 64,
            ways: 2,
            drops_stored_lines: false,
        }),
        registers: None,
        locks: None,
        stack_window: Some(AddressRange { base: 0xf000_0000, bytes: 4 }),
        memory_cycles: 2,
        register_cycles: 2,
        stores,
        multiply_cycles: 10,
        divide_cycles: 69,
    }
}

/// Answers in order, one to six cycles after it accepted a reference.
struct Memory {
    ports: [Responder; 2],
    base: u32,
    bytes: Vec<u8>,
    links: Links,
    free: [Cycle; 2],
    draws: RandomStream,
}

impl Component for Memory {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut is_busy = false;
        for (port, free) in self.ports.iter().zip(&mut self.free) {
            if now < *free {
                is_busy = true;
                continue;
            }
            if !port.references.has_item() || !port.replies.has_room() {
                continue;
            }
            let Reference { id, addr, access } = port.references.take().expect("the port has a reference");
            let place = (addr as u32 - self.base) as usize;
            let data = match access {
                Access::Read(n) => Data::from_slice(&self.bytes[place..place + n as usize]),
                Access::Write(data) => {
                    self.bytes[place..place + data.len()].copy_from_slice(&data);
                    self.links.written(addr, data.len() as u32);
                    Data::new()
                }
                Access::Linked(link) => {
                    let word = &mut self.bytes[place..place + 4];
                    let (reply, written) = self.links.serve(link, addr, word).expect("words are aligned");
                    written.iter().for_each(|bytes| word.copy_from_slice(bytes));
                    reply
                }
            };
            let late = self.draws.below(6);
            port.replies.send_late(Reply::new(id, Ok(data)), late);
            *free = now + 1 + self.draws.below(3);
            is_busy = true;
        }
        if is_busy { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (name, port) in ["data", "code"].into_iter().zip(&self.ports) {
            port.port(name, ports);
        }
    }
}
