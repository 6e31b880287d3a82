//! Schedules of collective operations, as LogGOPSim's generator has them, and some exchanges.
//!
//! Rank 0 is the root. Messages have tag 0.

use super::{Builder, Schedule};
use diagnostics::near;
use kernel::RandomStream;

/// A pattern of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A broadcast along a binomial tree.
    BinomialBroadcast,
    /// A reduction along a binomial tree, without the time that it computes.
    BinomialReduce,
    /// A broadcast along a binary tree.
    BinaryBroadcast,
    /// Dissemination: in round r each rank sends to the rank 2^r positions behind it.
    Dissemination,
    /// Dissemination with several messages a round, which are reduced.
    NWayDissemination,
    /// An allreduce in a ring: reduce-scatter, then allgather.
    RingAllreduce,
    /// An allreduce by recursive halving, then doubling.
    DoublingAllreduce,
    /// Each rank sends to each other one, the next rank first.
    Alltoall,
    /// The same with random sizes. Messages to rank 0 have the full size.
    AlltoallV,
    /// All ranks send to rank 0.
    Gather,
    /// Rank 0 sends to all ranks.
    Scatter,
    /// A message that goes round in both directions.
    DoubleRing,
    /// A message that goes from rank to rank in segments.
    PipelinedRing,
    /// As the pipelined ring, but a rank receives a segment only when it has sent the previous one.
    PipelinedRingInStep,
    /// All ranks send a byte to rank 0, which answers when it has all of them.
    LinearBarrier,
    /// Random pairs of ranks: one sends to the other.
    RandomBisection,
}

/// The size of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of ranks.
    pub ranks: u32,
    /// Bytes: of a message, or of the vector that an allreduce reduces.
    pub bytes: u64,
    /// Bytes of a segment in pipelined patterns.
    pub segment: u64,
    /// Messages a round in n-way dissemination.
    pub ways: u32,
    /// Seed of random patterns.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        // source: defaults of LogGOPSim's generator, except ranks and bytes, for which it has no defaults.
        Options { ranks: 2, bytes: 1, segment: 1, ways: 1, seed: 1 }
    }
}

impl Pattern {
    /// All patterns: their name, the name that LogGOPSim's generator has for them, and a line about each.
    pub const ALL: [(Pattern, &'static str, &'static str, &'static str); 16] = [
        (Pattern::BinomialBroadcast, "binomial-bcast", "binomialtreebcast", "broadcast along a binomial tree"),
        (Pattern::BinomialReduce, "binomial-reduce", "binomialtreereduce", "reduction along a binomial tree"),
        (Pattern::BinaryBroadcast, "binary-bcast", "binarytreebcast", "broadcast along a binary tree"),
        (Pattern::Dissemination, "dissemination", "dissemination", "in round r each rank sends 2^r ranks further"),
        (
            Pattern::NWayDissemination,
            "nway-dissemination",
            "nwaydissemination",
            "the same with --ways messages a round",
        ),
        (Pattern::RingAllreduce, "allreduce-ring", "allreduce_ring", "allreduce in a ring"),
        (Pattern::DoublingAllreduce, "allreduce-doubling", "allreduce_recdoub", "allreduce by recursive doubling"),
        (Pattern::Alltoall, "alltoall", "linear_alltoall", "each rank sends to each other one, the next one first"),
        (Pattern::AlltoallV, "alltoallv", "linear_alltoallv", "the same with random sizes"),
        (Pattern::Gather, "gather", "gather", "all ranks send to rank 0"),
        (Pattern::Scatter, "scatter", "scatter", "rank 0 sends to all ranks"),
        (Pattern::DoubleRing, "double-ring", "doublering", "a message goes round in both directions"),
        (Pattern::PipelinedRing, "pipelined-ring", "pipelinedring", "segments go from rank to rank"),
        (
            Pattern::PipelinedRingInStep,
            "pipelined-ring-dep",
            "pipelinedringdep",
            "the same, one segment after the other",
        ),
        (Pattern::LinearBarrier, "linear-barrier", "linbarrier", "all ranks wait for rank 0"),
        (Pattern::RandomBisection, "random-bisect", "random_bisect", "random pairs of ranks"),
    ];

    /// The pattern of a name.
    pub fn named(name: &str) -> Result<Pattern, String> {
        let found = Pattern::ALL.iter().find(|row| row.1 == name || row.2 == name);
        found.map(|row| row.0).ok_or_else(|| {
            let names = || Pattern::ALL.iter().map(|row| row.1);
            let listed: Vec<&str> = names().collect();
            let hint = near::suggestion(name, Pattern::ALL.iter().flat_map(|row| [row.1, row.2]));
            format!("unknown pattern (found `{name}`; allowed {}){hint}", listed.join(", "))
        })
    }

    /// Upper bound of its number of operations.
    fn n_ops(self, options: &Options) -> u64 {
        let (ranks, rounds) = (u64::from(options.ranks), 32 * u64::from(options.ways).saturating_mul(3));
        match self {
            Pattern::RingAllreduce => (4 * ranks).saturating_mul(ranks),
            Pattern::Alltoall | Pattern::AlltoallV => (2 * ranks).saturating_mul(ranks),
            Pattern::PipelinedRing | Pattern::PipelinedRingInStep => {
                (2 * ranks).saturating_mul(options.bytes.div_ceil(options.segment.max(1)))
            }
            Pattern::NWayDissemination => ranks.saturating_mul(rounds),
            _ => 128 * ranks,
        }
    }

    /// Makes the schedule.
    pub fn make(self, options: &Options) -> Result<Schedule, String> {
        let Options { ranks, segment, ways, .. } = *options;
        let most = super::MAX_OPERATIONS as u64 / 8; // assumed: 4 GiB, which a computer of today has.
        for (key, found, holds, allowed) in [
            ("ranks", ranks, ranks > 0 && ranks < u32::MAX, "1 to 4294967294".to_owned()),
            ("ways", ways, ways > 0 && ways <= 64, "1 to 64".to_owned()),
        ] {
            if !holds {
                return Err(format!("{key} is {found}, must be {allowed}"));
            }
        }
        if segment == 0 {
            return Err("segment is 0, must be at least 1".to_owned());
        }
        if self == Pattern::DoublingAllreduce && !ranks.is_power_of_two() {
            return Err(format!("ranks is {ranks}, must be a power of two for recursive doubling"));
        }
        if self == Pattern::RandomBisection && ranks % 2 != 0 {
            return Err(format!("ranks is {ranks}, must be even for pairs"));
        }
        let n_ops = self.n_ops(options);
        if n_ops > most {
            return Err(format!(
                "the schedule would have up to {n_ops} operations, must be at most {most}; take fewer ranks"
            ));
        }
        let mut maker = Maker { builder: Builder::new(ranks), options: *options };
        let pairs = if self == Pattern::RandomBisection { maker.pairs() } else { Vec::new() };
        for rank in 0..ranks {
            maker.rank(self, rank, &pairs)?;
            maker.builder.end_rank().map_err(|_| "a pattern waits for itself".to_owned())?;
        }
        maker.builder.finish()
    }
}

struct Maker {
    builder: Builder,
    options: Options,
}

impl Maker {
    fn rank(&mut self, pattern: Pattern, rank: u32, pairs: &[(u32, bool)]) -> Result<(), String> {
        let Options { ranks, bytes, .. } = self.options;
        match pattern {
            Pattern::BinomialBroadcast => self.binomial(rank, true),
            Pattern::BinomialReduce => self.binomial(rank, false),
            Pattern::BinaryBroadcast => self.binary_tree(rank),
            Pattern::Dissemination => self.dissemination(rank),
            Pattern::NWayDissemination => self.nway_dissemination(rank),
            Pattern::RingAllreduce => {
                let (next, before) = self.neighbours(rank);
                let rounds = (0..2 * (ranks - 1)).map(|_| (bytes / u64::from(ranks), next, before));
                self.exchanges(rounds)
            }
            Pattern::DoublingAllreduce => {
                let rounds = ranks.ilog2();
                let halving = (0..rounds).map(|round| (bytes >> (round + 1), round));
                let doubling = (0..rounds).map(|round| ((bytes >> rounds) << round, rounds - 1 - round));
                let with_peer = |(bytes, round)| (bytes, rank ^ (1_u32 << round), rank ^ (1_u32 << round));
                self.exchanges(halving.chain(doubling).map(with_peer))
            }
            Pattern::Alltoall => (1..ranks).try_for_each(|step| {
                self.builder.send(bytes, self.after(rank, step))?;
                self.builder.recv(bytes, self.before(rank, step)).map(drop)
            }),
            Pattern::AlltoallV => (1..ranks).try_for_each(|step| {
                let (to, from) = (self.after(rank, step), self.before(rank, step));
                self.builder.send(self.size(rank, to), to)?;
                self.builder.recv(self.size(from, rank), from).map(drop)
            }),
            Pattern::Gather if rank == 0 => (1..ranks).try_for_each(|peer| self.builder.recv(bytes, peer).map(drop)),
            Pattern::Gather => self.builder.send(bytes, 0).map(drop),
            Pattern::Scatter if rank == 0 => (1..ranks).try_for_each(|peer| self.builder.send(bytes, peer).map(drop)),
            Pattern::Scatter => self.builder.recv(bytes, 0).map(drop),
            Pattern::DoubleRing => {
                let (next, before) = self.neighbours(rank);
                [(next, before), (before, next)].into_iter().try_for_each(|(to, from)| {
                    let send = self.builder.send(bytes, to)?;
                    let recv = self.builder.recv(bytes, from)?;
                    if rank > 0 { self.builder.requires(send, recv) } else { Ok(()) }
                })
            }
            Pattern::PipelinedRing => self.pipeline(rank, false),
            Pattern::PipelinedRingInStep => self.pipeline(rank, true),
            Pattern::LinearBarrier => self.barrier(rank),
            Pattern::RandomBisection => match pairs[rank as usize] {
                (peer, true) => self.builder.send(bytes, peer).map(drop),
                (peer, false) => self.builder.recv(bytes, peer).map(drop),
            },
        }
    }

    /// The rank `step` ranks behind `rank`, in a ring.
    fn after(&self, rank: u32, step: u32) -> u32 {
        ((u64::from(rank) + u64::from(step)) % u64::from(self.options.ranks)) as u32
    }

    /// The rank `step` ranks in front of `rank`, in a ring.
    fn before(&self, rank: u32, step: u32) -> u32 {
        self.after(rank, self.options.ranks - step % self.options.ranks)
    }

    fn neighbours(&self, rank: u32) -> (u32, u32) {
        (self.after(rank, 1), self.before(rank, 1))
    }

    /// A send and a receive a round: bytes, receiver, sender. A send waits for the receive of the round before.
    fn exchanges(&mut self, rounds: impl Iterator<Item = (u64, u32, u32)>) -> Result<(), String> {
        let mut last = None;
        for (bytes, to, from) in rounds {
            let send = self.builder.send(bytes, to)?;
            if let Some(last) = last {
                self.builder.requires(send, last)?;
            }
            last = Some(self.builder.recv(bytes, from)?);
        }
        Ok(())
    }

    /// In round r, ranks below 2^r have a partner 2^r ranks further.
    fn binomial(&mut self, rank: u32, is_broadcast: bool) -> Result<(), String> {
        let Options { ranks, bytes, .. } = self.options;
        let mut parent = None;
        for distance in (0..32).map(|round| 1_u64 << round).take_while(|&distance| distance < u64::from(ranks)) {
            let (vrank, distance) = (u64::from(rank), distance);
            if vrank < distance && vrank + distance < u64::from(ranks) {
                let child = (vrank + distance) as u32;
                if is_broadcast {
                    let send = self.builder.send(bytes, child)?;
                    parent.map_or(Ok(()), |recv| self.builder.requires(send, recv))?;
                } else {
                    let recv = self.builder.recv(bytes, child)?;
                    parent.map_or(Ok(()), |send| self.builder.requires(send, recv))?;
                }
            } else if vrank >= distance && vrank < 2 * distance {
                let peer = (vrank - distance) as u32;
                parent =
                    Some(if is_broadcast { self.builder.recv(bytes, peer) } else { self.builder.send(bytes, peer) }?);
            }
        }
        Ok(())
    }

    fn binary_tree(&mut self, rank: u32) -> Result<(), String> {
        let Options { ranks, bytes, .. } = self.options;
        let recv = if rank > 0 { Some(self.builder.recv(bytes, (rank - 1) / 2)?) } else { None };
        let children = [1, 2].map(|child| 2 * u64::from(rank) + child);
        let mut sends = Vec::new();
        for child in children.into_iter().filter(|&child| child < u64::from(ranks)) {
            sends.push(self.builder.send(bytes, child as u32)?);
        }
        match recv {
            Some(recv) => sends.into_iter().try_for_each(|send| self.builder.requires(send, recv)),
            None => Ok(()),
        }
    }

    fn dissemination(&mut self, rank: u32) -> Result<(), String> {
        let Options { ranks, bytes, .. } = self.options;
        let distances = (0..32).map(|round| 1_u32 << round).take_while(|&distance| distance < ranks);
        let rounds: Vec<_> =
            distances.map(|distance| (bytes, self.after(rank, distance), self.before(rank, distance))).collect();
        self.exchanges(rounds.into_iter())
    }

    /// Between two rounds, the messages that came are reduced, one after the other.
    fn nway_dissemination(&mut self, rank: u32) -> Result<(), String> {
        let Options { ranks, bytes, ways, .. } = self.options;
        let mut came: Vec<u32> = Vec::new();
        let mut distance = 1_u64;
        while distance < u64::from(ranks) {
            let far = |way: u32| ((u64::from(way) * distance) % u64::from(ranks)) as u32;
            let mut sends = Vec::new();
            for way in 1..=ways {
                sends.push(self.builder.send(bytes, self.after(rank, far(way)))?);
            }
            if let (Some(&first), Some(&last_send)) = (came.first(), sends.last()) {
                let mut before = first;
                for &recv in &came[1..] {
                    let reduced = self.builder.calc(bytes)?;
                    self.builder.requires(reduced, recv)?;
                    self.builder.requires(reduced, before)?;
                    before = reduced;
                }
                let reduced = self.builder.calc(bytes)?;
                self.builder.requires(reduced, first)?;
                self.builder.requires(last_send, before)?;
                sends.iter().try_for_each(|&send| self.builder.requires(send, reduced))?;
            }
            came.clear();
            for way in 1..=ways {
                came.push(self.builder.recv(bytes, self.before(rank, far(way)))?);
            }
            distance *= u64::from(ways) + 1;
        }
        Ok(())
    }

    fn pipeline(&mut self, rank: u32, in_step: bool) -> Result<(), String> {
        let Options { ranks, bytes, segment, .. } = self.options;
        let mut last_send = None;
        for first in (0..bytes.div_ceil(segment)).map(|number| number * segment) {
            let size = segment.min(bytes - first);
            let recv = if rank > 0 { Some(self.builder.recv(size, rank - 1)?) } else { None };
            let send = if rank + 1 < ranks { Some(self.builder.send(size, rank + 1)?) } else { None };
            if let (Some(send), Some(recv)) = (send, recv) {
                self.builder.requires(send, recv)?;
            }
            if let (true, Some(last), Some(recv)) = (in_step, last_send, recv) {
                self.builder.requires(recv, last)?;
            }
            last_send = send;
        }
        Ok(())
    }

    fn barrier(&mut self, rank: u32) -> Result<(), String> {
        if rank > 0 {
            self.builder.send(1, 0)?;
            return self.builder.recv(1, 0).map(drop);
        }
        let all_here = self.builder.calc(0)?;
        for peer in 1..self.options.ranks {
            let recv = self.builder.recv(1, peer)?;
            let send = self.builder.send(1, peer)?;
            self.builder.requires(all_here, recv)?;
            self.builder.requires(send, all_here)?;
        }
        Ok(())
    }

    /// For each rank, its partner, and true if it sends.
    fn pairs(&self) -> Vec<(u32, bool)> {
        let mut order: Vec<u32> = (0..self.options.ranks).collect();
        let mut random = RandomStream::new(self.options.seed, "goal.random-bisect");
        (1..order.len()).rev().for_each(|last| order.swap(last, random.below(last as u64 + 1) as usize));
        let mut pairs = vec![(0, false); order.len()];
        for pair in order.chunks_exact(2) {
            pairs[pair[0] as usize] = (pair[1], true);
            pairs[pair[1] as usize] = (pair[0], false);
        }
        pairs
    }

    /// Bytes of a message between two ranks in a pattern with random sizes.
    fn size(&self, from: u32, to: u32) -> u64 {
        let Options { bytes, seed, .. } = self.options;
        match (to, bytes) {
            (0, _) | (_, 0) => bytes,
            _ => 1 + RandomStream::new(seed, &format!("goal.alltoallv.{from}.{to}")).below(bytes),
        }
    }
}
