//! Matching of messages and receives, by the rules of Portals 4 (specification 4.3, sections 2.2 and 3.12).
//!
//! A message takes the first entry of the list that fits: its bits are equal in all places that the entry does not ignore, and
//! its source is that of the entry, if the entry names a source. A message that fits no entry is unexpected. A new entry first
//! takes the unexpected messages that fit, in the order in which they began to arrive.

use crate::NodeId;
use std::collections::VecDeque;

/// Number of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(pub u64);

/// A range of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// An entry of a matching list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Bits that a message must have.
    pub bits: u64,
    /// Bits in which it may differ.
    pub ignore: u64,
    /// The only source; `None` for any.
    pub source: Option<NodeId>,
    /// It stays in the list after a match.
    pub is_persistent: bool,
    /// Memory for the messages that it takes, and for reads of peers. Written bytes beyond its end are discarded; reads beyond it return 0.
    pub memory: Option<Region>,
    /// The processor to which the host's costs of its messages are charged; `None` if the program charges processors itself.
    pub cpu: Option<u8>,
}

impl Entry {
    /// Takes all messages, and stays.
    pub const ALL: Entry =
        Entry { bits: 0, ignore: u64::MAX, source: None, is_persistent: true, memory: None, cpu: Some(0) };

    /// Takes one message with this tag from this source.
    pub fn one(source: Option<NodeId>, tag: u64) -> Self {
        Entry { bits: tag, ignore: 0, source, is_persistent: false, memory: None, cpu: Some(0) }
    }

    fn fits(&self, from: NodeId, bits: u64) -> bool {
        (bits ^ self.bits) & !self.ignore == 0 && self.source.is_none_or(|source| source == from)
    }
}

/// The list of entries, and the unexpected messages. `M` names a message.
pub(super) struct Lists<M> {
    entries: VecDeque<(EntryId, Entry)>,
    unexpected: VecDeque<(NodeId, u64, M)>,
}

impl<M> Default for Lists<M> {
    fn default() -> Self {
        Lists { entries: VecDeque::new(), unexpected: VecDeque::new() }
    }
}

impl<M> Lists<M> {
    /// A message begins to arrive. Returns its entry; without one, it is unexpected.
    pub fn arrive(&mut self, from: NodeId, bits: u64, message: M) -> Option<(EntryId, Entry)> {
        let found = self.entries.iter().position(|(_, entry)| entry.fits(from, bits));
        let Some(at) = found else {
            self.unexpected.push_back((from, bits, message));
            return None;
        };
        let (id, entry) = self.entries[at];
        if !entry.is_persistent {
            self.entries.remove(at);
        }
        Some((id, entry))
    }

    /// Removes an entry.
    pub fn remove(&mut self, id: EntryId) {
        self.entries.retain(|(known, _)| *known != id);
    }

    /// Appends an entry. Returns the unexpected messages that it takes; an entry that is not persistent takes one at most, and is then used up.
    pub fn append(&mut self, id: EntryId, entry: Entry) -> Vec<M> {
        let mut taken = Vec::new();
        let mut at = 0;
        while at < self.unexpected.len() {
            let (from, bits, _) = &self.unexpected[at];
            if !entry.fits(*from, *bits) {
                at += 1;
                continue;
            }
            taken.extend(self.unexpected.remove(at).map(|(_, _, message)| message));
            if !entry.is_persistent {
                return taken;
            }
        }
        self.entries.push_back((id, entry));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);

    fn arrive<M>(lists: &mut Lists<M>, from: NodeId, bits: u64, message: M) -> Option<EntryId> {
        lists.arrive(from, bits, message).map(|(id, _)| id)
    }

    #[test]
    fn the_first_entry_that_fits_takes_a_message() {
        let mut lists = Lists::default();
        lists.append(EntryId(0), Entry::one(Some(B), 5));
        lists.append(EntryId(1), Entry { ignore: 0xf, ..Entry::one(None, 0x10) });
        lists.append(EntryId(2), Entry::ALL);
        assert_eq!(arrive(&mut lists, A, 5, ()), Some(EntryId(2)), "another source");
        assert_eq!(arrive(&mut lists, B, 5, ()), Some(EntryId(0)));
        assert_eq!(arrive(&mut lists, B, 5, ()), Some(EntryId(2)), "entry 0 is used up");
        assert_eq!(arrive(&mut lists, B, 0x17, ()), Some(EntryId(1)), "ignored bits");
        assert_eq!(arrive(&mut lists, B, 0x17, ()), Some(EntryId(2)));
    }

    #[test]
    fn unexpected_messages_wait_in_order() {
        let mut lists = Lists::default();
        for (i, (from, tag)) in [(A, 1), (B, 1), (A, 2), (A, 1)].into_iter().enumerate() {
            assert_eq!(arrive(&mut lists, from, tag, i), None);
        }
        assert_eq!(lists.append(EntryId(0), Entry::one(None, 1)), [0]);
        assert_eq!(lists.append(EntryId(1), Entry::one(Some(A), 1)), [3]);
        assert_eq!(lists.append(EntryId(2), Entry::ALL), [1, 2]);
        assert_eq!((lists.unexpected.len(), arrive(&mut lists, A, 9, 9)), (0, Some(EntryId(2))));
        assert_eq!(lists.append(EntryId(3), Entry::one(None, 3)), [] as [usize; 0]);
    }
}
