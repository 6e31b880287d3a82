//! Time that a core spends on locks, as whoever looks at its instructions sees it.
//!
//! On locks go: what takes one, the instruction that looks at whether it was taken, everything from a vain attempt to the next at
//! the same lock, and the store that frees it; each with what it waits for. Between attempts a core that only waits
//! refers to nothing else: if it does, or goes through more code than a loop of [`MOST_WAITING`] instructions, it has given up,
//! and what it did since the vain attempt is not on locks. Forming a lock's address cannot be told from other arithmetic.
//!
//! Locks are the words of a window, and any word of memory that `ll` and `sc` go to: from the first `ll` to the `sc` that
//! succeeds, and the store to a word that `sc` has taken. So a counter that is raised by `ll` and `sc` counts as well.

use super::code::Slot;
use super::params::Window;
use super::state::Asked;
use isa::mips::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Addresses that are locks, and how they are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// Where they are.
    pub window: Window,
    /// How one is taken.
    pub kind: LockKind,
}

/// How a lock is taken, and freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// A load takes it: 0 says that it did. A store frees it.
    LoadTakes,
    /// A store asks for it, a load says whether it is one's own: not 0. A store to one's own frees it.
    StoreAsks,
}

/// Instructions of a loop that waits, at most.
const MOST_WAITING: usize = 32;

/// Words taken by `sc` that are remembered. assumed: a core holds fewer locks.
const MOST_HELD: usize = 8;

/// What an instruction has to do with locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// It does not refer to memory.
    Nothing,
    /// It refers to something else.
    Other,
    /// It asks for a lock; nothing says yet whether it was given.
    Asks { lock: u32 },
    /// It tries to take a lock, and `rt` will say whether it has.
    Tries { lock: u32, rt: u8, how: Taken },
    /// It frees a lock.
    Frees { lock: u32 },
}

/// What a register says of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// 0: it was taken.
    ByZero,
    /// Not 0: it was taken.
    ByOne,
}

/// What a core is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing with locks.
    Free,
    /// Taking this one; what is spent counts if it goes on with that.
    Waits { lock: u32 },
    /// `rt` will say whether it was taken.
    Looks { lock: u32, rt: u8, how: Taken, attempt: Attempt },
}

/// What an attempt is to the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Attempt {
    /// It has nothing to do with it.
    First,
    /// That was in vain, and nothing else was done since.
    Next,
    /// Something else was done before it was looked at.
    LeftAlone,
}

/// Follows a core's instructions.
#[derive(Clone, Debug)]
pub(super) struct Locking {
    locks: Option<Locks>,
    phase: Phase,
    /// Instructions since the last attempt, and their cycles.
    spent: Vec<(u32, u64)>,
    /// Locks that are its own and are freed by a store that looks like any other.
    held: Vec<u32>,
    /// Attempts, and those of them in vain.
    pub attempts: u64,
    pub vain: u64,
}

impl Locking {
    pub fn new(locks: Option<Locks>) -> Locking {
        Locking { locks, phase: Phase::Free, spent: Vec::new(), held: Vec::new(), attempts: 0, vain: 0 }
    }

    /// What an instruction that asks for this has to do with locks.
    pub fn touch(&self, asked: Asked) -> Touch {
        let kind = |addr: u32| self.locks.filter(|locks| locks.window.holds(addr)).map(|locks| locks.kind);
        match asked {
            Asked::Nothing | Asked::Sync | Asked::Exception(_) => Touch::Nothing,
            Asked::Load { rt, addr, kind: load } => match kind(addr) {
                Some(LockKind::LoadTakes) => Touch::Tries { lock: addr, rt, how: Taken::ByZero },
                Some(LockKind::StoreAsks) => Touch::Tries { lock: addr, rt, how: Taken::ByOne },
                None if load == Load::Linked => Touch::Asks { lock: addr },
                None => Touch::Other,
            },
            Asked::Conditional { rt, addr, .. } => Touch::Tries { lock: addr, rt, how: Taken::ByOne },
            Asked::Store { addr, .. } => match kind(addr) {
                Some(LockKind::LoadTakes) => Touch::Frees { lock: addr },
                Some(LockKind::StoreAsks) if !self.held.contains(&addr) => Touch::Asks { lock: addr },
                _ if self.held.contains(&addr) => Touch::Frees { lock: addr },
                _ => Touch::Other,
            },
        }
    }

    /// The register that an instruction is about to look at to learn whether a lock was taken.
    pub fn looks_at(&self, slot: &Slot) -> Option<u8> {
        let Phase::Looks { rt, .. } = self.phase else { return None };
        (rt != 0 && slot.reads.contains(&rt)).then_some(rt)
    }

    /// Whether an instruction that does not refer to memory has nothing to do with locks.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.phase == Phase::Free
    }

    /// What was under way is forgotten.
    pub fn forget(&mut self) {
        self.phase = Phase::Free;
        self.spent.clear();
        self.held.clear();
    }

    /// The instruction at `pc` took `cycles`; `looked` is what it saw in the register that it was to look at. Gives to `spend` what
    /// is known now to have gone on locks: addresses, and cycles.
    pub fn retired(
        &mut self,
        pc: u32,
        cycles: u64,
        touch: Touch,
        looked: Option<u32>,
        mut spend: impl FnMut(u32, u64),
    ) {
        let looked = looked.and_then(|value| self.look(value, &mut spend));
        match touch {
            Touch::Asks { lock } | Touch::Tries { lock, .. } => {
                let goes_on = self.phase == Phase::Waits { lock };
                for (pc, cycles) in self.spent.drain(..) {
                    if goes_on {
                        spend(pc, cycles);
                    }
                }
                self.phase = Phase::Waits { lock };
                if let Touch::Tries { rt, how, .. } = touch {
                    self.attempts += 1;
                    let attempt = if goes_on { Attempt::Next } else { Attempt::First };
                    self.phase = Phase::Looks { lock, rt, how, attempt };
                    spend(pc, cycles);
                } else {
                    // It is spent on a lock once it is seen to be followed by an attempt.
                    self.spent.push((pc, cycles));
                }
            }
            Touch::Frees { lock } => {
                self.held.retain(|&held| held != lock);
                self.give_up();
                spend(pc, cycles);
            }
            _ if looked.is_some() => spend(pc, cycles),
            Touch::Other => self.give_up(),
            Touch::Nothing => self.wait(pc, cycles),
        }
    }

    /// The register that says whether a lock was taken says so.
    fn look(&mut self, value: u32, spend: &mut impl FnMut(u32, u64)) -> Option<()> {
        let Phase::Looks { lock, how, attempt, .. } = self.phase else { return None };
        let is_taken = (value == 0) == (how == Taken::ByZero);
        self.vain += u64::from(!is_taken);
        self.phase = if is_taken || attempt == Attempt::LeftAlone { Phase::Free } else { Phase::Waits { lock } };
        if is_taken {
            for (pc, cycles) in self.spent.drain(..) {
                if attempt == Attempt::Next {
                    spend(pc, cycles);
                }
            }
        }
        if is_taken && how != Taken::ByZero && !self.held.contains(&lock) {
            if self.held.len() == MOST_HELD {
                self.held.remove(0);
            }
            self.held.push(lock);
        }
        Some(())
    }

    fn wait(&mut self, pc: u32, cycles: u64) {
        if self.phase == Phase::Free || matches!(self.phase, Phase::Looks { attempt: Attempt::LeftAlone, .. }) {
            return;
        }
        if let Some((_, sum)) = self.spent.iter_mut().find(|(at, _)| *at == pc) {
            *sum += cycles;
        } else if self.spent.len() < MOST_WAITING {
            self.spent.push((pc, cycles));
        } else {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.spent.clear();
        match &mut self.phase {
            Phase::Looks { attempt, .. } => *attempt = Attempt::LeftAlone,
            phase => *phase = Phase::Free,
        }
    }
}
