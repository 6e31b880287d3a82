//! Time and packets, and what comes of them.

use super::machines::Token;
use super::refusal::Refusal;
use super::structs::{Done, Packet, Printed, Sent, Told, Traffic as TrafficSpec};
use super::{MAX_PS, Machine, optional, required, with, with_result};
use crate::ffi::bytes;
use kernel::Time;
use spinet::driver::{ContextId, TenantId};
use spinet::experiment::Traffic;
use std::collections::VecDeque;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;
use wire::faults::Faults;
use wire::pacing::Pacing;
use wire::source::Snapped;

/// Packets of a call: more than there is memory for.
const MAX_PACKETS: usize = 1 << 32;

fn time(what: &'static str, ps: u64) -> Result<Time, Refusal> {
    if ps > MAX_PS {
        return Err(Refusal::argument(what, ps, format_args!("at most {MAX_PS}, which is 5 hours")));
    }
    Ok(Time::from_ps(ps))
}

/// Adds packets.
///
/// # Safety
/// `packets` is NULL or has `n`, whose data is NULL or has as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_add_packets(machine: *mut Token, packets: *const Packet, n: usize) -> c_int {
    let add = |machine: &mut Machine| {
        let packets = match (n, packets.is_null()) {
            (0, _) => return Ok(()),
            (_, true) => return Err(Refusal::null("packets", "the packets")),
            (n, _) if n > MAX_PACKETS => return Err(Refusal::argument("n", n, format_args!("at most {MAX_PACKETS}"))),
            // SAFETY: the caller's promise.
            (_, false) => unsafe { std::slice::from_raw_parts(packets, n) },
        };
        let most = machine.driver.capabilities().max_copy_bytes as usize;
        let mut made: Vec<(Time, Box<[u8]>)> = Vec::new();
        for (index, &Packet { after_ps, data, size }) in packets.iter().enumerate() {
            // Before there is so much to copy; the driver says the rest.
            if size > most {
                let allowed = format_args!("1 to {most}, which is what the card can copy to L1");
                return Err(Refusal::argument(format_args!("packets[{index}].size"), size, allowed));
            }
            let time = time("after_ps", after_ps)?;
            // SAFETY: the caller's promise.
            made.push((time, unsafe { bytes("data", data.cast(), size) }?.into()));
        }
        Ok(machine.driver.add_packets(made)?)
    };
    // SAFETY: the caller's promise.
    with(machine, add)
}

/// Adds traffic that a file or a text describes.
///
/// # Safety
/// `traffic` is NULL or can be read, its texts are NULL or C texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_add_traffic(machine: *mut Token, traffic: *const TrafficSpec) -> c_int {
    let add = |machine: &mut Machine| {
        // SAFETY: the caller's promise, here and below.
        let traffic = unsafe { traffic.as_ref() }.ok_or(Refusal::null("traffic", "what arrives"))?;
        let mut source = unsafe { required("source", traffic.source) }?.to_owned();
        let pacing = unsafe { optional("pacing", traffic.pacing) }?.unwrap_or("times");
        let pacing: Pacing = pacing.parse().map_err(|error| Refusal::argument_says("traffic", error))?;
        let snapped = match traffic.snapped {
            0 => Snapped::Pad,
            1 => Snapped::Keep,
            other => {
                return Err(Refusal::argument("snapped", other, "SPINET_SNAPPED_PAD (0) or SPINET_SNAPPED_KEEP (1)"));
            }
        };
        let count = if traffic.count == 0 { u64::MAX } else { traffic.count };
        let read = Traffic::read(&mut source, snapped, traffic.seed, Path::new(""));
        let read = read.map_err(|problem| Refusal::argument_says("source", problem))?;
        Ok(machine.driver.add_traffic(&read, pacing, count)?)
    };
    // SAFETY: the caller's promise.
    with(machine, add)
}

/// What the network does to packets from now on.
///
/// # Safety
/// `faults` is NULL or a C text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_network(machine: *mut Token, faults: *const c_char, seed: u64) -> c_int {
    let set = |machine: &mut Machine| {
        // SAFETY: the caller's promise.
        let faults = unsafe { optional("faults", faults) }?.unwrap_or_default();
        let faults: Faults = faults.parse().map_err(|error| Refusal::argument_says("faults", error))?;
        machine.driver.set_network(faults, seed);
        Ok(())
    };
    // SAFETY: the caller's promise.
    with(machine, set)
}

/// Whether nothing is to come and nothing is under way.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_is_idle(machine: *mut Token, idle: *mut u8) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "idle", idle, |machine| Ok(machine.driver.is_idle().into())) }
}

/// Simulated time.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_now(machine: *mut Token, ps: *mut u64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "ps", ps, |machine| Ok(machine.ps(machine.driver.now()))) }
}

/// Lets time go on.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_run_until(machine: *mut Token, ps: u64) -> c_int {
    let run = |machine: &mut Machine| {
        let end = machine.driver.clock().cycle_at_or_after(time("ps", ps)?);
        machine.driver.run_until(end);
        machine.collect_done();
        Ok(machine.driver.check()?)
    };
    with(machine, run)
}

/// Takes a tenant's events.
///
/// # Safety
/// As [`with_result`] for `n`; `events` is NULL or has room for `room`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_events(
    machine: *mut Token,
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
        waiting.extend(new.into_iter().map(|event| Told::new(machine.ps(event.at), event.context.0, event.what)));
        // SAFETY: there is room, by the caller's promise.
        let n = unsafe { give(&mut waiting, events, room) };
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
    machine: *mut Token,
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

/// Keeps packets that are finished for [`spinet_take_done`], or no longer.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_keep_done(machine: *mut Token, keep: c_int) -> c_int {
    let set = |machine: &mut Machine| {
        machine.collect_done();
        machine.done = if keep != 0 { Some(machine.done.take().unwrap_or_default()) } else { None };
        Ok(())
    };
    with(machine, set)
}

/// Takes packets that are finished.
///
/// # Safety
/// As [`with_result`] for `n`; `done` is NULL or has room for `room`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_done(machine: *mut Token, done: *mut Done, room: usize, n: *mut usize) -> c_int {
    let take = |machine: &mut Machine| {
        if done.is_null() && room > 0 {
            return Err(Refusal::null("done", "room for packets"));
        }
        machine.collect_done();
        let Some(waiting) = &mut machine.done else {
            return Err(Refusal::argument_says("done", "packets are not kept; spinet_keep_done comes first"));
        };
        // SAFETY: there is room, by the caller's promise.
        Ok(unsafe { give(waiting, done, room) })
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "n", n, take) }
}

/// Moves the oldest of what waits to the C program, and says how many.
///
/// # Safety
/// `to` has room for `room`.
unsafe fn give<T>(waiting: &mut VecDeque<T>, to: *mut T, room: usize) -> usize {
    let n = room.min(waiting.len());
    for (idx, item) in waiting.drain(..n).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(idx).write_unaligned(item) };
    }
    n
}

/// Stands for all that the card did so far: 16 hexadecimal digits or more and a zero.
///
/// # Safety
/// `text` is NULL or has room for `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_digest(machine: *mut Token, text: *mut c_char, room: usize) -> c_int {
    let write = |machine: &mut Machine| {
        let digest = CString::new(machine.driver.digest()).expect("digits");
        let bytes = digest.as_bytes_with_nul();
        if text.is_null() {
            return Err(Refusal::null("text", "room for the result"));
        }
        if room < bytes.len() {
            return Err(Refusal::argument("room", room, format_args!("{} or more", bytes.len())));
        }
        // SAFETY: there is room, by the caller's promise.
        unsafe { text.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    with(machine, write)
}

/// Takes a packet that the card sent.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_sent(machine: *mut Token, sent: *mut Sent) -> c_int {
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
pub unsafe extern "C" fn spinet_take_line(machine: *mut Token, line: *mut Printed) -> c_int {
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
