//! Plain accesses against the completion of any access.

use super::super::core::{Access, AccessKind};
use super::super::lines::PresentLines;
use super::super::profile::causes;
use super::super::{Lost, Profile};
use super::*;
use isa::riscv::{Amo, Class, Inst, Isa, Load, Op, Operands, row, rows};
use kernel::RandomStream;
use proptest::prelude::*;

const ISA: Isa = Isa::RV32IMAC_XPULPV2;
const WORDS: usize = 64;
const RUN_AHEAD: Cycle = 24;

static CAUSES: [&str; Lost::NAMES.len() + 1] = causes(&["l1"]);

/// A core with its memory and its program.
struct Bench {
    core: Core,
    program: Program,
    lines: PresentLines,
    words: Vec<[u8; 4]>,
    /// Completes plain accesses by [`Core::pass_plain`], if it can.
    is_swift: bool,
    has_profile: bool,
    /// Number of such accesses.
    swift: usize,
}

impl Bench {
    fn new(code: &[u8], is_swift: bool, has_profile: bool, seed: u64) -> Bench {
        let program = Program::new(ISA, 0, code);
        let mut random = RandomStream::new(seed, "bench");
        let mut core = Core::new(Profile::Ri5cy, 0, 0);
        (1..32).for_each(|r| core.set_x(r, random.below(1 << 32) as u32 >> random.below(32)));
        if has_profile {
            core.set_profile(&program, &CAUSES, Box::new(|_| 0));
        }
        let words = (0..WORDS).map(|_| (random.below(1 << 32) as u32).to_le_bytes()).collect();
        let lines = PresentLines::new(code.len() / 16);
        Bench { core, program, lines, words, is_swift, has_profile, swift: 0 }
    }

    /// Runs up to the next access; false if that does not come soon.
    fn run(&mut self, mut horizon: Cycle) -> bool {
        for _ in 0..200 {
            match self.core.run(&self.program, &self.lines, horizon) {
                Stop::Access => return true,
                Stop::Fetch(addr) => {
                    let Some(_) = self.lines.get(addr as usize >> 4) else { return false };
                    self.lines.set(addr as usize >> 4, true);
                    self.core.fetched(self.core.time() + 3);
                }
                Stop::Prefetch(addr, _) if self.lines.get(addr as usize >> 4).is_some() => {
                    self.lines.set(addr as usize >> 4, true);
                }
                Stop::Yield => horizon = self.core.time() + RUN_AHEAD,
                _ => return false,
            }
        }
        false
    }

    fn byte(&mut self, addr: u32) -> &mut u8 {
        &mut self.words[addr as usize / 4 % WORDS][addr as usize % 4]
    }

    /// Performs the access, granted in this cycle, and runs up to the next one; false if that does not come.
    fn grant(&mut self, granted: Cycle) -> bool {
        let Access { addr, value, kind, .. } = *self.core.access();
        let n = kind.bytes();
        let old = (0..n).fold(0, |old, i| old | u32::from(*self.byte(addr.wrapping_add(i))) << (8 * i));
        let (stored, raw) = match kind {
            AccessKind::Load(_) => (None, old),
            AccessKind::Store(_) => (Some(value), 0),
            AccessKind::Amo(amo) => (Some(amo.apply(old, value)), if amo == Amo::StoreConditional { 0 } else { old }),
        };
        if let Some(value) = stored {
            (0..n).for_each(|i| *self.byte(addr.wrapping_add(i)) = (value >> (8 * i)) as u8);
        }
        let horizon = granted + RUN_AHEAD;
        let runway = Runway::new(&self.program, self.lines.there(), horizon);
        let is_plain = self.core.waits_for() != Plain::Not && addr % 4 + n <= 4;
        if !(self.is_swift && is_plain && runway.is_open(granted)) {
            self.core.complete(granted, raw);
            return self.run(horizon);
        }
        self.swift += 1;
        match kind {
            AccessKind::Load(Load::Elw) => unreachable!("it is not plain"),
            AccessKind::Load(load) => self.core.load_plain(granted, load.extend(raw)),
            AccessKind::Amo(_) => self.core.load_plain(granted, raw),
            AccessKind::Store(_) => {}
        }
        let is_at_access = match self.has_profile {
            true => self.core.pass_plain::<true>(&runway, granted),
            false => self.core.pass_plain::<false>(&runway, granted),
        };
        is_at_access || self.run(horizon)
    }

    /// All that later instructions can depend on, if the core waits for an access.
    fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let core = &self.core;
        let place = (core.time(), core.pc(), core.next, core.instructions());
        let jumps = (core.load_rd, core.load_granted);
        (core.registers().to_vec(), place, core.access, jumps, self.words.clone())
    }

    /// The state of a core that does not come to an access.
    fn end(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let core = &self.core;
        (core.registers().to_vec(), core.time(), core.pc(), core.instructions(), self.words.clone())
    }
}

/// A random instruction of a row for which `is_wanted`.
fn draw(random: &mut RandomStream, is_wanted: impl Fn(&Inst) -> bool) -> Vec<u8> {
    let all: Vec<_> = rows().collect();
    loop {
        let pattern = all[random.below(all.len() as u64) as usize].pattern;
        let word = pattern.value | random.next_u64() as u32 & !pattern.mask;
        let inst = ISA.decode(word);
        if is_wanted(&inst) {
            return word.to_le_bytes()[..inst.bytes() as usize].to_vec();
        }
    }
}

/// `beq` or another branch between two registers, or `jal`, by this even distance.
fn jump(random: &mut RandomStream, distance: i32) -> Vec<u8> {
    let is_branch = random.below(5) > 0;
    let name = if is_branch { ["beq", "bne", "blt", "bge", "bltu", "bgeu"][random.below(6) as usize] } else { "jal" };
    let [rd, rs1, rs2] = [(); 3].map(|()| random.below(32) as u8);
    let operands = match is_branch {
        true => Operands { rd: 0, rs1, rs2, rs3: 0, imm: distance },
        false => Operands { rd, rs1: 0, rs2: 0, rs3: 0, imm: distance },
    };
    let word = row(name).and_then(|row| row.encode(operands)).expect("a short jump");
    word.to_le_bytes().to_vec()
}

/// A random instruction: arithmetic, an access, mostly a plain one, or a short jump.
fn item(random: &mut RandomStream) -> Vec<u8> {
    match random.below(20) {
        0..9 => draw(random, |inst| matches!(inst.class(), Class::Alu | Class::Mul)),
        9..14 => draw(random, |inst| {
            matches!(inst.op, Op::Lb | Op::Lbu | Op::Lh | Op::Lhu | Op::Lw | Op::Sb | Op::Sh | Op::Sw)
        }),
        14 => draw(random, |inst| matches!(inst.class(), Class::Load | Class::Store | Class::Amo)),
        15 => draw(random, |inst| matches!(inst.class(), Class::MulHigh | Class::Div | Class::JumpReg)),
        16 => {
            let back = -2 * random.below(30) as i32;
            jump(random, back)
        }
        _ => {
            let ahead = 2 * random.below(20) as i32;
            jump(random, ahead)
        }
    }
}

/// Random code, followed by a jump to its start and some empty lines.
fn random_code(seed: u64, items: usize) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "code");
    let mut code: Vec<u8> = (0..items).flat_map(|_| item(&mut random)).collect();
    let distance = -(code.len() as i32);
    code.extend(jump(&mut random, distance));
    let operands = Operands { rd: 0, rs1: 0, rs2: 0, rs3: 0, imm: distance - 4 };
    code.extend(row("jal").and_then(|row| row.encode(operands)).expect("a short jump").to_le_bytes());
    code.resize(code.len().next_multiple_of(16) + 64, 0);
    code
}

/// Runs random code with and without plain accesses, and compares all states and the profiles. Returns the number of plain
/// accesses.
fn compare(seed: u64, items: usize, has_profile: bool) -> usize {
    let code = random_code(seed, items);
    let [mut swift, mut usual] = [true, false].map(|is_swift| Bench::new(&code, is_swift, has_profile, seed));
    let mut random = RandomStream::new(seed, "run");
    let mut goes_on = [swift.run(RUN_AHEAD), usual.run(RUN_AHEAD)];
    for step in 0..400 {
        assert_eq!(goes_on[0], goes_on[1], "seed {seed}, access {step}");
        if !goes_on[0] {
            assert_eq!(swift.end(), usual.end(), "seed {seed}, access {step}");
            break;
        }
        assert_eq!(swift.state(), usual.state(), "seed {seed}, access {step}");
        let waits = [0, 0, 0, 0, 1, 2, 7][random.below(7) as usize];
        let granted = swift.core.time() + 1 + waits;
        goes_on = [swift.grant(granted), usual.grant(granted)];
    }
    if has_profile {
        let [a, b] = [&mut swift, &mut usual].map(|bench| bench.core.profile(&bench.program, bench.core.time()));
        let (a, b) = (a.expect("a profile"), b.expect("a profile"));
        assert!(a.rows().eq(b.rows()), "seed {seed}: {a:?}, {b:?}");
        assert_eq!(a.cycles(), swift.core.time(), "seed {seed}");
    }
    swift.swift
}

#[test]
fn many_accesses_of_random_code_are_plain() {
    for has_profile in [false, true] {
        let n: usize = (0..40).map(|seed| compare(seed, 60, has_profile)).sum();
        assert!(n > 1000, "{n} accesses");
    }
}

proptest! {
    #[test]
    fn plain_accesses_change_no_result_and_no_profile(seed: u64, items in 4usize..100, has_profile: bool) {
        compare(seed, items, has_profile);
    }
}
