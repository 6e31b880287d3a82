//! Remarks: faults and likely mistakes, for the top of the summary.

use super::make::Maker;
use crate::chains::card::ChainCard;
use crate::summary::{Remark, file_name, grouped};
use diagnostics::near::nearest;

/// The drop reasons of packets after a fault of a program.
const TROUBLES: [&str; 3] = ["trap", "watchdog", "bad-doorbell"];

impl ChainCard {
    /// The remarks of this run.
    pub(super) fn remarks(&self, maker: &Maker) -> Vec<Remark> {
        let mut remarks: Vec<Remark> = Vec::new();
        if self.ended.is_some() && self.record.borrow().stats.all.came.packets == 0 {
            remarks.push(Remark::new("no_packets", "no packet came: the traffic has none".into()));
        }
        remarks.extend(self.trap_remark(maker));
        remarks.extend(self.unnamed_tenants().map(|text| Remark::new("unnamed_tenant", text)));
        remarks
    }

    /// The remark about faults of units' programs.
    pub(super) fn trap_remark(&self, maker: &Maker) -> Option<Remark> {
        self.first_trouble(maker).map(|text| Remark::new("traps", text))
    }

    /// The first fault of a unit's program, and the number of packets dropped after such faults.
    fn first_trouble(&self, maker: &Maker) -> Option<String> {
        let troubles = self.troubles(maker);
        let first = troubles.iter().min_by(|a, b| a.time_ns.total_cmp(&b.time_ns))?;
        let reasons = &self.record.borrow().stats.all.reasons;
        let dropped: u64 = reasons.iter().filter(|(reason, _)| TROUBLES.contains(*reason)).map(|(_, n)| n).sum();
        let packets = match dropped {
            0 => "no packet was dropped for it".to_owned(),
            1 => "1 packet was dropped for it".into(),
            n => format!("{} packets were dropped for it", grouped(n)),
        };
        let place = first.place.as_ref().map_or_else(String::new, |place| format!("{place} "));
        let line = first.source.text(file_name).map_or_else(String::new, |line| format!("at {line} "));
        let packet = first.packet.map_or_else(String::new, |packet| format!(", packet {packet}"));
        let (unit, text, pc) = (&first.unit, &first.text, &first.pc);
        Some(format!("a program went wrong, {packets}; first in {place}{line}(pc {pc}): {text}{packet}, unit {unit}"))
    }

    /// Tenants that cannot have packets.
    fn unnamed_tenants(&self) -> impl Iterator<Item = String> {
        let (experiment, chains) = (&self.checked.experiment, self.checked.chains.all());
        let has_chain = |tenant: usize| chains.iter().any(|chain| chain.tenant == tenant);
        let has_class = |class: u8| experiment.chain.iter().any(|chain| chain.0.class == Some(class));
        let tenants = self.checked.tenants.iter().enumerate();
        // Tables of the pipeline can give packets any class.
        let unnamed =
            tenants.filter(move |(i, tenant)| experiment.rmt.is_none() && !has_chain(*i) && !has_class(tenant.class));
        unnamed.map(|(_, tenant)| {
            let names = chains.iter().map(|chain| chain.params.name.as_str());
            let near = nearest(&tenant.name, names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`, the name of a chain?"));
            format!("no chain is of tenant `{}`, so it has no packets{near}", tenant.name)
        })
    }
}
