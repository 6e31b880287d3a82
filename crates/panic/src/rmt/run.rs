//! Executes actions on a packet.

use super::action::{Action, Hash, Word};
use super::action_params::Operation;
use super::counters::RmtCounters;
use super::names::{Exit, Target, Value, known};
use super::parser::{Parser, Seen};
use super::register::Register;
use super::{Card, rewrite};
use kernel::Cycle;
use smallvec::SmallVec;
use wire::eth::MAX_PACKET_LEN;
use wire::layers::Layer;
use wire::{ipv4, ipv6};

/// A service to visit, while actions may still change it.
pub(super) struct DraftHop {
    pub service: u8,
    pub class: Option<u8>,
    pub priority: Option<u32>,
    pub metadata: u64,
}

/// A packet in the pipeline. Class, priority, slack, flow and hash are among its known values.
pub(super) struct Work<'a> {
    pub now: Cycle,
    pub card: &'a Card,
    pub parser: &'a Parser,
    pub registers: &'a mut [Register],
    pub counters: &'a mut RmtCounters,
    pub seen: &'a mut Seen,
    pub packet: &'a mut Vec<u8>,
    /// True if the packet has changed since it was parsed.
    pub is_changed: bool,
    pub hops: SmallVec<[DraftHop; 4]>,
    pub exit: Exit,
}

/// The packet lacks a value that an action needs.
struct Absent;

impl Work<'_> {
    /// Initial values of a packet: metadata words are 0 and there are no headers yet.
    pub(super) fn begin(&mut self, n_known: usize, n_metadata: usize, port: Option<u8>) {
        let known = &mut self.seen.known;
        known.clear();
        known.resize(n_known, None);
        known[..known::METADATA + n_metadata].fill(Some(0));
        known[known::PORT] = port.map(u128::from);
        known[known::NOW] = Some(self.now.into());
        self.look();
        self.counters.malformed += u64::from(self.seen.is_malformed);
        let flow = self.hash(&Hash::default());
        self.seen.known[known::FLOW] = Some(flow.into());
        self.seen.known[known::HASH] = Some(flow.into());
    }

    /// Parses the packet, or parses it again if it has changed.
    pub(super) fn look(&mut self) {
        self.parser.parse(self.packet, self.seen);
        let fields = self.seen.fields;
        let offset = |at: u16| (at != 0).then_some(u128::from(at));
        let known = &mut self.seen.known;
        known[known::MALFORMED] = Some(self.seen.is_malformed.into());
        known[known::NETWORK] = offset(fields.network);
        known[known::TRANSPORT] = offset(fields.transport);
        known[known::PAYLOAD] = offset(fields.payload);
        self.is_changed = false;
    }

    /// Executes all actions; returns true if later tables see the packet.
    pub(super) fn run(&mut self, actions: &[Action]) -> bool {
        let mut is_visible = true;
        for action in actions {
            is_visible &= !matches!(action, Action::Stop);
            if self.act(action).is_err() {
                self.counters.absent += 1;
            }
        }
        is_visible
    }

    fn act(&mut self, action: &Action) -> Result<(), Absent> {
        match action {
            Action::Chain(hops) => {
                self.hops.clear();
                for hop in hops {
                    // A hop stays even if its metadata is missing.
                    let metadata = self.value(&hop.metadata).unwrap_or_else(|Absent| {
                        self.counters.absent += 1;
                        0
                    });
                    let (class, priority) = (hop.class, hop.priority);
                    self.hops.push(DraftHop { service: hop.service, class, priority, metadata: metadata as u64 });
                }
            }
            Action::Class(value) => self.note(known::CLASS, value, u128::from(self.card.n_classes) - 1)?,
            Action::Priority(value) => self.note(known::PRIORITY, value, u32::MAX.into())?,
            Action::SlackCycles(value) => self.note(known::SLACK, value, u64::MAX.into())?,
            Action::Flow(value) => self.note(known::FLOW, value, u32::MAX.into())?,
            Action::Exit(exit) => self.exit = *exit,
            Action::HostQueue(value) => match self.value(value)? {
                queue if queue < u128::from(self.card.host_queues) => self.exit = Exit::Host(queue as u16),
                _ => self.counters.out_of_range += 1,
            },
            Action::Set { target, value } => {
                let value = self.value(value)?;
                self.put(target, value)?;
            }
            Action::Compute { target, left, op, right } => {
                let value = compute(*op, self.value(left)? as u64, self.value(right)? as u64);
                self.put(target, value.into())?;
            }
            Action::Hash(hash) => self.seen.known[known::HASH] = Some(self.hash(hash).into()),
            Action::PushVlan { id, priority } => {
                if self.packet.len() + wire::vlan::HEADER_LEN > MAX_PACKET_LEN {
                    self.counters.out_of_range += 1;
                    return Ok(());
                }
                there(rewrite::push_vlan(self.packet, *id, *priority))?;
                self.look(); // The bytes after the change have moved.
            }
            Action::PopVlan => {
                there(rewrite::pop_vlan(self.packet, &self.seen.layers))?;
                self.look();
            }
            Action::DecrementTtl => {
                there(rewrite::decrement_ttl(self.packet, &self.seen.layers))?;
                self.is_changed = true;
            }
            Action::Checksum(all) => {
                for &of in all {
                    if !rewrite::checksum(self.packet, &self.seen.layers, of) {
                        self.counters.absent += 1;
                    }
                }
                self.is_changed = true;
            }
            Action::Count { word, add, to } => {
                let add = self.value(add)? as u64;
                let count = self.word(word)?;
                *count = count.wrapping_add(add);
                let count = u128::from(*count);
                if let Some(to) = to {
                    self.put(to, count)?;
                }
            }
            Action::LastSeen { word, to } => {
                let index = self.value(&word.index)? as u64;
                let cycles = self.registers[word.register].last_seen(index, self.now);
                self.put(to, cycles.into())?;
            }
            Action::Read { word, to } => {
                let value = u128::from(*self.word(word)?);
                self.put(to, value)?;
            }
            Action::Write { word, value } => {
                let value = self.value(value)? as u64;
                *self.word(word)? = value;
            }
            Action::Meter { word, to } => {
                let index = self.value(&word.index)? as u64;
                let has_them = self.registers[word.register].take(index, self.now, self.packet.len() as u64);
                self.put(to, u128::from(!has_them))?;
            }
            Action::Stop => {}
        }
        Ok(())
    }

    fn value(&self, value: &Value) -> Result<u128, Absent> {
        value.of(self.packet, &self.seen.layers, &self.seen.known).ok_or(Absent)
    }

    /// Sets a known value, at most `most`.
    fn note(&mut self, place: usize, value: &Value, most: u128) -> Result<(), Absent> {
        match self.value(value)? {
            value if value <= most => self.seen.known[place] = Some(value),
            _ => self.counters.out_of_range += 1,
        }
        Ok(())
    }

    fn put(&mut self, target: &Target, value: u128) -> Result<(), Absent> {
        match target {
            Target::Metadata(place) => self.seen.known[*place] = Some(value & u128::from(u64::MAX)),
            Target::Header(place) => {
                there(self.parser.store(*place, self.packet, self.seen, value))?;
                self.is_changed = true;
            }
            Target::Packet(field) => {
                there(field.store(self.packet, &self.seen.layers, value))?;
                self.is_changed = true;
            }
        }
        Ok(())
    }

    fn word(&mut self, word: &Word) -> Result<&mut u64, Absent> {
        let index = self.value(&word.index)? as u64;
        Ok(self.registers[word.register].word(index))
    }

    fn hash(&self, hash: &Hash) -> u32 {
        let mut input: SmallVec<[u8; 64]> = SmallVec::new();
        if hash.fields.is_empty() {
            self.five_tuple(&mut input);
        }
        for (field, bytes) in &hash.fields {
            if let Some(value) = field.value_with(self.packet, &self.seen.layers, &self.seen.known) {
                input.extend_from_slice(&value.to_be_bytes()[16 - bytes..]);
            }
        }
        hash.function.of(&input)
    }

    /// Addresses, ports and protocol, as far as present. The fields that cards hash to distribute packets over queues
    /// come first.
    fn five_tuple(&self, input: &mut SmallVec<[u8; 64]>) {
        let layers = &self.seen.layers;
        let (addresses, protocol) = if let Some(at) = layers.offset(Layer::Ipv4) {
            (at + ipv4::SRC.start..at + ipv4::DST.end, at + ipv4::PROTOCOL)
        } else if let Some(at) = layers.offset(Layer::Ipv6) {
            (at + ipv6::SRC.start..at + ipv6::DST.end, at + ipv6::NEXT_HEADER)
        } else {
            return;
        };
        input.extend_from_slice(&self.packet[addresses]);
        if let Some(at) = layers.offset(Layer::Udp).or(layers.offset(Layer::Tcp)) {
            input.extend_from_slice(&self.packet[at..at + 4]); // Both begin with source and destination port.
        }
        let upper = [(Layer::Udp, ipv4::protocol::UDP), (Layer::Tcp, ipv4::protocol::TCP)];
        let upper = upper.into_iter().find(|(layer, _)| layers.has(*layer)).map(|(_, protocol)| protocol);
        input.push(upper.unwrap_or(self.packet[protocol]));
    }
}

fn there(is_there: bool) -> Result<(), Absent> {
    if is_there { Ok(()) } else { Err(Absent) }
}

fn compute(op: Operation, left: u64, right: u64) -> u64 {
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    match op {
        Operation::Add => left.wrapping_add(right),
        Operation::Subtract => left.wrapping_sub(right),
        Operation::And => left & right,
        Operation::Or => left | right,
        Operation::Xor => left ^ right,
        Operation::ShiftLeft => left.checked_shl(shift).unwrap_or(0),
        Operation::ShiftRight => left.checked_shr(shift).unwrap_or(0),
        Operation::Min => left.min(right),
        Operation::Max => left.max(right),
    }
}
