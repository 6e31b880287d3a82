//! The user-written policies of `docs/guides/write-a-policy.md`, each against a simple computation of its result.

use panic::pifo::{LogicalPifo, Ranks};
use panic::policy::{Arrival, Policy, PolicyTree};
use proptest::prelude::*;
use std::collections::VecDeque;

const CLASSES: usize = 3;

/// A packet: its number, which is also its cycle of arrival, its class and its bytes.
type Packet = (u64, usize, u32);

/// A queue with a user's own policy.
fn queue(policy: impl Policy + 'static) -> LogicalPifo<Packet> {
    LogicalPifo::new(Box::new(policy), CLASSES)
}

fn push(queue: &mut LogicalPifo<Packet>, packet: Packet, metadata: u64) {
    let (now, class, bytes) = packet;
    let arrival = Arrival { now, class, flow: 0, bytes, priority: 0, slack_cycles: 0, metadata };
    queue.push(&arrival, &mut Ranks::new(), 0, packet);
}

/// Packets of random classes and lengths, one a cycle.
fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = proptest::collection::vec((0..CLASSES, 64u32..=1500), 1..200);
    packet.prop_map(|all| (0..).zip(all).map(|(now, (class, bytes))| (now, class, bytes)).collect())
}

/// Two orders of departure: that of the queue, and that of a linear search for the least `key`, the earliest of equals. During
/// arrivals one packet leaves in every third cycle; the rest leaves afterwards.
fn orders(
    mut queue: LogicalPifo<Packet>,
    packets: &[Packet],
    mut metadata: impl FnMut(&Packet) -> u64,
    mut key: impl FnMut(&Packet) -> u64,
) -> [Vec<u64>; 2] {
    let (mut list, mut got, mut want): (Vec<(u64, u64)>, _, _) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |queue: &mut LogicalPifo<Packet>, list: &mut Vec<(u64, u64)>| {
        let least = list.iter().copied().min();
        list.retain(|waiting| Some(*waiting) != least);
        want.extend(least.map(|(_, number)| number));
        got.extend(queue.pop().map(|packet| packet.0));
    };
    for packet in packets {
        let metadata_value = metadata(packet);
        push(&mut queue, *packet, metadata_value);
        list.push((key(packet), packet.0));
        if packet.0 % 3 == 2 {
            take(&mut queue, &mut list);
        }
    }
    while !queue.is_empty() {
        take(&mut queue, &mut list);
    }
    [got, want]
}

/// Earliest deadline first: each class has a deadline in cycles after arrival.
struct EarliestDeadline([u64; CLASSES]);

impl Policy for EarliestDeadline {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        arrival.now + self.0[arrival.class]
    }
}

/// Shortest remaining first: the chain gives the remaining bytes of the flow.
struct ShortestRemaining;

impl Policy for ShortestRemaining {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        arrival.metadata
    }
}

/// Deficit round robin: in each round a class may send its quantum and its unused deficit. Source: Shreedhar, Varghese, SIGCOMM
/// 1995.
struct DeficitRoundRobin {
    quanta: [u32; CLASSES],
    /// The round in which each class sends its last packet, and its remaining deficit in it.
    rounds: [(u64, u32); CLASSES],
    /// The present round.
    now: u64,
}

impl DeficitRoundRobin {
    fn new(quanta: [u32; CLASSES]) -> Self {
        DeficitRoundRobin { quanta, rounds: [(0, 0); CLASSES], now: 1 }
    }
}

impl Policy for DeficitRoundRobin {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        let quantum = self.quanta[arrival.class];
        let (round, left) = &mut self.rounds[arrival.class];
        if *round < self.now {
            (*round, *left) = (self.now, quantum);
        }
        while *left < arrival.bytes {
            (*round, *left) = (*round + 1, *left + quantum);
        }
        *left -= arrival.bytes;
        *round * CLASSES as u64 + arrival.class as u64
    }

    fn served(&mut self, rank: u64) {
        self.now = self.now.max(rank / CLASSES as u64);
    }
}

/// Token buckets: each class gets a number of bytes per cycle, and accumulates at most the size of its bucket.
struct TokenBucket {
    rate: u64,
    holds: u64,
    /// For each class: the cycle in which its last packet leaves, and the content of its bucket then.
    buckets: [(u64, u64); CLASSES],
}

impl TokenBucket {
    fn new(rate: u64, holds: u64) -> Self {
        TokenBucket { rate, holds, buckets: [(0, holds); CLASSES] }
    }
}

impl Policy for TokenBucket {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        let (at, tokens) = &mut self.buckets[arrival.class];
        let mut goes = arrival.now.max(*at);
        *tokens = (*tokens + (goes - *at) * self.rate).min(self.holds);
        let missing = u64::from(arrival.bytes).saturating_sub(*tokens).div_ceil(self.rate);
        goes += missing;
        *tokens = (*tokens + missing * self.rate).min(self.holds) - u64::from(arrival.bytes);
        *at = goes;
        goes
    }

    fn eligible(&self, rank: u64) -> u64 {
        rank
    }
}

/// The cycle in which each packet leaves if a bucket is filled cycle by cycle and its class waits in order.
fn poured(rate: u64, holds: u64, packets: &[Packet]) -> Vec<(u64, u64)> {
    let mut gone = Vec::new();
    for class in 0..CLASSES {
        let mut line: VecDeque<&Packet> = packets.iter().filter(|packet| packet.1 == class).collect();
        let mut tokens = holds;
        for now in 0u64.. {
            while let Some(packet) = line.front().filter(|packet| packet.0 <= now && u64::from(packet.2) <= tokens) {
                tokens -= u64::from(packet.2);
                gone.push((packet.0, now));
                line.pop_front();
            }
            if line.is_empty() {
                break;
            }
            tokens = (tokens + rate).min(holds);
        }
    }
    gone.sort_unstable();
    gone
}

proptest! {
    #[test]
    fn earliest_deadline_equals_a_linear_search(packets in packets(), may in proptest::array::uniform3(0u64..100)) {
        let [got, want] = orders(queue(EarliestDeadline(may)), &packets, |_| 0, |packet| packet.0 + may[packet.1]);
        prop_assert_eq!(got, want);
    }

    #[test]
    fn shortest_remaining_equals_a_linear_search(packets in packets()) {
        let all = |class: usize| packets.iter().filter(|packet| packet.1 == class).map(|packet| u64::from(packet.2)).sum();
        let mut left: [u64; CLASSES] = std::array::from_fn(all);
        let remaining: Vec<u64> = packets
            .iter()
            .map(|packet| {
                let before = left[packet.1];
                left[packet.1] -= u64::from(packet.2);
                before
            })
            .collect();
        let of = |packet: &Packet| remaining[packet.0 as usize];
        let [got, want] = orders(queue(ShortestRemaining), &packets, of, of);
        prop_assert_eq!(got, want);
    }

    /// For packets that all wait: the order of the published round-by-round algorithm.
    #[test]
    fn deficit_round_robin_equals_the_published_loop(packets in packets(), quanta in proptest::array::uniform3(100u32..4000)) {
        let mut ours = queue(DeficitRoundRobin::new(quanta));
        packets.iter().for_each(|&packet| push(&mut ours, packet, 0));
        let got: Vec<u64> = std::iter::from_fn(|| ours.pop()).map(|packet| packet.0).collect();

        let line = |class: usize| packets.iter().filter(move |packet| packet.1 == class).collect();
        let mut lines: [VecDeque<&Packet>; CLASSES] = std::array::from_fn(line);
        let (mut want, mut deficits) = (Vec::new(), [0; CLASSES]);
        while lines.iter().any(|line| !line.is_empty()) {
            for class in 0..CLASSES {
                deficits[class] += quanta[class];
                while let Some(packet) = lines[class].front().filter(|packet| packet.2 <= deficits[class]) {
                    deficits[class] -= packet.2;
                    want.push(packet.0);
                    lines[class].pop_front();
                }
            }
        }
        prop_assert_eq!(got, want);
    }

    #[test]
    fn token_buckets_are_filled_cycle_by_cycle(packets in packets(), rate in 1u64..200, holds in 1500u64..8000) {
        let mut ours = queue(TokenBucket::new(rate, holds));
        packets.iter().for_each(|&packet| push(&mut ours, packet, 0));
        let mut got = Vec::new();
        while let Some((eligible, _)) = ours.first() {
            got.push((ours.pop().expect("the queue must not be empty").0, eligible));
        }
        prop_assert!(got.is_sorted_by_key(|packet| packet.1));
        got.sort_unstable();
        prop_assert_eq!(got, poured(rate, holds, &packets));
    }

    /// Strict priority over weights over round robin, with more packets than room: the urgent class loses nothing and never
    /// waits, branches share bytes by weight, and within one branch packets alternate.
    #[test]
    fn a_hierarchy_applies_each_of_its_levels(
        weights in proptest::array::uniform2(1u64..6),
        bytes in proptest::array::uniform4(64u32..1500),
    ) {
        let tree: PolicyTree = toml::from_str(&format!(
            "policy = {{ kind = 'strict-priority' }}
            branches = [
                {{ classes = [0], level = {{ policy = {{ kind = 'fifo' }} }} }},
                {{ classes = [1, 2, 3], level = {{
                    policy = {{ kind = 'weighted-fair', weights = {weights:?} }},
                    branches = [
                        {{ classes = [1, 2], level = {{ policy = {{ kind = 'round-robin' }} }} }},
                        {{ classes = [3], level = {{ policy = {{ kind = 'fifo' }} }} }},
                    ],
                }} }},
            ]"
        )).expect("a level");
        tree.check(4).expect("the level must be valid for four classes");
        let (mut queue, mut served) = (LogicalPifo::of(&tree, 4), [0u64; 4]);
        for now in 0..2000 {
            let urgent = usize::from(now % 4 != 0);
            for (class, &bytes) in bytes.iter().enumerate().skip(urgent) {
                push(&mut queue, (now, class, bytes), 0);
            }
            while queue.len() > 40 {
                let dropped = queue.drop_last().expect("the queue must not be empty");
                prop_assert!(dropped.1 != 0, "urgent packets must be dropped last");
            }
            let (_, class, _) = queue.pop().expect("the queue must not be empty");
            prop_assert_eq!(class == 0, urgent == 0, "an urgent packet must leave at once");
            served[class] += 1;
        }
        let sum = |class: usize| served[class] * u64::from(bytes[class]);
        prop_assert!(served[1].abs_diff(served[2]) <= 2, "{:?}", served);
        let [pair, single] = [(sum(1) + sum(2)) * weights[1], sum(3) * weights[0]];
        prop_assert!(pair.abs_diff(single) <= 3 * 1500 * weights[0].max(weights[1]), "{:?} {} {}", served, pair, single);
    }
}
