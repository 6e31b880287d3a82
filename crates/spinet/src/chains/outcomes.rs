//! Outcomes of packets, for a caller that tries packets one at a time.

use super::card::ChainCard;
use super::record::{Fate, Kept};
use super::trail::{Part, Visit};
use crate::lines::line_of;
use crate::trial::{Fault, PacketOutcome, ProgramVisit};
use panic::unit::riscv::{Program, Trouble};
use std::collections::BTreeMap;

impl ChainCard {
    pub(super) fn outcomes(&mut self) -> Vec<PacketOutcome> {
        let kept = self.record.borrow_mut().kept.as_mut().map(std::mem::take);
        let mut outcomes: Vec<PacketOutcome> = kept.unwrap_or_default().iter().map(|kept| self.outcome(kept)).collect();
        let instructions = self.instructions();
        if let [outcome] = &mut outcomes[..] {
            for visit in &mut outcome.visits {
                let before = self.instructions_before.get(&visit.core).unwrap_or(&0);
                visit.instructions = instructions.get(&visit.core).map(|count| count - before);
            }
        }
        self.instructions_before = instructions;
        outcomes
    }

    /// Instructions that each unit has executed so far.
    fn instructions(&self) -> BTreeMap<String, u64> {
        let counters = self.nic.system.counters();
        let of_unit =
            |(name, count): (String, u64)| Some((name.strip_suffix(".engine.instructions")?.to_owned(), count));
        counters.into_iter().filter_map(of_unit).collect()
    }

    fn outcome(&self, kept: &Kept) -> PacketOutcome {
        let (fate, reason) = kept.fate;
        let no_chain = || kept.chain.is_none().then(|| "no chain takes it".to_owned());
        PacketOutcome {
            verdict: Fate::NAMES[fate as usize],
            reason: reason.map(|reason| reason.word().to_owned()).or_else(no_chain),
            visits: kept.visits.iter().filter_map(|visit| self.visit(visit)).collect(),
            faults: self.nic.programs.iter().flat_map(|unit| self.faults_of(kept.id, unit)).collect(),
        }
    }

    /// A visit of a unit that runs a program.
    fn visit(&self, visit: &Visit) -> Option<ProgramVisit> {
        let node = visit.unit?;
        let place = |(service, nodes): (usize, &Vec<_>)| {
            let unit = nodes.iter().position(|&other| other == node)?;
            Some((service, unit))
        };
        let (service, unit) = self.nic.nodes.units.iter().enumerate().find_map(place)?;
        let name = self.checked.services[service].name.clone();
        let (core, _) = self.program_at(&format!("{name}[{unit}]"))?.clone();
        let cycles = visit.parts[Part::Service as usize];
        Some(ProgramVisit { name, stage: "service", cycles, instructions: None, core })
    }

    /// The program of a unit such as `core[0]`. If a service has only one unit, the card may use the service's name for
    /// it.
    pub(super) fn program_at(&self, unit: &str) -> Option<&(String, Program)> {
        let is_only = |name: &str| unit.strip_suffix("[0]") == Some(name);
        self.nic.programs.iter().find(|(name, _)| name == unit || is_only(name))
    }

    fn faults_of(&self, packet: u64, (unit, program): &(String, Program)) -> Vec<Fault> {
        let fault = |trouble: &Trouble| Fault {
            text: trouble.cause.to_string(),
            pc: Some(trouble.pc),
            place: trouble.symbol.as_ref().map_or_else(String::new, |(name, offset)| format!("{name}+{offset:#x}")),
            source: self.program_of(unit).map(|elf| line_of(elf, trouble.pc)).unwrap_or_default(),
            core: unit.clone(),
        };
        let troubles = program.troubles.borrow();
        troubles.iter().filter(|trouble| trouble.packet == Some(packet)).map(fault).collect()
    }
}
