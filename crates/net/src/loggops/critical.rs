//! The critical path: which operations, overheads, gaps and latencies lead to the end of a run.

use super::params::Model;
use super::record::{Cause, Part, Record};
use crate::goal::Schedule;
use kernel::Time;

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// A computation.
    Calc,
    /// A processor's overhead for a message that it sends.
    Send,
    /// A card's gap for a message that it sends or receives.
    Gap,
    /// A message on its way, as the model computes it (L and G). In a network of links: the times that belong to no
    /// known message.
    Network,
    /// In a network: a message in the NIC of its sender or receiver.
    Nic,
    /// In a network: a message on a link.
    Link,
    /// In a network: a message in a switch.
    Queue,
    /// A processor's overhead for a message that it receives.
    Receive,
}

impl StepKind {
    /// All kinds.
    pub const ALL: [StepKind; 8] = [
        StepKind::Calc,
        StepKind::Send,
        StepKind::Gap,
        StepKind::Network,
        StepKind::Nic,
        StepKind::Link,
        StepKind::Queue,
        StepKind::Receive,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::Calc => "calc",
            StepKind::Send => "send",
            StepKind::Gap => "gap",
            StepKind::Network => "network",
            StepKind::Nic => "nic",
            StepKind::Link => "link",
            StepKind::Queue => "queue",
            StepKind::Receive => "receive",
        }
    }
}

/// A step of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its kind.
    pub kind: StepKind,
    /// The computation or the send; its place in [`Schedule::ops`].
    pub op: u32,
    /// The rank at which the step happens. A message under way counts for its sender.
    pub rank: u32,
    /// Its start.
    pub start: Time,
    /// Its end.
    pub end: Time,
}

impl Step {
    /// True if the step happens at the receiver of its message.
    pub fn is_at_receiver(&self, schedule: &Schedule) -> bool {
        self.kind == StepKind::Receive
            || (self.kind == StepKind::Gap && self.rank != schedule.rank_of(self.op as usize))
    }
}

/// The steps from time 0 to the end of the run.
pub(super) fn path(record: &Record, schedule: &Schedule) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut now, mut cause) = record.end;
    while cause.part != Part::Start {
        let Cause { op, part } = cause;
        let times = &record.times[op as usize];
        let sender = || schedule.rank_of(op as usize);
        let receiver = || schedule.ops()[op as usize].peer;
        let mut add = |kind, rank, start: u64| {
            if start != now {
                steps.push(Step { kind, op, rank, start: Time::from_fs(start), end: Time::from_fs(now) });
            }
            now = start;
        };
        cause = match part {
            Part::Start => return Vec::new(), // Cannot be: the loop has ended.
            Part::Calc => {
                add(StepKind::Calc, sender(), times.started);
                times.cause
            }
            Part::SendCpu => {
                add(StepKind::Send, sender(), times.started);
                times.cause
            }
            Part::SendGap => {
                add(StepKind::Gap, sender(), times.started);
                times.cause
            }
            Part::Way => {
                add(StepKind::Network, sender(), times.left);
                add(StepKind::Send, sender(), times.started);
                times.cause
            }
            Part::MessageCpu => {
                if record.model == Model::Atlahs {
                    add(StepKind::Receive, receiver(), times.handled + record.params.g.fs());
                    add(StepKind::Gap, receiver(), times.handled);
                } else {
                    add(StepKind::Receive, receiver(), times.handled);
                }
                times.message_cause
            }
            Part::MessageGap => {
                add(StepKind::Gap, receiver(), times.handled);
                times.message_cause
            }
            Part::Turn => times.cause,
            Part::MessageTurn => times.message_cause,
        };
    }
    steps.reverse();
    steps
}
