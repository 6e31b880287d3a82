//! Actions with resolved names; `run` executes them.

use super::action_params::{ActionParams, HashParams, Operation};
use super::error::{Problem, RmtError, within};
use super::hash::HashFunction;
use super::names::{Exit, Names, Target, Value};
use super::rewrite::ChecksumOf;
use wire::expr::{Field, Kind};

/// A service to visit, with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub service: u8,
    pub class: Option<u8>,
    pub priority: Option<u32>,
    pub metadata: Value,
}

/// An action on a packet.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Chain(Vec<Hop>),
    Class(Value),
    Priority(Value),
    SlackCycles(Value),
    Flow(Value),
    Exit(Exit),
    HostQueue(Value),
    Set { target: Target, value: Value },
    Compute { target: Target, left: Value, op: Operation, right: Value },
    Hash(Hash),
    PushVlan { id: u16, priority: u8 },
    PopVlan,
    DecrementTtl,
    Checksum(Vec<ChecksumOf>),
    Count { word: Word, add: Value, to: Option<Target> },
    LastSeen { word: Word, to: Target },
    Read { word: Word, to: Target },
    Write { word: Word, value: Value },
    Meter { word: Word, to: Target },
    Stop,
}

/// A word of a register.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub register: usize,
    pub index: Value,
}

/// A hash over fields, or over the 5-tuple if there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct Hash {
    pub function: HashFunction,
    /// Each with its width in bytes.
    pub fields: Vec<(Field, usize)>,
}

/// Maximum number of fields of a hash.
/// assumed: enough for two stacks of headers.
const MOST_FIELDS: u64 = 32;

impl Names {
    /// Resolves the names in actions.
    pub(super) fn actions(&self, params: &[ActionParams], at: &str) -> Result<Vec<Action>, RmtError> {
        within(at, params.len() as u64, 0, 256)?;
        let each = params.iter().enumerate();
        each.map(|(i, params)| self.action(params).map_err(|error| error.below(&format!("{at}[{i}]")))).collect()
    }

    fn action(&self, params: &ActionParams) -> Result<Action, RmtError> {
        let n_queues = u128::from(self.card.host_queues);
        let any = u128::MAX;
        let put = |at: &'static str| move |problem: Problem| problem.at(at);
        let word = |register: &str, index, is_meter, action: &str| -> Result<Word, RmtError> {
            let register =
                self.register(register, is_meter).map_err(|problem| problem.at(format!("{action}.register")))?;
            let index =
                self.number(index, "index", 64, any).map_err(|problem| problem.at(format!("{action}.index")))?;
            Ok(Word { register, index })
        };
        let target = |name: &str, action: &str| match self.target(name) {
            Ok((target, _)) => Ok(target),
            Err(problem) => Err(problem.at(format!("{action}.to"))),
        };
        Ok(match params {
            ActionParams::Chain(chain) => Action::Chain(
                self.hops(&chain.services, chain.repeat)
                    .map_err(|(part, problem)| problem.at(part.key()).below("chain"))?,
            ),
            ActionParams::Class(value) => Action::Class(self.class(value).map_err(put("class"))?),
            ActionParams::Priority(value) => {
                Action::Priority(self.number(value, "priority", 32, any).map_err(put("priority"))?)
            }
            ActionParams::SlackCycles(value) => {
                Action::SlackCycles(self.number(value, "slack_cycles", 64, any).map_err(put("slack_cycles"))?)
            }
            ActionParams::Flow(value) => Action::Flow(self.number(value, "flow", 32, any).map_err(put("flow"))?),
            ActionParams::Exit(text) => Action::Exit(self.exit(text).map_err(put("exit"))?),
            ActionParams::HostQueue(value) => {
                let queue = self.number(value, "host_queue", 16, n_queues.saturating_sub(1));
                Action::HostQueue(queue.map_err(put("host_queue"))?)
            }
            ActionParams::Set(set) => {
                let (target, like) = self.target(&set.field).map_err(put("set.field"))?;
                Action::Set { target, value: self.value(&set.to, &like, any).map_err(put("set.to"))? }
            }
            ActionParams::Compute(compute) => Action::Compute {
                target: self.target(&compute.field).map_err(put("compute.field"))?.0,
                left: self.number(&compute.left, "left", 64, any).map_err(put("compute.left"))?,
                op: compute.op,
                right: self.number(&compute.right, "right", 64, any).map_err(put("compute.right"))?,
            },
            ActionParams::Hash(hash) => Action::Hash(self.hash(hash).map_err(|error| error.below("hash"))?),
            ActionParams::PushVlan(vlan) => {
                within("push_vlan.id", vlan.id.into(), 0, 4095)?;
                within("push_vlan.priority", vlan.priority.into(), 0, 7)?;
                Action::PushVlan { id: vlan.id, priority: vlan.priority }
            }
            ActionParams::PopVlan => Action::PopVlan,
            ActionParams::DecrementTtl => Action::DecrementTtl,
            ActionParams::Checksum(of) => Action::Checksum(of.clone()),
            ActionParams::Count(count) => Action::Count {
                word: word(&count.register, &count.index, false, "count")?,
                add: self.number(&count.add, "add", 64, any).map_err(put("count.add"))?,
                to: count.to.as_deref().map(|to| target(to, "count")).transpose()?,
            },
            ActionParams::LastSeen(read) => Action::LastSeen {
                word: word(&read.register, &read.index, false, "last_seen")?,
                to: target(&read.to, "last_seen")?,
            },
            ActionParams::Read(read) => {
                Action::Read { word: word(&read.register, &read.index, false, "read")?, to: target(&read.to, "read")? }
            }
            ActionParams::Write(write) => Action::Write {
                word: word(&write.register, &write.index, false, "write")?,
                value: self.number(&write.value, "value", 64, any).map_err(put("write.value"))?,
            },
            ActionParams::Meter(read) => Action::Meter {
                word: word(&read.register, &read.index, true, "meter")?,
                to: target(&read.to, "meter")?,
            },
            ActionParams::Stop => Action::Stop,
        })
    }

    fn hash(&self, params: &HashParams) -> Result<Hash, RmtError> {
        within("fields", params.fields.len() as u64, 0, MOST_FIELDS)?;
        let mut fields = Vec::new();
        for (i, name) in params.fields.iter().enumerate() {
            let field = self.field(name).map_err(|problem| problem.at(format!("fields[{i}]")))?;
            let bytes = width_bytes(field.kind());
            fields.push((field, bytes));
        }
        Ok(Hash { function: params.function, fields })
    }
}

/// Bytes needed for a value of this kind.
fn width_bytes(kind: Kind) -> usize {
    (128 - kind.max().leading_zeros()).div_ceil(8) as usize
}
