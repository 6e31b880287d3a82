//! Outcomes of packets, for a caller that tries packets one at a time.

use super::HandlerCard;
use super::packets::{Fate, Row};
use super::stats::{RefusalPlace, TrapPlace, TrapStats};
use super::summary::cause_text;
use super::unmatched::UnmatchedRule;
use crate::experiment::{DESCRIPTORS, HOST_BASE};
use crate::program::STAGES;
use crate::summary::BusyCore;
use crate::trial::{Fault, HostWrites, PacketOutcome, ProgramVisit};
use pspin::delivery::DropReason;
use wire::layers::Layers;

/// A packet as the record keeps it for its outcome.
pub enum KeptPacket {
    /// A packet of a context.
    Matched(Box<Row>),
    /// A packet that bypassed the handlers.
    Ordinary(Box<[u8]>),
}

/// Finished packets and host writes, until the caller takes them.
#[derive(Default)]
pub struct Kept {
    /// Finished packets.
    pub packets: Vec<KeptPacket>,
    /// Writes to host memory, in order of time.
    pub host_writes: HostWrites,
}

fn core_name(cluster: u32, hpu: u32) -> String {
    format!("{cluster}:{hpu}")
}

impl HandlerCard {
    pub(super) fn outcomes(&mut self) -> Vec<PacketOutcome> {
        let kept = self.record().borrow_mut().kept.as_mut().map(|kept| std::mem::take(&mut kept.packets));
        let outcome = |packet: &KeptPacket| match packet {
            KeptPacket::Matched(row) => self.outcome(row),
            KeptPacket::Ordinary(packet) => PacketOutcome {
                verdict: Fate::NAMES[Fate::Ordinary as usize],
                reason: Some(self.why_ordinary(packet)),
                visits: Vec::new(),
                faults: Vec::new(),
            },
        };
        kept.unwrap_or_default().iter().map(outcome).collect()
    }

    /// Writes of handlers and of the DMA engine. The card's own records of errors are not among them.
    pub(super) fn handlers_writes(&mut self) -> HostWrites {
        let kept = self.record().borrow_mut().kept.as_mut().map(|kept| std::mem::take(&mut kept.host_writes));
        kept.unwrap_or_default().into_iter().filter(|(addr, _)| !(DESCRIPTORS..HOST_BASE).contains(addr)).collect()
    }

    fn outcome(&self, row: &Row) -> PacketOutcome {
        let stages = row.tasks.iter().enumerate();
        let visit = |(stage, task): (usize, &super::packets::TaskRow)| {
            let cycles = task.end? - task.start?;
            let name = self.handler_name(row.context, stage);
            let core = core_name(task.cluster, task.hpu);
            Some(ProgramVisit { name, stage: STAGES[stage].0, cycles, instructions: Some(task.instructions), core })
        };
        PacketOutcome {
            verdict: Fate::NAMES[row.fate() as usize],
            reason: row.dropped.map(|reason| DropReason::NAMES[reason as usize].to_owned()),
            visits: stages.filter_map(visit).collect(),
            faults: self.faults_of(row),
        }
    }

    fn handler_name(&self, context: usize, stage: usize) -> String {
        let symbol = self.placed[context].handlers.stages[stage].as_ref();
        symbol.map_or_else(String::new, |symbol| symbol.name.clone())
    }

    fn faults_of(&self, row: &Row) -> Vec<Fault> {
        let (frame, context) = (row.frame, row.context);
        let trap = |(stage, task): (usize, &super::packets::TaskRow)| {
            let (cluster, hpu) = (task.cluster, task.hpu);
            let first = TrapPlace { trap: task.trap?, frame, context, stage, cluster, hpu };
            let summary = self.trap_summary(&TrapStats { count: 1, first });
            let place = summary.first;
            Some(Fault {
                text: cause_text(&summary.cause, &place),
                pc: task.trap.map(|trap| trap.pc),
                place: place.place,
                source: place.source,
                core: core_name(cluster, hpu),
            })
        };
        let mut faults: Vec<Fault> = row.tasks.iter().enumerate().filter_map(trap).collect();
        if let Some(refusal) = row.refused {
            let task = &row.tasks[refusal.stage];
            let (cluster, hpu) = (task.cluster, task.hpu);
            let refused = self.command_fault(&RefusalPlace { refusal, frame, context, cluster, hpu });
            let others =
                if row.faults > 1 { format!(" ({} refused commands in all)", row.faults) } else { String::new() };
            faults.push(Fault {
                text: format!(
                    "a command to {} at address {} was refused: {}{others}",
                    refused.unit, refused.addr, refused.why
                ),
                place: refused.handler,
                core: core_name(cluster, hpu),
                ..Fault::default()
            });
        }
        faults
    }

    /// Why no context took a packet.
    fn why_ordinary(&self, packet: &[u8]) -> String {
        let layers = Layers::parse(packet);
        let why = |context: &crate::experiment::CheckedContext| {
            let mut rule = UnmatchedRule::new(&context.matcher);
            rule.refused(packet, &layers);
            rule.why_nothing().unwrap_or_default()
        };
        let takes = |context: &&crate::experiment::CheckedContext| {
            context.matcher.as_ref().is_none_or(|matcher| matcher.matches_layers(packet, &layers))
        };
        match self.checked.contexts.iter().find(takes) {
            Some(_) => "a context matches, but has no rule or no free message queue".to_owned(),
            None => self.checked.contexts.iter().map(why).collect::<Vec<_>>().join("; "),
        }
    }

    pub(super) fn busy_places(&self) -> Vec<Fault> {
        let fault = |core: BusyCore| Fault {
            text: match core.stage {
                Some(stage) => format!("the {stage} handler still runs; its core {}", core.waiting_for),
                None => format!("the core {}", core.waiting_for),
            },
            pc: core.pc.strip_prefix("0x").and_then(|pc| u32::from_str_radix(pc, 16).ok()),
            place: core.place,
            source: core.source,
            core: core_name(core.cluster, core.core),
        };
        self.cores().into_iter().map(fault).collect()
    }
}
