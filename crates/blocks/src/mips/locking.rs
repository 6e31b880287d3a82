//! Estimates the time that a core spends on locks, by observing its instructions.
//!
//! Lock time includes the instructions that try to take a lock, the instruction that tests the result, everything
//! between a failed attempt and the next attempt at the same lock, and the store that frees it; each with its waiting
//! time. A core that only waits makes no other memory references between attempts. If it does, or if it executes more
//! code than a loop of [`MOST_WAITING`] instructions, it has abandoned the lock, and its time since the failed
//! attempt is not lock time. Computing a lock's address cannot be distinguished from other arithmetic and is not
//! included.
//!
//! Locks are the words of a window, and every memory word used by `ll` and `sc`: from the first `ll` to the
//! successful `sc`, plus the store to a word taken by `sc`. A counter incremented with `ll` and `sc` therefore counts
//! as a lock too.

use super::code::Slot;
use super::params::Window;
use super::state::Asked;
use isa::mips::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The addresses that are locks, and the way they are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// Address range of the locks.
    pub window: Window,
    /// How a lock is taken.
    pub kind: LockKind,
}

/// How a lock is taken and freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// A load takes the lock; the value 0 means success. A store frees it.
    LoadTakes,
    /// A store requests the lock; a load returns nonzero if this core has it. A store to an owned lock frees it.
    StoreAsks,
}

/// Maximum instructions of a waiting loop.
const MOST_WAITING: usize = 32;

/// Maximum words taken by `sc` that are tracked. assumed: a core holds fewer locks.
const MOST_HELD: usize = 8;

/// The role of an instruction in locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// Does not access memory.
    Nothing,
    /// Accesses other memory.
    Other,
    /// Requests a lock; the result is not yet known.
    Asks { lock: u32 },
    /// Tries to take a lock; `rt` will hold the result.
    Tries { lock: u32, rt: u8, how: Taken },
    /// Frees a lock.
    Frees { lock: u32 },
}

/// How a register shows success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// 0 means success.
    ByZero,
    /// A nonzero value means success.
    ByOne,
}

/// Progress of the core with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Not using locks.
    Free,
    /// Taking this lock; the time counts if another attempt follows.
    Waits { lock: u32 },
    /// `rt` will hold the result of an attempt.
    Looks { lock: u32, rt: u8, how: Taken, attempt: Attempt },
}

/// Relation of an attempt to the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Attempt {
    /// It does not continue a previous attempt.
    First,
    /// It directly follows a failed attempt.
    Next,
    /// The core did something else before testing the result.
    LeftAlone,
}

/// Tracks lock time from a core's instructions.
#[derive(Clone, Debug)]
pub(super) struct Locking {
    locks: Option<Locks>,
    phase: Phase,
    /// Addresses and cycles of the instructions since the last attempt.
    spent: Vec<(u32, u64)>,
    /// Owned locks that an ordinary store frees.
    held: Vec<u32>,
    /// Number of attempts, and of failed ones.
    pub attempts: u64,
    pub vain: u64,
}

impl Locking {
    pub fn new(locks: Option<Locks>) -> Locking {
        Locking { locks, phase: Phase::Free, spent: Vec::new(), held: Vec::new(), attempts: 0, vain: 0 }
    }

    /// The role of an instruction with this request.
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

    /// The register that an instruction is about to read to test the result of an attempt.
    pub fn looks_at(&self, slot: &Slot) -> Option<u8> {
        let Phase::Looks { rt, .. } = self.phase else { return None };
        (rt != 0 && slot.reads.contains(&rt)).then_some(rt)
    }

    /// Returns true if an instruction without memory access cannot be part of locking.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.phase == Phase::Free
    }

    /// Discards all state.
    pub fn forget(&mut self) {
        self.phase = Phase::Free;
        self.spent.clear();
        self.held.clear();
    }

    /// Records that the instruction at `pc` took `cycles`; `looked` is the value of the tested register. Calls
    /// `spend` with the address and cycles of each instruction now known to be lock time.
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
                    // This becomes lock time only if an attempt follows.
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

    /// Evaluates the tested register.
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
