//! Queues in which messages meet receives. Entries are in order of arrival, and the first one that fits is taken.

use crate::goal::ANY;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::{BuildHasherDefault, Hasher};

/// No entry.
const NONE: u32 = u32::MAX;

/// An entry of a queue: a receive that waits, or a message that no receive has taken.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The operation: the receive, or the message's send.
    pub op: u32,
    /// The source, or [`ANY`].
    pub source: u32,
    /// The tag, or [`ANY`].
    pub tag: u32,
    /// When it came, in femtoseconds.
    pub at: u64,
}

struct Node {
    entry: Entry,
    /// Position among all entries.
    number: u64,
    /// Neighbours among the entries of the host.
    before: u32,
    behind: u32,
    /// The next entry of the host with the same source and tag.
    same: u32,
}

/// The entries of a host.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
    /// Number of entries with a wildcard.
    n_wild: u32,
}

type Fast = BuildHasherDefault<Mix>;
type Key = (u32, u32, u32);

/// The queues of all hosts. The time of a look-up does not depend on the length of the queue, unless the look-up itself
/// has a wildcard.
pub struct Queues {
    nodes: Vec<Node>,
    unused: Vec<u32>,
    lists: Vec<List>,
    /// First and last entry of a host, source and tag.
    same: HashMap<Key, (u32, u32), Fast>,
    next_number: u64,
}

impl Queues {
    /// Empty queues, one for each host.
    pub fn new(n_hosts: usize) -> Queues {
        let empty = List { first: NONE, last: NONE, n_wild: 0 };
        let (nodes, unused, same) = (Vec::new(), Vec::new(), HashMap::default());
        Queues { nodes, unused, lists: vec![empty; n_hosts], same, next_number: 0 }
    }

    /// Adds an entry behind the others of its host.
    pub fn push(&mut self, host: u32, entry: Entry) {
        let last = self.lists[host as usize].last;
        let node = Node { entry, number: self.next_number, before: last, behind: NONE, same: NONE };
        self.next_number += 1;
        let at = match self.unused.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        match last {
            NONE => self.lists[host as usize].first = at,
            last => self.nodes[last as usize].behind = at,
        }
        let list = &mut self.lists[host as usize];
        list.last = at;
        list.n_wild += u32::from(is_wild(entry.source, entry.tag));
        match self.same.entry((host, entry.source, entry.tag)) {
            Slot::Occupied(mut slot) => {
                let (_, last) = slot.get_mut();
                self.nodes[*last as usize].same = at;
                *last = at;
            }
            Slot::Vacant(slot) => {
                slot.insert((at, at));
            }
        }
    }

    /// Takes the first entry of a host that fits a source and a tag, each of which may be [`ANY`].
    pub fn take(&mut self, host: u32, source: u32, tag: u32) -> Option<Entry> {
        let list = self.lists[host as usize];
        if list.first == NONE {
            return None;
        }
        if is_wild(source, tag) {
            let fits = |a: u32, b: u32| a == ANY || b == ANY || a == b;
            let mut at = list.first;
            while at != NONE {
                let Node { entry, behind, .. } = &self.nodes[at as usize];
                if fits(source, entry.source) && fits(tag, entry.tag) {
                    return Some(self.remove(host, at));
                }
                at = *behind;
            }
            return None;
        }
        let first = |key: Key| self.same.get(&key).map(|&(first, _)| first);
        let found = if list.n_wild == 0 {
            first((host, source, tag))
        } else {
            let keys = [(host, source, tag), (host, ANY, tag), (host, source, ANY), (host, ANY, ANY)];
            keys.into_iter().filter_map(first).min_by_key(|&at| self.nodes[at as usize].number)
        };
        found.map(|at| self.remove(host, at))
    }

    /// Removes an entry, which is the first one of its source and tag.
    fn remove(&mut self, host: u32, at: u32) -> Entry {
        let Node { entry, before, behind, same, .. } = self.nodes[at as usize];
        match before {
            NONE => self.lists[host as usize].first = behind,
            before => self.nodes[before as usize].behind = behind,
        }
        match behind {
            NONE => self.lists[host as usize].last = before,
            behind => self.nodes[behind as usize].before = before,
        }
        self.lists[host as usize].n_wild -= u32::from(is_wild(entry.source, entry.tag));
        if let Slot::Occupied(mut slot) = self.same.entry((host, entry.source, entry.tag)) {
            match same {
                NONE => drop(slot.remove()),
                same => slot.get_mut().0 = same,
            }
        }
        self.unused.push(at);
        entry
    }

    /// The entries of a host, in order.
    pub fn entries(&self, host: u32) -> impl Iterator<Item = Entry> + '_ {
        let first = self.lists[host as usize].first;
        let node = |at: u32| (at != NONE).then(|| &self.nodes[at as usize]);
        std::iter::successors(node(first), move |last| node(last.behind)).map(|node| node.entry)
    }
}

fn is_wild(source: u32, tag: u32) -> bool {
    source == ANY || tag == ANY
}

/// A fast hash of a few numbers: multiplication by an odd constant, and the high half added to the low one.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::RandomStream;

    /// Compares the queues with a plain list that is searched from its front.
    #[test]
    fn the_first_entry_that_fits_is_taken() {
        for seed in 0..200 {
            let mut random = RandomStream::new(seed, "queues");
            let mut queues = Queues::new(2);
            let mut plain: Vec<(u32, Entry)> = Vec::new();
            let wild = random.below(2) == 0;
            let number = |random: &mut RandomStream| match random.below(4) {
                0 if wild => ANY,
                other => other as u32,
            };
            for op in 0..300 {
                let host = random.below(2) as u32;
                let (source, tag) = (number(&mut random), number(&mut random));
                if random.below(2) == 0 {
                    let entry = Entry { op, source, tag, at: 0 };
                    queues.push(host, entry);
                    plain.push((host, entry));
                    continue;
                }
                let fits = |a: u32, b: u32| a == ANY || b == ANY || a == b;
                let at = plain.iter().position(|(of, e)| *of == host && fits(e.source, source) && fits(e.tag, tag));
                let want = at.map(|at| plain.remove(at).1.op);
                assert_eq!(queues.take(host, source, tag).map(|entry| entry.op), want, "seed {seed}, step {op}");
            }
            for host in 0..2 {
                let left: Vec<u32> = queues.entries(host).map(|entry| entry.op).collect();
                let want: Vec<u32> = plain.iter().filter(|(of, _)| *of == host).map(|(_, entry)| entry.op).collect();
                assert_eq!(left, want, "seed {seed}");
            }
        }
    }
}
