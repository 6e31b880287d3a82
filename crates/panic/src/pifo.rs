//! PIFOs: queues into which packets are pushed by rank, and out of which the one with the least rank comes first (4.3.2).

use crate::policy::{Arrival, Level, Policy};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A queue ordered by rank; equal ranks in order of arrival. Source: Sivaraman et al., SIGCOMM 2016.
pub struct Pifo<T> {
    /// By rank and number of arrival.
    entries: BTreeMap<(u64, u64), T>,
    arrivals: u64,
}

impl<T> Default for Pifo<T> {
    fn default() -> Self {
        Pifo { entries: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> Pifo<T> {
    /// Puts `item` behind those of the same rank.
    pub fn push(&mut self, rank: u64, item: T) {
        self.entries.insert((rank, self.arrivals), item);
        self.arrivals += 1;
    }

    /// The item that goes first, and its rank.
    pub fn least(&self) -> Option<(u64, &T)> {
        self.entries.first_key_value().map(|(&(rank, _), item)| (rank, item))
    }

    /// Takes the item that goes first.
    pub fn pop_least(&mut self) -> Option<(u64, T)> {
        self.entries.pop_first().map(|((rank, _), item)| (rank, item))
    }

    /// Takes the item that goes last, which is the one to drop.
    pub fn pop_greatest(&mut self) -> Option<(u64, T)> {
        self.entries.pop_last().map(|((rank, _), item)| (rank, item))
    }
}

/// A packet's rank at a level, and what the policy there has charged for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rank {
    /// The least goes first.
    pub rank: u64,
    /// See [`Policy::charged`].
    pub charged: u64,
}

/// The ranks of a packet, from the innermost level of a hierarchy outwards.
pub type Ranks = SmallVec<[Rank; 2]>;

/// The queue of a service: a PIFO, or a tree of them, each with its policy.
///
/// In a tree a packet stands in the PIFO of its class, and for each packet there is a mark in every PIFO above, with the rank
/// that it got there. A mark says "one packet of this branch": which, the branch decides when the mark's turn comes. To drop a
/// packet, the last mark of the outermost PIFO is followed to the last packet.
pub struct LogicalPifo<T> {
    /// The outermost first.
    nodes: Vec<Node<T>>,
    /// The node in which each class stands, and its position there.
    places: Vec<(usize, usize)>,
    len: usize,
}

struct Node<T> {
    policy: Box<dyn Policy>,
    pifo: Pifo<Waiting<T>>,
    /// The node above, and which of its branches this one is.
    above: Option<(usize, usize)>,
}

/// What stands in a PIFO.
struct Waiting<T> {
    arrival: Arrival,
    charged: u64,
    item: Item<T>,
}

enum Item<T> {
    Packet(T),
    OneOf(usize),
}

impl<T> Node<T> {
    /// Tells the policy that what stood here with this rank is dropped.
    fn dropped(&mut self, rank: u64, waiting: Waiting<T>) -> Item<T> {
        let Waiting { arrival, charged, item } = waiting;
        self.policy.dropped(&arrival, rank);
        self.policy.refund(&arrival, charged);
        item
    }
}

impl<T> LogicalPifo<T> {
    /// A queue with this policy, a user's own for example.
    pub fn new(policy: Box<dyn Policy>, n_classes: usize) -> Self {
        let node = Node { policy, pifo: Pifo::default(), above: None };
        LogicalPifo { nodes: vec![node], places: (0..n_classes).map(|class| (0, class)).collect(), len: 0 }
    }

    /// A queue of the published policies, which must have passed [`Level::check`].
    pub fn of(level: &Level, n_classes: usize) -> Self {
        let classes: Vec<usize> = (0..n_classes).collect();
        let mut queue = LogicalPifo { nodes: Vec::new(), places: vec![(0, 0); n_classes], len: 0 };
        queue.grow(level, &classes, None);
        queue
    }

    fn grow(&mut self, level: &Level, classes: &[usize], above: Option<(usize, usize)>) {
        let node = self.nodes.len();
        let n_served = if level.branches.is_empty() { classes.len() } else { level.branches.len() };
        self.nodes.push(Node { policy: level.policy.start(n_served), pifo: Pifo::default(), above });
        classes.iter().enumerate().for_each(|(position, &class)| self.places[class] = (node, position));
        for (i, branch) in level.branches.iter().enumerate() {
            self.grow(&branch.level, &branch.classes, Some((node, i)));
        }
    }

    /// How many packets are queued.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is queued.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a packet. Its `ranks` are computed unless it has some already, for it is charged once; then they are lowered by
    /// `raise`, so that it goes earlier.
    pub fn push(&mut self, arrival: &Arrival, ranks: &mut Ranks, raise: u64, packet: T) {
        let (mut at, class) = self.places[arrival.class];
        let (mut arrival, mut item) = (Arrival { class, ..*arrival }, Item::Packet(packet));
        for level in 0.. {
            let node = &mut self.nodes[at];
            if level == ranks.len() {
                let rank = node.policy.rank(&arrival);
                ranks.push(Rank { rank, charged: node.policy.charged() });
            }
            let Rank { rank, charged } = &mut ranks[level];
            *rank = rank.saturating_sub(raise);
            node.pifo.push(*rank, Waiting { arrival, charged: *charged, item });
            let Some((above, branch)) = node.above else { break };
            arrival = Arrival { class: branch, priority: branch as u32, ..arrival };
            item = Item::OneOf(at);
            at = above;
        }
        self.len += 1;
    }

    /// The packet that goes first, if any is queued, and the cycle from which it may go.
    pub fn first(&self) -> Option<(u64, &T)> {
        let (rank, mut entry) = self.nodes[0].pifo.least()?;
        let eligible = self.nodes[0].policy.eligible(rank);
        loop {
            match &entry.item {
                Item::Packet(packet) => return Some((eligible, packet)),
                Item::OneOf(below) => entry = self.nodes[*below].pifo.least().expect("a mark stands for a packet").1,
            }
        }
    }

    /// Takes the packet that goes first.
    pub fn pop(&mut self) -> Option<T> {
        self.take(|node| {
            let (rank, waiting) = node.pifo.pop_least()?;
            node.policy.served(rank);
            Some(waiting.item)
        })
    }

    /// Takes the packet to drop: the last of all.
    pub fn drop_last(&mut self) -> Option<T> {
        self.take(|node| {
            let (rank, waiting) = node.pifo.pop_greatest()?;
            Some(node.dropped(rank, waiting))
        })
    }

    /// Takes the packet to drop among those that `is_wanted`: the last of them. The marks that go with it are the last of its
    /// branches, so that branches keep their turns, and packets their order within each.
    pub fn drop_last_of(&mut self, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let (mut at, key) = self.in_order().into_iter().rev().find(|&(leaf, key)| {
            matches!(&self.nodes[leaf].pifo.entries[&key].item, Item::Packet(packet) if is_wanted(packet))
        })?;
        let node = &mut self.nodes[at];
        let waiting = node.pifo.entries.remove(&key).expect("it was found");
        let Item::Packet(packet) = node.dropped(key.0, waiting) else { unreachable!("a packet was found") };
        while let Some((above, _)) = self.nodes[at].above {
            let node = &mut self.nodes[above];
            let is_mark = |waiting: &Waiting<T>| matches!(waiting.item, Item::OneOf(below) if below == at);
            let marks = node.pifo.entries.iter().rev().find(|(_, waiting)| is_mark(waiting));
            let key = *marks.expect("a packet has a mark in every PIFO above").0;
            let waiting = node.pifo.entries.remove(&key).expect("it was found");
            node.dropped(key.0, waiting);
            at = above;
        }
        self.len -= 1;
        Some(packet)
    }

    /// All packets in the order in which they would go if none came any more: the PIFO of each, and its place there.
    fn in_order(&self) -> Vec<(usize, (u64, u64))> {
        // Those below have greater numbers.
        let mut orders: Vec<std::vec::IntoIter<_>> = self.nodes.iter().map(|_| Vec::new().into_iter()).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let packet_of = |(key, waiting): (&(u64, u64), &Waiting<T>)| match waiting.item {
                Item::Packet(_) => (at, *key),
                Item::OneOf(below) => orders[below].next().expect("a mark stands for a packet"),
            };
            let order: Vec<_> = node.pifo.entries.iter().map(packet_of).collect();
            orders[at] = order.into_iter();
        }
        orders.swap_remove(0).collect()
    }

    fn take(&mut self, mut pop: impl FnMut(&mut Node<T>) -> Option<Item<T>>) -> Option<T> {
        let mut item = pop(&mut self.nodes[0])?;
        self.len -= 1;
        loop {
            match item {
                Item::Packet(packet) => return Some(packet),
                Item::OneOf(below) => item = pop(&mut self.nodes[below]).expect("a mark stands for a packet"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn arrival(now: u64, class: usize, bytes: u32) -> Arrival {
        Arrival { now, class, flow: 0, bytes, priority: class as u32, slack_cycles: 1000 * (3 - class as u64) }
    }

    /// Does as `script` says and tells who goes: a letter is a packet of 100 bytes of class a, b or c, a capital one of 200
    /// bytes; `!` takes the first (`.` where none may go), `x` drops the last. Each character is a cycle.
    fn check(level: &str, script: &str, want: Expect) {
        let level: Level = toml::from_str(level).unwrap();
        level.check(3).unwrap();
        let mut queue = LogicalPifo::of(&level, 3);
        let (mut told, mut counts) = (String::new(), [0; 3]);
        for (now, c) in (0u64..).zip(script.chars()) {
            match c {
                'x' => told.push_str(&format!("({})", queue.drop_last().unwrap())),
                '!' if queue.first().is_some_and(|(eligible, _)| eligible <= now) => {
                    told.push_str(&format!("{} ", queue.pop().unwrap()));
                }
                '!' => told.push_str(". "),
                _ => {
                    let class = c.to_ascii_lowercase() as usize - 'a' as usize;
                    counts[class] += 1;
                    let bytes = if c.is_ascii_uppercase() { 200 } else { 100 };
                    queue.push(&arrival(now, class, bytes), &mut Ranks::new(), 0, format!("{c}{}", counts[class]));
                }
            }
        }
        want.assert_eq(told.trim_end());
    }

    #[test]
    fn strict_priority_serves_the_most_urgent_and_drops_the_least() {
        check("policy = { kind = 'strict-priority' }", "cbacba!!!!!!", expect!["a1 a2 b1 b2 c1 c2"]);
        check("policy = { kind = 'strict-priority' }", "cbacbaxx!x!!", expect!["(c2)(c1)a1 (b2)a2 b1"]);
    }

    #[test]
    fn least_slack_serves_who_can_wait_least() {
        check("policy = { kind = 'least-slack' }", "abcabc!!!!!!", expect!["c1 c2 b1 b2 a1 a2"]);
    }

    #[test]
    fn round_robin_takes_turns_by_packets_and_fair_queueing_by_bytes() {
        check("policy = { kind = 'round-robin' }", "AAAbbb!!!!!!", expect!["A1 b1 A2 b2 A3 b3"]);
        let equal = "policy = { kind = 'weighted-fair', weights = [1, 1, 1] }";
        check(equal, "AAAbbbb!!!!!!!", expect!["A1 b1 b2 A2 b3 b4 A3"]);
        let double = "policy = { kind = 'weighted-fair', weights = [2, 1, 1] }";
        check(double, "aaaabbb!!!!!!!", expect!["a1 b1 a2 a3 b2 a4 b3"]);
    }

    #[test]
    fn who_pauses_saves_nothing_up() {
        let equal = "policy = { kind = 'weighted-fair', weights = [1, 1, 1] }";
        check(equal, "aaaa!!!bbb!!!!", expect!["a1 a2 a3 b1 a4 b2 b3"]);
    }

    #[test]
    fn what_is_dropped_is_not_charged() {
        let equal = "policy = { kind = 'weighted-fair', weights = [1, 1, 1] }";
        check(equal, "abaaxxabb!!!!!", expect!["(a3)(a2)a1 b1 a4 b2 b3"]);
    }

    #[test]
    fn a_leaky_bucket_holds_each_class_to_its_rate() {
        let fast = "{ bytes_per_1000_cycles = 100000, burst_bytes = 0 }";
        let slow = "{ bytes_per_1000_cycles = 25000, burst_bytes = 0 }";
        let level = format!("policy = {{ kind = 'leaky-bucket', buckets = [{fast}, {slow}, {slow}] }}");
        check(&level, "bbaa!!!!!!", expect!["b1 a1 a2 b2 . ."]);
    }

    #[test]
    fn a_hierarchy_decides_between_branches_and_within_them() {
        let level = "
            policy = { kind = 'weighted-fair', weights = [1, 1] }
            branches = [
                { classes = [0, 2], level = { policy = { kind = 'strict-priority' } } },
                { classes = [1], level = { policy = { kind = 'fifo' } } },
            ]";
        check(level, "cccbbba!!!!!!!", expect!["a1 b1 c1 b2 c2 b3 c3"]);
        check(level, "cccbbbaxx!!!!!", expect!["(c3)(b3)a1 b1 c1 b2 c2"]);
    }

    #[test]
    fn what_is_dropped_gives_back_what_it_was_charged_whatever_the_weights_are_now() {
        let share = std::rc::Rc::new(std::cell::RefCell::new(crate::policy::FairShare::of_bytes(&[1, 1])));
        struct Shared(std::rc::Rc<std::cell::RefCell<crate::policy::FairShare>>);
        impl Policy for Shared {
            fn rank(&mut self, arrival: &Arrival) -> u64 {
                self.0.borrow_mut().rank(arrival)
            }
            fn charged(&self) -> u64 {
                self.0.borrow().charged()
            }
            fn refund(&mut self, arrival: &Arrival, charged: u64) {
                self.0.borrow_mut().refund(arrival, charged);
            }
        }
        let mut queue = LogicalPifo::new(Box::new(Shared(share.clone())), 2);
        let rank_of = |queue: &mut LogicalPifo<&str>, packet| {
            let mut ranks = Ranks::new();
            queue.push(&arrival(0, 0, 1), &mut ranks, 0, packet);
            ranks[0].rank >> 18
        };
        assert_eq!([rank_of(&mut queue, "a"), rank_of(&mut queue, "b"), rank_of(&mut queue, "c")], [0, 4, 8]);
        share.borrow_mut().set_weight(0, 4);
        assert_eq!(queue.drop_last(), Some("c"));
        // As if it had never come; by today's weight a quarter would have been given back.
        assert_eq!(rank_of(&mut queue, "d"), 8);
    }

    #[test]
    fn the_last_of_some_is_dropped_and_branches_keep_their_turns() {
        let tree = "
            policy = { kind = 'weighted-fair', weights = [1, 1] }
            branches = [
                { classes = [0, 2], level = { policy = { kind = 'strict-priority' } } },
                { classes = [1], level = { policy = { kind = 'fifo' } } },
            ]";
        for (level, rest) in [(tree, "a1 b1 c2 b2 b3"), ("policy = { kind = 'strict-priority' }", "a1 b1 b2 b3 c2")] {
            let mut queue = LogicalPifo::of(&toml::from_str(level).unwrap(), 3);
            for (now, name) in (0u64..).zip(["c1", "c2", "b1", "b2", "b3", "a1"]) {
                let class = usize::from(name.as_bytes()[0] - b'a');
                queue.push(&arrival(now, class, 100), &mut Ranks::new(), 0, name);
            }
            assert_eq!(queue.drop_last_of(|name| name.ends_with('1') && *name != "b1"), Some("c1"));
            assert_eq!(queue.drop_last_of(|name| name.ends_with('9')), None);
            assert_eq!(queue.len(), 5);
            let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!(order.join(" "), rest);
        }
    }

    proptest! {
        /// Against a list that is searched.
        #[test]
        fn a_pifo_is_a_sorted_list(steps in proptest::collection::vec((0u8..4, 0u64..8), 0..200)) {
            let (mut pifo, mut list) = (Pifo::default(), Vec::<(u64, usize)>::new());
            for (n, (step, rank)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => {
                        pifo.push(rank, n);
                        list.push((rank, n));
                        list.sort();
                    }
                    2 => prop_assert_eq!(pifo.pop_least(), (!list.is_empty()).then(|| list.remove(0))),
                    _ => prop_assert_eq!(pifo.pop_greatest(), list.pop()),
                }
                prop_assert_eq!(pifo.least().map(|(rank, &n)| (rank, n)), list.first().copied());
            }
        }

        /// Classes that always have something waiting are served within a packet of their weights, whatever is dropped.
        #[test]
        fn fair_shares_follow_the_weights(
            weights in proptest::array::uniform3(1u32..9),
            offers in proptest::collection::vec((0usize..3, 64u32..1500), 400),
        ) {
            let level = Level::of(crate::policy::PolicyParams::WeightedFair { weights: weights.to_vec() });
            let mut queue = LogicalPifo::of(&level, 3);
            let mut waiting = [0; 3];
            let mut served = [0u64; 3];
            for (n, (class, bytes)) in offers.into_iter().enumerate() {
                // All are kept waiting; the class drawn gets one more, and the last of all is dropped if there are many.
                for class in (0..3).filter(|&i| waiting[i] < 2).chain([class]).collect::<Vec<_>>() {
                    queue.push(&arrival(n as u64, class, bytes), &mut Ranks::new(), 0, (class, bytes));
                    waiting[class] += 1;
                }
                if queue.len() > 24 {
                    waiting[queue.drop_last().unwrap().0] -= 1;
                }
                let (class, bytes) = queue.pop().unwrap();
                waiting[class] -= 1;
                served[class] += u64::from(bytes);
            }
            let normal = |i: usize| served[i] as f64 / f64::from(weights[i]);
            for (i, j) in [(0, 1), (1, 2), (0, 2)] {
                let bound = 1500.0 / f64::from(weights[i]) + 1500.0 / f64::from(weights[j]);
                prop_assert!((normal(i) - normal(j)).abs() <= bound, "{served:?} by {weights:?}");
            }
        }
    }
}
