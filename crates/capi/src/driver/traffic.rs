//! Time and packets, and what comes of them.

use super::refusal::Refusal;
use super::structs::{Packet, Printed, Sent, Told};
use super::{MAX_PS, Machine, with, with_result};
use crate::ffi::bytes;
use kernel::Time;
use spinet::driver::{ContextId, TenantId};
use spinet::streams::Stream;
use std::ffi::{CString, c_int};
use std::ptr;

fn time(what: &'static str, ps: u64) -> Result<Time, Refusal> {
    if ps > MAX_PS {
        return Err(Refusal::argument(what, ps, format_args!("at most {MAX_PS}, which is 5 hours")));
    }
    Ok(Time::from_ps(ps))
}

/// Adds packets.
///
/// # Safety
/// As [`with`]; `packets` is NULL or has `n`, whose data is NULL or has as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_add_packets(machine: *mut Machine, packets: *const Packet, n: usize) -> c_int {
    let add = |machine: &mut Machine| {
        let packets = match (n, packets.is_null()) {
            (0, _) => return Ok(()),
            (_, true) => return Err(Refusal::null("packets", "the packets")),
            // SAFETY: the caller's promise.
            (_, false) => unsafe { std::slice::from_raw_parts(packets, n) },
        };
        let max_bytes = machine.driver.capabilities().max_copy_bytes as usize;
        let mut made: Vec<(Time, Box<[u8]>)> = Vec::new();
        for &Packet { after_ps, data, size } in packets {
            let time = time("after_ps", after_ps)?;
            if let Some((before, _)) = made.last().filter(|(before, _)| *before > time) {
                return Err(Refusal::argument("after_ps", after_ps, format_args!("{} or more", before.ps())));
            }
            if !(1..=max_bytes).contains(&size) {
                let allowed = format_args!("1 to {max_bytes}, which is what the card can copy to L1");
                return Err(Refusal::argument("size", size, allowed));
            }
            // SAFETY: the caller's promise.
            made.push((time, unsafe { bytes("data", data.cast(), size) }?.into()));
        }
        machine.driver.add_traffic(Stream::made(made, machine.driver.now() + 1));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(machine, add) }
}

/// Simulated time.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_now(machine: *mut Machine, ps: *mut u64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "ps", ps, |machine| Ok(machine.ps(machine.driver.now()))) }
}

/// Lets time go on.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_run_until(machine: *mut Machine, ps: u64) -> c_int {
    let run = |machine: &mut Machine| {
        let end = machine.driver.clock().cycle_at_or_after(time("ps", ps)?);
        machine.driver.run_until(end);
        // Kept with what was sent; nobody here asks for them.
        machine.driver.take_packets();
        Ok(machine.driver.check()?)
    };
    // SAFETY: the caller's promise.
    unsafe { with(machine, run) }
}

/// Takes a tenant's events.
///
/// # Safety
/// As [`with_result`] for `n`; `events` is NULL or has room for `room`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_events(
    machine: *mut Machine,
    tenant: u64,
    events: *mut Told,
    room: usize,
    n: *mut usize,
) -> c_int {
    let take = |machine: &mut Machine| {
        if events.is_null() && room > 0 {
            return Err(Refusal::null("events", "room for events"));
        }
        let new = machine.driver.take_events(TenantId(tenant))?;
        let mut waiting = machine.events.remove(&tenant).unwrap_or_default();
        waiting.extend(new);
        let n = room.min(waiting.len());
        for (idx, event) in waiting.drain(..n).enumerate() {
            let told = Told::new(machine.ps(event.at), event.context.0, event.what);
            // SAFETY: there is room, by the caller's promise.
            unsafe { events.add(idx).write_unaligned(told) };
        }
        machine.events.insert(tenant, waiting);
        Ok(n)
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "n", n, take) }
}

/// The last error of a context's handlers.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_error_record(
    machine: *mut Machine,
    tenant: u64,
    context: u64,
    record: *mut [u32; 8],
) -> c_int {
    let look = |machine: &mut Machine| {
        let record = machine.driver.error_record(TenantId(tenant), ContextId(context))?;
        Ok(record.map(|record| record.words()).unwrap_or_default())
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "record", record, look) }
}

/// Takes a packet that the card sent.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_sent(machine: *mut Machine, sent: *mut Sent) -> c_int {
    let take = |machine: &mut Machine| {
        for (at, bytes) in machine.driver.take_sent() {
            let ps = machine.ps(at);
            machine.sent.push_back((ps, bytes));
        }
        let Some((time_ps, bytes)) = machine.sent.pop_front() else {
            return Ok(Sent { time_ps: 0, data: ptr::null(), size: 0 });
        };
        machine.shown = bytes;
        Ok(Sent { time_ps, data: machine.shown.as_ptr(), size: machine.shown.len() })
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "sent", sent, take) }
}

/// Takes a line that a handler printed.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_line(machine: *mut Machine, line: *mut Printed) -> c_int {
    let take = |machine: &mut Machine| {
        machine.lines.extend(machine.driver.take_console().into_iter().map(|(time, line)| (time.ps(), line)));
        let Some((time_ps, line)) = machine.lines.pop_front() else {
            return Ok(Printed { time_ps: 0, text: ptr::null(), cluster: 0, core: 0 });
        };
        machine.shown_line = CString::new(line.text.replace('\0', "\u{fffd}")).expect("zeros are gone");
        Ok(Printed { time_ps, text: machine.shown_line.as_ptr(), cluster: line.cluster, core: line.core })
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "line", line, take) }
}
