//! `ll` and `sc` are atomic with respect to other cores and to a DMA engine at the memory's third port.

use super::bench::{SCRATCHPAD, scene};
use blocks::bus::{Access, Data, Reference, Reply, Requester, Responder, word};
use blocks::memory::{MemoryController, MemoryControllerParams};
use blocks::mips::{MipsCore, MipsCorePorts};
use blocks::policy::Policy;
use expect_test::{Expect, expect};
use kernel::Cycle;
use testkit::bench;
use testkit::mips::text::assemble;

fn params() -> MemoryControllerParams {
    MemoryControllerParams {
        bytes: 1024,
        word_bytes: 8,
        first_word_cycles: 2,
        burst_words: 4,
        requesters: 3,
        max_bytes: 8,
        rows: None,
        policy: Policy::RoundRobin {},
    }
}

/// Two cores with a program each, and the DMA accesses by cycle: `r` reads a word, `w` writes a zero byte.
fn check(programs: [&str; 2], dma: &[(Cycle, char, u64)], want: Expect) {
    want.assert_eq(&bench(100_000, |b| {
        let mut ports = Vec::new();
        for (name, program) in ["a", "b"].into_iter().zip(programs) {
            let (references, requests) = b.channel(&format!("{name}?"), 4, 1);
            let (answers, replies) = b.channel(&format!("{name}!"), 4, 1);
            ports.push(Some(Responder { references: requests, replies: answers }));
            let memory = Requester { references, replies };
            let mut params = scene("").params;
            params.registers = None;
            let core_ports = MipsCorePorts { memory, fetch: None, registers: None, control: None, status: None };
            let mut core = MipsCore::new(params, core_ports, b.tracer(name));
            for (addr, word) in (SCRATCHPAD..).step_by(4).zip(assemble(SCRATCHPAD, program)) {
                assert!(core.load_scratchpad(addr, word), "it is in the scratchpad");
            }
            b.add(name, core);
        }
        let ask = |(id, &(cycle, kind, addr)): (u32, &(Cycle, char, u64))| {
            let access = if kind == 'r' { Access::Read(4) } else { Access::Write(Data::from_slice(&[0])) };
            (cycle, Reference { id, addr, access })
        };
        let references = b.input("dma?", 4, (0..).zip(dma).map(ask).collect());
        let show = |reply: &Reply| match &reply.result {
            Ok(data) if data.is_empty() => "done".to_owned(),
            Ok(data) => word(data).to_string(),
            Err(error) => error.to_string(),
        };
        ports.push(Some(Responder { references, replies: b.output("dma", 4, |_| true, show) }));
        b.add("memory", MemoryController::new(params(), ports));
    }));
}

/// Increments the word at 0x80 fifty times.
const COUNT: &str = "addiu t0, zero, 50 \n again: \n ll a0, 0x80(zero) \n addiu a0, a0, 1 \n sc a0, 0x80(zero)
     beq a0, zero, again \n nop \n addiu t0, t0, -1 \n bne t0, zero, again \n nop \n break 0";

/// Links the word at 0x84, waits, stores 9 conditionally, and writes the result to 0x90.
const STORE_LATE: &str = "addiu a1, zero, 9 \n ll a0, 0x84(zero) \n addiu t0, zero, 60 \n again: \n addiu t0, t0, -1
     bne t0, zero, again \n nop \n sc a1, 0x84(zero) \n sw a1, 0x90(zero) \n break 0";

#[test]
fn two_cores_that_count_lose_no_increment() {
    check(
        [COUNT, COUNT],
        &[(90_000, 'r', 0x80)],
        expect![[r#"
        90002 dma 100
    "#]],
    );
}

#[test]
fn a_store_of_the_same_value_also_breaks_the_link() {
    let dma = |addr| [(100, 'w', addr), (1000, 'r', 0x84), (1001, 'r', 0x90)];
    check(
        [STORE_LATE, "break 0"],
        &dma(0x87),
        expect![[r#"
        102  dma done
        1002 dma 0
        1004 dma 0
    "#]],
    );
    check(
        [STORE_LATE, "break 0"],
        &dma(0x83),
        expect![[r#"
        102  dma done
        1002 dma 9
        1004 dma 1
    "#]],
    );
    check(
        [STORE_LATE, "break 0"],
        &dma(0x88),
        expect![[r#"
        102  dma done
        1002 dma 9
        1004 dma 1
    "#]],
    );
}

#[test]
fn another_cores_conditional_store_breaks_the_link() {
    let early =
        "nop \n nop \n addiu a1, zero, 5 \n ll a0, 0x84(zero) \n sc a1, 0x84(zero) \n sw a1, 0x94(zero) \n break 0";
    let dma = [(1000, 'r', 0x84), (1001, 'r', 0x90), (1002, 'r', 0x94)];
    check(
        [STORE_LATE, early],
        &dma,
        expect![[r#"
        1002 dma 5
        1004 dma 0
        1006 dma 1
    "#]],
    );
}
