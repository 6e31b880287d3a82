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
use super::params::AddressRange;
use super::state::Request;
use isa::mips::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The addresses that are locks, and the way they are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// Address range of the locks.
    pub window: AddressRange,
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
    Requests { lock: u32 },
    /// Attempts to take a lock; `rt` will hold the result.
    Attempts { lock: u32, rt: u8, how: Taken },
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
    Waiting { lock: u32 },
    /// `rt` will hold the result of an attempt.
    Testing { lock: u32, rt: u8, how: Taken, attempt: Attempt },
}

/// Relation of an attempt to the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Attempt {
    /// It does not continue a previous attempt.
    First,
    /// It directly follows a failed attempt.
    Next,
    /// The core did something else before testing the result.
    Abandoned,
}

/// Tracks lock time from a core's instructions.
#[derive(Clone, Debug)]
pub(super) struct LockTracker {
    locks: Option<Locks>,
    phase: Phase,
    /// Addresses and cycles of the instructions since the last attempt.
    spent: Vec<(u32, u64)>,
    /// Owned locks that an ordinary store frees.
    held: Vec<u32>,
    /// Number of attempts, and of failed ones.
    pub attempts: u64,
    pub failed: u64,
}

impl LockTracker {
    pub fn new(locks: Option<Locks>) -> LockTracker {
        LockTracker { locks, phase: Phase::Free, spent: Vec::new(), held: Vec::new(), attempts: 0, failed: 0 }
    }

    /// The role of an instruction with this request.
    pub fn touch(&self, request: Request) -> Touch {
        let kind = |addr: u32| self.locks.filter(|locks| locks.window.holds(addr)).map(|locks| locks.kind);
        match request {
            Request::Nothing | Request::Sync | Request::Exception(_) => Touch::Nothing,
            Request::Load { rt, addr, kind: load } => match kind(addr) {
                Some(LockKind::LoadTakes) => Touch::Attempts { lock: addr, rt, how: Taken::ByZero },
                Some(LockKind::StoreAsks) => Touch::Attempts { lock: addr, rt, how: Taken::ByOne },
                None if load == Load::Linked => Touch::Requests { lock: addr },
                None => Touch::Other,
            },
            Request::Conditional { rt, addr, .. } => Touch::Attempts { lock: addr, rt, how: Taken::ByOne },
            Request::Store { addr, .. } => match kind(addr) {
                Some(LockKind::LoadTakes) => Touch::Frees { lock: addr },
                Some(LockKind::StoreAsks) if !self.held.contains(&addr) => Touch::Requests { lock: addr },
                _ if self.held.contains(&addr) => Touch::Frees { lock: addr },
                _ => Touch::Other,
            },
        }
    }

    /// The register that an instruction is about to read to test the result of an attempt.
    pub fn tested_register(&self, slot: &Slot) -> Option<u8> {
        let Phase::Testing { rt, .. } = self.phase else { return None };
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

    /// Records that the instruction at `pc` took `cycles`; `tested` is the value of the tested register. Calls
    /// `spend` with the address and cycles of each instruction now known to be lock time.
    pub fn retired(
        &mut self,
        pc: u32,
        cycles: u64,
        touch: Touch,
        tested: Option<u32>,
        mut spend: impl FnMut(u32, u64),
    ) {
        let tested = tested.and_then(|value| self.test(value, &mut spend));
        match touch {
            Touch::Requests { lock } | Touch::Attempts { lock, .. } => {
                let is_retry = self.phase == Phase::Waiting { lock };
                for (pc, cycles) in self.spent.drain(..) {
                    if is_retry {
                        spend(pc, cycles);
                    }
                }
                self.phase = Phase::Waiting { lock };
                if let Touch::Attempts { rt, how, .. } = touch {
                    self.attempts += 1;
                    let attempt = if is_retry { Attempt::Next } else { Attempt::First };
                    self.phase = Phase::Testing { lock, rt, how, attempt };
                    spend(pc, cycles);
                } else {
                    // This becomes lock time only if an attempt follows.
                    self.spent.push((pc, cycles));
                }
            }
            Touch::Frees { lock } => {
                self.held.retain(|&held| held != lock);
                self.abandon();
                spend(pc, cycles);
            }
            _ if tested.is_some() => spend(pc, cycles),
            Touch::Other => self.abandon(),
            Touch::Nothing => self.wait(pc, cycles),
        }
    }

    /// Evaluates the tested register.
    fn test(&mut self, value: u32, spend: &mut impl FnMut(u32, u64)) -> Option<()> {
        let Phase::Testing { lock, how, attempt, .. } = self.phase else { return None };
        let is_taken = (value == 0) == (how == Taken::ByZero);
        self.failed += u64::from(!is_taken);
        self.phase = if is_taken || attempt == Attempt::Abandoned { Phase::Free } else { Phase::Waiting { lock } };
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
        if self.phase == Phase::Free || matches!(self.phase, Phase::Testing { attempt: Attempt::Abandoned, .. }) {
            return;
        }
        if let Some((_, sum)) = self.spent.iter_mut().find(|(at, _)| *at == pc) {
            *sum += cycles;
        } else if self.spent.len() < MOST_WAITING {
            self.spent.push((pc, cycles));
        } else {
            self.abandon();
        }
    }

    fn abandon(&mut self) {
        self.spent.clear();
        match &mut self.phase {
            Phase::Testing { attempt, .. } => *attempt = Attempt::Abandoned,
            phase => *phase = Phase::Free,
        }
    }
}
