//! Tests of a unit with packets and a program of a few instructions, written as `name rd rs1 rs2 imm`.

mod programs;
mod timing;
mod trouble;

use super::*;
use crate::protocol::{Flit, Leg};
use crate::testing::{flits, show};
use crate::unit::riscv::{Program, Sizes};
use expect_test::{Expect, expect};
use isa::riscv::{Operands, row};
use std::rc::Rc;

fn params() -> RiscvParams {
    RiscvParams {
        memory_bytes: 4096,
        pinned_bytes: 1024,
        buffers: 2,
        instruction_cache_bytes: 512,
        data_cache_bytes: 128,
        line_bytes: 64,
        request_cycles: 4,
        memory_cycles: 2,
        register_cycles: 1,
        answer_cycles: 4,
        refill_cycles: 2,
        store_buffer: 4,
        load_use_cycles: 2,
        predicted_cycles: 1,
        mispredicted_cycles: 3,
        watchdog_cycles: 300,
    }
}

/// Assembles one instruction a line: a name, `rd`, `rs1`, `rs2`, and the immediate. `flush` is not in the standard table.
fn assemble(text: &str) -> Vec<u8> {
    let word = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a line names an instruction");
        let [rd, rs1, rs2, imm] = std::array::from_fn(|_| words.next().map_or(0, number));
        match name {
            "flush" => 0x500f | (rs1 as u32) << 15,
            "word" => rd as u32,
            _ => {
                let operands = Operands { rd: rd as u8, rs1: rs1 as u8, rs2: rs2 as u8, rs3: 0, imm };
                let word = row(name).and_then(|row| row.encode(operands));
                word.unwrap_or_else(|| panic!("{line} is not an instruction"))
            }
        }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).flat_map(|line| word(line).to_le_bytes()).collect()
}

fn number(word: &str) -> i32 {
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("a number") as i32,
        None => word.parse().expect("a number"),
    }
}

/// Takes the first packet: x10 is the base of the registers, x11 the length, x12 the address.
const TAKE: &str = "lui 10 0 0 0xf0000000
    lw 11 10 0 0
    lw 12 10 0 4
";
/// Sends the current packet, and jumps back to the second instruction.
const SEND: &str = "sw 0 10 12 0x40
    sw 0 10 11 0x44
    jal 0 0 0 ";

fn run(params: RiscvParams, program: &str, packets: &str, with_counters: bool) -> String {
    let code = assemble(program);
    testkit::bench(20_000, |bench| {
        let size = code.len() as u32;
        let text = Segment { place: "segment 0".into(), addr: MEMORY_BASE, bytes: code.clone(), size };
        let symbols = vec![Symbol { name: "start".into(), addr: MEMORY_BASE, size }];
        let image = Image { segments: vec![text], entry: MEMORY_BASE, symbols };
        let program = Program::new(Rc::new(image));
        let shown = |flit: &Flit| match flit {
            Flit::Head(message) if matches!(message.leg, Leg::Exit | Leg::Entry) => {
                format!(
                    "{} {} bytes {:02x?}",
                    show(flit),
                    message.data.len(),
                    &message.data[..message.data.len().min(4)]
                )
            }
            _ => show(flit),
        };
        let numbered = flits(packets).into_iter().map(|(cycle, mut flit)| {
            if let Flit::Head(message) = &mut flit {
                message.data.fill(message.descriptor.id as u8);
            }
            (cycle, flit)
        });
        let (input, output) = (bench.input("in", 8, numbered.collect()), bench.output("out", 2, |_| true, shown));
        let sizes = Sizes { flit_bytes: 64, longest: 256, n_services: 2 };
        if with_counters {
            bench.log_counters();
        }
        let log = bench.log.clone();
        bench.add(
            "it",
            Watched { unit: RiscvUnit::new(params.clone(), program.clone(), sizes, input, output), program, log },
        );
    })
}

/// A unit whose faults go to the log.
struct Watched {
    unit: RiscvUnit,
    program: Program,
    log: testkit::Log,
}

impl kernel::Component for Watched {
    fn tick(&mut self, now: kernel::Cycle) -> kernel::Activity {
        let before = self.program.troubles.borrow().len();
        let activity = self.unit.tick(now);
        for trouble in &self.program.troubles.borrow()[before..] {
            self.log.note(now, format!("trouble {trouble}"));
        }
        activity
    }

    fn ports(&self, ports: &mut kernel::Ports) {
        self.unit.ports(ports);
    }

    fn counters(&self, counters: &mut kernel::CounterList) {
        self.unit.counters(counters);
    }
}

fn check(program: &str, packets: &str, want: Expect) {
    want.assert_eq(&run(params(), program, packets, false));
}

/// Cycles of computation that `body` adds to a packet. `body` is between taking and sending the packet, its lines are in the
/// caches, and the cost without a body is subtracted.
fn cost(body: &str) -> u64 {
    let compute = |body: &str, packets: &str| {
        let n = body.lines().filter(|line| !line.trim().is_empty()).count();
        let program = format!("{TAKE}{body}\n{SEND}{}", -4 * (n as i32 + 4));
        let log = run(params(), &program, packets, true);
        let count =
            |name| log.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0);
        count("it.cycles.compute") + count("it.cycles.flush")
    };
    let of_the_fourth = |body| {
        let three = "300 1 0; 600 2 0; 900 3 0";
        compute(body, &format!("{three}; 1200 4 0")) - compute(body, three)
    };
    of_the_fourth(body) - of_the_fourth("")
}
