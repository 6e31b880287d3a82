//! Program memory: one port of 64 bits for instruction caches and the host.

use super::waiting::Waiting;
use super::{BurstPort, MemoryPorts};
use crate::map::PROGRAM_BASE;
use crate::pe::{CodeWrite, LineReply, LineRequest};
use crate::protocol::{Burst, BurstReply};
use blocks::policy::RoundRobinTree;
use kernel::Cycle;
use kernel::trace::Counter;
use std::collections::VecDeque;
use std::rc::Rc;

/// Cycles in which a line is sent: two words of 64 bits.
const LINE_INTERVAL: u64 = 2;
/// Bytes of a word.
const WORD_BYTES: u32 = 8;

/// Requests for lines that wait at the port, in order.
const WAITING_LINES: usize = 16;

/// The bytes, and the user of the port.
///
/// Timing: the port takes one request for a line in each cycle, from the clusters in turn. It reads lines in that
///         order, each in two cycles. A burst of the host takes a cycle a word; host and lines take turns word by word
///         and line by line. A burst takes effect as a whole, with its last word.
/// Source: PsPIN RTL a49fec8, `hw/src/memories/prog_mem.sv`, `axi_to_mem.sv`.
pub(super) struct ProgramMemory {
    bytes: Vec<u8>,
    /// Cycles of a reply to the host.
    reply_cycles: u64,
    free: Cycle,
    lines: VecDeque<(usize, LineRequest)>,
    line_turn: RoundRobinTree,
    /// The turn between lines and the host.
    turn: RoundRobinTree,
    /// Words of the host's burst that are done.
    words: u32,
    /// Cycles in which the port was busy.
    pub(super) port_cycles: Counter,
}

impl ProgramMemory {
    pub(super) fn new(bytes: Vec<u8>, reply_cycles: u64) -> Self {
        let (lines, line_turn, turn) = (VecDeque::new(), RoundRobinTree::default(), RoundRobinTree::default());
        ProgramMemory {
            bytes,
            reply_cycles,
            free: 0,
            lines,
            line_turn,
            turn,
            words: 0,
            port_cycles: Counter::default(),
        }
    }

    pub(super) fn contains(&self, addr: u32) -> bool {
        (addr.wrapping_sub(PROGRAM_BASE) as usize) < self.bytes.len()
    }

    /// The bytes of a range, or `None` if the range is not entirely in program memory.
    pub(super) fn range(&self, addr: u32, size: u32) -> Option<&[u8]> {
        self.bytes.get(addr.checked_sub(PROGRAM_BASE)? as usize..)?.get(..size as usize)
    }

    /// Returns true if requests for lines wait.
    pub(super) fn is_busy(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn tick(&mut self, now: Cycle, ports: &MemoryPorts, waiting: &Waiting) {
        if self.lines.len() < WAITING_LINES {
            let requests = waiting.positions().filter(|&cluster| ports.lines[cluster].0.is_due(now));
            let requests = requests.fold(0, |set, cluster| set | 1u64 << cluster);
            if let Some(cluster) = self.line_turn.take(requests) {
                let port = &ports.lines[cluster as usize].0;
                let request = port.take().expect("just seen");
                waiting.taken(cluster as usize, port);
                self.lines.push_back((cluster as usize, request));
            }
        }
        if now < self.free {
            return;
        }
        let host = ports.bursts.get(ports.host).filter(|(requests, replies)| {
            requests.peek().is_some_and(|burst| self.contains(burst.addr())) && replies.has_room()
        });
        match self.turn.take(u64::from(self.is_busy()) | u64::from(host.is_some()) << 1) {
            Some(0) => {
                let (cluster, LineRequest { addr }) = self.lines.pop_front().expect("a line that waits");
                ports.lines[cluster].1.send(LineReply { addr });
                self.free = now + LINE_INTERVAL;
                self.port_cycles.add(LINE_INTERVAL);
            }
            Some(_) => self.serve_word(now, host.expect("a request of the host"), ports),
            None => {}
        }
    }

    /// The next word of the host's burst; with the last, the burst is done.
    fn serve_word(&mut self, now: Cycle, (requests, replies): &BurstPort, ports: &MemoryPorts) {
        self.words += 1;
        self.port_cycles.add(1);
        let (addr, size) = match requests.peek().as_deref().expect("just seen") {
            Burst::Read { addr, size, .. } => (*addr, *size),
            Burst::Write { addr, data, .. } => (*addr, data.len() as u32),
        };
        if self.words < (addr % WORD_BYTES + size).div_ceil(WORD_BYTES) {
            return;
        }
        self.words = 0;
        let start = (addr - PROGRAM_BASE) as usize;
        let held = &mut self.bytes[start..start + size as usize];
        replies.send(match requests.take().expect("just seen") {
            Burst::Read { tag, .. } => BurstReply::Data { tag, data: (*held).into(), last: now + self.reply_cycles },
            Burst::Write { tag, data, .. } => {
                held.copy_from_slice(&data);
                let data = Rc::from(data);
                ports.code.iter().for_each(|code| code.send(CodeWrite { addr, data: Rc::clone(&data) }));
                BurstReply::Written { tag, decoded: true }
            }
        });
    }
}
