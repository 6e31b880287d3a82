//! GOAL schedules: what each rank of a message-passing program sends, receives and computes, and in which order.
//!
//! [`text::read`] and [`binary::read`] check a file and make a [`Schedule`] of it; [`write::text`] and [`write::binary`]
//! do the reverse. [`patterns`] makes schedules of collective operations.

pub mod binary;
mod builder;
mod cycle;
mod error;
mod lexer;
pub mod patterns;
pub mod text;
pub mod write;

pub use builder::Builder;
pub use error::{GoalError, Place};

use std::fmt;
use std::ops::Range;

/// The peer of a receive that takes messages from any rank, and the tag that fits any tag.
pub const ANY: u32 = u32::MAX;

/// Maximum number of operations of a schedule.
pub const MAX_OPERATIONS: usize = (1 << 30) - 1; // The simulator keeps two bits of a number for itself.

/// The kind of an operation. The numbers are those of the binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Sends a message.
    Send = 1,
    /// Receives a message.
    Recv = 2,
    /// Computes for a time.
    Calc = 3,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 3] = [Kind::Send, Kind::Recv, Kind::Calc];

    /// Its keyword.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Bytes of a message, or nanoseconds of a computation.
    pub size: u64,
    /// The other rank of a message; [`ANY`] in a receive from any rank; 0 in a computation.
    pub peer: u32,
    /// The tag of a message, which may be [`ANY`]; 0 in a computation.
    pub tag: u32,
    /// Its line in the text; 0 if it is from no text.
    pub line: u32,
    /// Its kind.
    pub kind: Kind,
    /// The processor of its rank that runs it.
    pub cpu: u8,
    /// The network card of its rank; 0 in a computation.
    pub nic: u8,
}

/// Operations are equal if they do the same; their lines do not count.
impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        let of = |op: &Op| (op.size, op.peer, op.tag, op.kind, op.cpu, op.nic);
        of(self) == of(other)
    }
}

impl Eq for Op {}

/// An operation that waits for another one of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// The waiting operation's number in its rank.
    pub op: u32,
    /// True if it waits for the start of the other one (`irequires`), false if it waits for its end (`requires`).
    pub on_start: bool,
}

/// A checked schedule. It takes 28 bytes an operation, and 4 bytes a dependency.
///
/// Each dependency is between operations of one rank, and none of a rank's operations waits for itself, not even through
/// others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    ops: Vec<Op>,
    /// The first operation of each rank, and the end of the last one.
    ranks: Vec<u32>,
    /// The first dependent of each operation, and the end of the last one.
    firsts: Vec<u32>,
    /// Dependents, grouped by the operation that they wait for. Those that wait for its end come first. Bit 0 is set if
    /// the dependent waits for the start.
    dependents: Vec<u32>,
}

impl Schedule {
    /// Number of ranks.
    pub fn n_ranks(&self) -> u32 {
        self.ranks.len() as u32 - 1
    }

    /// All operations, rank after rank.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Number of dependencies.
    pub fn n_dependencies(&self) -> usize {
        self.dependents.len()
    }

    /// Number of operations of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.ops.iter().filter(|op| op.kind == kind).count()
    }

    /// Where a rank's operations are in [`Schedule::ops`].
    pub fn range(&self, rank: u32) -> Range<usize> {
        self.ranks[rank as usize] as usize..self.ranks[rank as usize + 1] as usize
    }

    /// The operations of a rank.
    pub fn rank(&self, rank: u32) -> &[Op] {
        &self.ops[self.range(rank)]
    }

    /// The operations that wait for an operation, which is named by its place in [`Schedule::ops`].
    pub fn dependents(&self, op: usize) -> impl DoubleEndedIterator<Item = Dependent> + '_ {
        let range = self.firsts[op] as usize..self.firsts[op + 1] as usize;
        self.dependents[range].iter().map(|&word| Dependent { op: word >> 1, on_start: word & 1 != 0 })
    }

    /// For each operation, how many dependencies it has.
    pub fn open_dependencies(&self) -> Vec<u32> {
        let mut open = vec![0; self.ops.len()];
        for rank in 0..self.n_ranks() {
            let range = self.range(rank);
            for op in range.clone() {
                self.dependents(op).for_each(|dependent| open[range.start + dependent.op as usize] += 1);
            }
        }
        open
    }

    /// The highest processor number of all operations.
    pub fn highest_cpu(&self) -> u8 {
        self.ops.iter().map(|op| op.cpu).max().unwrap_or(0)
    }

    /// The highest network card number of all operations.
    pub fn highest_nic(&self) -> u8 {
        self.ops.iter().map(|op| op.nic).max().unwrap_or(0)
    }

    /// The rank of an operation, which is named by its place in [`Schedule::ops`].
    pub fn rank_of(&self, op: usize) -> u32 {
        self.ranks.partition_point(|&first| first as usize <= op) as u32 - 1
    }

    /// An operation for messages: `recv (line 7)`, or `recv (operation 3)` if it is from no text.
    pub fn describe(&self, op: usize) -> String {
        let Op { kind, line, .. } = self.ops[op];
        match line {
            0 => format!("{kind} (operation {})", op - self.range(self.rank_of(op)).start),
            line => format!("{kind} (line {line})"),
        }
    }
}
