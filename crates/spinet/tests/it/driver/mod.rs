//! The driver: resources of tenants, refused calls, and packets while rules are installed and removed.

mod handles;
mod messages;
mod rules;
mod sharing;

use crate::support;
use kernel::Time;
use spinet::driver::{ContextId, ContextSpec, Driver, DriverError, ProgramId, TenantId};
use spinet::elf::Elf;
use spinet::nics;
use std::fmt::{Display, Write};
use std::path::Path;
use std::rc::Rc;

/// A card whose runtime is the boot code of the tests' program.
fn card() -> Driver {
    card_of("pspin-rtl", &[])
}

/// The same of this preset, with parameters that differ.
fn card_of(preset: &str, set: &[&str]) -> Driver {
    let set: Vec<_> = set.iter().map(|set| nics::parse_setting(set).unwrap()).collect();
    let params = nics::load(preset, &set, Path::new(".")).unwrap();
    Driver::boot(&params, Rc::new(Elf::parse("runtime.elf".into(), support::runtime()).unwrap()), 1).unwrap()
}

/// Handlers for a tenant, linked at `addr`.
fn handlers(addr: u32) -> Rc<Elf> {
    Rc::new(Elf::parse("tenant.elf".into(), support::handlers_at(addr)).unwrap())
}

/// A context whose handler returns its packets.
fn echo(program: ProgramId) -> ContextSpec {
    ContextSpec { handler: Some("echo".into()), ..ContextSpec::new(program) }
}

/// A tenant with such a context.
fn echoing(driver: &mut Driver, name: &str, addr: u32) -> (TenantId, ContextId) {
    let tenant = driver.open(name, None).unwrap();
    let program = driver.load(tenant, handlers(addr)).unwrap();
    (tenant, driver.build(tenant, &echo(program)).unwrap())
}

/// A packet of 60 bytes to port 7, from this one.
fn packet(at: Time, port: u16) -> (Time, Box<[u8]>) {
    (at, support::udp(port, 7, 60).into())
}

/// A transcript: requests and answers.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn note<T: Display>(&mut self, what: &str, answer: Result<T, DriverError>) -> Option<T> {
        match &answer {
            Ok(value) => writeln!(self.0, "{what}: {value}").unwrap(),
            Err(error) => writeln!(self.0, "{what}: error: {error}").unwrap(),
        }
        answer.ok()
    }

    fn done(&mut self, what: &str, answer: Result<(), DriverError>) {
        self.note(what, answer.map(|()| "done"));
    }
}
