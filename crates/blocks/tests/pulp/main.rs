//! Timing of PULP instructions and hardware loops in RI5CY, as programs and the cycles in which instructions leave
//! decode.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use blocks::cpu::{AccessKind, Core, FetchLines, PresentLines, Profile, Program, Stop};
use expect_test::Expect;
use isa::riscv::{Isa, decode, disassemble, register_name};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::text::assemble;

mod loops;
mod timing;

const BASE: u32 = 0x100;
/// Address of the data: ten words, 1 to 10, followed by free space.
const DATA: u32 = 0x400;

struct Cached;

impl FetchLines for Cached {
    fn present(&self, _addr: u32) -> bool {
        true
    }

    fn there(&self) -> &[u8] {
        &[PresentLines::MOST; 1024]
    }
}

/// Accesses from this address on are granted [`SLOW_CYCLES`] later.
const SLOW: u32 = 0x600;
const SLOW_CYCLES: u64 = 5;

/// A core with flat memory; accesses below [`SLOW`] are granted in the cycle after they left decode.
struct Machine {
    core: Core,
    program: Program,
    memory: Vec<u8>,
}

impl Machine {
    fn new(text: &str) -> Self {
        let code = assemble(BASE, text);
        let mut memory = vec![0; 0x800];
        memory[BASE as usize..][..code.len()].copy_from_slice(&code);
        for n in 0..10 {
            memory[(DATA + 4 * n) as usize] = n as u8 + 1;
        }
        let mut core = Core::new(Profile::Ri5cy, 0, BASE);
        core.set_x(10, DATA);
        core.set_x(11, DATA + 0x100);
        Machine { core, program: Program::new(Isa::RV32IMAC_XPULPV2, 0, &memory), memory }
    }

    /// Runs to the first trap.
    fn run(&mut self) {
        for _ in 0..10_000 {
            match self.core.run(&self.program, &Cached, self.core.time() + 16) {
                Stop::Access => {
                    let access = *self.core.access();
                    let at = access.addr as usize;
                    let Some(bytes) = self.memory.get_mut(at..at + access.kind.bytes() as usize) else {
                        self.core.fault(self.core.time() + 1);
                        return;
                    };
                    let old = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
                    if let AccessKind::Store(_) = access.kind {
                        let n = bytes.len();
                        bytes.copy_from_slice(&access.value.to_le_bytes()[..n]);
                    }
                    let wait = if access.addr < SLOW { 0 } else { SLOW_CYCLES };
                    self.core.complete(self.core.time() + 1 + wait, old);
                }
                Stop::Trap => return,
                _ => {}
            }
        }
        panic!("it does not end, at {:#x}", self.core.pc());
    }

    /// The nonzero registers, and the memory after the data if it was written.
    fn ends_with(&self) -> String {
        let mut text = String::new();
        for r in (1..32).filter(|&r| self.core.x(r) != 0) {
            text += &format!("{}={:x} ", register_name(r), self.core.x(r));
        }
        let written = self.memory[(DATA + 0x100) as usize..][..32].chunks(4);
        let words: Vec<_> = written.map(|word| format!("{:x}", u32::from_le_bytes(word.try_into().unwrap()))).collect();
        if words.iter().any(|word| word != "0") {
            text += &format!("memory {}", words.join(" "));
        }
        text.trim_end().to_owned()
    }
}

/// Shows each instruction, the cycles in which it left decode, and the final state; a watched core must behave the
/// same.
fn check(text: &str, want: Expect) {
    let mut plain = Machine::new(text);
    plain.run();
    let mut watched = Machine::new(text);
    let log: Rc<RefCell<Vec<(u64, u32)>>> = Rc::default();
    let sink = log.clone();
    watched.core.log_instructions(Box::new(move |done| sink.borrow_mut().push((done.cycle, done.pc))));
    watched.run();
    let state = |machine: &Machine| (machine.core.time(), machine.core.instructions(), machine.ends_with());
    assert_eq!(state(&plain), state(&watched), "watching the core changes what it does");

    let log = log.borrow();
    let mut places: Vec<_> = log.iter().map(|&(_, pc)| pc).collect();
    places.sort();
    places.dedup();
    let mut shown = String::new();
    for pc in places {
        let word = (0..4).map(|i| u32::from(watched.memory[pc as usize + i]) << (8 * i)).sum();
        let cycles: Vec<_> = log.iter().filter(|&&(_, at)| at == pc).map(|(cycle, _)| cycle.to_string()).collect();
        shown += &format!("{pc:x} {:<32} {}\n", disassemble(decode(word), pc), cycles.join(" "));
    }
    want.assert_eq(&format!("{shown}{}\n", plain.ends_with()));
}
