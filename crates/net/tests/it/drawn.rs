//! Drawn schedules. A failure of a test prints the seed.

use kernel::RandomStream;
use net::goal::{ANY, Builder, Kind, Op, Schedule, text, write};

/// Bounds of drawn schedules.
#[derive(Clone, Copy)]
pub struct Shape {
    pub ranks: u64,
    pub cpus: u64,
    pub nics: u64,
    /// Receives from any rank, and tags that fit any tag.
    pub wildcards: bool,
    /// Dependencies on starts.
    pub starts: bool,
    /// The largest message and computation.
    pub size: u64,
    /// Messages of no bytes.
    pub empty: bool,
    /// Number of tags.
    pub tags: u64,
}

pub const WILD: Shape =
    Shape { ranks: 6, cpus: 3, nics: 3, wildcards: true, starts: true, size: 2000, empty: true, tags: 3 };
/// Each message fits one receive only, so both have the same size: LogGOPSim uses either size to decide if a message is
/// rendezvous.
pub const UNIQUE: Shape = Shape { wildcards: false, tags: 1 << 20, ..WILD };

/// A schedule in which each message has a receive. It may still end in a deadlock, because of its order.
pub fn schedule(seed: u64, shape: Shape) -> Schedule {
    let mut random = RandomStream::new(seed, "drawn");
    let ranks = 1 + random.below(shape.ranks) as u32;
    let mut ops: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
    for _ in 0..random.below(30) {
        let least = u64::from(!shape.empty);
        let (from, to) = (random.below(u64::from(ranks)) as u32, random.below(u64::from(ranks)) as u32);
        let size = least + random.below(shape.size);
        if random.below(4) == 0 {
            let (cpu, nic) = (random.below(shape.cpus) as u8, 0);
            ops[from as usize].push(Op { size, peer: 0, tag: 0, line: 0, kind: Kind::Calc, cpu, nic });
            continue;
        }
        let tag = random.below(shape.tags) as u32;
        let any =
            |random: &mut RandomStream, number| if shape.wildcards && random.below(5) == 0 { ANY } else { number };
        let place = |random: &mut RandomStream| (random.below(shape.cpus) as u8, random.below(shape.nics) as u8);
        let (cpu, nic) = place(&mut random);
        let sent = any(&mut random, tag);
        ops[from as usize].push(Op { size, peer: to, tag: sent, line: 0, kind: Kind::Send, cpu, nic });
        let (cpu, nic) = place(&mut random);
        let (peer, tag) = (any(&mut random, from), any(&mut random, tag));
        ops[to as usize].push(Op { size, peer, tag, line: 0, kind: Kind::Recv, cpu, nic });
    }
    let mut builder = Builder::new(ranks);
    for ops in ops {
        let n = ops.len() as u64;
        for op in ops {
            builder.add(op).unwrap();
        }
        for _ in 0..random.below(2 * n + 1) {
            let (a, b) = (random.below(n) as u32, random.below(n) as u32);
            if a != b {
                // The later operation waits, so there is no cycle.
                builder.depend(a.max(b), a.min(b), shape.starts && random.below(3) == 0).unwrap();
            }
        }
        builder.end_rank().unwrap();
    }
    builder.finish().unwrap()
}

/// A schedule as text.
pub fn text_of(schedule: &Schedule) -> String {
    let mut out = Vec::new();
    write::text(schedule, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A schedule in the binary form.
pub fn binary_of(schedule: &Schedule) -> Vec<u8> {
    let mut out = Vec::new();
    write::binary(schedule, &mut out).unwrap();
    out
}

/// Reads a text that is right.
pub fn read(text: &str) -> Schedule {
    text::read(text.as_bytes(), "a.goal").unwrap_or_else(|error| panic!("{error}"))
}
