//! Weights that change while packets flow.

use super::check::CheckedChains;
use kernel::Cycle;
use panic::policy::{Arrival, FairShare, Policy, PolicyParams};
use std::cell::RefCell;
use std::rc::Rc;

/// The weighted-fair state that a run and a service's queue share.
struct Shared(Rc<RefCell<FairShare>>);

impl Policy for Shared {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        self.0.borrow_mut().rank(arrival)
    }

    fn served(&mut self, rank: u64) {
        self.0.borrow_mut().served(rank);
    }

    fn dropped(&mut self, arrival: &Arrival, rank: u64) {
        self.0.borrow_mut().dropped(arrival, rank);
    }

    fn charged(&self) -> u64 {
        self.0.borrow().charged()
    }

    fn refund(&mut self, arrival: &Arrival, charged: u64) {
        self.0.borrow_mut().refund(arrival, charged);
    }

    fn eligible(&self, rank: u64) -> Cycle {
        self.0.borrow().eligible(rank)
    }
}

type Shares = Vec<Rc<RefCell<FairShare>>>;
/// Policies, each with the position of its service.
pub type Policies = Vec<(usize, Box<dyn Policy>)>;

/// For experiments that change weights: the weighted-fair states of the services that use the tenants' weights, and the
/// policies that use these states.
pub fn shares(checked: &CheckedChains) -> (Shares, Policies) {
    let (mut shares, mut policies): (Shares, Policies) = Default::default();
    if checked.changes.iter().all(|change| change.weights.is_empty()) {
        return (shares, policies);
    }
    for &service in &checked.weighted {
        if let PolicyParams::WeightedFair { weights } = &checked.services[service].policy.policy {
            let share = Rc::new(RefCell::new(FairShare::of_bytes(weights)));
            shares.push(share.clone());
            policies.push((service, Box::new(Shared(share)) as Box<dyn Policy>));
        }
    }
    (shares, policies)
}
