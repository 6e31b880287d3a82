use super::*;
use crate::memory::RowsParams;
use crate::policy::{FixedPriority, Policy};
use expect_test::{Expect, expect};
use kernel::{Freq, Inlet, Mode, Rx, SystemBuilder, Time};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// Logs when replies are seen.
struct Log(Vec<Rx<Reply>>, Rc<RefCell<String>>);

impl Component for Log {
    fn tick(&mut self, now: Cycle) -> Activity {
        for (i, rx) in self.0.iter().enumerate() {
            while let Some(Reply { id, result, waited }) = rx.take() {
                let what = result.map_or_else(|error| error.to_string(), |data| format!("{data:02x?}"));
                // 100 MHz.
                let waited = match waited.ns() / 10 {
                    0 => String::new(),
                    cycles => format!(", waited {cycles} cycles"),
                };
                writeln!(self.1.borrow_mut(), "{now} port {i} #{id} {what}{waited}").expect("a string");
            }
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("replies", &self.0);
    }
}

fn sram(policy: Policy) -> MemoryControllerParams {
    let (bytes, word_bytes, first_word_cycles, burst_words) = (1024, 8, 2, 4);
    MemoryControllerParams {
        bytes,
        word_bytes,
        first_word_cycles,
        burst_words,
        requesters: 2,
        max_bytes: 128,
        rows: None,
        policy,
    }
}

fn priority(keeps_bursts: bool, timeout_cycles: u64) -> Policy {
    Policy::FixedPriority(FixedPriority { groups: vec![vec![0], vec![1]], keeps_bursts, timeout_cycles })
}

/// `script`: cycle at which a reference is seen, port, `r` or `w`, address, bytes.
fn check(policy: Policy, script: &[(u64, usize, char, u64, u32)], want: Expect) {
    check_memory(&sram(policy), script, want);
}

fn check_memory(params: &MemoryControllerParams, script: &[(u64, usize, char, u64, u32)], want: Expect) {
    let run = |mode| {
        let mut system = SystemBuilder::new(1);
        let clock = system.clock(Freq::mhz(100).expect("a frequency"));
        let (mut inlets, mut ports, mut replies): (Vec<Inlet<Reference>>, _, _) = (vec![], vec![], vec![]);
        for i in 0..2 {
            let (inlet, references) = system.inlet(&format!("references{i}"), clock);
            let (tx, rx) = system.channel(&format!("replies{i}"), 8, 1);
            inlets.push(inlet);
            ports.push(Some(Responder { references, replies: tx }));
            replies.push(rx);
        }
        let log = Rc::new(RefCell::new(String::new()));
        system.add("memory", clock, MemoryController::new(params.clone(), ports));
        system.add("log", clock, Log(replies, log.clone()));
        let mut system = system.build().expect("it is wired");
        system.set_mode(mode);
        for (id, &(at, port, kind, addr, len)) in (0..).zip(script) {
            let access = match kind {
                'r' => Access::Read(len),
                _ => Access::Write((0..len).map(|i| i as u8 + 1).collect()),
            };
            inlets[port].send_at(at, Reference { id, addr, access });
        }
        system.run_until(Time::from_fs(u64::MAX / 2));
        log.take()
    };
    let normal = run(Mode::Normal);
    assert_eq!(normal, run(Mode::TickAll));
    want.assert_eq(&normal);
}

#[test]
fn four_words_take_five_cycles() {
    let words = [(10, 0, 'r', 0, 8), (10, 0, 'r', 8, 8), (10, 0, 'r', 16, 8), (10, 0, 'r', 24, 8), (10, 0, 'r', 32, 8)];
    check(
        priority(true, 100),
        &words,
        expect![[r#"
         12 port 0 #0 [00, 00, 00, 00, 00, 00, 00, 00]
         13 port 0 #1 [00, 00, 00, 00, 00, 00, 00, 00]
         14 port 0 #2 [00, 00, 00, 00, 00, 00, 00, 00]
         15 port 0 #3 [00, 00, 00, 00, 00, 00, 00, 00]
         17 port 0 #4 [00, 00, 00, 00, 00, 00, 00, 00]
    "#]],
    );
}

#[test]
fn a_long_reference_is_split_into_bursts() {
    check(
        priority(true, 100),
        &[(10, 0, 'w', 0, 64), (10, 0, 'r', 60, 3)],
        expect![[r#"
         20 port 0 #0 []
         22 port 0 #1 [3d, 3e, 3f]
    "#]],
    );
}

#[test]
fn a_reference_that_is_too_long_is_an_error() {
    check(
        priority(true, 100),
        &[(10, 0, 'r', 0, 129), (10, 0, 'r', 4, 0)],
        expect![[r#"
         12 port 0 #0 a reference to 129 bytes at 0x0 is not possible
         14 port 0 #1 a reference to 0 bytes at 0x4 is not possible
    "#]],
    );
}

/// Port 1 reads a line of 32 bytes while port 0, which has priority, accesses single words.
const RIVALS: [(u64, usize, char, u64, u32); 3] = [(10, 1, 'r', 0, 32), (11, 0, 'w', 512, 8), (11, 0, 'w', 600, 8)];

#[test]
fn a_burst_is_kept_only_if_the_policy_says_so() {
    check(
        priority(true, 100),
        &RIVALS,
        expect![[r#"
            15 port 1 #0 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]
            17 port 0 #1 [], waited 4 cycles
            19 port 0 #2 []
        "#]],
    );
    check(
        priority(false, 100),
        &RIVALS,
        expect![[r#"
            14 port 0 #1 [], waited 1 cycles
            16 port 0 #2 []
            20 port 1 #0 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00], waited 4 cycles
        "#]],
    );
}

#[test]
fn taking_turns_cuts_bursts() {
    let script = [(10, 0, 'w', 0, 16), (10, 1, 'w', 512, 16)];
    check(
        Policy::RoundRobin {},
        &script,
        expect![[r#"
            16 port 0 #0 [], waited 2 cycles
            18 port 1 #1 [], waited 4 cycles
        "#]],
    );
}

#[test]
fn a_requester_goes_first_after_the_timeout() {
    let mut script: Vec<_> = (0..6).map(|i| (10, 0, 'w', 64 * i, 8)).collect();
    script.push((10, 1, 'w', 512, 8));
    let served_at = |timeout, want: Expect| check(priority(true, timeout), &script, want);
    served_at(
        6,
        expect![[r#"
            12 port 0 #0 []
            14 port 0 #1 []
            16 port 0 #2 []
            18 port 1 #6 [], waited 6 cycles
            20 port 0 #3 [], waited 2 cycles
            22 port 0 #4 []
            24 port 0 #5 []
        "#]],
    );
    served_at(
        7,
        expect![[r#"
            12 port 0 #0 []
            14 port 0 #1 []
            16 port 0 #2 []
            18 port 0 #3 []
            20 port 1 #6 [], waited 8 cycles
            22 port 0 #4 [], waited 2 cycles
            24 port 0 #5 []
        "#]],
    );
}

#[test]
fn a_dram_opens_a_row_before_its_words_move() {
    let rows = Some(RowsParams { row_bytes: 64, banks: 2, activation_cycles: 5, conflict_cycles: 9 });
    let dram = MemoryControllerParams { rows, ..sram(Policy::RoundRobin {}) };
    check_memory(
        &dram,
        &[(10, 0, 'r', 0, 8), (20, 0, 'r', 8, 8), (30, 0, 'r', 56, 16), (50, 0, 'r', 128, 8), (70, 0, 'r', 1024, 8)],
        expect![[r#"
            17 port 0 #0 [00, 00, 00, 00, 00, 00, 00, 00]
            22 port 0 #1 [00, 00, 00, 00, 00, 00, 00, 00]
            38 port 0 #2 [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]
            61 port 0 #3 [00, 00, 00, 00, 00, 00, 00, 00]
            81 port 0 #4 [00, 00, 00, 00, 00, 00, 00, 00]
        "#]],
    );
}
