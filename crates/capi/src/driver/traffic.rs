//! Time, packets, and their results.

use super::machines::Token;
use super::refusal::Refusal;
use super::structs::{Done, Packet, PrintedLine, Sent, TenantEvent, TrafficArgs};
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

/// Maximum number of packets in a call; more do not fit in memory.
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
/// `packets` is NULL or has `n` packets, whose data is NULL or has their `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_add_packets(machine: *mut Token, packets: *const Packet, n: usize) -> c_int {
    let add = |machine: &mut Machine| {
        let packets = match (n, packets.is_null()) {
            (0, _) => return Ok(()),
            (_, true) => return Err(Refusal::null("packets", "the packets")),
            (n, _) if n > MAX_PACKETS => return Err(Refusal::argument("n", n, format_args!("at most {MAX_PACKETS}"))),
            // SAFETY: the caller guarantees it.
            (_, false) => unsafe { std::slice::from_raw_parts(packets, n) },
        };
        let most = machine.driver.capabilities().max_copy_bytes as usize;
        let mut made: Vec<(Time, Box<[u8]>)> = Vec::new();
        for (index, &Packet { after_ps, data, size }) in packets.iter().enumerate() {
            // Checked before the data is copied. The driver checks the rest.
            if size > most {
                let allowed = format_args!("1 to {most}, the number of bytes that the card can copy to L1");
                return Err(Refusal::argument(format_args!("packets[{index}].size"), size, allowed));
            }
            let time = time("after_ps", after_ps)?;
            // SAFETY: the caller guarantees it.
            made.push((time, unsafe { bytes("data", data.cast(), size) }?.into()));
        }
        Ok(machine.driver.add_packets(made)?)
    };
    // SAFETY: the caller guarantees it.
    with(machine, add)
}

/// Adds the traffic of a capture or a generator.
///
/// # Safety
/// `traffic` is NULL or readable, its strings are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_add_traffic(machine: *mut Token, traffic: *const TrafficArgs) -> c_int {
    let add = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it, here and below.
        let traffic = unsafe { traffic.as_ref() }.ok_or(Refusal::null("traffic", "a traffic description"))?;
        let mut source = unsafe { required("source", traffic.source) }?.to_owned();
        let pacing = unsafe { optional("pacing", traffic.pacing) }?.unwrap_or("times");
        let pacing: Pacing = pacing.parse().map_err(|error| Refusal::invalid_argument("traffic", error))?;
        let snapped = match traffic.snapped {
            0 => Snapped::Pad,
            1 => Snapped::Keep,
            other => {
                return Err(Refusal::argument("snapped", other, "SPINET_SNAPPED_PAD (0) or SPINET_SNAPPED_KEEP (1)"));
            }
        };
        let count = if traffic.count == 0 { u64::MAX } else { traffic.count };
        let read = Traffic::read(&mut source, snapped, traffic.seed, Path::new(""));
        let read = read.map_err(|problem| Refusal::invalid_argument("source", problem))?;
        Ok(machine.driver.add_traffic(&read, pacing, count)?)
    };
    // SAFETY: the caller guarantees it.
    with(machine, add)
}

/// Sets the faults of the network for packets added from now on.
///
/// # Safety
/// `faults` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_network(machine: *mut Token, faults: *const c_char, seed: u64) -> c_int {
    let set = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it.
        let faults = unsafe { optional("faults", faults) }?.unwrap_or_default();
        let faults: Faults = faults.parse().map_err(|error| Refusal::invalid_argument("faults", error))?;
        machine.driver.set_network(faults, seed);
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    with(machine, set)
}

/// Returns whether all packets have arrived and are done.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_is_idle(machine: *mut Token, idle: *mut u8) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "idle", idle, |machine| Ok(machine.driver.is_idle().into())) }
}

/// Simulated time.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_now(machine: *mut Token, ps: *mut u64) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "ps", ps, |machine| Ok(machine.ps(machine.driver.now()))) }
}

/// Runs the simulation until `ps`.
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
    events: *mut TenantEvent,
    room: usize,
    n: *mut usize,
) -> c_int {
    let take = |machine: &mut Machine| {
        if events.is_null() && room > 0 {
            return Err(Refusal::null("events", "room for events"));
        }
        let new = machine.driver.take_events(TenantId(tenant))?;
        let mut waiting = machine.events.remove(&tenant).unwrap_or_default();
        waiting
            .extend(new.into_iter().map(|event| TenantEvent::new(machine.ps(event.at), event.context.0, event.what)));
        // SAFETY: the caller guarantees the room.
        let n = unsafe { give(&mut waiting, events, room) };
        machine.events.insert(tenant, waiting);
        Ok(n)
    };
    // SAFETY: the caller guarantees it.
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
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "record", record, look) }
}

/// Starts or stops keeping finished packets for [`spinet_take_done`].
#[unsafe(no_mangle)]
pub extern "C" fn spinet_keep_done(machine: *mut Token, keep: c_int) -> c_int {
    let set = |machine: &mut Machine| {
        machine.collect_done();
        machine.done = if keep != 0 { Some(machine.done.take().unwrap_or_default()) } else { None };
        Ok(())
    };
    with(machine, set)
}

/// Takes finished packets.
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
            return Err(Refusal::invalid_argument("done", "packets are not kept; call spinet_keep_done first"));
        };
        // SAFETY: the caller guarantees the room.
        Ok(unsafe { give(waiting, done, room) })
    };
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "n", n, take) }
}

/// Moves the oldest items to the C program. Returns their number.
///
/// # Safety
/// `to` has room for `room` items.
unsafe fn give<T>(waiting: &mut VecDeque<T>, to: *mut T, room: usize) -> usize {
    let n = room.min(waiting.len());
    for (idx, item) in waiting.drain(..n).enumerate() {
        // SAFETY: the caller guarantees it.
        unsafe { to.add(idx).write_unaligned(item) };
    }
    n
}

/// A digest of everything that the card did so far: at least 16 hexadecimal digits and a terminating zero.
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
        // SAFETY: the caller guarantees the room.
        unsafe { text.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    };
    // SAFETY: the caller guarantees it.
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
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "sent", sent, take) }
}

/// Takes a line that a handler printed.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take_line(machine: *mut Token, line: *mut PrintedLine) -> c_int {
    let take = |machine: &mut Machine| {
        machine.lines.extend(machine.driver.take_console().into_iter().map(|(time, line)| (time.ps(), line)));
        let Some((time_ps, line)) = machine.lines.pop_front() else {
            return Ok(PrintedLine { time_ps: 0, text: ptr::null(), cluster: 0, core: 0 });
        };
        machine.shown_line = CString::new(line.text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced");
        Ok(PrintedLine { time_ps, text: machine.shown_line.as_ptr(), cluster: line.cluster, core: line.core })
    };
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "line", line, take) }
}
