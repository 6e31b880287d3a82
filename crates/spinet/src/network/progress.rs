//! Progress of each node, for the thread that decides when the run ends.

use kernel::Time;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a node. Its thread writes it, and others read it while no window is under way.
#[derive(Debug, Default)]
pub struct NodeProgress {
    inside: AtomicU64,
    packets_in: AtomicU64,
    packets_done: AtomicU64,
    has_more: AtomicBool,
    active_at: AtomicU64,
    told_at: AtomicU64,
    has_stopped: AtomicBool,
}

/// The sum over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Unfinished packets: cards have taken them, or they wait for their card.
    pub inside: u64,
    /// Packets that cards took.
    pub packets_in: u64,
    /// Packets that cards finished.
    pub packets_done: u64,
    /// True if a source has more packets, or the program of a host is not done.
    pub has_more: bool,
    /// Time of the last frame that a card received or sent, in femtoseconds.
    pub active_fs: u64,
    /// Time of the last event that the program of a host got, in femtoseconds.
    pub told_fs: u64,
}

impl Sum {
    /// The sum of both.
    pub fn and(self, other: Sum) -> Sum {
        Sum {
            inside: self.inside + other.inside,
            packets_in: self.packets_in + other.packets_in,
            packets_done: self.packets_done + other.packets_done,
            has_more: self.has_more || other.has_more,
            active_fs: self.active_fs.max(other.active_fs),
            told_fs: self.told_fs.max(other.told_fs),
        }
    }
}

impl NodeProgress {
    /// Sets all values; `at` is a time at which a frame came or left.
    pub fn set(&self, inside: u64, packets_in: u64, packets_done: u64, is_over: bool, at: Time) {
        self.inside.store(inside, Ordering::Relaxed);
        self.packets_in.store(packets_in, Ordering::Relaxed);
        self.packets_done.store(packets_done, Ordering::Relaxed);
        self.has_more.store(!is_over, Ordering::Relaxed);
        self.active_at.fetch_max(at.fs(), Ordering::Relaxed);
    }

    /// The program of its host got an event at `at`, its last one so far.
    pub fn told(&self, at: Time) {
        self.told_at.store(at.fs(), Ordering::Relaxed);
    }

    /// The card ended before its network.
    pub fn stop(&self) {
        self.has_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns true if the card ended before its network.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }

    /// Packets that the card finished.
    pub fn packets_done(&self) -> u64 {
        self.packets_done.load(Ordering::Relaxed)
    }

    /// The sum over several nodes.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a NodeProgress>) -> Sum {
        let one = |one: &NodeProgress| Sum {
            inside: one.inside.load(Ordering::Relaxed),
            packets_in: one.packets_in.load(Ordering::Relaxed),
            packets_done: one.packets_done(),
            has_more: one.has_more.load(Ordering::Relaxed),
            active_fs: one.active_at.load(Ordering::Relaxed),
            told_fs: one.told_at.load(Ordering::Relaxed),
        };
        all.into_iter().map(one).fold(Sum::default(), Sum::and)
    }
}
