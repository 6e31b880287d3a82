//! Assigns packets to messages, one by one.

use super::{End, MessageSpec};
use crate::layers::Layers;
use std::collections::HashMap;

/// The message of a packet, and the packet's position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of the message, from 0, in the order of first packets.
    pub message: u64,
    /// Number of the packet within the message, from 0.
    pub position: u64,
    /// True for the last packet of the message.
    pub is_last: bool,
    /// True for the first packet of the message. `None` if the definition does not say which packet is first.
    pub is_header: Option<bool>,
    /// True if the packet has none of the key's fields; then it is a message of its own.
    pub is_keyless: bool,
}

impl Verdict {
    /// Returns true for the first packet of the message to arrive.
    pub fn is_first(&self) -> bool {
        self.position == 0
    }
}

/// A message whose last packet has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OpenMessage {
    /// Number of the message.
    pub message: u64,
    /// Number of its packets so far.
    pub packets: u64,
}

/// Counts of a [`Classifier`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClassifierCounts {
    /// Packets.
    pub packets: u64,
    /// Messages that began.
    pub messages: u64,
    /// Messages that ended.
    pub ended: u64,
    /// Packets without any field of the key. Each is a message of its own.
    pub keyless: u64,
    /// Packets that are not in the index, because the traffic changed between the passes. Their messages stay open.
    pub unindexed: u64,
}

/// Counts the packets of each key in a first pass, for messages that end with the last packet of their key.
///
/// Holds one number per key. For other definitions it holds nothing, and no first pass is needed.
#[derive(Clone, Debug)]
pub struct FlowIndex {
    spec: MessageSpec,
    packets: HashMap<Box<[u8]>, u64>,
    key: Vec<u8>,
}

impl FlowIndex {
    /// An empty index.
    pub fn new(spec: MessageSpec) -> Self {
        Self { spec, packets: HashMap::new(), key: Vec::new() }
    }

    /// Counts a packet.
    pub fn add(&mut self, packet: &[u8], layers: &Layers) {
        let MessageSpec::Group { key, end: End::Last, .. } = &self.spec else { return };
        if !key.write(packet, layers, &mut self.key) {
            return;
        }
        match self.packets.get_mut(self.key.as_slice()) {
            Some(packets) => *packets += 1,
            None => {
                self.packets.insert(self.key.as_slice().into(), 1);
            }
        }
    }

    /// The classifier for the second pass.
    pub fn into_classifier(self) -> Classifier {
        Classifier {
            spec: self.spec,
            open: HashMap::new(),
            total: self.packets,
            key: self.key,
            counts: ClassifierCounts::default(),
        }
    }
}

/// Assigns packets to messages. The same packets in the same order get the same numbers.
///
/// Memory use grows with the number of open messages, and for `last` with the number of flows.
#[derive(Clone, Debug)]
pub struct Classifier {
    spec: MessageSpec,
    /// Messages whose last packet has not arrived, by key. Looked up only, never iterated in its own order.
    open: HashMap<Box<[u8]>, OpenMessage>,
    /// Number of packets of each key, if the definition needs it.
    total: HashMap<Box<[u8]>, u64>,
    /// Buffer of the current key, kept to avoid allocations.
    key: Vec<u8>,
    counts: ClassifierCounts,
}

impl Classifier {
    /// A classifier for a definition that needs no index. Other definitions (see [`MessageSpec::needs_index`]) need
    /// [`FlowIndex::into_classifier`]; without an index, every message stays open.
    pub fn new(spec: MessageSpec) -> Self {
        FlowIndex::new(spec).into_classifier()
    }

    /// Forgets the number of packets of each flow, except of those with an open message.
    pub fn forget_index(&mut self) {
        let open = &self.open;
        self.total = open.iter().map(|(key, message)| (key.clone(), message.packets)).collect();
    }

    /// Adds a packet to the index, if the definition needs an index: the flow does not end before this packet.
    pub fn expect(&mut self, packet: &[u8], layers: &Layers) {
        let MessageSpec::Group { key, end: End::Last, .. } = &self.spec else { return };
        if key.write(packet, layers, &mut self.key) {
            *self.total.entry(self.key.as_slice().into()).or_default() += 1;
        }
    }

    /// Classifies the next packet, whose layers are `layers`.
    pub fn classify(&mut self, packet: &[u8], layers: &Layers) -> Verdict {
        self.counts.packets += 1;
        let MessageSpec::Group { key, first, end } = &self.spec else { return self.single(false) };
        if !key.write(packet, layers, &mut self.key) {
            self.counts.keyless += 1;
            return self.single(true);
        }
        let is_header = first.as_ref().map(|first| first.matches_layers(packet, layers));
        let known = self.open.get_mut(self.key.as_slice());
        let OpenMessage { message, packets: position } =
            known.as_deref().copied().unwrap_or(OpenMessage { message: self.counts.messages, packets: 0 });
        let is_last = match end {
            End::Count(count) => position + 1 == count.get(),
            End::Until(matcher) => matcher.matches_layers(packet, layers),
            End::Last => {
                let total = self.total.get(self.key.as_slice()).copied().unwrap_or(0);
                self.counts.unindexed += u64::from(position >= total);
                position + 1 == total
            }
        };
        match known {
            Some(_) if is_last => {
                self.open.remove(self.key.as_slice());
            }
            Some(open) => open.packets += 1,
            None if is_last => {}
            None => {
                self.open.insert(self.key.as_slice().into(), OpenMessage { message, packets: 1 });
            }
        }
        self.counts.messages += u64::from(position == 0);
        self.counts.ended += u64::from(is_last);
        Verdict { message, position, is_last, is_header, is_keyless: false }
    }

    /// Returns true if the next packet, whose layers are `layers`, belongs to an open message.
    pub fn continues(&mut self, packet: &[u8], layers: &Layers) -> bool {
        let MessageSpec::Group { key, .. } = &self.spec else { return false };
        key.write(packet, layers, &mut self.key) && self.open.contains_key(self.key.as_slice())
    }

    /// Ends the message before its last packet. The next packet with its key begins a new message.
    pub fn abandon(&mut self, message: u64) {
        self.open.retain(|_, open| open.message != message);
    }

    /// Number of open messages.
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// A message with one packet.
    fn single(&mut self, is_keyless: bool) -> Verdict {
        let message = self.counts.messages;
        self.counts.messages += 1;
        self.counts.ended += 1;
        Verdict { message, position: 0, is_last: true, is_header: None, is_keyless }
    }

    /// Counts so far.
    pub fn counts(&self) -> &ClassifierCounts {
        &self.counts
    }

    /// The open messages, in the order of their numbers.
    pub fn open_messages(&self) -> Vec<OpenMessage> {
        let mut open: Vec<OpenMessage> = self.open.values().copied().collect();
        open.sort_unstable_by_key(|message| message.message);
        open
    }
}
