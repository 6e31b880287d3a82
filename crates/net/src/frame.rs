//! Frames: bytes without FCS, with an identity that they get where they enter the network.

use crate::NodeId;
use crate::address::Directory;
use crate::digest::fold_bytes;
use kernel::Time;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use wire::eth::EthView;
use wire::layers::{Layer, Layers};
use wire::{ipv4, ipv6};

/// Number of traffic classes, as in IEEE 802.1Qbb.
pub const N_CLASSES: usize = 8;

/// Ethernet type of MAC control frames, which carry pauses (IEEE 802.3, 31.4.1.3).
pub const MAC_CONTROL: u16 = 0x8808;

/// Identity of a frame: the node where it entered the network, and its number there. A copy has the identity of its original.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId {
    /// Node where it entered.
    pub node: NodeId,
    /// Number among the frames that entered there, from 0.
    pub number: u64,
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.node.0, self.number)
    }
}

/// A frame in the network. It is as large as a pointer and a number, and cloning it copies no bytes. Its [`Content`] never changes.
#[derive(Clone, Debug)]
pub struct Frame {
    content: Arc<Content>,
    /// Number of links that it crossed.
    pub hops: u16,
}

/// Bytes and identity of a frame.
#[derive(Clone, Debug)]
pub struct Content {
    /// Its bytes, from the Ethernet header on, without FCS.
    pub bytes: Arc<[u8]>,
    /// Its identity.
    pub id: FrameId,
    /// Its traffic class, 0 to 7. Under strict priority, a higher class goes first.
    pub class: u8,
    /// The node that its destination address belongs to; `None` if the address is unknown.
    pub dest: Option<NodeId>,
    /// Hash of its flow: addresses, protocol and ports, or the Ethernet addresses if it has no IP header.
    pub flow: u64,
    /// Hash of its bytes, for digests.
    pub hash: u64,
    /// A pause frame. It concerns one link and never passes a node.
    pub is_control: bool,
}

impl Deref for Frame {
    type Target = Content;
    fn deref(&self) -> &Content {
        &self.content
    }
}

impl Frame {
    /// A frame that enters the network; `class` overrides the class that its headers state.
    pub fn new(bytes: impl Into<Arc<[u8]>>, id: FrameId, class: Option<u8>, directory: &Directory) -> Self {
        let bytes = bytes.into();
        let layers = Layers::parse(&bytes);
        let is_control = EthView::new(&bytes[..]).is_ok_and(|view| view.ether_type() == MAC_CONTROL);
        let content = Content {
            class: class.unwrap_or_else(|| class_of(&bytes, &layers)) & 7,
            dest: directory.node_of(&bytes, &layers),
            flow: flow_of(&bytes, &layers),
            hash: fold_bytes(&bytes),
            is_control,
            id,
            bytes,
        };
        Frame { content: Arc::new(content), hops: 0 }
    }

    /// Length without FCS, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if it has no bytes. No frame in a network is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The same frame with other bytes of the same flow and destination, for example with a congestion mark.
    pub(crate) fn with_bytes(self, bytes: Vec<u8>) -> Self {
        let content = Content { hash: fold_bytes(&bytes), bytes: bytes.into(), ..(*self.content).clone() };
        Frame { content: Arc::new(content), hops: self.hops }
    }
}

/// The class that headers state: the priority of the VLAN tag, else the upper three bits of the IP traffic class (class selector,
/// RFC 2474, 4.2.2), else 0.
fn class_of(bytes: &[u8], layers: &Layers) -> u8 {
    if let Some(at) = layers.offset(Layer::Vlan) {
        return bytes[at] >> 5;
    }
    if let Some(at) = layers.offset(Layer::Ipv4) {
        return bytes[at + ipv4::DSCP_ECN] >> 5;
    }
    // The traffic class of IPv6 begins in the lower half of the first byte.
    layers.offset(Layer::Ipv6).map_or(0, |at| (bytes[at + ipv6::VERSION_CLASS_FLOW.start] & 0xf) >> 1)
}

fn flow_of(bytes: &[u8], layers: &Layers) -> u64 {
    let ports = |layer| layers.offset(layer).map(|at| &bytes[at..at + 4]);
    let ports = ports(Layer::Udp).or_else(|| ports(Layer::Tcp)).unwrap_or(&[]);
    let mut key = [0u8; 40];
    let len = if let Some(at) = layers.offset(Layer::Ipv4) {
        key[..8].copy_from_slice(&bytes[at + ipv4::SRC.start..at + ipv4::DST.end]);
        key[8] = bytes[at + ipv4::PROTOCOL];
        9
    } else if let Some(at) = layers.offset(Layer::Ipv6) {
        key[..32].copy_from_slice(&bytes[at + ipv6::SRC.start..at + ipv6::DST.end]);
        key[32] = bytes[at + ipv6::NEXT_HEADER];
        33
    } else {
        let len = bytes.len().min(12);
        key[..len].copy_from_slice(&bytes[..len]);
        len
    };
    key[len..len + ports.len()].copy_from_slice(ports);
    fold_bytes(&key[..len + ports.len()])
}

/// A frame that arrives at an end of a link.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When its first bit arrives, after the preamble.
    pub head: Time,
    /// When its last bit has arrived.
    pub tail: Time,
    /// The frame.
    pub frame: Frame,
}
