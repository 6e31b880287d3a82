//! Reads the binary form.
//!
//! All numbers are little endian, without padding. A file contains:
//!
//! - the number 4223 (64 bits), the number of ranks (32), the highest cpu and the highest nic (8 each);
//! - for each rank, the positions of the first byte of its part and of the byte after the part (64 each); positions count
//!   from the end of the first number;
//! - the parts of all ranks.
//!
//! A part contains the number of operations and the number of roots (32 each), the roots (32 each), the operations (39
//! bytes each) and the dependents (32 each). Roots are operations without dependencies.

use super::builder::{Builder, signed};
use super::{ANY, GoalError, Kind, Op, Schedule};

/// The first number of a file.
pub const COOKIE: u64 = 4223;
/// The first number of a file that a run of LogGOPSim with `--save-mem` has made unusable.
const SPOILT: u64 = 2342;
/// Bytes in front of the table of parts: the first number, ranks, highest cpu and nic.
pub(super) const HEADER: usize = 14;
/// Bytes of an operation.
pub(super) const NODE: usize = 39;
/// File offset from which positions count: the end of the first number.
pub(super) const BASE: usize = 8;

/// True if a file begins as a binary schedule does, even one that was made unusable.
pub fn is_binary(start: &[u8]) -> bool {
    let first = start.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    first == Some(COOKIE) || first == Some(SPOILT)
}

/// Reads a schedule. Errors call it `file`.
pub fn read(bytes: &[u8], file: &str) -> Result<Schedule, GoalError> {
    Reader { bytes, file }.read()
}

struct Reader<'a> {
    bytes: &'a [u8],
    file: &'a str,
}

/// An operation with its dependents: how many, and where they begin in the rank's list.
struct Node {
    op: Op,
    open: u32,
    on_end: (u32, u32),
    on_start: (u32, u32),
}

impl Reader<'_> {
    fn error(&self, at: usize, problem: impl Into<String>) -> GoalError {
        GoalError::at_byte(self.file, at, problem)
    }

    /// A number of `N` bytes.
    fn take<const N: usize>(&self, at: usize) -> Result<[u8; N], GoalError> {
        let found = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        found.copied().ok_or_else(|| {
            let length = self.bytes.len();
            self.error(
                at.min(length),
                format!("the file is cut off (found {length} bytes; allowed at least {})", at + N),
            )
        })
    }

    fn u32(&self, at: usize) -> Result<u32, GoalError> {
        self.take(at).map(u32::from_le_bytes)
    }

    /// A position in the file.
    fn position(&self, at: usize) -> Result<usize, GoalError> {
        let found = u64::from_le_bytes(self.take(at)?);
        let length = self.bytes.len();
        let position = usize::try_from(found).ok().and_then(|found| found.checked_add(BASE));
        position.filter(|&position| position <= length).ok_or_else(|| {
            let most = length - BASE;
            self.error(at, format!("the position is outside the file (found {found}; allowed 0 to {most})"))
        })
    }

    fn read(&self) -> Result<Schedule, GoalError> {
        let cookie = u64::from_le_bytes(self.take(0)?);
        if cookie == SPOILT {
            let problem = "a run of LogGOPSim with --save-mem has used up this file; make it anew from its text";
            return Err(self.error(0, format!("{problem} (found {cookie}; allowed {COOKIE})")));
        }
        if cookie != COOKIE {
            return Err(self.error(0, format!("this is not a binary schedule (found {cookie}; allowed {COOKIE})")));
        }
        let n_ranks = self.u32(8)?;
        let [highest_cpu, highest_nic] = self.take(12)?;
        self.u32(HEADER + 20)?; // The smallest file ends there.
        let most = (self.bytes.len() - HEADER) / 24;
        if n_ranks == 0 || n_ranks as usize > most {
            let problem = "the number of ranks does not fit the length of the file";
            return Err(self.error(8, format!("{problem} (found {n_ranks}; allowed 1 to {most})")));
        }
        let mut builder = Builder::new(n_ranks);
        let mut expected = HEADER + 16 * n_ranks as usize;
        for rank in 0..n_ranks {
            let row = HEADER + 16 * rank as usize;
            let (start, end) = (self.position(row)?, self.position(row + 8)?);
            if start != expected || end < start {
                let problem = format!("the part of rank {rank} must begin where the one before ends");
                let found =
                    format!("found {} to {}; allowed from {}", start - BASE, end.wrapping_sub(BASE), expected - BASE);
                return Err(self.error(row, format!("{problem} ({found})")));
            }
            self.rank(&mut builder, rank, start, end)?;
            expected = end;
        }
        if expected != self.bytes.len() {
            let found = self.bytes.len() - expected;
            return Err(
                self.error(expected, format!("there is data behind the last rank (found {found} bytes; allowed 0)"))
            );
        }
        let schedule = builder.finish().map_err(|problem| GoalError::of_file(self.file, problem))?;
        for (what, found, used, at) in
            [("cpu", highest_cpu, schedule.highest_cpu(), 12), ("nic", highest_nic, schedule.highest_nic(), 13)]
        {
            if found < used {
                let problem = format!("the highest {what} is below one that an operation has");
                return Err(self.error(at, format!("{problem} (found {found}; allowed {used} to 255)")));
            }
        }
        Ok(schedule)
    }

    /// Reads the part of a rank, which is within the file.
    fn rank(&self, builder: &mut Builder, rank: u32, start: usize, end: usize) -> Result<(), GoalError> {
        let length = end - start;
        if length < 8 {
            return Err(self.error(
                start,
                format!("the part of rank {rank} is cut off (found {length} bytes; allowed 8 or more)"),
            ));
        }
        let (n_ops, n_roots) = (self.u32(start)? as usize, self.u32(start + 4)? as usize);
        // Cannot overflow: two products of 32 bits and less.
        let nodes = start + 8 + 4 * n_roots;
        let list = nodes + NODE * n_ops;
        if list > end || !(end - list).is_multiple_of(4) || n_roots > n_ops {
            let found = format!("found {n_ops} operations and {n_roots} roots in {length} bytes");
            let problem = format!("the numbers of rank {rank} do not fit its length");
            return Err(
                self.error(start, format!("{problem} ({found}; allowed {NODE} bytes an operation and 4 a root)"))
            );
        }
        let n_dependents = (end - list) / 4;
        let mut open = vec![0_u32; n_ops];
        let mut stated = Vec::with_capacity(n_ops);
        let mut lists = Vec::with_capacity(n_ops);
        let mut n_listed = 0_usize;
        for number in 0..n_ops {
            let at = nodes + NODE * number;
            let node = self.node(at)?;
            builder.add(node.op).map_err(|problem| self.error(at + 5, problem))?;
            stated.push(node.open);
            for (field, (count, first)) in [(23, node.on_end), (31, node.on_start)] {
                let last = u64::from(first) + u64::from(count);
                if count > 0 && last > n_dependents as u64 {
                    let problem = format!("the dependents of operation {number} are outside the list of rank {rank}");
                    let found = format!("found {first} to {last}; allowed 0 to {n_dependents}");
                    return Err(self.error(at + field, format!("{problem} ({found})")));
                }
                n_listed += count as usize;
            }
            if n_listed > n_dependents {
                let problem = format!("the operations of rank {rank} have more dependents than its list");
                return Err(self.error(at + 23, format!("{problem} (found {n_listed}; allowed {n_dependents})")));
            }
            lists.push((node.on_end, node.on_start));
        }
        if n_listed != n_dependents {
            let problem = format!("the list of rank {rank} has dependents of no operation");
            return Err(self.error(list, format!("{problem} (found {n_dependents}; allowed {n_listed})")));
        }
        for (of, (on_end, on_start)) in lists.into_iter().enumerate() {
            for ((count, first), is_start) in [(on_end, false), (on_start, true)] {
                for index in 0..count as usize {
                    let at = list + 4 * (first as usize + index);
                    let op = self.u32(at)?;
                    builder.depend(op, of as u32, is_start).map_err(|problem| self.error(at, problem))?;
                    open[op as usize] += 1;
                }
            }
        }
        if let Some(number) = (0..n_ops).find(|&number| open[number] != stated[number]) {
            let problem = format!("operation {number} of rank {rank} has another number of dependencies");
            let found = format!("found {}; allowed {}", stated[number], open[number]);
            return Err(self.error(nodes + NODE * number, format!("{problem} ({found})")));
        }
        let mut roots = (0..n_ops as u32).filter(|&number| open[number as usize] == 0);
        for index in 0..n_roots {
            let at = start + 8 + 4 * index;
            let (found, wanted) = (self.u32(at)?, roots.next());
            if Some(found) != wanted {
                let wanted = wanted.map_or("no more".to_owned(), |wanted| wanted.to_string());
                let problem = format!("the roots of rank {rank} must be its operations without dependencies, in order");
                return Err(self.error(at, format!("{problem} (found {found}; allowed {wanted})")));
            }
        }
        if let Some(missing) = roots.next() {
            let problem = format!("a root of rank {rank} is missing");
            return Err(
                self.error(start + 4, format!("{problem} (found {n_roots} roots; allowed with operation {missing})"))
            );
        }
        builder.end_rank().map_err(|cycle| {
            let chain: Vec<String> = cycle.iter().chain(&cycle[..1]).map(|op| format!("operation {op}")).collect();
            let (first, chain) = (cycle.first().copied().unwrap_or(0), chain.join(" waits for "));
            let problem = format!("operations of rank {rank} wait for each other: {chain} (allowed: no cycle)");
            self.error(nodes + NODE * first as usize, problem)
        })
    }

    fn node(&self, at: usize) -> Result<Node, GoalError> {
        let kind = match self.take::<1>(at + 4)? {
            [1] => Kind::Send,
            [2] => Kind::Recv,
            [3] => Kind::Calc,
            [other] => {
                let problem = "unknown type of an operation";
                let allowed = "1 for send, 2 for recv, 3 for calc";
                return Err(self.error(at + 4, format!("{problem} (found {other}; allowed {allowed})")));
            }
        };
        let peer = self.u32(at + 5)?;
        if kind == Kind::Send && peer == ANY {
            let problem = "a send must name its receiver";
            return Err(self.error(at + 5, format!("{problem} (found {}; allowed a rank)", signed(peer))));
        }
        let [cpu, nic] = self.take(at + 21)?;
        let is_message = kind != Kind::Calc;
        let op = Op {
            size: u64::from_le_bytes(self.take(at + 9)?),
            peer: if is_message { peer } else { 0 },
            tag: if is_message { self.u32(at + 17)? } else { 0 },
            line: 0,
            kind,
            cpu,
            nic: if is_message { nic } else { 0 },
        };
        let pair = |at| Ok((self.u32(at)?, self.u32(at + 4)?));
        Ok(Node { op, open: self.u32(at)?, on_end: pair(at + 23)?, on_start: pair(at + 31)? })
    }
}
