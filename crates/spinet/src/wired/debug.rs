//! A wired card under a debugger: the cores that run firmware are threads.

use super::card::{WiredCard, clocked};
use crate::debug::{CoreKind, Cores, Region, Work};
use blocks::debug::Probe;
use blocks::memory::{Contents, memories};
use blocks::mips::{Cause, MipsCore};
use kernel::Clock;
use std::cell::RefCell;
use std::rc::Rc;

type Memory = Rc<RefCell<dyn Contents>>;

/// A memory that all cores address.
pub(super) struct Shared {
    name: String,
    base: u32,
    bytes: u32,
    contents: Memory,
}

impl WiredCard {
    /// The memories that firmware is loaded into, or a single memory from address 0 on.
    fn shared(&self) -> Vec<Shared> {
        let all = memories(&self.card);
        let size = |contents: &Memory| u32::try_from(contents.borrow().size()).unwrap_or(u32::MAX);
        let Some(firmware) = spinach::memories(&self.card) else {
            let [(name, contents)] = &all[..] else { return Vec::new() };
            let (name, contents) = (name.clone(), contents.clone());
            return vec![Shared { bytes: size(&contents), name, base: 0, contents }];
        };
        let found = firmware.into_iter().filter_map(|memory| {
            let (name, contents) = all.iter().find(|(name, _)| *name == memory.memory)?.clone();
            Some(Shared { name, base: memory.base, bytes: memory.bytes.min(size(&contents)), contents })
        });
        found.collect()
    }

    /// The shared memory at an address: the memory, the offset, and the number of bytes from there on.
    fn shared_at(&self, core: usize, addr: u32) -> Option<(Memory, u32, u32)> {
        let addr = self.core(core).borrow().bus_address(addr);
        let shared = self.shared().into_iter().find(|one| addr.wrapping_sub(one.base) < one.bytes)?;
        let offset = addr - shared.base;
        Some((shared.contents, offset, shared.bytes - offset))
    }

    fn core(&self, core: usize) -> &Rc<RefCell<MipsCore>> {
        &self.cores[core].1
    }
}

impl Cores for WiredCard {
    fn kind(&self) -> CoreKind {
        CoreKind::Mips
    }

    fn names(&self) -> Vec<String> {
        self.cores.iter().map(|(path, _)| path.clone()).collect()
    }

    fn observe(&mut self, probe: &dyn Fn(usize, Clock) -> Probe) {
        self.stops_exactly = true;
        for (number, (clock, core)) in clocked(&self.design, &self.cores).into_iter().enumerate() {
            core.borrow_mut().set_probe(probe(number, clock));
        }
    }

    fn registers(&self, core: usize) -> (u32, Vec<u32>) {
        let core = self.core(core).borrow();
        (core.pc(), core.all_registers().to_vec())
    }

    fn work(&self, _: usize) -> Option<Work> {
        None
    }

    fn state(&self, core: usize) -> String {
        let core = self.core(core).borrow();
        match core.fault() {
            Some(fault) => format!("stopped by {}", fault.cause.text()),
            None if core.is_halted() => "halted".to_owned(),
            None => "runs".to_owned(),
        }
    }

    fn fault(&self, cause: u32) -> Option<String> {
        Cause::ALL.get(cause as usize).map(|cause| cause.text().to_owned())
    }

    fn read(&self, core: usize, addr: u32, data: &mut [u8]) -> usize {
        let n = self.core(core).borrow().read_scratchpad(addr, data);
        let Some((contents, offset, rest)) = self.shared_at(core, addr).filter(|_| n == 0) else { return n };
        let n = data.len().min(rest as usize);
        data[..n].copy_from_slice(&contents.borrow().peek(offset.into(), n as u32));
        n
    }

    fn write(&mut self, core: usize, addr: u32, data: &[u8]) -> usize {
        let n = self.core(core).borrow_mut().write_scratchpad(addr, data);
        let Some((contents, offset, rest)) = self.shared_at(core, addr).filter(|_| n == 0) else { return n };
        let n = data.len().min(rest as usize);
        contents.borrow_mut().poke(offset.into(), &data[..n]);
        n
    }

    fn regions(&self) -> Vec<Region> {
        let shared = self.shared().into_iter();
        let shared = shared.map(|Shared { name, base, bytes, .. }| Region { name, base, bytes, is_writable: true });
        let mut regions: Vec<Region> = shared.collect();
        for (path, core) in &self.cores {
            let (base, bytes) = core.borrow().scratchpad_window();
            if bytes > 0 && !regions.iter().any(|region| region.base == base && region.bytes >= bytes) {
                // A scratchpad has the same address in every core.
                regions.retain(|region| region.base != base);
                regions.push(Region { name: format!("scratchpad of {path}"), base, bytes, is_writable: true });
            }
            if let Some((base, bytes)) = core.borrow().stack_window() {
                let name = format!("stack window of {path}");
                if !regions.iter().any(|region| region.base == base) {
                    regions.push(Region { name, base, bytes, is_writable: true });
                }
            }
        }
        regions
    }
}
