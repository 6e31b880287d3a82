//! The driver of a card for C programs: each function of `spinet_driver.h` is one of [`spinet::driver::Driver`].
//!
//! There are no callbacks: C programs advance time and then take results. Handles are the driver's own numbers, so
//! invalid ones are refused as in Rust.

mod access;
mod ffi;
mod machines;
mod refusal;
mod structs;
mod traffic;

use crate::ffi::put;
use crate::guard::no_panic;
use machines::Token;
use refusal::{Refusal, remember};
use spinet::driver::Driver;
use spinet::elf::Elf;
use spinet::handlers::record::PrintedLine;
use spinet::nics::{self, Setting};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::rc::Rc;
use structs::{Done, TenantEvent};

/// Largest time in ps, 5 hours. A 64-bit number of femtoseconds ends at 5.1 hours.
const MAX_PS: u64 = 18_000_000_000_000_000;

/// A card, its driver, and results that the C program has not taken yet.
pub struct Machine {
    driver: Driver,
    /// Events by tenant.
    events: BTreeMap<u64, VecDeque<TenantEvent>>,
    /// Number of bytes of reads that are not taken yet, by ticket.
    reads: BTreeMap<u64, u32>,
    /// Sent packets, by time in ps.
    sent: VecDeque<(u64, Box<[u8]>)>,
    /// The packet that was taken last, which the C program may still read.
    shown: Box<[u8]>,
    /// Finished packets, if they are kept.
    done: Option<VecDeque<Done>>,
    /// Printed lines, by time in ps.
    lines: VecDeque<(u64, PrintedLine)>,
    /// The line that was taken last.
    shown_line: CString,
}

impl Machine {
    fn boot(nic: &str, settings: &[Setting], runtime: &Path, seed: u64) -> Result<Self, Refusal> {
        let params = nics::load(nic, settings, Path::new(""))?;
        let mut driver = Driver::boot(&params, Rc::new(Elf::open(runtime)?), seed)?;
        driver.keep_packets();
        Ok(Machine {
            driver,
            events: BTreeMap::new(),
            reads: BTreeMap::new(),
            sent: VecDeque::new(),
            shown: Box::default(),
            done: None,
            lines: VecDeque::new(),
            shown_line: CString::default(),
        })
    }

    fn ps(&self, cycle: u64) -> u64 {
        self.driver.clock().edge(cycle).ps()
    }

    /// Moves finished packets out of the driver, which would otherwise keep them.
    fn collect_done(&mut self) {
        let finished = self.driver.take_packets();
        let clock = self.driver.clock();
        if let Some(done) = &mut self.done {
            let ps = |cycle| clock.edge(cycle).ps();
            done.extend(finished.iter().map(|(context, row)| Done::new(context.0, row, ps)));
        }
    }
}

/// Runs the body of a C function, and stores its error for `spinet_last_error`.
fn call(body: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    no_panic(body).map_or_else(remember, |()| refusal::OK)
}

/// The same on a machine.
fn with(machine: *mut Token, body: impl FnOnce(&mut Machine) -> Result<(), Refusal>) -> c_int {
    call(|| machines::lend(machine, body))
}

/// The same for a function with a result. Fails before doing anything if there is no room for the result.
///
/// # Safety
/// `place` is NULL or writable.
unsafe fn with_result<T>(
    machine: *mut Token,
    what: &'static str,
    place: *mut T,
    body: impl FnOnce(&mut Machine) -> Result<T, Refusal>,
) -> c_int {
    let body = |machine: &mut Machine| {
        if place.is_null() {
            return Err(Refusal::null(what, "room for the result"));
        }
        let value = body(machine)?;
        // SAFETY: the caller guarantees it.
        Ok(unsafe { put(what, place, value) }?)
    };
    with(machine, body)
}

/// A C string, or `None` for NULL.
///
/// # Safety
/// `text` is NULL or a C string that lives as long as the result.
unsafe fn optional<'a>(what: &'static str, text: *const c_char) -> Result<Option<&'a str>, Refusal> {
    // SAFETY: the caller guarantees it.
    let text = unsafe { crate::ffi::text(text) };
    text.map(CStr::to_str).transpose().map_err(|error| Refusal::argument(what, error, "UTF-8"))
}

/// A C string that must not be NULL.
///
/// # Safety
/// `text` is NULL or a C string that lives as long as the result.
unsafe fn required<'a>(what: &'static str, text: *const c_char) -> Result<&'a str, Refusal> {
    // SAFETY: the caller guarantees it.
    unsafe { optional(what, text) }?.ok_or(Refusal::null(what, "a text"))
}
