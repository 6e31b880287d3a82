//! Schedules that cannot end: each rank that waits, its operation and its peer.

use super::hosts::Run;
use crate::goal::{ANY, Schedule};
use std::fmt;

/// Maximum number of waits, and of messages, that an error lists.
const LISTED: usize = 4;

/// A rank that waits in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The rank.
    pub rank: u32,
    /// The operation, with its line: a receive, or a send that waits for its receive.
    pub op: String,
    /// The rank that it waits for; `None` for any.
    pub peer: Option<u32>,
}

/// A schedule that cannot end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Waits in a cycle: each rank waits for the next one, and the last one for the first. Empty if there is none.
    pub cycle: Vec<Wait>,
    /// Other waits, the first few of them.
    pub waits: Vec<Wait>,
    /// Number of receives without a message.
    pub receives: usize,
    /// Number of messages without a receive.
    pub messages: usize,
    /// Number of operations that have not ended.
    pub operations: usize,
    /// Messages without a receive, the first few of them: sender, operation, receiver.
    pub sent: Vec<(u32, String, u32)>,
    /// The ranks that have a wait.
    blocked: Vec<u32>,
}

impl Stuck {
    /// The reason why a run that has no events left is not at its end; `None` if it is.
    pub(super) fn of(run: &Run<'_>) -> Option<Stuck> {
        let schedule = run.schedule;
        let n_ranks = schedule.n_ranks();
        let sent: Vec<(u32, u32, u32)> = (0..n_ranks)
            .flat_map(|host| run.unexpected.entries(host).map(move |entry| (entry.source, entry.op, host)))
            .collect();
        if run.n_done >= schedule.ops().len() && sent.is_empty() {
            return None;
        }
        let waiting = |host| run.posted.entries(host).map(|entry| (entry.op, entry.source)).collect();
        let waiting = (0..n_ranks).map(waiting).collect();
        let is_done = |op: u32| run.is_done[op as usize];
        Some(Stuck::of_waits(schedule, waiting, &sent, is_done, run.n_done))
    }

    /// Describes the waits. `waits` has the receives that wait, by rank, each with its source; `sent` has the messages without a receive:
    /// sender, operation, receiver.
    pub(super) fn of_waits(
        schedule: &Schedule,
        mut waits: Vec<Vec<(u32, u32)>>,
        sent: &[(u32, u32, u32)],
        is_done: impl Fn(u32) -> bool,
        n_done: usize,
    ) -> Stuck {
        let n_ranks = schedule.n_ranks();
        let receives = waits.iter().map(Vec::len).sum();
        for &(source, op, host) in sent {
            if !is_done(op) {
                waits[source as usize].push((op, host));
            }
        }
        let wait = |rank: u32, &(op, peer): &(u32, u32)| Wait {
            rank,
            op: schedule.describe(op as usize),
            peer: (peer != ANY).then_some(peer),
        };
        let in_cycle = cycle(&waits);
        let cycle: Vec<Wait> = in_cycle.iter().map(|&(rank, at)| wait(rank, &waits[rank as usize][at])).collect();
        let others = (0..n_ranks).flat_map(|rank| (0..waits[rank as usize].len()).map(move |at| (rank, at)));
        let others = others.filter(|place| !in_cycle.contains(place)).take(LISTED);
        Stuck {
            cycle,
            waits: others.map(|(rank, at)| wait(rank, &waits[rank as usize][at])).collect(),
            receives,
            messages: sent.len(),
            operations: schedule.ops().len() - n_done,
            sent: listed(schedule, sent),
            blocked: (0..n_ranks).filter(|&rank| !waits[rank as usize].is_empty()).collect(),
        }
    }
}

fn listed(schedule: &Schedule, sent: &[(u32, u32, u32)]) -> Vec<(u32, String, u32)> {
    let described = |&(source, op, host): &(u32, u32, u32)| (source, schedule.describe(op as usize), host);
    sent.iter().take(LISTED).map(described).collect()
}

/// A cycle of ranks that wait for each other: for each, its rank and the number of its wait.
fn cycle(waits: &[Vec<(u32, u32)>]) -> Vec<(u32, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Closed,
    }
    let mut marks = vec![Mark::New; waits.len()];
    for start in 0..waits.len() {
        // The way from `start`: each rank, and the next of its waits to look at.
        let mut way: Vec<(u32, usize)> = vec![(start as u32, 0)];
        while let Some(&mut (rank, ref mut next)) = way.last_mut() {
            if marks[rank as usize] == Mark::Closed {
                way.pop();
                continue;
            }
            marks[rank as usize] = Mark::Open;
            let Some(&(_, peer)) = waits[rank as usize].get(*next) else {
                marks[rank as usize] = Mark::Closed;
                way.pop();
                continue;
            };
            *next += 1;
            match marks.get(peer as usize) {
                Some(Mark::Open) => {
                    let first = way.iter().position(|&(rank, _)| rank == peer).unwrap_or(0);
                    return way[first..].iter().map(|&(rank, next)| (rank, next - 1)).collect();
                }
                Some(Mark::New) => way.push((peer, 0)),
                _ => {}
            }
        }
    }
    Vec::new()
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schedule cannot end: ")?;
        for (number, Wait { rank, op, peer }) in self.cycle.iter().enumerate() {
            let peer = peer.map_or("any rank".to_owned(), |peer| format!("rank {peer}"));
            match number {
                0 => write!(f, "rank {rank} waits in {op} for {peer}")?,
                _ => write!(f, ", which waits in {op} for {peer}")?,
            }
        }
        let mut more: Vec<String> = self
            .waits
            .iter()
            .take(if self.cycle.is_empty() { LISTED } else { 0 })
            .map(|wait| self.describe(wait))
            .collect();
        if self.cycle.is_empty() {
            for (source, op, host) in self.sent.iter().take(LISTED - more.len().min(LISTED - 1)) {
                more.push(format!("no receive of rank {host} takes the message of {op} of rank {source}"));
            }
        }
        write!(f, "{}", more.join("; "))?;
        let counted = |n: usize, name: &str| format!("{n} {name}{}", if n == 1 { "" } else { "s" });
        let (receives, messages) = (counted(self.receives, "receive"), counted(self.messages, "message"));
        write!(f, " (left: {receives} without a message, {messages} without a receive, ")?;
        write!(f, "{} without an end)", counted(self.operations, "operation"))
    }
}

impl Stuck {
    /// A wait that is in no cycle.
    fn describe(&self, Wait { rank, op, peer }: &Wait) -> String {
        match peer {
            None => format!("rank {rank} waits in {op} for any rank"),
            Some(peer) if self.blocked.contains(peer) => {
                format!("rank {rank} waits in {op} for rank {peer}, which waits too")
            }
            Some(peer) => format!("rank {rank} waits in {op} for rank {peer}, which has ended"),
        }
    }
}
