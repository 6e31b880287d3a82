//! Tenants, what they own, contexts and rules.

use super::machines::{self, Token};
use super::refusal::Refusal;
use super::structs::{CardInfo, ContextArgs, TenantArgs};
use super::{Machine, call, optional, required, with, with_result};
use crate::ffi::put;
use spinet::driver::{ContextId, HostId, Kind, MemoryId, ProgramId, Remaining, RuleId, RuleSpec, TenantId};
use spinet::elf::Elf;
use spinet::nics;
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::rc::Rc;

/// Maximum number of settings; no card has as many parameters.
const MAX_SETTINGS: usize = 10_000;

/// Boots a card.
///
/// # Safety
/// Strings are NULL or C strings, `machine` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_boot(
    nic: *const c_char,
    runtime: *const c_char,
    seed: u64,
    machine: *mut *mut Token,
) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { spinet_boot_with(nic, std::ptr::null(), 0, runtime, seed, machine) }
}

/// Boots a card with parameters that differ from the preset.
///
/// # Safety
/// As [`spinet_boot`]; `settings` is NULL or has `n_settings` strings, which are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_boot_with(
    nic: *const c_char,
    settings: *const *const c_char,
    n_settings: usize,
    runtime: *const c_char,
    seed: u64,
    machine: *mut *mut Token,
) -> c_int {
    call(|| {
        if machine.is_null() {
            return Err(Refusal::null("machine", "room for the result"));
        }
        if settings.is_null() && n_settings > 0 {
            return Err(Refusal::null("settings", "the settings"));
        }
        if n_settings > MAX_SETTINGS {
            return Err(Refusal::argument("n_settings", n_settings, format_args!("at most {MAX_SETTINGS}")));
        }
        // SAFETY: the caller guarantees it, here and below.
        let setting = |i| Ok(nics::parse_setting(unsafe { required("settings", *settings.add(i)) }?)?);
        let settings: Vec<_> = (0..n_settings).map(setting).collect::<Result<_, Refusal>>()?;
        let (nic, runtime) = unsafe { (required("nic", nic)?, required("runtime", runtime)?) };
        let booted = Machine::boot(nic, &settings, Path::new(runtime), seed)?;
        Ok(unsafe { put("machine", machine, machines::add(booted)) }?)
    })
}

/// Ends a machine.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_shutdown(machine: *mut Token) -> c_int {
    call(|| if machine.is_null() { Ok(()) } else { machines::end(machine) })
}

/// Capabilities of the card, and the free parts of its memories.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_capabilities(machine: *mut Token, card: *mut CardInfo) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "card", card, |machine| Ok(machine.driver.capabilities().into())) }
}

/// Opens a tenant.
///
/// # Safety
/// As [`with_result`]; strings are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_open(
    machine: *mut Token,
    name: *const c_char,
    scope: *const c_char,
    tenant: *mut u64,
) -> c_int {
    // SAFETY: the caller guarantees it, also for the strings.
    unsafe {
        with_result(machine, "tenant", tenant, |machine| {
            Ok(machine.driver.open(required("name", name)?, optional("scope", scope)?)?.0)
        })
    }
}

/// Fills in the default specification of a tenant.
///
/// # Safety
/// `spec` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_tenant_spec(spec: *mut TenantArgs) -> c_int {
    // SAFETY: the caller guarantees it.
    call(|| Ok(unsafe { put("spec", spec, TenantArgs::default()) }?))
}

/// Opens a tenant with weight, priority and limits.
///
/// # Safety
/// As [`spinet_open`]; `spec` is NULL or readable, its strings are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_open_with(
    machine: *mut Token,
    name: *const c_char,
    scope: *const c_char,
    spec: *const TenantArgs,
    tenant: *mut u64,
) -> c_int {
    let open = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it, here and below.
        let spec = unsafe { spec.as_ref() }.ok_or(Refusal::null("spec", "a tenant specification"))?;
        let (weight, io) = unsafe { spec.read() }?;
        let (name, scope) = unsafe { (required("name", name)?, optional("scope", scope)?) };
        Ok(machine.driver.open_with(name, scope, weight, &io)?.0)
    };
    unsafe { with_result(machine, "tenant", tenant, open) }
}

/// Closes a tenant.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_close(machine: *mut Token, tenant: u64) -> c_int {
    let close = |machine: &mut Machine| {
        machine.driver.close(TenantId(tenant))?;
        machine.events.remove(&tenant);
        Ok(())
    };
    with(machine, close)
}

/// Allocates memory of the card.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_allocate(
    machine: *mut Token,
    tenant: u64,
    kind: c_int,
    bytes: u32,
    memory: *mut u64,
) -> c_int {
    let allocate = |machine: &mut Machine| {
        let kind = match kind {
            1 => Kind::Handler,
            2 => Kind::Program,
            3 => Kind::Scratchpad,
            other => {
                let allowed = "SPINET_HANDLER_MEMORY (1), SPINET_PROGRAM_MEMORY (2) or SPINET_SCRATCHPAD (3)";
                return Err(Refusal::argument("kind", other, allowed));
            }
        };
        Ok(machine.driver.allocate(TenantId(tenant), kind, bytes)?.0)
    };
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "memory", memory, allocate) }
}

/// Address of a memory.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_address(machine: *mut Token, tenant: u64, memory: u64, address: *mut u32) -> c_int {
    let place = |machine: &mut Machine| Ok(machine.driver.part(TenantId(tenant), MemoryId(memory))?.addr);
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "address", address, place) }
}

/// Registers host memory.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_register(machine: *mut Token, tenant: u64, bytes: u32, host: *mut u64) -> c_int {
    let register = |machine: &mut Machine| Ok(machine.driver.register(TenantId(tenant), bytes)?.0);
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "host", host, register) }
}

/// Address of host memory.
///
/// # Safety
/// As [`with_result`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_host_address(machine: *mut Token, tenant: u64, host: u64, address: *mut u64) -> c_int {
    let place = |machine: &mut Machine| Ok(machine.driver.region(TenantId(tenant), HostId(host))?.addr);
    // SAFETY: the caller guarantees it.
    unsafe { with_result(machine, "address", address, place) }
}

/// Loads a program.
///
/// # Safety
/// As [`with_result`]; `elf` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_load(machine: *mut Token, tenant: u64, elf: *const c_char, program: *mut u64) -> c_int {
    let load = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it, here and below.
        let elf = Elf::open(Path::new(unsafe { required("elf", elf) }?))?;
        Ok(machine.driver.load(TenantId(tenant), Rc::new(elf))?.0)
    };
    unsafe { with_result(machine, "program", program, load) }
}

/// Fills in the default specification of a context.
///
/// # Safety
/// `spec` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_context_spec(program: u64, spec: *mut ContextArgs) -> c_int {
    // SAFETY: the caller guarantees it.
    call(|| Ok(unsafe { put("spec", spec, ContextArgs::new(program)) }?))
}

/// Builds a context.
///
/// # Safety
/// As [`with_result`]; `spec` is NULL or readable, its strings are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_build(
    machine: *mut Token,
    tenant: u64,
    spec: *const ContextArgs,
    context: *mut u64,
) -> c_int {
    let build = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it, here and below.
        let spec = unsafe { spec.as_ref() }.ok_or(Refusal::null("spec", "a context specification"))?;
        Ok(machine.driver.build(TenantId(tenant), &unsafe { spec.read() }?)?.0)
    };
    unsafe { with_result(machine, "context", context, build) }
}

/// Installs a rule.
///
/// # Safety
/// As [`with_result`]; strings are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spinet_install(
    machine: *mut Token,
    tenant: u64,
    context: u64,
    matches: *const c_char,
    message: *const c_char,
    priority: i32,
    rule: *mut u64,
) -> c_int {
    let install = |machine: &mut Machine| {
        // SAFETY: the caller guarantees it, here and below.
        let (matches, message) = unsafe { (optional("match", matches)?, optional("message", message)?) };
        let mut spec = RuleSpec { matches: matches.map(Into::into), priority, ..RuleSpec::default() };
        if let Some(message) = message {
            spec.message = message.into();
        }
        Ok(machine.driver.install(TenantId(tenant), ContextId(context), &spec)?.0)
    };
    unsafe { with_result(machine, "rule", rule, install) }
}

/// Removes a rule.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_remove(machine: *mut Token, tenant: u64, rule: u64, remaining: c_int) -> c_int {
    let remove = |machine: &mut Machine| {
        let remaining = match remaining {
            0 => Remaining::End,
            1 => Remaining::Kill,
            other => return Err(Refusal::argument("remaining", other, "SPINET_END (0) or SPINET_KILL (1)")),
        };
        Ok(machine.driver.remove(TenantId(tenant), RuleId(rule), remaining)?)
    };
    with(machine, remove)
}

/// Functions that release a handle.
macro_rules! ends {
    ($($name:ident => $method:ident($id:ident);)*) => {$(
        /// Releases the handle.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(machine: *mut Token, tenant: u64, handle: u64) -> c_int {
            with(machine, |machine| Ok(machine.driver.$method(TenantId(tenant), $id(handle))?))
        }
    )*};
}

ends! {
    spinet_free => free(MemoryId);
    spinet_unregister => unregister(HostId);
    spinet_unload => unload(ProgramId);
    spinet_destroy => destroy(ContextId);
}
