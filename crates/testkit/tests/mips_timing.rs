//! Compares the time of the five-stage core with a pipeline model that is stepped cycle by cycle, on random programs in
//! the scratchpad.
//!
//! The core computes the cycle of each instruction from those of earlier instructions. The pipeline model only moves
//! instructions from stage to stage, under the rules of the thesis's Figure 3.3. Both must take the same number of
//! cycles.

use blocks::bus::{Requester, Responder};
use blocks::mips::{AddressRange, Cause, MipsCore, MipsCoreParams, MipsCorePorts, PipelineKind, StoreKind};
use isa::mips::{Class, Inst, decode};
use kernel::{Activity, Component, Cycle, Freq, Outcome, Ports, SystemBuilder, Time};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::mips::plain::PlainMips;
use testkit::mips::program::Batch;

const MULTIPLY_CYCLES: u64 = 10;
const DIVIDE_CYCLES: u64 = 69;

#[test]
fn the_core_takes_as_many_cycles_as_a_stepped_pipeline() {
    for seed in 1..=150 {
        let batch = Batch::new(seed..seed + 1, 100);
        assert_eq!(core_cycles(&batch), stepped_cycles(&trace(&batch)), "seed {seed}");
    }
}

/// Instructions in the pipeline up to the first system call; `None` is an annulled delay slot.
fn trace(batch: &Batch) -> Vec<Option<Inst>> {
    let mut cpu = PlainMips::new(batch.base, batch.image.clone());
    let mut trace = Vec::new();
    loop {
        let place = (cpu.pcs[0] - batch.base) as usize;
        let word = cpu.memory[place..place + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let inst = decode(word);
        if inst.class() == Class::System && inst.row().is_some_and(|row| row.name == "syscall") {
            return trace;
        }
        trace.push((!cpu.annuls).then_some(inst));
        assert_eq!(cpu.step(), None, "the program runs up to the call");
    }
}

/// Cycle in which the last instruction executes. The first is fetched in cycle 0.
fn stepped_cycles(trace: &[Option<Inst>]) -> u64 {
    let mut next = 0;
    // Instruction in each stage at the start of a cycle. `has_word` tells whether the fetched word has arrived.
    let [mut fetch, mut decode, mut execute, mut memory]: [Option<Slot>; 4] = [None; 4];
    let mut has_word = false;
    let (mut hi_lo_ready, mut last) = (0, 0);
    for cycle in 0.. {
        if fetch.is_none() && next < trace.len() {
            (fetch, has_word) = (Some(trace[next]), false);
            next += 1;
        }
        if fetch.is_none() && decode.is_none() && execute.is_none() {
            return last;
        }
        if execute.is_some() {
            last = cycle;
        }
        // The memory stage has priority at the scratchpad's port.
        has_word |= !memory.is_some_and(uses_memory);
        if let Some(Some(inst)) = execute {
            match inst.class() {
                Class::Multiply => hi_lo_ready = cycle + MULTIPLY_CYCLES,
                Class::Divide => hi_lo_ready = cycle + DIVIDE_CYCLES,
                _ => (),
            }
        }
        let may_execute = decode.is_some_and(|slot| may_leave_decode(slot, execute, memory, cycle, hi_lo_ready));
        (memory, execute) = (execute, if may_execute { decode.take() } else { None });
        if decode.is_none() && has_word {
            decode = fetch.take();
        }
    }
    unreachable!("the trace ends")
}

type Slot = Option<Inst>;

fn uses_memory(slot: Slot) -> bool {
    slot.is_some_and(|inst| matches!(inst.class(), Class::Load | Class::Store))
}

/// Returns true if the instruction in decode can execute in the next cycle.
fn may_leave_decode(slot: Slot, execute: Option<Slot>, memory: Option<Slot>, cycle: u64, hi_lo_ready: u64) -> bool {
    let Some(inst) = slot else { return true };
    let makes_operand =
        |stage: Option<Slot>| stage.flatten().filter(|producer| inst.reads() & 1 << producer.writes() & !1 != 0);
    // Loaded values are available at the end of the memory stage.
    let comes_from_memory = |producer: Inst| uses_memory(Some(producer));
    let is_branch = matches!(inst.class(), Class::Branch | Class::BranchLikely | Class::Jump | Class::JumpReg);
    let in_execute = makes_operand(execute);
    let in_memory = makes_operand(memory).filter(|_| in_execute.is_none());
    let is_there = if is_branch {
        in_execute.is_none() && !in_memory.is_some_and(comes_from_memory)
    } else {
        !in_execute.is_some_and(comes_from_memory)
    };
    let wants_hi_lo = matches!(inst.class(), Class::Multiply | Class::Divide | Class::HiLo);
    is_there && (!wants_hi_lo || cycle + 1 >= hi_lo_ready)
}

/// The same cycle on the core.
fn core_cycles(batch: &Batch) -> u64 {
    let mut builder = SystemBuilder::new(1);
    let clock = builder.clock(Freq::mhz(1000).expect("1 GHz is a frequency"));
    let (references, requests) = builder.channel("references", 1, 1);
    let (answers, replies) = builder.channel("replies", 1, 1);
    let ports = MipsCorePorts {
        memory: Requester { references, replies },
        fetch: None,
        registers: None,
        control: None,
        status: None,
    };
    let bytes = batch.image.len().next_multiple_of(4096) as u32;
    let params = MipsCoreParams {
        pipeline: PipelineKind::FiveStage,
        reset_pc: batch.base,
        runs_at_start: true,
        scratchpad: Some(AddressRange { base: batch.base, bytes }),
        instruction_cache: None,
        registers: None,
        locks: None,
        stack_window: None,
        memory_cycles: 2,
        register_cycles: 2,
        stores: StoreKind::Posted,
        multiply_cycles: MULTIPLY_CYCLES as u32,
        divide_cycles: DIVIDE_CYCLES as u32,
    };
    let mut core = MipsCore::new(params, ports, builder.tracer("cpu", clock));
    for (addr, word) in (batch.base..).step_by(4).zip(batch.image.chunks_exact(4)) {
        assert!(core.load_scratchpad(addr, u32::from_be_bytes([word[0], word[1], word[2], word[3]])));
    }
    let core = Rc::new(RefCell::new(core));
    builder.add("cpu", clock, core.clone());
    builder.add("unused", clock, UnusedMemory(Responder { references: requests, replies: answers }));
    let mut system = builder.build().expect("the wiring is complete");
    assert_eq!(system.run_until(Time::from_ns(10_000_000)), Outcome::Quiet);
    let core = core.borrow();
    assert_eq!(core.fault().map(|fault| fault.cause), Some(Cause::Syscall));
    // The first instruction can execute in cycle 2 at the earliest.
    core.cycles().counts().into_iter().sum::<u64>() + 1
}

/// Memory without accesses.
struct UnusedMemory(Responder);

impl Component for UnusedMemory {
    fn tick(&mut self, _now: Cycle) -> Activity {
        assert!(!self.0.references.has_item(), "all accesses are to the scratchpad");
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        self.0.port("port", ports);
    }
}
