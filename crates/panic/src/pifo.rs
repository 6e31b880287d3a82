//! PIFOs: push-in-first-out queues. Packets are pushed by rank, and the least rank is popped first (4.3.2).

use crate::policy::{Arrival, Policy, PolicyTree};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A queue ordered by rank; equal ranks leave in order of arrival. Source: Sivaraman et al., SIGCOMM 2016.
pub struct Pifo<T> {
    /// Keyed by rank and arrival number.
    entries: BTreeMap<(u64, u64), T>,
    arrivals: u64,
}

impl<T> Default for Pifo<T> {
    fn default() -> Self {
        Pifo { entries: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> Pifo<T> {
    /// Inserts `item` behind those of equal rank.
    pub fn push(&mut self, rank: u64, item: T) {
        self.entries.insert((rank, self.arrivals), item);
        self.arrivals += 1;
    }

    /// The first item and its rank.
    pub fn least(&self) -> Option<(u64, &T)> {
        self.entries.first_key_value().map(|(&(rank, _), item)| (rank, item))
    }

    /// Pops the first item.
    pub fn pop_least(&mut self) -> Option<(u64, T)> {
        self.entries.pop_first().map(|((rank, _), item)| (rank, item))
    }

    /// Removes the last item, which is the one to drop.
    pub fn pop_greatest(&mut self) -> Option<(u64, T)> {
        self.entries.pop_last().map(|((rank, _), item)| (rank, item))
    }
}

/// A packet's rank at one level of the hierarchy, and what the policy there charged for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rank {
    /// The least rank goes first.
    pub rank: u64,
    /// See [`Policy::charged`].
    pub charged: u64,
}

/// Ranks of a packet, from the innermost level of the hierarchy to the outermost.
pub type Ranks = SmallVec<[Rank; 2]>;

/// The logical PIFO of a service: one PIFO, or a tree of them, each with its policy.
///
/// In a tree, the packet itself is in the leaf PIFO of its class. Every PIFO above holds one token for it, with the rank that
/// the packet got there. A token stands for one packet of a branch; the branch chooses the packet when the token is popped. A
/// drop follows the last token of the outermost PIFO down to the last packet.
pub struct LogicalPifo<T> {
    /// The outermost PIFO is first.
    nodes: Vec<Node<T>>,
    /// For each class, its leaf and its index among the leaf's classes.
    places: Vec<(usize, usize)>,
    len: usize,
}

struct Node<T> {
    policy: Box<dyn Policy>,
    pifo: Pifo<Item<T>>,
    /// The parent node and this node's branch index there.
    above: Option<(usize, usize)>,
}

/// An entry of a PIFO.
enum Item<T> {
    Packet(Waiting<T>),
    /// A token for one packet of the branch at this node.
    OneOf(usize),
}

struct Waiting<T> {
    /// The arrival as its leaf saw it.
    arrival: Arrival,
    /// Charges at each level, the innermost first.
    charges: SmallVec<[u64; 2]>,
    packet: T,
}

/// Nodes that a packet's entries are in, each with the entry's rank.
type Path = SmallVec<[(usize, u64); 2]>;

/// The arrival as the parent level sees it: class and priority are the branch index.
fn seen_above(arrival: Arrival, branch: usize) -> Arrival {
    Arrival { class: branch, priority: branch as u32, ..arrival }
}

impl<T> LogicalPifo<T> {
    /// A queue with one policy, for example a user's own.
    pub fn new(policy: Box<dyn Policy>, n_classes: usize) -> Self {
        let node = Node { policy, pifo: Pifo::default(), above: None };
        LogicalPifo { nodes: vec![node], places: (0..n_classes).map(|class| (0, class)).collect(), len: 0 }
    }

    /// A queue with published policies, which must have passed [`PolicyTree::check`].
    pub fn of(tree: &PolicyTree, n_classes: usize) -> Self {
        let classes: Vec<usize> = (0..n_classes).collect();
        let mut queue = LogicalPifo { nodes: Vec::new(), places: vec![(0, 0); n_classes], len: 0 };
        queue.grow(tree, &classes, None);
        queue
    }

    fn grow(&mut self, tree: &PolicyTree, classes: &[usize], above: Option<(usize, usize)>) {
        let node = self.nodes.len();
        let n_served = if tree.branches.is_empty() { classes.len() } else { tree.branches.len() };
        self.nodes.push(Node { policy: tree.policy.start(n_served), pifo: Pifo::default(), above });
        classes.iter().enumerate().for_each(|(position, &class)| self.places[class] = (node, position));
        for (i, branch) in tree.branches.iter().enumerate() {
            self.grow(&branch.level, &branch.classes, Some((node, i)));
        }
    }

    /// Number of queued packets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no packet is queued.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a packet. Computes its `ranks` unless it already has them, because a packet is charged once. Then subtracts
    /// `raise` from each rank, so that the packet goes earlier.
    pub fn push(&mut self, arrival: &Arrival, ranks: &mut Ranks, raise: u64, packet: T) {
        let (leaf, class) = self.places[arrival.class];
        let came = Arrival { class, ..*arrival };
        let (mut at, mut arrival) = (leaf, came);
        for depth in 0.. {
            let node = &mut self.nodes[at];
            if depth == ranks.len() {
                let rank = node.policy.rank(&arrival);
                ranks.push(Rank { rank, charged: node.policy.charged() });
            }
            ranks[depth].rank = ranks[depth].rank.saturating_sub(raise);
            let Some((above, branch)) = node.above else { break };
            (at, arrival) = (above, seen_above(arrival, branch));
        }
        let charges = ranks.iter().map(|rank| rank.charged).collect();
        let (mut at, mut item) = (leaf, Item::Packet(Waiting { arrival: came, charges, packet }));
        for rank in ranks.iter() {
            let node = &mut self.nodes[at];
            node.pifo.push(rank.rank, item);
            item = Item::OneOf(at);
            at = node.above.map_or(at, |(above, _)| above);
        }
        self.len += 1;
    }

    /// The first packet, and the first cycle in which it may leave.
    pub fn first(&self) -> Option<(u64, &T)> {
        let (rank, mut item) = self.nodes[0].pifo.least()?;
        let eligible = self.nodes[0].policy.eligible(rank);
        loop {
            match item {
                Item::Packet(waiting) => return Some((eligible, &waiting.packet)),
                Item::OneOf(below) => {
                    item = self.nodes[*below].pifo.least().expect("a token must stand for a packet").1
                }
            }
        }
    }

    /// Pops the first packet.
    pub fn pop(&mut self) -> Option<T> {
        let (path, waiting) = self.take(Pifo::pop_least)?;
        path.iter().for_each(|&(at, rank)| self.nodes[at].policy.served(rank));
        Some(waiting.packet)
    }

    /// Removes the last packet, to drop it.
    pub fn drop_last(&mut self) -> Option<T> {
        let (path, waiting) = self.take(Pifo::pop_greatest)?;
        Some(self.report_drop(path, waiting))
    }

    /// Removes the last packet that satisfies `is_wanted`, to drop it. Also removes the last token of each of its branches, so
    /// that branches keep their turns and packets keep their order within a branch.
    pub fn drop_last_of(&mut self, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let is_it = |item: &Item<T>| matches!(item, Item::Packet(waiting) if is_wanted(&waiting.packet));
        let mut order = self.in_order().into_iter().rev();
        let (leaf, key) = order.find(|&(leaf, key)| is_it(&self.nodes[leaf].pifo.entries[&key]))?;
        let mut path = Path::from_iter([(leaf, key.0)]);
        let found = self.nodes[leaf].pifo.entries.remove(&key).expect("the key must be present");
        let Item::Packet(waiting) = found else { unreachable!("the key must belong to a packet") };
        let mut at = leaf;
        while let Some((above, _)) = self.nodes[at].above {
            let entries = &mut self.nodes[above].pifo.entries;
            let is_mark = |item: &Item<T>| matches!(item, Item::OneOf(below) if *below == at);
            let mark = entries.iter().rev().find(|(_, item)| is_mark(item));
            let key = *mark.expect("a packet must have a token in every PIFO above").0;
            entries.remove(&key);
            path.insert(0, (above, key.0));
            at = above;
        }
        self.len -= 1;
        Some(self.report_drop(path, waiting))
    }

    /// All packets in the order in which they would leave if no more arrived: the PIFO of each, and its key there.
    fn in_order(&self) -> Vec<(usize, (u64, u64))> {
        // Child nodes have greater indices than their parents.
        let mut orders: Vec<std::vec::IntoIter<_>> = self.nodes.iter().map(|_| Vec::new().into_iter()).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let packet_of = |(key, item): (&(u64, u64), &Item<T>)| match item {
                Item::Packet(_) => (at, *key),
                Item::OneOf(below) => orders[*below].next().expect("a token must stand for a packet"),
            };
            let order: Vec<_> = node.pifo.entries.iter().map(packet_of).collect();
            orders[at] = order.into_iter();
        }
        orders.swap_remove(0).collect()
    }

    /// Removes a packet and its token at each level, the outermost first.
    fn take(&mut self, pop: impl Fn(&mut Pifo<Item<T>>) -> Option<(u64, Item<T>)>) -> Option<(Path, Waiting<T>)> {
        let (mut path, mut at) = (Path::new(), 0);
        loop {
            let (rank, item) = pop(&mut self.nodes[at].pifo)?;
            path.push((at, rank));
            match item {
                Item::Packet(waiting) => {
                    self.len -= 1;
                    return Some((path, waiting));
                }
                Item::OneOf(below) => at = below,
            }
        }
    }

    /// Reports a drop to the policies. The removed token may have come with another packet of the branch. The refund is what
    /// the dropped packet itself was charged, so the branch pays only for packets that are served.
    fn report_drop(&mut self, path: Path, waiting: Waiting<T>) -> T {
        let Waiting { mut arrival, charges, packet } = waiting;
        for (&(at, rank), charged) in path.iter().rev().zip(charges) {
            let Node { policy, above, .. } = &mut self.nodes[at];
            policy.dropped(&arrival, rank);
            policy.refund(&arrival, charged);
            arrival = above.map_or(arrival, |(_, branch)| seen_above(arrival, branch));
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn arrival(now: u64, class: usize, bytes: u32) -> Arrival {
        Arrival {
            now,
            class,
            flow: 0,
            bytes,
            priority: class as u32,
            slack_cycles: 1000 * (3 - class as u64),
            metadata: 0,
        }
    }

    /// Runs `script`, one character a cycle, and lists the packets that leave. A lower-case letter pushes a packet of 100 bytes
    /// of class a, b or c, a capital one of 200 bytes; `!` pops the first (`.` if none may leave), `x` drops the last.
    fn check(tree: &str, script: &str, want: Expect) {
        let tree: PolicyTree = toml::from_str(tree).unwrap();
        tree.check(3).unwrap();
        let mut queue = LogicalPifo::of(&tree, 3);
        let (mut output, mut counts) = (String::new(), [0; 3]);
        for (now, c) in (0u64..).zip(script.chars()) {
            match c {
                'x' => output.push_str(&format!("({})", queue.drop_last().unwrap())),
                '!' if queue.first().is_some_and(|(eligible, _)| eligible <= now) => {
                    output.push_str(&format!("{} ", queue.pop().unwrap()));
                }
                '!' => output.push_str(". "),
                _ => {
                    let class = c.to_ascii_lowercase() as usize - 'a' as usize;
                    counts[class] += 1;
                    let bytes = if c.is_ascii_uppercase() { 200 } else { 100 };
                    queue.push(&arrival(now, class, bytes), &mut Ranks::new(), 0, format!("{c}{}", counts[class]));
                }
            }
        }
        want.assert_eq(output.trim_end());
    }

    #[test]
    fn strict_priority_serves_the_most_urgent_and_drops_the_least() {
        check("policy = { kind = 'strict-priority' }", "cbacba!!!!!!", expect!["a1 a2 b1 b2 c1 c2"]);
        check("policy = { kind = 'strict-priority' }", "cbacbaxx!x!!", expect!["(c2)(c1)a1 (b2)a2 b1"]);
    }

    #[test]
    fn least_slack_serves_the_most_urgent_deadline() {
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
    fn an_idle_class_accumulates_no_credit() {
        let equal = "policy = { kind = 'weighted-fair', weights = [1, 1, 1] }";
        check(equal, "aaaa!!!bbb!!!!", expect!["a1 a2 a3 b1 a4 b2 b3"]);
    }

    #[test]
    fn a_dropped_packet_is_not_charged() {
        let equal = "policy = { kind = 'weighted-fair', weights = [1, 1, 1] }";
        check(equal, "abaaxxabb!!!!!", expect!["(a3)(a2)a1 b1 a4 b2 b3"]);
    }

    #[test]
    fn a_leaky_bucket_holds_each_class_to_its_rate() {
        let fast = "{ bytes_per_1000_cycles = 100000, burst_bytes = 0 }";
        let slow = "{ bytes_per_1000_cycles = 25000, burst_bytes = 0 }";
        let tree = format!("policy = {{ kind = 'leaky-bucket', buckets = [{fast}, {slow}, {slow}] }}");
        check(&tree, "bbaa!!!!!!", expect!["b1 a1 a2 b2 . ."]);
    }

    #[test]
    fn a_hierarchy_decides_between_branches_and_within_them() {
        let tree = "
            policy = { kind = 'weighted-fair', weights = [1, 1] }
            branches = [
                { classes = [0, 2], level = { policy = { kind = 'strict-priority' } } },
                { classes = [1], level = { policy = { kind = 'fifo' } } },
            ]";
        check(tree, "cccbbba!!!!!!!", expect!["a1 b1 c1 b2 c2 b3 c3"]);
        check(tree, "cccbbbaxx!!!!!", expect!["(c3)(b3)a1 b1 c1 b2 c2"]);
    }

    #[test]
    fn a_drop_refunds_the_original_charge_after_weights_change() {
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
        // The refund is what the packet was charged, at the old weight; at the new one it would be a quarter.
        assert_eq!(rank_of(&mut queue, "d"), 8);
    }

    /// The branch queues long packets under one class and short ones under the other, so that the dropped token is seldom that
    /// of the dropped packet.
    #[test]
    fn branches_share_by_weight_whichever_packets_are_dropped() {
        let tree = "
            policy = { kind = 'weighted-fair', weights = [3, 1] }
            branches = [
                { classes = [0, 1], level = { policy = { kind = 'round-robin' } } },
                { classes = [2], level = { policy = { kind = 'fifo' } } },
            ]";
        for only_even in [false, true] {
            let mut queue = LogicalPifo::of(&toml::from_str(tree).unwrap(), 3);
            let mut served = [0; 3];
            for now in 0..3000 {
                for (class, bytes) in [(0, 512), (1, 256), (1, 256), (2, 400)] {
                    queue.push(&arrival(now, class, bytes), &mut Ranks::new(), 0, (class, bytes, now));
                }
                while queue.len() > 24 {
                    let dropped = if only_even { queue.drop_last_of(|packet| packet.2 % 2 == 0) } else { None };
                    dropped.or_else(|| queue.drop_last()).unwrap();
                }
                let (class, bytes, _) = queue.pop().unwrap();
                served[class] += bytes;
            }
            let [long, short, other] = served;
            assert!((long + short).abs_diff(3 * other) <= 3 * 512, "{served:?}");
            assert!(long.abs_diff(2 * short) <= 1024, "{served:?}");
        }
    }

    #[test]
    fn the_last_matching_packet_is_dropped_and_branches_keep_their_turns() {
        let tree = "
            policy = { kind = 'weighted-fair', weights = [1, 1] }
            branches = [
                { classes = [0, 2], level = { policy = { kind = 'strict-priority' } } },
                { classes = [1], level = { policy = { kind = 'fifo' } } },
            ]";
        for (tree, rest) in [(tree, "a1 b1 c2 b2 b3"), ("policy = { kind = 'strict-priority' }", "a1 b1 b2 b3 c2")] {
            let mut queue = LogicalPifo::of(&toml::from_str(tree).unwrap(), 3);
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
        /// Compares with a linear search in a list.
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

        /// Classes that are always backlogged are served in proportion to their weights, to within one packet, whatever is
        /// dropped.
        #[test]
        fn fair_shares_follow_the_weights(
            weights in proptest::array::uniform3(1u32..9),
            offers in proptest::collection::vec((0usize..3, 64u32..1500), 400),
        ) {
            let tree = PolicyTree::of(crate::policy::PolicyParams::WeightedFair { weights: weights.to_vec() });
            let mut queue = LogicalPifo::of(&tree, 3);
            let mut waiting = [0; 3];
            let mut served = [0u64; 3];
            for (n, (class, bytes)) in offers.into_iter().enumerate() {
                // All classes stay backlogged; the drawn class gets one more packet, and the last of all is dropped if there
                // are many.
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
