//! Single accesses of cores on their way through the interconnect, and their answers on the way back.

use super::filter::Filter;
use super::remapper::Remapper;
use super::upsizer::Upsizer;
use super::{READ, WRITE};
use crate::arbiter::{LockingTree, requests};
use crate::params::PspinParams;
use crate::pe::{PeOp, PeReply, PeRequest};
use isa::riscv::Amo;
use kernel::Cycle;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Cycles from one write to the next through the converter from 64 to 512 bits, which handles one at a time: address,
/// data, answer of the data. Source: PsPIN RTL a49fec8, `pe_noc.sv`, `axi_dw_upsizer.sv`.
const WRITE_INTERVAL: u64 = 3;
/// Cycles from when a write's data have passed until the next write passes: two registers of the address.
const WRITE_BEHIND: u64 = 1;

/// Accesses that the register between the crossbar's arbiter and the converter holds. Source: PsPIN RTL a49fec8,
/// `axi_mux.sv`, `spill_register.sv`.
const GRANTED: usize = 2;

/// An answer. Answers are sorted by the cycle in which they pass, then reads before writes, then by age.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LateReply {
    at: Cycle,
    is_write: bool,
    number: u64,
    cluster: usize,
    /// The answer to the core; `None` for the old value of an AMO, which is handed over when its write is answered.
    reply: Option<(u32, u32)>,
}

/// The accesses, and the index of the next one.
///
/// Timing: one read in each cycle, and one write in [`WRITE_INTERVAL`] cycles. Clusters take turns; accesses of a
///         cluster stay in order. The arbiter grants up to [`GRANTED`] accesses before the converter takes them. The
///         converter holds one write, and reads as [`Upsizer`] describes. A cluster takes one answer a cycle, answers
///         to reads first. An AMO on another cluster's L1 has both answers, at least a cycle apart.
/// Source: PsPIN RTL a49fec8, `pe_noc.sv`, `axi_mux.sv`, `axi_dw_upsizer.sv`, `per2axi_res_channel.sv`.
pub(super) struct Singles {
    /// Waiting accesses, by side and cluster.
    waiting: [Vec<VecDeque<PeRequest>>; 2],
    /// Accesses that wait for the arbiter or, granted, for the converter.
    n_waiting: usize,
    turn: [LockingTree; 2],
    /// Accesses that the arbiter has granted and the converter has not taken, with their clusters.
    granted: [VecDeque<(usize, PeRequest)>; 2],
    remapper: Remapper,
    /// The last cycle in which the converter took an access, by side.
    taken_at: [Option<Cycle>; 2],
    /// Reads in the converter.
    reads: Upsizer,
    /// The write at the converter, its cluster and its arrival cycle.
    write: Option<(Cycle, usize, PeRequest)>,
    next_write: Cycle,
    /// In front of handler memory.
    pub(super) filter: Filter,
    replies: BinaryHeap<Reverse<LateReply>>,
    n_replies: u64,
}

/// The side of a memory that an access uses first: a load with reservation is a read, all other atomics begin as writes.
fn side_of(op: PeOp) -> usize {
    match op {
        PeOp::Load | PeOp::Amo { amo: Amo::LoadReserved, .. } => READ,
        PeOp::Store { .. } | PeOp::Amo { .. } => WRITE,
    }
}

/// Returns true for an operation that writes and is answered with the old value.
pub(super) fn is_atomic(op: PeOp) -> bool {
    matches!(op, PeOp::Amo { amo, .. } if !matches!(amo, Amo::LoadReserved | Amo::StoreConditional))
}

impl Singles {
    pub(super) fn new(params: &PspinParams) -> Self {
        let queues = || vec![VecDeque::new(); params.n_clusters as usize];
        Singles {
            waiting: [queues(), queues()],
            n_waiting: 0,
            turn: Default::default(),
            granted: Default::default(),
            remapper: Remapper::default(),
            taken_at: Default::default(),
            reads: Upsizer::default(),
            write: None,
            next_write: 0,
            filter: Filter::new(&params.l2),
            replies: BinaryHeap::new(),
            n_replies: 0,
        }
    }

    /// Cycles in which an atomic operation was on its way in handler memory.
    pub(super) fn amo_cycles(&self) -> u64 {
        self.filter.amo_cycles
    }

    /// An access to a memory arrives from a cluster.
    pub(super) fn push(&mut self, cluster: usize, request: PeRequest) {
        self.waiting[side_of(request.op)][cluster].push_back(request);
        self.n_waiting += 1;
    }

    /// The arbiter grants a read and a write, and the converter takes the oldest granted ones if it is free and the
    /// remapper shows them.
    pub(super) fn choose(&mut self, now: Cycle) {
        if self.n_waiting == 0 {
            self.reads.forward(now);
            return;
        }
        for side in [READ, WRITE] {
            let waiting = &mut self.waiting[side];
            let requests = requests(waiting.len(), |cluster| !waiting[cluster].is_empty());
            // A full register does not accept an access in the cycle in which one leaves it.
            let was_there = usize::from(now > 0 && self.taken_at[side] == Some(now - 1));
            let granted = &mut self.granted[side];
            if requests != 0
                && let Some(cluster) = self.turn[side].take(requests, granted.len() + was_there < GRANTED)
            {
                let request = waiting[cluster as usize].pop_front().expect("the arbiter chooses a requester");
                granted.push_back((cluster as usize, request));
            }
        }
        let requests = [READ, WRITE].map(|side| !self.granted[side].is_empty());
        let is_atomic = self.granted[WRITE].front().is_some_and(|(_, request)| is_atomic(request.op));
        let has_room = [requests[READ] && self.reads.has_room(now), self.write.is_none() && now >= self.next_write];
        let passes = self.remapper.pass(requests, is_atomic, has_room);
        for side in [READ, WRITE] {
            if passes[side] {
                let (cluster, request) = self.granted[side].pop_front().expect("only an access that requests passes");
                match side {
                    READ => self.reads.push(now, cluster, request),
                    _ => self.write = Some((now, cluster, request)),
                }
                self.taken_at[side] = Some(now);
                self.n_waiting -= 1;
            }
        }
        self.reads.forward(now);
    }

    /// The next access on this side behind the converter.
    pub(super) fn next(&self, side: usize) -> Option<&PeRequest> {
        match side {
            READ => self.reads.next(),
            _ => self.write.as_ref().map(|(.., request)| request),
        }
    }

    /// Cluster and core of the next read behind the converter.
    pub(super) fn next_reader(&self) -> Option<(usize, u32)> {
        self.reads.next_reader()
    }

    /// Returns true if the next write came in this cycle.
    pub(super) fn write_came(&self, now: Cycle) -> bool {
        self.write.as_ref().is_some_and(|&(came, ..)| came == now)
    }

    /// Removes the next access on this side; returns it with its cluster.
    pub(super) fn take(&mut self, side: usize, now: Cycle) -> (usize, PeRequest) {
        if side == READ {
            return self.reads.take(now);
        }
        let (came, cluster, request) = self.write.take().expect("an access that was seen");
        self.next_write = (came + WRITE_INTERVAL).max(now + WRITE_BEHIND);
        (cluster, request)
    }

    /// The answer to a read of a memory leaves at a cycle.
    pub(super) fn answer_read(&mut self, at: Cycle, cluster: usize, reply: PeReply) {
        self.reads.answer(at, cluster, reply.core);
        self.reply_at(at, false, cluster, reply);
    }

    /// An answer leaves at a cycle.
    pub(super) fn reply_at(&mut self, at: Cycle, is_write: bool, cluster: usize, reply: PeReply) {
        self.push_reply(at, is_write, cluster, Some((reply.core, reply.value)));
    }

    /// The answer to an AMO on another cluster's L1 leaves at a cycle, unless other answers delay it. The old value and
    /// the answer to the write arrive together. The answer to the write is taken second, in a cycle in which no read is
    /// answered.
    pub(super) fn reply_to_amo(&mut self, at: Cycle, cluster: usize, reply: PeReply) {
        self.push_reply(at.saturating_sub(1), false, cluster, None);
        self.reply_at(at, true, cluster, reply);
    }

    fn push_reply(&mut self, at: Cycle, is_write: bool, cluster: usize, reply: Option<(u32, u32)>) {
        self.n_replies += 1;
        self.replies.push(Reverse(LateReply { at, is_write, number: self.n_replies, cluster, reply }));
    }

    /// Passes one due answer of each cluster to `send`. Further answers of a cluster are due in the next cycle.
    pub(super) fn send_replies(&mut self, now: Cycle, send: impl Fn(usize, PeReply)) {
        match self.filter.back(now) {
            Some((at, cluster, reply, false)) => self.answer_read(at, cluster, reply),
            Some((at, cluster, reply, true)) => self.reply_at(at, true, cluster, reply),
            None => {}
        }
        let mut sent = 0u64;
        while self.replies.peek().is_some_and(|Reverse(reply)| reply.at <= now) {
            let Reverse(reply) = self.replies.pop().expect("just seen");
            if sent >> reply.cluster & 1 != 0 {
                self.replies.push(Reverse(LateReply { at: now + 1, ..reply }));
                continue;
            }
            sent |= 1 << reply.cluster;
            if let Some((core, value)) = reply.reply {
                send(reply.cluster, PeReply { core, value });
            }
        }
    }

    /// The next cycle in which anything here can change.
    pub(super) fn next_event(&self, now: Cycle) -> Option<Cycle> {
        if self.n_waiting != 0 || self.reads.is_waiting() || self.write.is_some() || self.filter.is_waiting() {
            return Some(now + 1);
        }
        let reply = self.replies.peek().map(|Reverse(reply)| reply.at.max(now + 1));
        reply.into_iter().chain(self.filter.next(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::params;

    /// The clusters of stores, in the order in which the memory gets the stores. `requests` has the cycle and cluster
    /// of each store.
    fn order(requests: &[(Cycle, usize)]) -> String {
        let mut singles = Singles::new(&params());
        let mut order = Vec::new();
        for now in 0..100 {
            for &(_, cluster) in requests.iter().filter(|&&(at, _)| at == now) {
                singles.push(cluster, PeRequest { core: 0, addr: 0, op: PeOp::Store { value: 0, mask: u32::MAX } });
            }
            singles.choose(now);
            if singles.next(WRITE).is_some() {
                order.push(singles.take(WRITE, now).0.to_string());
            }
        }
        assert_eq!(order.len(), requests.len(), "every store comes through");
        order.join(" ")
    }

    #[test]
    fn old_values_of_amos_go_before_the_answers_to_their_writes() {
        let mut singles = Singles::new(&params());
        // Old values arrive in these cycles, as measured on the RTL for AMOs of eight cores on neighbouring words.
        for (core, at) in (0..).zip([10, 12, 13, 15, 16, 18, 19, 21]) {
            singles.reply_to_amo(at + 1, 0, PeReply { core, value: 0 });
        }
        let answered = std::cell::RefCell::new(Vec::new());
        for now in 0..40 {
            singles.send_replies(now, |_, reply| answered.borrow_mut().push((now, reply.core)));
        }
        let expected = [(11, 0), (14, 1), (17, 2), (20, 3), (22, 4), (23, 5), (24, 6), (25, 7)];
        assert_eq!(*answered.borrow(), expected);
    }

    #[test]
    fn the_arbiter_grants_two_stores_before_the_converter_takes_them() {
        // The converter takes a store in cycles 0, 3, 6 and 9. By cycle 2 the register behind the arbiter has the second and the
        // third store of cluster 2; cluster 3, which requests in cycle 3, comes after both.
        assert_eq!(order(&[(0, 2), (0, 2), (0, 2), (3, 3)]), "2 2 2 3");
    }
}
