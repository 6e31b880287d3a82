//! Where the cycles of a card's cores went, by instruction, source line and cause.

use crate::elf::{Elf, Machine};
use crate::lines::{Lines, SourceLine};
use crate::wired::MOST_IMAGE_BYTES;
use blocks::profile::CodeProfile;
use isa::{mips, riscv};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the cycles of a card's cores went.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Profile {
    /// Number of cores.
    pub cores: u64,
    /// Cycles of all cores: the sum over `instructions`, and `elsewhere`.
    pub cycles: u64,
    /// Instructions executed by all cores.
    pub executed: u64,
    /// Causes of lost cycles: cycles in which a core completed no instruction.
    pub causes: Vec<String>,
    /// Every instruction that was executed or that lost cycles, by address.
    pub instructions: Vec<InstructionProfile>,
    /// Cycles of code outside all programs.
    pub elsewhere: u64,
}

/// The cycles of one instruction, summed over all cores.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InstructionProfile {
    /// The service whose units run it; empty for cards with one address space.
    pub program: String,
    /// Its address.
    pub address: u32,
    /// Its disassembly; empty if the program has no bytes there.
    pub text: String,
    /// The function that contains it; `null` without a symbol.
    pub function: Option<String>,
    /// Its source line and the functions inlined there.
    #[serde(flatten)]
    pub source: SourceLine,
    /// Number of executions.
    pub executed: u64,
    /// Cycles: executions and lost cycles.
    pub cycles: u64,
    /// Lost cycles by cause; causes without any are left out.
    pub lost: BTreeMap<&'static str, u64>,
}

/// Executions and lost cycles of one instruction.
#[derive(Default)]
struct Sum {
    executed: u64,
    lost: Vec<u64>,
}

impl Profile {
    /// The sum of some cores' profiles. All have the same causes; `elf_at` returns the program that has code at an address.
    pub(crate) fn of<'a>(
        profiles: &[CodeProfile],
        machine: Machine,
        elf_at: impl Fn(u32) -> Option<&'a Elf>,
    ) -> Profile {
        let causes = profiles.first().map_or(&[][..], CodeProfile::causes);
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        for (pc, counts) in profiles.iter().flat_map(CodeProfile::rows) {
            let sum = sums.entry(pc).or_default();
            sum.executed += counts.executed;
            sum.lost.resize(causes.len(), 0);
            sum.lost.iter_mut().zip(counts.lost).for_each(|(sum, lost)| *sum = sum.wrapping_add(*lost));
        }
        let mut programs: Vec<(&Elf, Lines<'_>)> = Vec::new();
        let row = |(address, sum): (u32, Sum)| {
            let at =
                elf_at(address).map(|elf| match programs.iter().position(|(known, _)| std::ptr::eq(*known, elf)) {
                    Some(at) => at,
                    None => {
                        programs.push((elf, Lines::of(elf)));
                        programs.len() - 1
                    }
                });
            let program = at.map(|at| &programs[at]);
            InstructionProfile {
                program: String::new(),
                address,
                text: program.and_then(|(elf, _)| text(elf, machine, address)).unwrap_or_default(),
                function: program.and_then(|(elf, _)| Some(elf.function_before(address)?.name.clone())),
                source: program.map(|(_, lines)| lines.at(address)).unwrap_or_default(),
                executed: sum.executed,
                cycles: sum.executed + sum.lost.iter().sum::<u64>(),
                lost: causes.iter().copied().zip(sum.lost).filter(|&(_, lost)| lost > 0).collect(),
            }
        };
        let instructions: Vec<InstructionProfile> = sums.into_iter().map(row).collect();
        let elsewhere: u64 = profiles.iter().map(|profile| profile.elsewhere().cycles()).sum();
        Profile {
            cores: profiles.len() as u64,
            cycles: elsewhere + instructions.iter().map(|row| row.cycles).sum::<u64>(),
            executed: instructions.iter().map(|row| row.executed).sum(),
            causes: causes.iter().map(|&cause| cause.to_owned()).collect(),
            instructions,
            elsewhere,
        }
    }
}

impl Profile {
    /// Several programs, each with the service whose units run it.
    pub(crate) fn joined(services: impl IntoIterator<Item = (String, Profile)>) -> Option<Profile> {
        let named = |(service, mut profile): (String, Profile)| {
            profile.instructions.iter_mut().for_each(|row| row.program.clone_from(&service));
            profile
        };
        services.into_iter().map(named).reduce(|mut all, one| {
            all.cores += one.cores;
            all.cycles += one.cycles;
            all.executed += one.executed;
            all.elsewhere += one.elsewhere;
            all.instructions.extend(one.instructions);
            all
        })
    }
}

/// Addresses and bytes of the code of some programs. A file may claim any size. Code beyond a card's memory is only
/// counted in the sum.
pub(crate) fn ranges<'a>(programs: impl IntoIterator<Item = &'a Elf>) -> Vec<(u32, u32)> {
    let mut room = MOST_IMAGE_BYTES as u32;
    let ranges = programs.into_iter().flat_map(|elf| &elf.segments).map(|part| {
        let bytes = part.size.min(room);
        room -= bytes;
        (part.addr, bytes)
    });
    ranges.collect()
}

/// The disassembly of the instruction at an address.
fn text(elf: &Elf, machine: Machine, address: u32) -> Option<String> {
    let part = elf.segments.iter().find(|part| part.addr <= address && u64::from(address) < part.end())?;
    let bytes = part.bytes.get((address - part.addr) as usize..)?;
    Some(match machine {
        Machine::Mips => mips::disassemble(mips::decode(u32::from_be_bytes(*bytes.first_chunk()?)), address),
        Machine::RiscV => {
            let low = u16::from_le_bytes(*bytes.first_chunk()?);
            let high = bytes.get(2..).and_then(|rest| rest.first_chunk()).map_or(0, |&high| u16::from_le_bytes(high));
            riscv::disassemble(riscv::decode(u32::from(low) | u32::from(high) << 16), address)
        }
    })
}
