//! Host accesses: to the card's memories through its port, and to host memory.

use super::machines::Token;
use super::refusal::Refusal;
use super::{Machine, with, with_result};
use crate::ffi::{bytes, put};
use spinet::driver::{DriverError, HostId, MemoryId, TenantId, TicketId};
use std::ffi::{c_int, c_void};

fn some(size: u32) -> Result<u32, Refusal> {
    if size == 0 { Err(Refusal::argument("size", size, "1 or more")) } else { Ok(size) }
}

/// Returns an error if an access exceeds the memory's size. Checked before the C program's bytes are read.
fn within(what: &'static str, number: u64, bytes: u32, offset: u32, requested: u32) -> Result<(), Refusal> {
    let (size, offset, requested) = (bytes.into(), offset.into(), requested.into());
    if offset + requested > size {
        Err(DriverError::Beyond { what, number, size, offset, requested }.into())
    } else {
        Ok(())
    }
}

/// Starts a write to the card.
///
/// # Safety
/// `data` is NULL or has `size` bytes, `ticket` is NULL or writable.
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
        // SAFETY: the caller guarantees it, here and below.
        let data = unsafe { bytes("data", data.cast(), some(size)? as usize) }?;
        let begun = machine.driver.write(tenant, memory, offset, &data)?;
        if !ticket.is_null() {
            unsafe { put("ticket", ticket, begun.0) }?;
        }
        Ok(())
    };
    with(machine, write)
}

/// Starts a read from the card.
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
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "ticket", ticket, read) }
}

/// Runs the simulation until an access is complete.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_wait(machine: *mut Token, tenant: u64, ticket: u64) -> c_int {
    with(machine, |machine| Ok(machine.driver.wait(TenantId(tenant), TicketId(ticket))?))
}

/// Returns whether an access is complete.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_is_over(machine: *mut Token, tenant: u64, ticket: u64, over: *mut u8) -> c_int {
    let look = |machine: &mut Machine| Ok(machine.driver.is_done(TenantId(tenant), TicketId(ticket))?.into());
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "over", over, look) }
}

/// Takes the bytes of a complete read.
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
                return Err(Refusal::argument("size", size, format_args!("{read}, the size of the read")));
            }
            Some(_) if data.is_null() => return Err(Refusal::null("data", "room for the bytes")),
            // A write returns no bytes, and the bytes of a read were already returned.
            Some(_) | None => {}
        }
        let taken = machine.driver.take(tenant, id)?;
        let Some(taken) = taken.filter(|_| is_done) else { return Err(Refusal::in_progress(ticket)) };
        machine.reads.remove(&ticket);
        // SAFETY: the caller guarantees the room, and the sizes were compared.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(taken.as_ptr(), taken.len()) };
        Ok(())
    };
    // SAFETY: the caller guarantees it.
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
        // SAFETY: the caller guarantees it, here and below.
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
        // SAFETY: the caller guarantees it.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    };
    // SAFETY: the caller guarantees it.
    with(machine, read)
}
