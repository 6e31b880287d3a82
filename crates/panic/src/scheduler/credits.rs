//! The credit manager: how much each unit can still take (4.3.1).

use super::params::ServiceParams;
use crate::protocol::{CreditNote, NodeId};
use kernel::Cycle;
use kernel::trace::Tracer;

/// Counts credits of units; units are numbered through all services.
pub(super) struct Credits {
    units: Vec<Unit>,
    services: Vec<Service>,
}

struct Unit {
    node: NodeId,
    initial: i64,
    /// Below zero when others pushed packets to it while packets that were paid for were under way.
    held: i64,
}

struct Service {
    /// Its units, from the first to before the last.
    units: std::ops::Range<usize>,
    has_affinity: bool,
    /// The unit that is looked at first when a push destination is chosen among equals.
    turn: usize,
}

impl Credits {
    /// All units have their initial credits.
    pub fn new(params: &[ServiceParams]) -> Credits {
        let (mut units, mut services) = (Vec::new(), Vec::new());
        for service in params {
            let first = units.len();
            units.extend(service.units.iter().map(|unit| {
                let initial = i64::from(unit.credits);
                Unit { node: unit.node, initial, held: initial }
            }));
            services.push(Service { units: first..units.len(), has_affinity: service.flow_affinity, turn: first });
        }
        Credits { units, services }
    }

    /// The node of a unit.
    pub fn node(&self, unit: usize) -> NodeId {
        self.units[unit].node
    }

    /// The credits that are there, of each unit; none where less than none.
    pub fn held(&self) -> impl Iterator<Item = u64> {
        self.units.iter().map(|unit| u64::try_from(unit.held).unwrap_or(0))
    }

    /// Hears from a unit.
    pub fn hear(&mut self, unit: usize, note: CreditNote) {
        let unit = &mut self.units[unit];
        unit.held += match note {
            CreditNote::Return => 1,
            CreditNote::Cancel => -1,
        };
        assert!(unit.held <= unit.initial, "a unit returns what it was given");
    }

    /// Tells who listens how many credits a unit has.
    pub fn tell(&self, unit: usize, now: Cycle, tracer: &Tracer) {
        let Unit { node, held, .. } = &self.units[unit];
        tracer.emit(&super::CREDITS, now, &[node.0.into(), u64::try_from(*held).unwrap_or(0)]);
    }

    /// Gives a credit of `unit` away.
    pub fn spend(&mut self, unit: usize) {
        assert!(self.units[unit].held > 0, "only a credit that is there is spent");
        self.units[unit].held -= 1;
    }

    /// The unit to which a packet of `flow` goes: the one with most credits, the first of equals (RTL); with affinity that of
    /// the flow. None without a credit.
    pub fn unit_for(&self, service: usize, flow: u32) -> Option<usize> {
        let Service { units, .. } = &self.services[service];
        self.most(self.candidates(service, flow), units.start)
    }

    /// The unit to which another shall push a packet of `flow`; nothing is spent yet.
    ///
    /// Those with a credit take turns, as in the prototype the RMT alternates between units packet by packet. Who has most
    /// credits says little about that: what is planned has not come yet, and what is there may be gone by then.
    pub fn push_destination(&mut self, service: usize, flow: u32) -> Option<NodeId> {
        let (candidates, turn) = (self.candidates(service, flow), self.services[service].turn);
        let in_turn = (turn.max(candidates.start)..candidates.end).chain(candidates.start..turn.min(candidates.end));
        let unit = { in_turn }.find(|&unit| self.units[unit].held > 0)?;
        let Service { units, turn, .. } = &mut self.services[service];
        *turn = if unit + 1 == units.end { units.start } else { unit + 1 };
        Some(self.units[unit].node)
    }

    fn candidates(&self, service: usize, flow: u32) -> std::ops::Range<usize> {
        let Service { units, has_affinity, .. } = &self.services[service];
        if !has_affinity {
            return units.clone();
        }
        // assumed: how flows are spread is not published; flow numbers are hashes of headers or are given out in turn.
        let own = units.start + flow as usize % units.len();
        own..own + 1
    }

    /// The one of `units` with most credits, the first of equals from `first` on, round about.
    fn most(&self, units: std::ops::Range<usize>, first: usize) -> Option<usize> {
        let distance = |unit: usize| if unit >= first { unit - first } else { unit + self.units.len() - first };
        let with_credit = units.filter(|&unit| self.units[unit].held > 0);
        with_credit.max_by_key(|&unit| (self.units[unit].held, std::cmp::Reverse(distance(unit))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Level, PolicyParams};
    use crate::scheduler::params::UnitParams;
    use expect_test::{Expect, expect};

    /// Two services of two units each. `s` sends a packet for the second service, `p` asks where to push, `f3` asks for flow
    /// 3; `+6` and `-6` are a return and a cancel of node 6.
    fn check(flow_affinity: bool, script: &str, want: Expect) {
        let unit = |node| UnitParams { node: NodeId(node), credits: 2 };
        let service = |units: [u8; 2]| ServiceParams {
            units: units.map(unit).into(),
            flow_affinity,
            policy: Level::of(PolicyParams::Fifo),
        };
        let mut credits = Credits::new(&[service([4, 5]), service([6, 7])]);
        let number = |word: &str| word[1..].parse::<usize>().unwrap_or(0);
        let tell = |word: &str| match word.as_bytes()[0] {
            b's' => credits.unit_for(1, number(word) as u32).map_or("none".to_owned(), |unit| {
                credits.spend(unit);
                credits.node(unit).0.to_string()
            }),
            b'p' => {
                credits.push_destination(1, number(word) as u32).map_or("none".to_owned(), |node| node.0.to_string())
            }
            sign => {
                credits.hear(number(word) - 4, if sign == b'+' { CreditNote::Return } else { CreditNote::Cancel });
                "ok".to_owned()
            }
        };
        want.assert_eq(&script.split(' ').map(tell).collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn the_unit_with_most_credits_is_chosen_and_the_first_of_equals() {
        check(false, "s s s s s +7 s +6 +7 +7 s s s s", expect!["6 7 6 7 none ok 7 ok ok ok 7 6 7 none"]);
    }

    #[test]
    fn pushes_alternate_between_those_with_credit_and_spend_nothing() {
        check(false, "p p p s p p s p p", expect!["6 7 6 6 7 6 7 7 6"]);
    }

    #[test]
    fn a_cancel_may_leave_less_than_nothing() {
        check(false, "s s s s -6 +6 +7 s s +6 s", expect!["6 7 6 7 ok ok ok 7 none ok 6"]);
    }

    #[test]
    fn a_flow_with_affinity_waits_for_its_unit() {
        check(true, "s2 s2 s2 s4 s3 p3 p2", expect!["6 6 none none 7 7 none"]);
    }
}
