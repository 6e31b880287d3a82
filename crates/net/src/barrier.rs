//! A barrier for windows that take microseconds: it spins for a short time, then yields, then sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of spins before the thread yields its core. They take some microseconds: a thread without a core must not wait for a
/// thread that spins.
const SPINS: u32 = 2_000;
/// Number of yields before the thread sleeps.
const YIELDS: u32 = 50;

/// Lets threads wait for each other, again and again.
pub(crate) struct Barrier {
    n_threads: usize,
    arrived: AtomicUsize,
    generation: AtomicU64,
    is_broken: AtomicBool,
    /// Number of threads that sleep.
    sleepers: Mutex<usize>,
    wake: Condvar,
}

/// A thread ended and will never arrive.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    pub fn new(n_threads: usize) -> Self {
        Barrier {
            n_threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads have arrived. Their earlier writes are visible afterwards.
    pub fn wait(&self) -> Result<(), Broken> {
        if self.n_threads == 1 {
            return self.check();
        }
        let generation = self.generation.load(Ordering::SeqCst);
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.n_threads {
            self.arrived.store(0, Ordering::SeqCst);
            self.generation.store(generation + 1, Ordering::SeqCst);
            self.wake_all();
            return self.check();
        }
        let is_over = || self.generation.load(Ordering::SeqCst) != generation || self.is_broken.load(Ordering::SeqCst);
        for _ in 0..SPINS {
            if is_over() {
                return self.check();
            }
            std::hint::spin_loop();
        }
        for _ in 0..YIELDS {
            if is_over() {
                return self.check();
            }
            std::thread::yield_now();
        }
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        while !is_over() {
            sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
        drop(sleepers);
        self.check()
    }

    /// Ends all waits, now and later, with an error.
    pub fn break_down(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        // While this lock is held, no thread is between its last check and its sleep, so none misses the wake-up.
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn check(&self) -> Result<(), Broken> {
        if self.is_broken.load(Ordering::SeqCst) { Err(Broken) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        for n_threads in 1..=4 {
            let barrier = Barrier::new(n_threads);
            let rounds: Vec<AtomicU64> = (0..n_threads).map(|_| AtomicU64::new(0)).collect();
            std::thread::scope(|scope| {
                for own in &rounds {
                    scope.spawn(|| {
                        for round in 1..=200 {
                            own.store(round, Ordering::SeqCst);
                            if round % 50 == 0 {
                                std::thread::sleep(Duration::from_millis(1)); // The others sleep, too.
                            }
                            barrier.wait().unwrap();
                            assert!(rounds.iter().all(|other| other.load(Ordering::SeqCst) >= round));
                            barrier.wait().unwrap();
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_broken_barrier_wakes_sleepers() {
        let barrier = Arc::new(Barrier::new(2));
        let waiter = std::thread::spawn({
            let barrier = Arc::clone(&barrier);
            move || barrier.wait().is_err()
        });
        std::thread::sleep(Duration::from_millis(5));
        barrier.break_down();
        assert!(waiter.join().unwrap());
        assert!(barrier.wait().is_err());
    }
}
