//! Builds schedules rank by rank, with all checks that do not depend on the form of a file.

use super::{ANY, Kind, MAX_OPERATIONS, Op, Schedule, cycle};

/// A dependency between two operations of one rank.
#[derive(Clone, Copy)]
struct Edge {
    /// The operation that is waited for.
    of: u32,
    /// The operation that waits.
    op: u32,
    on_start: bool,
}

/// A schedule under construction. Its error texts have no place in a file; the caller adds it.
pub struct Builder {
    n_ranks: u32,
    ops: Vec<Op>,
    ranks: Vec<u32>,
    firsts: Vec<u32>,
    dependents: Vec<u32>,
    /// The dependencies of the last rank.
    edges: Vec<Edge>,
}

impl Builder {
    /// An empty schedule. The ranks follow one by one; [`Builder::end_rank`] ends each.
    pub fn new(n_ranks: u32) -> Builder {
        let (ops, edges, dependents) = (Vec::new(), Vec::new(), Vec::new());
        Builder { n_ranks, ops, ranks: vec![0], firsts: vec![0], dependents, edges }
    }

    /// The rank whose operations are added.
    pub fn rank(&self) -> u32 {
        self.ranks.len() as u32 - 1
    }

    /// Number of operations of this rank so far.
    pub fn n_ops(&self) -> u32 {
        (self.ops.len() - self.start()) as u32
    }

    fn start(&self) -> usize {
        self.ranks.last().map_or(0, |&first| first as usize)
    }

    /// The last rank's operations.
    pub(super) fn rank_ops(&self) -> &[Op] {
        &self.ops[self.start()..]
    }

    /// Adds an operation to the rank and returns its number in the rank.
    pub fn add(&mut self, op: Op) -> Result<u32, String> {
        if self.ops.len() == MAX_OPERATIONS {
            return Err(format!("too many operations (allowed: up to {MAX_OPERATIONS})"));
        }
        let is_any = op.kind == Kind::Recv && op.peer == ANY;
        if op.kind != Kind::Calc && op.peer >= self.n_ranks && !is_any {
            let any = if op.kind == Kind::Recv { ", or -1 for any rank" } else { "" };
            let most = i64::from(self.n_ranks) - 1;
            return Err(format!("the peer is not a rank (found {}; allowed 0 to {most}{any})", signed(op.peer)));
        }
        let number = self.n_ops();
        self.ops.push(op);
        Ok(number)
    }

    /// Adds a send to the rank and returns its number.
    pub fn send(&mut self, bytes: u64, to: u32) -> Result<u32, String> {
        self.add(Op { size: bytes, peer: to, tag: 0, line: 0, kind: Kind::Send, cpu: 0, nic: 0 })
    }

    /// Adds a receive to the rank and returns its number.
    pub fn recv(&mut self, bytes: u64, from: u32) -> Result<u32, String> {
        self.add(Op { size: bytes, peer: from, tag: 0, line: 0, kind: Kind::Recv, cpu: 0, nic: 0 })
    }

    /// Adds a computation to the rank and returns its number.
    pub fn calc(&mut self, ns: u64) -> Result<u32, String> {
        self.add(Op { size: ns, peer: 0, tag: 0, line: 0, kind: Kind::Calc, cpu: 0, nic: 0 })
    }

    /// Operation `op` of this rank waits for operation `of`: for its start or for its end.
    pub fn depend(&mut self, op: u32, of: u32, on_start: bool) -> Result<(), String> {
        let n = self.n_ops();
        if let Some(unknown) = [op, of].into_iter().find(|&number| number >= n) {
            return Err(format!("there is no such operation in the rank (found {unknown}; allowed below {n})"));
        }
        if op == of {
            return Err("an operation cannot wait for itself".to_owned());
        }
        if self.dependents.len() + self.edges.len() >= u32::MAX as usize {
            return Err(format!("too many dependencies (allowed: up to {})", u32::MAX));
        }
        self.edges.push(Edge { of, op, on_start });
        Ok(())
    }

    /// `op` waits for the end of `of`.
    pub fn requires(&mut self, op: u32, of: u32) -> Result<(), String> {
        self.depend(op, of, false)
    }

    /// Ends the rank. The error is a cycle: each of its operations waits for the next, and the last one for the first.
    pub fn end_rank(&mut self) -> Result<(), Vec<u32>> {
        let n = self.n_ops() as usize;
        let base = self.dependents.len();
        // Counting sort by (operation waited for, end before start); equal ones stay in the order of the file.
        let mut ends = vec![0_u32; 2 * n + 1];
        let slot = |edge: &Edge| 2 * edge.of as usize + usize::from(edge.on_start);
        self.edges.iter().for_each(|edge| ends[slot(edge) + 1] += 1);
        (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
        self.firsts.extend((1..=n).map(|i| base as u32 + ends[2 * i]));
        self.dependents.resize(base + self.edges.len(), 0);
        for edge in &self.edges {
            let at = &mut ends[slot(edge)];
            self.dependents[base + *at as usize] = edge.op << 1 | u32::from(edge.on_start);
            *at += 1;
        }
        let start = self.start();
        self.edges = Vec::new();
        self.ranks.push(self.ops.len() as u32);
        let dependents = |op: u32| {
            let at = start + op as usize;
            self.dependents[self.firsts[at] as usize..self.firsts[at + 1] as usize].iter().map(|word| word >> 1)
        };
        let cycle = cycle::find(n as u32, dependents);
        if cycle.is_empty() {
            return Ok(());
        }
        self.ranks.pop(); // So the caller can still look at the rank's operations.
        Err(cycle)
    }

    /// The schedule. The error says how many ranks are missing.
    pub fn finish(mut self) -> Result<Schedule, String> {
        if self.rank() != self.n_ranks || self.n_ranks == 0 {
            return Err(format!("ranks are missing (found {}; allowed {})", self.rank(), self.n_ranks.max(1)));
        }
        self.ops.shrink_to_fit();
        self.dependents.shrink_to_fit();
        Ok(Schedule { ops: self.ops, ranks: self.ranks, firsts: self.firsts, dependents: self.dependents })
    }
}

/// A rank or tag as in the text, where -1 is any.
pub(super) fn signed(number: u32) -> i64 {
    if number == ANY { -1 } else { i64::from(number) }
}
