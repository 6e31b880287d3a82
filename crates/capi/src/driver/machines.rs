//! Machines by number. What C programs hold of one is its number and is never followed, so that a machine that was shut down,
//! or never was, is refused like any other handle.

use super::Machine;
use super::refusal::Refusal;
use spinet::driver::DriverError;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `spinet_machine_t`, of which there are only pointers.
pub struct Token {
    _nothing: [u8; 0],
}

/// What is in a card is shared within a thread.
struct Owned(Box<Machine>);

// SAFETY: only the thread that put a machine in takes it out, and nobody looks at it in between.
unsafe impl Send for Owned {}

#[derive(Default)]
struct Machines {
    /// Booted so far.
    last: u64,
    /// Those that are not shut down: the thread, and the machine unless a function uses it.
    all: BTreeMap<u64, (u64, Option<Owned>)>,
}

static MACHINES: Mutex<Option<Machines>> = Mutex::new(None);
static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Number of this thread. It needs no destructor, so it is there until the last of the thread's own has run.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

fn lock() -> MutexGuard<'static, Option<Machines>> {
    // A panic ends the process, so nobody sees what it left behind.
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn this_thread() -> u64 {
    if THREAD.get() == 0 {
        THREAD.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

/// A machine of this thread, from now on known by this.
pub fn add(machine: Machine) -> *mut Token {
    let mut machines = lock();
    let machines = machines.get_or_insert_default();
    machines.last += 1;
    machines.all.insert(machines.last, (this_thread(), Some(Owned(Box::new(machine)))));
    std::ptr::without_provenance_mut(machines.last as usize)
}

/// Lends a machine of this thread.
pub fn lend<T>(token: *mut Token, job: impl FnOnce(&mut Machine) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut owned = take(token)?;
    let done = job(&mut owned.0);
    if let Some((_, place)) = lock().as_mut().and_then(|machines| machines.all.get_mut(&number(token))) {
        *place = Some(owned);
    }
    done
}

/// Ends a machine of this thread.
pub fn end(token: *mut Token) -> Result<(), Refusal> {
    let owned = take(token)?;
    if let Some(machines) = lock().as_mut() {
        machines.all.remove(&number(token));
    }
    drop(owned);
    Ok(())
}

fn take(token: *mut Token) -> Result<Owned, Refusal> {
    let (what, number) = ("machine", number(token));
    if number == 0 {
        return Err(Refusal::null(what, "what spinet_boot made"));
    }
    let mut machines = lock();
    let machines = machines.get_or_insert_default();
    match machines.all.get_mut(&number) {
        Some((thread, owned)) if *thread == this_thread() => {
            Ok(owned.take().expect("one function at a time uses a machine of this thread"))
        }
        Some(_) => Err(Refusal::thread()),
        None if number <= machines.last => Err(DriverError::Gone { what, number }.into()),
        None => Err(DriverError::Unknown { what, number }.into()),
    }
}

fn number(token: *mut Token) -> u64 {
    token.addr() as u64
}
