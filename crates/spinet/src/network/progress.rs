//! How far each node is, for the thread that decides when the run ends.

use kernel::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a node. Its thread writes it, and others read it while no window is under way.
#[derive(Debug, Default)]
pub struct NodeProgress {
    inside: AtomicU64,
    packets_in: AtomicU64,
    packets_done: AtomicU64,
    has_more: AtomicBool,
    active_at: AtomicU64,
}

/// The sum over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Packets that cards have taken, or have waiting, and have not finished.
    pub inside: u64,
    /// Packets that cards took.
    pub packets_in: u64,
    /// Packets that cards finished.
    pub packets_done: u64,
    /// A source has more packets, or the program of a host is not done.
    pub has_more: bool,
    /// Time of the last frame that a card took or gave.
    pub active_at: Time,
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

    /// The sum of several.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a NodeProgress>) -> Sum {
        all.into_iter().fold(Sum::default(), |sum, one| Sum {
            inside: sum.inside + one.inside.load(Ordering::Relaxed),
            packets_in: sum.packets_in + one.packets_in.load(Ordering::Relaxed),
            packets_done: sum.packets_done + one.packets_done.load(Ordering::Relaxed),
            has_more: sum.has_more || one.has_more.load(Ordering::Relaxed),
            active_at: sum.active_at.max(Time::from_fs(one.active_at.load(Ordering::Relaxed))),
        })
    }
}
