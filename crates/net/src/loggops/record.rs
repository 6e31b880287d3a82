//! The results of a run: the end of each host, and the times of each operation.

use super::critical::{self, Step};
use super::params::{Model, Params};
use crate::goal::{Kind, Schedule};
use kernel::Time;

/// No operation.
pub(super) const NO_OP: u32 = u32::MAX;

/// Why something begins or ends at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub op: u32,
    pub part: Part,
}

impl Cause {
    /// The start of the run.
    pub const START: Cause = Cause { op: NO_OP, part: Part::Start };

    pub fn new(op: u32, part: Part) -> Cause {
        Cause { op, part }
    }
}

/// The end of a part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The start of the run.
    Start,
    /// A computation.
    Calc,
    /// The processor's part of a send.
    SendCpu,
    /// The card's part of a send.
    SendGap,
    /// The way of a message.
    Way,
    /// The processor's part of a message at its receiver. The operation is the send.
    MessageCpu,
    /// The card's part of a message at its receiver. The operation is the send.
    MessageGap,
    /// The turn of an operation, which takes no time.
    Turn,
    /// The turn of a message at its receiver, which takes no time.
    MessageTurn,
}

/// Times of an operation, in femtoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub posted: u64,
    pub started: u64,
    pub done: u64,
    pub cause: Cause,
    /// For a send: when its message left the host (`left`), arrived (`arrived`), and had its turn at the receiver
    /// (`handled`).
    pub left: u64,
    pub arrived: u64,
    pub handled: u64,
    pub message_cause: Cause,
    /// The send of a receive, and the receive of a send.
    pub partner: u32,
}

impl Times {
    pub const NONE: Times = Times {
        posted: 0,
        started: 0,
        done: 0,
        cause: Cause::START,
        left: 0,
        arrived: 0,
        handled: 0,
        message_cause: Cause::START,
        partner: NO_OP,
    };
}

/// The times of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// It became free.
    pub posted: Time,
    /// A send or a computation took its processor; the message of a receive had its turn at the processor.
    pub started: Time,
    /// It ended. A send ends with the processor's part of the send, a receive with the processor's part of its message. A send
    /// above the eager limit ends when its message has met its receive.
    pub done: Time,
    /// For a send: its message left the host, and arrived at the receiver.
    pub way: Option<(Time, Time)>,
    /// The receive of a send, or the send of a receive: its place in [`Schedule::ops`].
    pub partner: Option<u32>,
}

/// The times of all operations.
pub struct Record {
    pub(super) times: Vec<Times>,
    pub(super) params: Params,
    pub(super) model: Model,
    /// The end of the run: its time, and why.
    pub(super) end: (u64, Cause),
    /// The critical path, if it is known already.
    pub(super) path: Option<Vec<Step>>,
}

impl Record {
    /// The times of an operation, which is named by its place in [`Schedule::ops`].
    pub fn timing(&self, schedule: &Schedule, op: usize) -> Timing {
        let times = &self.times[op];
        let kind = schedule.ops()[op].kind;
        let time = Time::from_fs;
        Timing {
            posted: time(times.posted),
            started: time(times.started),
            done: time(times.done),
            way: (kind == Kind::Send).then(|| (time(times.left), time(times.arrived))),
            partner: (times.partner != NO_OP).then_some(times.partner),
        }
    }

    /// The chain of steps that leads to the end of the run, from time 0 on. Each step begins when the previous one
    /// ends.
    pub fn critical_path(&self, schedule: &Schedule) -> Vec<Step> {
        self.path.clone().unwrap_or_else(|| critical::path(self, schedule))
    }
}

/// The result of a run.
pub struct Outcome {
    /// When the last host ended.
    pub finish: Time,
    /// When each host ended: its processors had no more work.
    pub hosts: Vec<Time>,
    /// Number of messages.
    pub messages: u64,
    /// The times of all operations, if they were wanted.
    pub record: Option<Record>,
}
