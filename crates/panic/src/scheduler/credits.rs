//! The credit manager: how many packets each unit can still accept (4.3.1).

use super::params::ServiceParams;
use crate::protocol::{CreditNote, NodeId};
use kernel::Cycle;
use kernel::trace::Tracer;

/// Credits of all units; units are numbered across services.
pub(super) struct Credits {
    units: Vec<Unit>,
    services: Vec<Service>,
}

struct Unit {
    node: NodeId,
    initial: i64,
    /// Credits of the unit at the scheduler. The count is negative after other units pushed packets to the unit while packets
    /// with credits were on their way.
    held: i64,
}

struct Service {
    /// Index range of its units.
    units: std::ops::Range<usize>,
    has_affinity: bool,
    /// The unit considered first when push destinations have equal credits.
    turn: usize,
}

impl Credits {
    /// All units start with their initial credits.
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

    /// Credits of each unit; 0 where the count is negative.
    pub fn held(&self) -> impl Iterator<Item = u64> {
        self.units.iter().map(|unit| u64::try_from(unit.held).unwrap_or(0))
    }

    /// Processes a unit's note.
    pub fn take_note(&mut self, unit: usize, note: CreditNote) {
        let unit = &mut self.units[unit];
        unit.held += match note {
            CreditNote::Return => 1,
            CreditNote::Cancel => -1,
        };
        assert!(unit.held <= unit.initial, "a unit returned more credits than it had");
    }

    /// Traces the number of credits of a unit.
    pub fn trace_held(&self, unit: usize, now: Cycle, tracer: &Tracer) {
        let Unit { node, held, .. } = &self.units[unit];
        tracer.emit(&super::CREDITS, now, &[node.0.into(), u64::try_from(*held).unwrap_or(0)]);
    }

    /// Spends one credit of `unit`.
    pub fn spend(&mut self, unit: usize) {
        assert!(self.units[unit].held > 0, "no credit to spend");
        self.units[unit].held -= 1;
    }

    /// The unit for a packet of `flow`: the unit with the most credits, or the first of several such units (RTL). With affinity,
    /// it is the flow's unit. Returns `None` if it has no credit.
    pub fn unit_for(&self, service: usize, flow: u32) -> Option<usize> {
        let Service { units, .. } = &self.services[service];
        self.most(self.candidates(service, flow), units.start)
    }

    /// The unit to which another unit shall push a packet of `flow`; spends nothing yet.
    ///
    /// Units with a credit take turns, as the prototype's RMT alternates between units packet by packet. The number of credits
    /// is a poor guide here: planned packets are not yet counted, and present ones may be gone when the push happens.
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
        // assumed: the spreading of flows is not published; flow numbers are hashes of headers or assigned in order.
        let own = units.start + flow as usize % units.len();
        own..own + 1
    }

    /// The unit in `units` with the most credits. Of several such units, it is the first one from `first` on,
    /// cyclically.
    fn most(&self, units: std::ops::Range<usize>, first: usize) -> Option<usize> {
        let distance = |unit: usize| if unit >= first { unit - first } else { unit + self.units.len() - first };
        let with_credit = units.filter(|&unit| self.units[unit].held > 0);
        with_credit.max_by_key(|&unit| (self.units[unit].held, std::cmp::Reverse(distance(unit))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{PolicyParams, PolicyTree};
    use crate::scheduler::params::UnitParams;
    use expect_test::{Expect, expect};

    /// Two services of two units each. `s` sends a packet for the second service, `p` asks for a push destination, `f3` selects
    /// flow 3; `+6` and `-6` are a return and a cancel by node 6.
    fn check(flow_affinity: bool, script: &str, want: Expect) {
        let unit = |node| UnitParams { node: NodeId(node), credits: 2 };
        let service = |units: [u8; 2]| ServiceParams {
            units: units.map(unit).into(),
            flow_affinity,
            policy: PolicyTree::of(PolicyParams::Fifo),
        };
        let mut credits = Credits::new(&[service([4, 5]), service([6, 7])]);
        let number = |word: &str| word[1..].parse::<usize>().unwrap_or(0);
        let step = |word: &str| match word.as_bytes()[0] {
            b's' => credits.unit_for(1, number(word) as u32).map_or("none".to_owned(), |unit| {
                credits.spend(unit);
                credits.node(unit).0.to_string()
            }),
            b'p' => {
                credits.push_destination(1, number(word) as u32).map_or("none".to_owned(), |node| node.0.to_string())
            }
            sign => {
                credits.take_note(number(word) - 4, if sign == b'+' { CreditNote::Return } else { CreditNote::Cancel });
                "ok".to_owned()
            }
        };
        want.assert_eq(&script.split(' ').map(step).collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn the_unit_with_most_credits_is_chosen_and_the_first_of_equals() {
        check(false, "s s s s s +7 s +6 +7 +7 s s s s", expect!["6 7 6 7 none ok 7 ok ok ok 7 6 7 none"]);
    }

    #[test]
    fn pushes_alternate_between_units_with_credit_and_spend_nothing() {
        check(false, "p p p s p p s p p", expect!["6 7 6 6 7 6 7 7 6"]);
    }

    #[test]
    fn a_cancel_may_leave_a_negative_count() {
        check(false, "s s s s -6 +6 +7 s s +6 s", expect!["6 7 6 7 ok ok ok 7 none ok 6"]);
    }

    #[test]
    fn a_flow_with_affinity_waits_for_its_unit() {
        check(true, "s2 s2 s2 s4 s3 p3 p2", expect!["6 6 none none 7 7 none"]);
    }
}
