//! Telling packet by packet to which message it belongs.

use super::{End, MessageSpec};
use crate::layers::Layers;
use std::collections::HashMap;

/// To which message a packet belongs, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of the message, from 0 in the order of first packets.
    pub message: u64,
    /// Number of the packet within the message, from 0.
    pub position: u64,
    /// It is the last of the message.
    pub is_last: bool,
    /// Whether it is the first of the message, if the definition says which packet is.
    pub is_header: Option<bool>,
    /// It has none of the fields by which messages are told apart, and is one by itself.
    pub is_keyless: bool,
}

impl Verdict {
    /// It is the first of the message to come.
    pub fn is_first(&self) -> bool {
        self.position == 0
    }
}

/// A message whose last packet has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OpenMessage {
    /// Number of the message.
    pub message: u64,
    /// Packets it has so far.
    pub packets: u64,
}

/// What a [`Classifier`] has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClassifierCounts {
    /// Packets.
    pub packets: u64,
    /// Messages begun.
    pub messages: u64,
    /// Messages ended.
    pub ended: u64,
    /// Packets without any field of the key; each is a message of its own.
    pub keyless: u64,
    /// Packets that the index had not seen, so that the traffic changed between the passes; their messages stay open.
    pub unindexed: u64,
}

/// How many packets each key has in the traffic: the first pass for messages that end with the last packet.
///
/// Holds one number for each key. For other definitions it holds nothing, and no pass is needed.
#[derive(Clone, Debug)]
pub struct FlowIndex {
    spec: MessageSpec,
    packets: HashMap<Box<[u8]>, u64>,
    key: Vec<u8>,
}

impl FlowIndex {
    /// An index that has seen nothing.
    pub fn new(spec: MessageSpec) -> Self {
        Self { spec, packets: HashMap::new(), key: Vec::new() }
    }

    /// Counts a packet that the classifier will be asked about.
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
/// Memory grows with the messages that are open, and for `last` with the number of flows.
#[derive(Clone, Debug)]
pub struct Classifier {
    spec: MessageSpec,
    /// Messages whose last packet has not come, by key. Looked up, never walked in its own order.
    open: HashMap<Box<[u8]>, OpenMessage>,
    /// Packets of each key in the traffic, if the definition asks for them.
    total: HashMap<Box<[u8]>, u64>,
    /// Kept to be written into again.
    key: Vec<u8>,
    counts: ClassifierCounts,
}

impl Classifier {
    /// A classifier that needs no index; one that does (see [`MessageSpec::needs_index`]) comes from
    /// [`FlowIndex::into_classifier`], and without it would leave every message open.
    pub fn new(spec: MessageSpec) -> Self {
        FlowIndex::new(spec).into_classifier()
    }

    /// The message of the next packet, whose layers are `layers`.
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

    /// Whether the next packet, whose layers are `layers`, belongs to a message that has begun.
    pub fn continues(&mut self, packet: &[u8], layers: &Layers) -> bool {
        let MessageSpec::Group { key, .. } = &self.spec else { return false };
        key.write(packet, layers, &mut self.key) && self.open.contains_key(self.key.as_slice())
    }

    /// The message of this number is over, though its last packet has not come: the next packet with its key begins another.
    pub fn give_up(&mut self, message: u64) {
        self.open.retain(|_, open| open.message != message);
    }

    /// How many messages wait for their last packet.
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// A message of one packet.
    fn single(&mut self, is_keyless: bool) -> Verdict {
        let message = self.counts.messages;
        self.counts.messages += 1;
        self.counts.ended += 1;
        Verdict { message, position: 0, is_last: true, is_header: None, is_keyless }
    }

    /// What was seen so far.
    pub fn counts(&self) -> &ClassifierCounts {
        &self.counts
    }

    /// The messages whose last packet has not come, by number.
    pub fn open_messages(&self) -> Vec<OpenMessage> {
        let mut open: Vec<OpenMessage> = self.open.values().copied().collect();
        open.sort_unstable_by_key(|message| message.message);
        open
    }
}
