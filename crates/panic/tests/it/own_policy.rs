//! A user's own policy: least attained service, so that short flows overtake long ones.

use panic::pifo::{LogicalPifo, Ranks};
use panic::policy::{Arrival, Policy};
use std::collections::BTreeMap;

/// The flow that has sent the fewest bytes goes first.
#[derive(Default)]
struct LeastAttainedService {
    sent_bytes: BTreeMap<u32, u64>,
}

impl Policy for LeastAttainedService {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        let sent = self.sent_bytes.entry(arrival.flow).or_default();
        *sent += u64::from(arrival.bytes);
        *sent
    }

    fn dropped(&mut self, arrival: &Arrival, _rank: u64) {
        let sent = self.sent_bytes.get_mut(&arrival.flow).expect("a dropped packet must have arrived");
        *sent -= u64::from(arrival.bytes);
    }
}

#[test]
fn short_flows_overtake_long_ones() {
    let mut queue = LogicalPifo::new(Box::new(LeastAttainedService::default()), 1);
    for (flow, bytes) in [(1, 1500), (1, 1500), (1, 1500), (2, 300), (2, 300), (3, 64)] {
        let arrival = Arrival { now: 0, class: 0, flow, bytes, priority: 0, slack_cycles: 0, metadata: 0 };
        queue.push(&arrival, &mut Ranks::new(), 0, flow);
    }
    assert_eq!(queue.drop_last(), Some(1));
    let served: Vec<u32> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(served, [3, 2, 2, 1, 1]);
}
