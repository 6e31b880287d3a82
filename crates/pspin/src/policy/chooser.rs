//! Asks a policy, as rarely as possible.

use super::{Choice, Tenant, TenantPolicy};
use kernel::Cycle;

/// A policy, and its answer that nobody is next, while that answer holds.
pub struct Chooser {
    policy: Box<dyn TenantPolicy>,
    /// The cycle before which nobody is next, and how many tenants waited when the policy said so.
    held: Option<(Cycle, usize)>,
}

impl Chooser {
    /// Creates a chooser that asks this policy.
    pub fn new(policy: Box<dyn TenantPolicy>) -> Self {
        Chooser { policy, held: None }
    }

    /// The place of the tenant that is next. `complete` brings `tenants` up to date, apart from [`Tenant::waits`], before the policy is
    /// asked; it may append tenants that do not wait.
    ///
    /// Panics if the policy chooses a tenant that does not wait.
    pub fn choose(
        &mut self,
        now: Cycle,
        tenants: &mut Vec<Tenant>,
        complete: impl FnOnce(&mut Vec<Tenant>),
    ) -> Option<usize> {
        let first = tenants.iter().position(|tenant| tenant.waits)?;
        let n_waiting = 1 + tenants[first + 1..].iter().filter(|tenant| tenant.waits).count();
        if n_waiting == 1 && !self.policy.holds_back() {
            return Some(first);
        }
        if self.held.is_some_and(|(until, waited)| now < until && waited == n_waiting) {
            return None;
        }
        complete(tenants);
        self.held = match self.policy.choose(now, tenants) {
            Choice::Start(place) => {
                let waits = tenants.get(place).is_some_and(|tenant| tenant.waits);
                assert!(waits, "a policy chose place {place}, where no tenant waits: {tenants:?}");
                self.held = None;
                return Some(place);
            }
            Choice::Nobody => Some((Cycle::MAX, n_waiting)),
            Choice::NobodyBefore(cycle) => Some((cycle.max(now + 1), n_waiting)),
        };
        None
    }

    /// Notes a change on which the policy's answer may depend.
    pub fn changed(&mut self) {
        self.held = None;
    }

    /// The next cycle after `now` in which the policy has to be asked again.
    pub fn asks_again(&self, now: Cycle) -> Option<Cycle> {
        self.held.map(|(until, _)| until).filter(|&until| until > now && until != Cycle::MAX)
    }

    /// See [`TenantPolicy::began`].
    pub fn began(&mut self, now: Cycle, place: usize, tenants: &[Tenant]) {
        self.held = None;
        self.policy.began(now, place, tenants);
    }

    /// See [`TenantPolicy::started`].
    pub fn started(&mut self, now: Cycle, place: usize, tenants: &[Tenant]) {
        self.policy.started(now, place, tenants);
    }

    /// See [`TenantPolicy::ended`].
    pub fn ended(&mut self, now: Cycle, number: u32) {
        self.held = None;
        self.policy.ended(now, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Gives these answers, and counts them.
    struct Script(Rc<RefCell<Vec<Choice>>>, bool);

    impl TenantPolicy for Script {
        fn choose(&mut self, _now: Cycle, _tenants: &[Tenant]) -> Choice {
            self.0.borrow_mut().remove(0)
        }

        fn holds_back(&self) -> bool {
            self.1
        }
    }

    fn tenants(waits: &str) -> Vec<Tenant> {
        waits.chars().map(|waits| Tenant { waits: waits == 'w', ..Tenant::default() }).collect()
    }

    #[test]
    fn a_policy_is_asked_only_if_several_wait_or_it_holds_back() {
        for (holds_back, left) in [(false, 1), (true, 0)] {
            let answers = Rc::new(RefCell::new(vec![Choice::Start(1)]));
            let mut chooser = Chooser::new(Box::new(Script(answers.clone(), holds_back)));
            assert_eq!(chooser.choose(5, &mut tenants(".w."), |_| {}), Some(1));
            assert_eq!(answers.borrow().len(), left);
            assert_eq!(chooser.choose(5, &mut tenants("..."), |_| {}), None);
        }
    }

    #[test]
    fn after_nobody_it_is_asked_again_when_something_changes_or_the_cycle_has_come() {
        let answers =
            [Choice::Nobody, Choice::NobodyBefore(20), Choice::Nobody, Choice::NobodyBefore(1), Choice::Start(0)];
        let answers = Rc::new(RefCell::new(answers.to_vec()));
        let mut chooser = Chooser::new(Box::new(Script(answers.clone(), false)));
        let mut ask = |now, waits: &str, changes| {
            if changes {
                chooser.changed();
            }
            let chosen = chooser.choose(now, &mut tenants(waits), |_| {});
            (chosen, chooser.asks_again(now), answers.borrow().len())
        };
        assert_eq!(ask(1, "ww", false), (None, None, 4));
        assert_eq!(ask(2, "ww", false), (None, None, 4));
        assert_eq!(ask(3, "ww", true), (None, Some(20), 3));
        assert_eq!(ask(19, "ww", false), (None, Some(20), 3));
        assert_eq!(ask(20, "ww", false), (None, None, 2));
        assert_eq!(ask(21, "www", false), (None, Some(22), 1)); // One more waits. A cycle in the past is the next one.
        assert_eq!(ask(22, "www", false), (Some(0), None, 0));
    }

    #[test]
    #[should_panic(expected = "a policy chose place 1, where no tenant waits")]
    fn a_tenant_that_does_not_wait_cannot_be_chosen() {
        let answers = Rc::new(RefCell::new(vec![Choice::Start(1)]));
        Chooser::new(Box::new(Script(answers, false))).choose(1, &mut tenants("w.w"), |_| {});
    }
}
