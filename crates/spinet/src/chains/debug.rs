//! A card with chains under a debugger: the units that run a program are threads.

use super::card::{ChainCard, service_of};
use crate::debug::{CoreKind, Cores, Region, Work};
use crate::handlers::cause_name;
use blocks::debug::Probe;
use isa::riscv::cause::ECALL_MACHINE;
use kernel::Clock;
use panic::unit::riscv::Program;

impl ChainCard {
    /// The units of the first service that runs a program. The others are not shown: a debugger knows only one program,
    /// and the programs of different services use the same addresses.
    pub(super) fn debugged(&self) -> impl Iterator<Item = &(String, Program)> {
        let service = self.nic.programs.first().map_or("", |(unit, _)| service_of(unit));
        self.nic.programs.iter().filter(move |(unit, _)| service_of(unit) == service)
    }

    fn debugged_unit(&self, core: usize) -> &Program {
        &self.debugged().nth(core).expect("a core of the list").1
    }
}

impl Cores for ChainCard {
    fn kind(&self) -> CoreKind {
        CoreKind::RiscV
    }

    fn names(&self) -> Vec<String> {
        self.debugged().map(|(unit, _)| unit.clone()).collect()
    }

    fn observe(&mut self, probe: &dyn Fn(usize, Clock) -> Probe) {
        self.stops_exactly = true;
        for (core, (_, program)) in self.debugged().enumerate() {
            program.set_probe(probe(core, self.clock));
        }
    }

    fn registers(&self, core: usize) -> (u32, Vec<u32>) {
        self.debugged_unit(core).registers()
    }

    fn work(&self, core: usize) -> Option<Work> {
        let (packet, entry) = self.debugged_unit(core).work()?;
        Some(Work { packet, message: None, stage: "program", entry: Some(entry) })
    }

    fn state(&self, core: usize) -> String {
        let is_at_work = self.debugged_unit(core).work().is_some();
        if is_at_work { "has a packet" } else { "has no packet" }.to_owned()
    }

    fn fault(&self, cause: u32) -> Option<String> {
        (cause != ECALL_MACHINE).then(|| cause_name(cause))
    }

    fn read(&self, core: usize, addr: u32, data: &mut [u8]) -> usize {
        if self.debugged_unit(core).read_before(self.now, addr, data) { data.len() } else { 0 }
    }

    fn write(&mut self, core: usize, addr: u32, data: &[u8]) -> usize {
        self.debugged_unit(core).write(addr, data)
    }

    fn regions(&self) -> Vec<Region> {
        let first = self.debugged().next().map(|(unit, program)| (unit, program.window()));
        let region = |(unit, (base, bytes)): (&String, (u32, u32))| Region {
            name: format!("memory of each unit of {}", service_of(unit)),
            base,
            bytes,
            is_writable: true,
        };
        first.map(region).into_iter().collect()
    }
}
