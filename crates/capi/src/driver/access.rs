//! How the host reads and writes: the card's memories through its port, and its own memory.

use super::machines::Token;
use super::refusal::Refusal;
use super::{Machine, with, with_result};
use crate::ffi::{bytes, put};
use spinet::driver::{DriverError, HostId, MemoryId, TenantId, TicketId};
use std::ffi::{c_int, c_void};

fn some(size: u32) -> Result<u32, Refusal> {
    if size == 0 { Err(Refusal::argument("size", size, "1 or more")) } else { Ok(size) }
}

/// An access lies within what has so many bytes: asked before as many of the C program's are looked at.
fn within(what: &'static str, number: u64, bytes: u32, offset: u32, asked: u32) -> Result<(), Refusal> {
    let (size, offset, asked) = (bytes.into(), offset.into(), asked.into());
    if offset + asked > size { Err(DriverError::Beyond { what, number, size, offset, asked }.into()) } else { Ok(()) }
}

/// Begins a write to the card.
///
/// # Safety
/// `data` is NULL or has `size` bytes, `ticket` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_write(
    machine: *mut Token,
    tenant: u64,
    memory: u64,
    offset: u32,
    data: *const c_void,
    size: u32,
    ticket: *mut u64,
) -> c_int {
    let write = |machine: &mut Machine| {
        let (tenant, memory) = (TenantId(tenant), MemoryId(memory));
        within("memory", memory.0, machine.driver.part(tenant, memory)?.size, offset, size)?;
        // SAFETY: the caller's promise, here and below.
        let data = unsafe { bytes("data", data.cast(), some(size)? as usize) }?;
        let begun = machine.driver.write(tenant, memory, offset, &data)?;
        if !ticket.is_null() {
            unsafe { put("ticket", ticket, begun.0) }?;
        }
        Ok(())
    };
    with(machine, write)
}

/// Begins a read from the card.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_read(
    machine: *mut Token,
    tenant: u64,
    memory: u64,
    offset: u32,
    size: u32,
    ticket: *mut u64,
) -> c_int {
    let read = |machine: &mut Machine| {
        let begun = machine.driver.read(TenantId(tenant), MemoryId(memory), offset, some(size)?)?;
        machine.reads.insert(begun.0, size);
        Ok(begun.0)
    };
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "ticket", ticket, read) }
}

/// Lets time go on until an access is over.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_wait(machine: *mut Token, tenant: u64, ticket: u64) -> c_int {
    with(machine, |machine| Ok(machine.driver.wait(TenantId(tenant), TicketId(ticket))?))
}

/// Whether an access is over.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_is_over(machine: *mut Token, tenant: u64, ticket: u64, over: *mut u8) -> c_int {
    let look = |machine: &mut Machine| Ok(machine.driver.is_done(TenantId(tenant), TicketId(ticket))?.into());
    // SAFETY: the caller's promise.
    unsafe { with_result(machine, "over", over, look) }
}

/// Takes the bytes of a read that is over.
///
/// # Safety
/// `data` is NULL or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_take(
    machine: *mut Token,
    tenant: u64,
    ticket: u64,
    data: *mut c_void,
    size: u32,
) -> c_int {
    let take = |machine: &mut Machine| {
        let (tenant, id) = (TenantId(tenant), TicketId(ticket));
        let is_done = machine.driver.is_done(tenant, id)?;
        match machine.reads.get(&ticket) {
            Some(&read) if read != size => {
                return Err(Refusal::argument("size", size, format_args!("{read}, as was read")));
            }
            Some(_) if data.is_null() => return Err(Refusal::null("data", "room for the bytes")),
            // A write has none; what was taken before is gone.
            Some(_) | None => {}
        }
        let taken = machine.driver.take(tenant, id)?;
        let Some(taken) = taken.filter(|_| is_done) else { return Err(Refusal::under_way(ticket)) };
        machine.reads.remove(&ticket);
        // SAFETY: it has as many bytes, by the caller's promise and as compared.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(taken.as_ptr(), taken.len()) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    with(machine, take)
}

/// The tenant writes its host memory.
///
/// # Safety
/// `data` is NULL or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_host_write(
    machine: *mut Token,
    tenant: u64,
    host: u64,
    offset: u32,
    data: *const c_void,
    size: u32,
) -> c_int {
    let write = |machine: &mut Machine| {
        let (tenant, host) = (TenantId(tenant), HostId(host));
        within("host memory", host.0, machine.driver.region(tenant, host)?.size, offset, size)?;
        // SAFETY: the caller's promise, here and below.
        let data = unsafe { bytes("data", data.cast(), some(size)? as usize) }?;
        Ok(machine.driver.host_write(tenant, host, offset, &data)?)
    };
    with(machine, write)
}

/// The tenant reads its host memory.
///
/// # Safety
/// `data` is NULL or has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_host_read(
    machine: *mut Token,
    tenant: u64,
    host: u64,
    offset: u32,
    data: *mut c_void,
    size: u32,
) -> c_int {
    let read = |machine: &mut Machine| {
        let (tenant, host) = (TenantId(tenant), HostId(host));
        if data.is_null() {
            return Err(Refusal::null("data", "room for the bytes"));
        }
        within("host memory", host.0, machine.driver.region(tenant, host)?.size, offset, some(size)?)?;
        let mut bytes = vec![0; size as usize];
        machine.driver.host_read(tenant, host, offset, &mut bytes)?;
        // SAFETY: the caller's promise.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    with(machine, read)
}
