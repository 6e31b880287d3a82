//! Machines by number. The C program's pointer holds the machine's number and is never dereferenced, so an unknown or
//! ended machine is refused like any other handle.

use super::Machine;
use super::refusal::Refusal;
use spinet::driver::DriverError;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `spinet_machine_t`. C programs only have pointers to it.
pub struct Token {
    _nothing: [u8; 0],
}

/// A card's parts share state within one thread.
struct Owned(Box<Machine>);

// SAFETY: only the thread that inserted a machine takes it out, and no other thread accesses it in between.
unsafe impl Send for Owned {}

#[derive(Default)]
struct Machines {
    /// Number of machines booted so far.
    last: u64,
    /// Machines that are not shut down, each with its thread. The machine is `None` while a function uses it.
    all: BTreeMap<u64, (u64, Option<Owned>)>,
}

static MACHINES: Mutex<Option<Machines>> = Mutex::new(None);
static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Number of this thread. It needs no destructor, so other destructors of the thread can use it.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

fn lock() -> MutexGuard<'static, Option<Machines>> {
    // A panic ends the process, so a poisoned lock is never seen.
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn this_thread() -> u64 {
    if THREAD.get() == 0 {
        THREAD.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

/// Adds a machine of this thread. Returns its token.
pub fn add(machine: Machine) -> *mut Token {
    let mut machines = lock();
    let machines = machines.get_or_insert_default();
    machines.last += 1;
    machines.all.insert(machines.last, (this_thread(), Some(Owned(Box::new(machine)))));
    std::ptr::without_provenance_mut(machines.last as usize)
}

/// Lends a machine of this thread to `job`.
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
        return Err(Refusal::null(what, "a machine from spinet_boot"));
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
