//! Packets as text, for tests.

use crate::protocol::{Descriptor, Flit, Hop, Leg, Message, NodeId, n_flits};
use kernel::Cycle;

/// Parses one packet: `id chain [bytes] [pN] [cN] [fN] [mN] [@N] [hN] [+N] [leg]`. The chain is service numbers joined by `>`;
/// `p` is the priority, `c` the class, `f` the flow, `m` the metadata, `@` the exit node, `h` the scheduler's port, `+` the
/// push destination after the first service. The leg is `entry` unless `detour`, `paid` or `pushed` is given.
fn message(words: &[&str]) -> Message {
    let number = |letter: char, otherwise: u32| {
        words[2..].iter().find_map(|word| word.strip_prefix(letter)?.parse().ok()).unwrap_or(otherwise)
    };
    let hop = |service: &str| Hop {
        service: service.parse().unwrap(),
        class: number('c', 0) as u8,
        priority: number('p', 5),
        metadata: number('m', 0).into(),
        push_to: None,
    };
    let mut descriptor = Descriptor {
        id: words[0].parse().unwrap(),
        flow: number('f', 0),
        class: number('c', 0) as u8,
        chain: words[1].split('>').map(hop).collect(),
        next: 0,
        exit: NodeId(1),
        side: crate::world::ExternalPort::Host(0),
        home: NodeId(number('h', 0) as u8),
        ranks: Default::default(),
        detours: 0,
        slack_cycles: 0,
        waited_cycles: 0,
        fields: Default::default(),
        trail: Default::default(),
    };
    let bytes = words[2..].iter().find_map(|word| word.parse().ok()).unwrap_or(64);
    let legs = [("detour", Leg::Detour), ("paid", Leg::Paid), ("pushed", Leg::Pushed)];
    let leg = legs.iter().find(|(name, _)| words.contains(name)).map_or(Leg::Entry, |&(_, leg)| leg);
    if let Some(hop) = descriptor.chain.get_mut(1) {
        hop.push_to = words[2..].iter().find_map(|word| word.strip_prefix('+')?.parse().ok()).map(NodeId);
    }
    Message { to: NodeId(number('@', 0) as u8), leg, descriptor, data: vec![0; bytes] }
}

/// Parses packets `cycle packet`, separated by `;`: each starts in its cycle or after the previous one.
pub fn flits(text: &str) -> Vec<(Cycle, Flit)> {
    let mut flits = Vec::new();
    for packet in text.split(';').map(str::trim).filter(|packet| !packet.is_empty()) {
        let words: Vec<&str> = packet.split_whitespace().collect();
        let (mut at, message): (Cycle, _) = (words[0].parse().unwrap(), message(&words[1..]));
        at = flits.last().map_or(at, |&(last, _): &(Cycle, Flit)| at.max(last + 1));
        let n = n_flits(message.data.len(), 64) as Cycle;
        flits.push((at, Flit::Head(Box::new(message))));
        flits.extend((1..n).map(|i| (at + i, if i + 1 == n { Flit::Tail } else { Flit::Body })));
    }
    flits
}

pub fn show(flit: &Flit) -> String {
    match flit {
        Flit::Head(message) => {
            let Descriptor { id, chain, next, .. } = &message.descriptor;
            let pushes = chain.iter().skip(next + 1).filter_map(|hop| hop.push_to);
            let pushes: String = pushes.map(|node| format!(" then {}", node.0)).collect();
            let leg = if message.leg == Leg::Paid { String::new() } else { format!(" {:?}", message.leg) };
            format!("#{id} to {}{pushes}{leg}", message.to.0)
        }
        Flit::Body => "=".to_owned(),
        Flit::Tail => "|".to_owned(),
    }
}
